//! The modules that the server has loaded.

use redis_module::{Context, RedisValue};
use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;

/// A loaded module.
pub(super) struct Loaded {
    pub(super) name: String,
    /// File and version: ` (/lib/other.so, version 81000)`. Empty if the server reports neither.
    pub(super) description: String,
    /// The names of its commands; none if the server refuses COMMAND LIST.
    pub(super) commands: Vec<String>,
}

impl Loaded {
    /// The loaded modules; none if the server refuses MODULE LIST.
    pub(super) fn all(context: &Context) -> Vec<Self> {
        // The server can refuse a command, for example because it is renamed.
        let call = |command: &str, arguments: &[&str]| {
            elements(context.call(command, arguments).unwrap_or(RedisValue::Null))
        };
        let modules = call("MODULE", &["LIST"]).into_iter().map(|module| {
            // Each module is a list of names and values of fields.
            let fields = elements(module);
            let field = |wanted: &str| {
                let (pairs, _) = fields.as_chunks();
                let pair = pairs.iter().find(|[name, _]| text(name) == wanted);
                pair.map(|[_, value]| text(value))
                    .filter(|value| !value.is_empty())
            };
            let name = field("name").unwrap_or_default();
            let version = field("ver").map(|version| format!("version {version}"));
            let parts: Vec<_> = [field("path"), version].into_iter().flatten().collect();
            let description = match parts.is_empty() {
                true => String::new(),
                false => format!(" ({})", parts.join(", ")),
            };
            let commands = call("COMMAND", &["LIST", "FILTERBY", "MODULE", &name]);
            let commands = commands.iter().map(text).collect();
            Self {
                name,
                description,
                commands,
            }
        });
        modules.collect()
    }
}

/// The elements of an array; none if the value is not an array.
fn elements(value: RedisValue) -> Vec<RedisValue> {
    match value {
        RedisValue::Array(elements) => elements,
        _ => Vec::new(),
    }
}

/// A string or an integer as text; empty for other values.
fn text(value: &RedisValue) -> String {
    match value {
        RedisValue::SimpleString(text) => text.clone(),
        RedisValue::StringBuffer(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        RedisValue::Integer(number) => number.to_string(),
        _ => String::new(),
    }
}

/// Whether the server has a module with this name. The API must be initialized.
pub(super) fn is_loaded(name: &CStr) -> bool {
    // SAFETY: the name is a C string.
    unsafe { api!(RedisModule_IsModuleNameBusy)(name.as_ptr()) != 0 }
}

/// The file of this module: ` (/lib/libroughly.so)`. Empty if the system does not report it.
pub(super) fn own_file() -> String {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: zeros are valid, and stay if the call fails. The address is that of a function of this library. The name is null or a
    // string that exists as long as the library.
    unsafe {
        libc::dladdr(own_file as *const c_void, info.as_mut_ptr());
        match info.assume_init().dli_fname {
            file if file.is_null() => String::new(),
            file => format!(" ({})", CStr::from_ptr(file).to_string_lossy()),
        }
    }
}
