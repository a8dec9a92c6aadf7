//! The server and its version, the oldest versions that can load the module, and the newest ones that the tests have run on.

use crate::server::context::ServerInfo;
use crate::server::injected;
use redis_module::{Context, ContextFlags, RedisValue, raw};

/// The oldest versions of Redis and Valkey with the functions of the API that the module needs.
const OLDEST_REDIS: (u32, u32) = (7, 0);
const OLDEST_VALKEY: (u32, u32) = (7, 2);

/// The newest tested version of Redis, major and minor: that of the table in docs/versioning.md (tests/documents/versions.rs).
pub const NEWEST_REDIS: (u32, u32) = (8, 6);
/// The newest tested version of Valkey.
pub const NEWEST_VALKEY: (u32, u32) = (9, 1);

/// The first version of Redis with `CLUSTER MIGRATION`.
const REDIS_WITH_SLOT_MIGRATION: (u32, u32) = (8, 4);

/// The last version of Redis, and the first one of Valkey, whose I/O threads are known not to look for keys, or to do so.
const REDIS_WITHOUT_ASKING_THREADS: (u32, u32) = (8, 0);
const VALKEY_WITH_ASKING_THREADS: (u32, u32) = (8, 0);

/// A server and its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ServerVersion {
    /// Whether it is Valkey; otherwise, it is Redis.
    pub(super) is_valkey: bool,
    /// Major and minor.
    number: (u32, u32),
}

impl ServerVersion {
    /// The server's version, according to INFO. Valkey has a field of its own, and reports a version of Redis too. `None` if the
    /// server reports no version.
    ///
    /// # Safety
    /// `ctx` must be that of the running load function, and the API initialized.
    pub(super) unsafe fn of(ctx: *mut raw::RedisModuleCtx) -> Option<Self> {
        // SAFETY: by the function's contract.
        let info = unsafe { ServerInfo::of(ctx, c"server") }?;
        let valkey = info.text(c"valkey_version");
        let version = valkey.or_else(|| info.text(c"redis_version"));
        let version = version.map(|text| text.to_string_lossy().into_owned());
        Self::parse(valkey.is_some(), &injected::server_version().or(version)?)
    }

    fn parse(is_valkey: bool, version: &str) -> Option<Self> {
        let mut numbers = version.split('.').map(|number| number.parse().ok());
        Some(Self {
            is_valkey,
            number: (numbers.next()??, numbers.next()??),
        })
    }

    /// Whether a cluster of this server asks a module's command with the flag `getkeys-api` for its keys, and looks only at the
    /// first key of a command without it. Redis 8.6 goes by the key specs. While a slot moves to another node (`CLUSTER
    /// MIGRATION`, since 8.4), it asks again for the keys of each command that it sends to this node, sends the command once
    /// more after each answer, and so exhausts its stack.
    ///
    /// I/O threads that ask create a context of the module beside the main thread, which ends the server
    /// (docs/operations.md, "Threads of the server").
    pub(super) fn asks_for_keys(self, ctx: &Context) -> bool {
        let (asks, with_threads) = match self.is_valkey {
            true => (true, self.number >= VALKEY_WITH_ASKING_THREADS),
            false => (
                self.number < REDIS_WITH_SLOT_MIGRATION,
                self.number > REDIS_WITHOUT_ASKING_THREADS,
            ),
        };
        asks && !(with_threads && is_cluster_with_threads(ctx))
    }

    /// Why this version cannot load the module, for the log.
    pub(super) fn too_old(self) -> Option<String> {
        let (name, oldest) = match self.is_valkey {
            true => ("Valkey", OLDEST_VALKEY),
            false => ("Redis", OLDEST_REDIS),
        };
        let ((major, minor), (oldest_major, oldest_minor)) = (self.number, oldest);
        (self.number < oldest).then(|| {
            format!("{name} {major}.{minor} is too old: the module needs {name} {oldest_major}.{oldest_minor}")
        })
    }

    /// The log line for a version that is newer than every tested one.
    pub(super) fn untested(self) -> Option<String> {
        let (name, tested) = match self.is_valkey {
            true => ("Valkey", NEWEST_VALKEY),
            false => ("Redis", NEWEST_REDIS),
        };
        let ((major, minor), (tested_major, tested_minor)) = (self.number, tested);
        (self.number > tested).then(|| format!(
            "{name} {major}.{minor} is newer than every version that this module was tested on: the newest is {tested_major}.{tested_minor}"
        ))
    }
}

/// Whether this is a node of a cluster that has I/O threads, or does not say how many.
fn is_cluster_with_threads(ctx: &Context) -> bool {
    let threads = || ctx.call("CONFIG", &["GET", "io-threads"]);
    let is_one = |value: Option<&RedisValue>| matches!(value, Some(RedisValue::SimpleString(threads)) if threads == "1");
    ctx.get_flags().contains(ContextFlags::CLUSTER)
        && !matches!(threads(), Ok(RedisValue::Array(values)) if is_one(values.last()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_versions_above_the_newest_tested_one_are_reported() {
        for (is_valkey, version, expected) in [
            (false, "7.0.15", false),
            (false, "8.6.99", false),
            (false, "8.7.0", true),
            (false, "8.10.1", true),
            (false, "9.0.0", true),
            (true, "8.6.3", false),
            (true, "9.1.2", false),
            (true, "9.2.0", true),
            (true, "255.255.255", true),
        ] {
            let version = ServerVersion::parse(is_valkey, version).expect("a version");
            assert_eq!(version.untested().is_some(), expected, "{version:?}");
        }
        let version = ServerVersion::parse(false, "8.8.0").expect("a version");
        let line = "Redis 8.8 is newer than every version that this module was tested on: the newest is 8.6";
        assert_eq!(version.untested().as_deref(), Some(line));
        assert_eq!(ServerVersion::parse(false, "unstable"), None);
    }
}
