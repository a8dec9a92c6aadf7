//! The module argument `families`: which families of commands are loaded (docs/configuration.md#families).

use super::argument::Argument;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem;
use std::sync::atomic::{AtomicU32, Ordering};

use redis_module::raw;

/// The name of the argument.
const ARGUMENT: &str = "families";

/// A set of families: bit i is the family i of [`Module::families`](super::module::Module::families).
#[derive(Debug)]
pub struct Selection(AtomicU32);

/// Why a load line selects no families.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InvalidSelection {
    /// The list is empty, or has an empty or unknown name.
    UnknownName,
    /// The list has a name twice, or the load line has the argument twice.
    Duplicate,
}

impl Selection {
    /// All families.
    #[must_use]
    pub const fn all() -> Self {
        Self(AtomicU32::new(u32::MAX))
    }

    /// Whether the family with this number is loaded.
    #[inline]
    pub(super) fn contains(&self, family: usize) -> bool {
        self.0.load(Ordering::Relaxed) & 1 << family != 0
    }

    /// Replaces the selection by that of a load line: arguments in pairs of a name and a value. `names` are those of the
    /// families; a family without a name is always loaded. Without the argument `families`, all are loaded.
    ///
    /// Allocates no memory, so that it can run before the module is initialized.
    ///
    /// # Errors
    /// [`InvalidSelection`]; then all families are selected.
    pub(super) fn set<'a>(
        &self,
        names: impl Iterator<Item = Option<&'static str>> + Clone,
        arguments: impl Iterator<Item = Argument<'a>>,
    ) -> Result<(), InvalidSelection> {
        self.0.store(u32::MAX, Ordering::Relaxed);
        let unnamed = bits(names.clone(), |name| name.is_none());
        let mut selected = None;
        let mut arguments = arguments;
        while let (Some(name), Some(list)) = (arguments.next(), arguments.next()) {
            if !is_families(name) {
                continue;
            }
            if selected.is_some() {
                return Err(InvalidSelection::Duplicate);
            }
            let mut families = unnamed;
            for given in list.bytes().split(|&byte| byte == b',') {
                let same = |name: Option<&str>| {
                    name.is_some_and(|name| name.as_bytes().eq_ignore_ascii_case(given))
                };
                match bits(names.clone(), same) {
                    0 => return Err(InvalidSelection::UnknownName),
                    family if families & family != 0 => return Err(InvalidSelection::Duplicate),
                    family => families |= family,
                }
            }
            selected = Some(families);
        }
        self.0
            .store(selected.unwrap_or(u32::MAX), Ordering::Relaxed);
        Ok(())
    }
}

/// The numbers of the families whose name satisfies `condition`, as bits.
fn bits(
    names: impl Iterator<Item = Option<&'static str>>,
    condition: impl Fn(Option<&'static str>) -> bool,
) -> u32 {
    names
        .enumerate()
        .filter(|&(_, name)| condition(name))
        .fold(0, |bits, (number, _)| bits | 1 << number)
}

/// Whether an argument of the load line is the name of this one.
pub(super) fn is_families(name: Argument<'_>) -> bool {
    name.is(ARGUMENT)
}

/// Fills the one function of the module API that reads arguments. The module's name depends on its arguments, and all other
/// functions are filled when the module takes its name.
///
/// # Safety
/// `ctx` must be that of the running load function.
pub(super) unsafe fn prepare_arguments(ctx: *mut raw::RedisModuleCtx) {
    type GetApi = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_int;
    let name: &CStr = c"RedisModule_StringPtrLen";
    // SAFETY: the first field of the context is the server's function that returns a function by its name, as
    // RedisModule_Init in redismodule.h uses it. The pointer that it writes has the type of the function of this name.
    unsafe {
        let get: GetApi = mem::transmute(*ctx.cast::<*const c_void>());
        get(
            name.as_ptr(),
            (&raw mut raw::RedisModule_StringPtrLen).cast(),
        );
    }
}
