//! A second load of the same file while the server starts. Without it, the server would not start.
//!
//! CONFIG REWRITE writes a `loadmodule` line for each module into the server's main configuration file, also if an included file
//! or the command line loads the module. At the next start, the server loads the file twice, and exits if a load fails.
//! So this load succeeds as a module without commands, types and settings. As soon as the server runs, the first module
//! unloads it, so that CONFIG REWRITE writes no line for it.

use super::module_list::is_loaded;
use crate::server::argument::Argument;
use crate::server::context::ServerInfo;
use crate::server::guard::guarded;
use crate::server::log;
use redis_module::{Context, raw};
use std::ffi::{CString, c_int};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The arguments of the first load, for the log.
static ARGUMENTS: Mutex<String> = Mutex::new(String::new());

/// Keeps the arguments of a load that succeeded.
pub(super) fn keep_arguments(arguments: &[Argument<'_>]) {
    *ARGUMENTS.lock().unwrap_or_else(PoisonError::into_inner) = shown(arguments);
}

/// Arguments of a load line for the log.
fn shown(arguments: &[Argument<'_>]) -> String {
    let arguments: Vec<_> = arguments.iter().map(|argument| argument.bytes()).collect();
    match arguments.is_empty() {
        true => "none".to_owned(),
        false => String::from_utf8_lossy(&arguments.join(&b' ')).into_owned(),
    }
}

/// Implements a load of the file that is loaded already as the module `name`. Returns OK or ERR of the module API.
///
/// # Safety
/// `ctx` must be that of the running load function, and the API initialized by the first load, which succeeded. `options` must
/// be those of the first load.
pub(super) unsafe fn load(
    ctx: *mut raw::RedisModuleCtx,
    name: &str,
    version: c_int,
    options: c_int,
    arguments: &[Argument<'_>],
) -> c_int {
    // SAFETY: by the function's contract.
    let info = unsafe { ServerInfo::of(ctx, c"clients") };
    // The server accepts connections after it has loaded all modules. MODULE LOAD has a client, except if a module calls it in a
    // callback of its own.
    if info.and_then(|info| info.number(c"connected_clients")) != Some(0) {
        log::warning(&format!(
            "not loaded: this file is loaded already, as {name}. Remove one of its loadmodule lines"
        ));
        return raw::REDISMODULE_ERR as c_int;
    }
    log::warning(&format!(
        "a second loadmodule line for this file has no effect: it is loaded already, as {name}. Remove one of them, and keep the one in the server's main configuration file"
    ));
    let first = ARGUMENTS.lock().unwrap_or_else(PoisonError::into_inner);
    let ignored = shown(arguments);
    if *first != ignored {
        log::warning(&format!(
            "the arguments of the second loadmodule line are ignored: {ignored}. Those of the first are: {first}"
        ));
    }
    let mut names = (2..).filter_map(|n: u32| CString::new(format!("roughly-load-{n}")).ok());
    let free = names.find(|name| !is_loaded(name)).unwrap_or_default();
    let api_version = raw::REDISMODULE_APIVER_1 as c_int;
    // SAFETY: by the function's contract; the server copies the name. A server allows some operations only if all modules
    // declare the option for them, and this one exists while the server loads its data.
    unsafe {
        api!(RedisModule_SetModuleAttribs)(ctx, free.as_ptr(), version, api_version);
        api!(RedisModule_SetModuleOptions)(ctx, options);
    }
    if let Some(first) = log::context() {
        Context::new(first.as_ptr()).create_timer(Duration::ZERO, unload, free);
    }
    raw::REDISMODULE_OK as c_int
}

/// The timer: unloads the module of a repeated load.
fn unload(context: &Context, name: CString) {
    guarded("unloading", || {
        let text = name.to_string_lossy();
        drop(context.call("MODULE", &["UNLOAD", &text]));
        if is_loaded(&name) {
            log::warning(&format!(
                "this server refuses MODULE UNLOAD {text} to modules, so CONFIG REWRITE adds a loadmodule line. Remove the second loadmodule line for this file"
            ));
        }
    });
}
