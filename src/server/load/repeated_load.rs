//! A second load of the same file while the server starts. Without it, the server would not start.
//!
//! CONFIG REWRITE writes a `loadmodule` line for each module into the server's main configuration file, also if an included file
//! or the command line loads the module. At the next start, the server loads the file twice, and exits if a load fails.
//! So this load succeeds as a module without commands, types and settings. As soon as the server runs, the first module
//! unloads it, so that CONFIG REWRITE writes no line for it.

use super::module_list::{self, is_loaded};
use crate::server::argument::Argument;
use crate::server::context::ServerInfo;
use crate::server::guard::guarded;
use crate::server::log;
use redis_module::raw;
use std::ffi::{CString, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The arguments of the first load.
static ARGUMENTS: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Whether the timer that unloads the modules of repeated loads is set.
static IS_TIMER_SET: AtomicBool = AtomicBool::new(false);

/// Keeps the arguments of a load that succeeded.
pub(super) fn keep_arguments(arguments: &[Argument<'_>]) {
    *ARGUMENTS.lock().unwrap_or_else(PoisonError::into_inner) = copied(arguments);
}

fn copied(arguments: &[Argument<'_>]) -> Vec<Vec<u8>> {
    let bytes = arguments.iter().map(|argument| argument.bytes().to_vec());
    bytes.collect()
}

/// The name of the module of the load with this number, counted from the first load of the file.
fn name_of_load(number: u32) -> CString {
    CString::new(format!("roughly-load-{number}")).unwrap_or_default()
}

/// Whether no client is connected, as while the server starts: it accepts connections after it has loaded all modules. MODULE
/// LOAD has a client, except if a module calls it in a callback of its own.
///
/// # Safety
/// `ctx` must be that of the running load function, and the API initialized.
unsafe fn is_starting(ctx: *mut raw::RedisModuleCtx) -> bool {
    // SAFETY: by the function's contract.
    let info = unsafe { ServerInfo::of(ctx, c"clients") };
    info.and_then(|info| info.number(c"connected_clients")) == Some(0)
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
    if !unsafe { is_starting(ctx) } {
        log::warning(&format!(
            "not loaded: this file is loaded already, as {name}. Remove one of its loadmodule lines"
        ));
        return raw::REDISMODULE_ERR as c_int;
    }
    log::warning(&format!(
        "a second loadmodule line for this file has no effect: it is loaded already, as {name}. Remove one of them, and keep the one in the server's main configuration file"
    ));
    let first = ARGUMENTS.lock().unwrap_or_else(PoisonError::into_inner);
    let arguments = copied(arguments);
    if *first != arguments {
        let (ignored, first) = (shown(&arguments), shown(&first));
        log::warning(&format!(
            "the arguments of the second loadmodule line are ignored: {ignored}. Those of the first are: {first}"
        ));
    }
    let free = (2..).map(name_of_load).find(|name| !is_loaded(name));
    let free = free.unwrap_or_default();
    // SAFETY: by the function's contract; the server copies the name. A server allows some operations only if all modules
    // declare the option for them, and this one exists while the server loads its data.
    unsafe {
        api!(RedisModule_SetModuleAttribs)(
            ctx,
            free.as_ptr(),
            version,
            raw::REDISMODULE_APIVER_1 as c_int,
        );
        api!(RedisModule_SetModuleOptions)(ctx, options);
    }
    if let Some(first) = log::context()
        && !IS_TIMER_SET.swap(true, Ordering::Relaxed)
    {
        // SAFETY: the context is that of the first module, which is never freed. The timer has no data.
        unsafe { api!(RedisModule_CreateTimer)(first.as_ptr(), 0, Some(unload), ptr::null_mut()) };
    }
    raw::REDISMODULE_OK as c_int
}

/// Arguments of a load line for the log.
fn shown(arguments: &[Vec<u8>]) -> String {
    match arguments.is_empty() {
        true => "none".to_owned(),
        false => String::from_utf8_lossy(&arguments.join(&b' ')).into_owned(),
    }
}

/// The timer: unloads the modules of repeated loads.
unsafe extern "C" fn unload(ctx: *mut raw::RedisModuleCtx, _data: *mut c_void) {
    guarded("unloading", || {
        IS_TIMER_SET.store(false, Ordering::Relaxed);
        let names = (2..).map(name_of_load).take_while(|name| is_loaded(name));
        for name in names.collect::<Vec<_>>() {
            // SAFETY: the context is that of the running timer.
            unsafe { module_list::unload(ctx, &name) };
            if is_loaded(&name) {
                let name = name.to_string_lossy();
                log::warning(&format!(
                    "this server refuses MODULE UNLOAD {name} to modules, so CONFIG REWRITE adds a loadmodule line. Remove the second loadmodule line for this file"
                ));
            }
        }
    });
}
