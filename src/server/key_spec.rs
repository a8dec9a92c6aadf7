//! Key specifications: which arguments of a command are keys, and how the command uses them.

use redis_module::raw;
use std::ffi::c_int;
use std::ptr;

/// The position of a command's keys and what it does with them.
///
/// The flags decide which ACL key permissions a command needs: ACCESS needs `%R`; INSERT, UPDATE and DELETE need
/// `%W`. A command whose reply contains stored data has ACCESS, so that a user with `%W` only cannot read through
/// it. The flags are those of the server's comparable command, which each constant names.
#[derive(Debug, Clone, Copy)]
pub struct KeySpec {
    pub(super) flags: u32,
    first: c_int,
    counted: bool,
}

impl KeySpec {
    const fn first(flags: u32) -> Self {
        Self {
            flags,
            first: 1,
            counted: false,
        }
    }

    /// Argument 1 is read, as by GET.
    pub const READ: Self =
        Self::first(raw::REDISMODULE_CMD_KEY_RO | raw::REDISMODULE_CMD_KEY_ACCESS);
    /// Argument 3 is read.
    pub const READ_THIRD: Self = Self {
        first: 3,
        ..Self::READ
    };
    /// Argument 1 is created, or something is added to it, as by SADD and PFADD. A reply that reports whether an
    /// item existed does not need ACCESS, because SADD has none.
    pub const INSERT: Self =
        Self::first(raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_INSERT);
    /// Part of argument 1 is replaced, as by SETRANGE.
    pub const UPDATE: Self =
        Self::first(raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_UPDATE);
    /// Argument 1 is changed, and stored data is returned, as by INCR, or combined, as by PFMERGE.
    pub const ACCESS_UPDATE: Self = Self::first(
        raw::REDISMODULE_CMD_KEY_RW
            | raw::REDISMODULE_CMD_KEY_ACCESS
            | raw::REDISMODULE_CMD_KEY_UPDATE,
    );
    /// Something is removed from argument 1, as by SREM. A reply that reports whether it existed does not need
    /// ACCESS, because SREM has none.
    pub const DELETE: Self =
        Self::first(raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_DELETE);
    /// The keys of a merge: argument 1 is the destination. Argument 2 is the number of sources that follow,
    /// which are read.
    pub const MERGE: &'static [Self; 2] = &[Self::ACCESS_UPDATE, Self::COUNTED_SOURCES];
    const COUNTED_SOURCES: Self = Self {
        flags: raw::REDISMODULE_CMD_KEY_RO | raw::REDISMODULE_CMD_KEY_ACCESS,
        first: 2,
        counted: true,
    };

    pub(super) fn to_raw(self) -> raw::RedisModuleCommandKeySpec {
        let mut spec = NO_KEY_SPEC;
        spec.flags = u64::from(self.flags);
        spec.begin_search_type = raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INDEX;
        spec.bs.index =
            raw::RedisModuleCommandKeySpec__bindgen_ty_1__bindgen_ty_1 { pos: self.first };
        if self.counted {
            spec.find_keys_type = raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_KEYNUM;
            spec.fk.keynum = raw::RedisModuleCommandKeySpec__bindgen_ty_2__bindgen_ty_2 {
                keynumidx: 0,
                firstkey: 1,
                keystep: 1,
            };
        } else {
            spec.find_keys_type = raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_RANGE;
            spec.fk.range = raw::RedisModuleCommandKeySpec__bindgen_ty_2__bindgen_ty_1 {
                lastkey: 0,
                keystep: 1,
                limit: 0,
            };
        }
        spec
    }
}

pub(super) const NO_KEY_SPEC: raw::RedisModuleCommandKeySpec = raw::RedisModuleCommandKeySpec {
    notes: ptr::null(),
    flags: 0,
    begin_search_type: raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INVALID,
    bs: raw::RedisModuleCommandKeySpec__bindgen_ty_1 {
        keyword: raw::RedisModuleCommandKeySpec__bindgen_ty_1__bindgen_ty_2 {
            keyword: ptr::null(),
            startfrom: 0,
        },
    },
    find_keys_type: raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_OMITTED,
    fk: raw::RedisModuleCommandKeySpec__bindgen_ty_2 {
        range: raw::RedisModuleCommandKeySpec__bindgen_ty_2__bindgen_ty_1 {
            lastkey: 0,
            keystep: 0,
            limit: 0,
        },
    },
};
