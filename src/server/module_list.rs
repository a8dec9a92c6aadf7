//! The modules that the server has loaded.

use redis_module::raw;
use std::ffi::CStr;
use std::slice;

/// A reply of the server, freed on drop.
struct Reply(*mut raw::RedisModuleCallReply);

impl Reply {
    /// The reply of MODULE LIST; `None` if the server refuses the command, for example because it is renamed.
    ///
    /// # Safety
    /// `ctx` must be that of the running load function, and the API initialized.
    unsafe fn of_module_list(ctx: *mut raw::RedisModuleCtx) -> Option<Self> {
        let (command, format) = (c"MODULE", c"c");
        // SAFETY: by the function's contract; the format takes one C string. The module needs no name for a call.
        let reply = unsafe {
            api!(RedisModule_Call)(ctx, command.as_ptr(), format.as_ptr(), c"LIST".as_ptr())
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

/// File and version of the loaded module with this name: ` (/lib/other.so, version 81000)`. Empty if the server reports
/// neither.
///
/// # Safety
/// `ctx` must be that of the running load function, and the API initialized.
pub(super) unsafe fn description(ctx: *mut raw::RedisModuleCtx, name: &CStr) -> String {
    // SAFETY: by the function's contract. The replies are used only while `list` exists.
    let modules: Vec<Vec<String>> = unsafe {
        let Some(list) = Reply::of_module_list(ctx) else {
            return String::new();
        };
        let fields = |module| elements(module).map(|field| text(field)).collect();
        elements(list.0).map(fields).collect()
    };
    let name = name.to_string_lossy();
    // Each module is a list of names and values of fields.
    let field = |module: &[String], wanted: &str| {
        let mut pairs = module.chunks_exact(2);
        let pair = pairs.find(|pair| pair[0] == wanted);
        pair.map(|pair| pair[1].clone())
            .filter(|value| !value.is_empty())
    };
    let mut modules = modules.iter();
    let Some(module) = modules.find(|module| field(module, "name").as_deref() == Some(&name))
    else {
        return String::new();
    };
    let version = field(module, "ver").map(|version| format!("version {version}"));
    let parts: Vec<_> = [field(module, "path"), version]
        .into_iter()
        .flatten()
        .collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!(" ({})", parts.join(", ")),
    }
}
