//! The modules that the server has loaded.

use crate::server::argument::OwnedString;
use redis_module::raw;
use std::ffi::{CStr, CString, c_void};
use std::mem::MaybeUninit;
use std::slice;

/// A reply of the server, freed on drop.
struct Reply(*mut raw::RedisModuleCallReply);

impl Reply {
    /// The reply of a command with these arguments; `None` if the server refuses the command, for example because it is
    /// renamed.
    ///
    /// # Safety
    /// `ctx` must be that of the running load function or callback, and the API initialized.
    unsafe fn of(
        ctx: *mut raw::RedisModuleCtx,
        command: &CStr,
        arguments: &[&CStr],
    ) -> Option<Self> {
        let strings = arguments
            .iter()
            .map(|text| OwnedString::new(text.to_bytes()));
        let strings: Vec<_> = strings.collect();
        // SAFETY: by the function's contract; the format takes an array of strings and its length. An `OwnedString` is a pointer to
        // a string. The module needs no name for a call.
        let reply = unsafe {
            api!(RedisModule_Call)(
                ctx,
                command.as_ptr(),
                c"v".as_ptr(),
                strings.as_ptr(),
                strings.len(),
            )
        };
        (!reply.is_null()).then(|| Self(reply))
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        // SAFETY: the reply is not used any more, and its elements have no other owner.
        unsafe { api!(RedisModule_FreeCallReply)(self.0) };
    }
}

/// The elements of an array; none if the reply is not an array.
///
/// # Safety
/// `array` must be a reply, or an element of one, that is not freed while the elements are used.
unsafe fn elements(
    array: *mut raw::RedisModuleCallReply,
) -> impl Iterator<Item = *mut raw::RedisModuleCallReply> {
    // SAFETY: by the function's contract.
    let len = unsafe {
        match api!(RedisModule_CallReplyType)(array) == raw::REDISMODULE_REPLY_ARRAY as i32 {
            true => api!(RedisModule_CallReplyLength)(array),
            false => 0,
        }
    };
    // SAFETY: by the function's contract; there is an element at each index below the length.
    (0..len).map(move |index| unsafe { api!(RedisModule_CallReplyArrayElement)(array, index) })
}

/// A string or an integer as text; empty for other replies.
///
/// # Safety
/// As [`elements`].
unsafe fn text(reply: *mut raw::RedisModuleCallReply) -> String {
    // SAFETY: by the function's contract. A string has its length in bytes.
    unsafe {
        let kind = api!(RedisModule_CallReplyType)(reply);
        if kind == raw::REDISMODULE_REPLY_INTEGER as i32 {
            return api!(RedisModule_CallReplyInteger)(reply).to_string();
        }
        let mut len = 0;
        let start = api!(RedisModule_CallReplyStringPtr)(reply, &raw mut len);
        if start.is_null() {
            return String::new();
        }
        String::from_utf8_lossy(slice::from_raw_parts(start.cast(), len)).into_owned()
    }
}

struct Loaded {
    name: String,
    /// File and version: ` (/lib/other.so, version 81000)`. Empty if the server reports neither.
    description: String,
}

impl Loaded {
    /// The loaded modules; none if the server refuses MODULE LIST.
    ///
    /// # Safety
    /// `ctx` must be that of the running load function, and the API initialized.
    unsafe fn all(ctx: *mut raw::RedisModuleCtx) -> Vec<Self> {
        // SAFETY: by the function's contract. The replies are used only while `list` exists.
        let modules: Vec<Vec<String>> = unsafe {
            let Some(list) = Reply::of(ctx, c"MODULE", &[c"LIST"]) else {
                return Vec::new();
            };
            let fields = |module| elements(module).map(|field| text(field)).collect();
            elements(list.0).map(fields).collect()
        };
        let modules = modules.iter().map(|module| {
            // Each module is a list of names and values of fields.
            let field = |wanted: &str| {
                let (pairs, _) = module.as_chunks();
                let pair = pairs.iter().find(|[name, _]| name == wanted);
                pair.map(|[_, value]| value.clone())
                    .filter(|value| !value.is_empty())
            };
            let version = field("ver").map(|version| format!("version {version}"));
            let parts: Vec<_> = [field("path"), version].into_iter().flatten().collect();
            let description = match parts.is_empty() {
                true => String::new(),
                false => format!(" ({})", parts.join(", ")),
            };
            Self {
                name: field("name").unwrap_or_default(),
                description,
            }
        });
        modules.collect()
    }
}

/// Whether the server has a module with this name. The API must be initialized.
pub(super) fn is_loaded(name: &CStr) -> bool {
    // SAFETY: the name is a C string.
    unsafe { api!(RedisModule_IsModuleNameBusy)(name.as_ptr()) != 0 }
}

/// Runs MODULE UNLOAD. The server may refuse it.
///
/// # Safety
/// `ctx` must be that of a running callback of a module that is not unloaded, and the API initialized.
pub(super) unsafe fn unload(ctx: *mut raw::RedisModuleCtx, name: &CStr) {
    // SAFETY: by the function's contract.
    drop(unsafe { Reply::of(ctx, c"MODULE", &[c"UNLOAD", name]) });
}

/// The file of this module: ` (/lib/libroughly.so)`. Empty if the system does not report it.
pub(super) fn own_file() -> String {
    let mut info = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: the address is that of a function of this library. If the call succeeds, it has initialized `info`, and the
    // name is null or a string that exists as long as the library.
    unsafe {
        if libc::dladdr(own_file as *const c_void, info.as_mut_ptr()) == 0 {
            return String::new();
        }
        let file = info.assume_init().dli_fname;
        match file.is_null() {
            true => String::new(),
            false => format!(" ({})", CStr::from_ptr(file).to_string_lossy()),
        }
    }
}

/// File and version of the loaded module with this name, as in [`Owner::module`].
///
/// # Safety
/// `ctx` must be that of the running load function, and the API initialized.
pub(super) unsafe fn description(ctx: *mut raw::RedisModuleCtx, name: &CStr) -> String {
    // SAFETY: by the function's contract.
    let mut modules = unsafe { Loaded::all(ctx) }.into_iter();
    let module = modules.find(|module| module.name.as_bytes() == name.to_bytes());
    module.map(|module| module.description).unwrap_or_default()
}

/// A module and its commands.
pub(super) struct Owner {
    /// `module bf (/lib/other.so, version 81000)`.
    pub(super) module: String,
    pub(super) commands: Vec<String>,
}

/// The loaded modules with their commands; none if the server refuses MODULE LIST or COMMAND LIST.
///
/// # Safety
/// As [`description`].
pub(super) unsafe fn owners(ctx: *mut raw::RedisModuleCtx) -> Vec<Owner> {
    // SAFETY: by the function's contract, as in this whole function.
    let modules = unsafe { Loaded::all(ctx) }.into_iter();
    let owners = modules.filter_map(|module| {
        let name = CString::new(module.name.as_bytes()).ok()?;
        // SAFETY: see above. The elements are used only while `list` exists.
        let commands = unsafe {
            let list = Reply::of(ctx, c"COMMAND", &[c"LIST", c"FILTERBY", c"MODULE", &name])?;
            elements(list.0).map(|name| text(name)).collect()
        };
        let module = format!("module {}{}", module.name, module.description);
        Some(Owner { module, commands })
    });
    owners.collect()
}
