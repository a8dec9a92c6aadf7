//! The server layer: everything about Redis and Valkey, behind safe types.
//!
//! A family uses [`call::Call`] (arguments, replies, keys, replication), implements [`data_type::DataType`] for its value
//! type, and describes its commands and settings in static tables. [`load::Module::load`] registers all of it.
//!
//! The module API is a table of function pointers that the server fills when it loads the module. A function that the
//! server lacks stays null. The macro `api!` calls a function of the table.

/// The function of the module API with this name.
///
/// # Panics
/// If the server lacks it; every handler and callback catches the panic (see [`guard`]). For functions that a supported
/// server may lack, use [`optional_api`].
macro_rules! api {
    ($name:ident) => {{
        #[allow(unused_unsafe)] // the caller may be in an unsafe block already
        // SAFETY: the server writes these pointers once, on the thread that loads the module and before it
        // calls anything else of the module. From then on they are only read.
        let function = unsafe { redis_module::raw::$name };
        match function {
            Some(function) => function,
            None => $crate::server::missing_api(stringify!($name)),
        }
    }};
}

/// The function of the module API with this name, or `None` if the server lacks it.
macro_rules! optional_api {
    ($name:ident) => {{
        #[allow(unused_unsafe)]
        // SAFETY: as in `api`.
        let function = unsafe { redis_module::raw::$name };
        function
    }};
}

pub mod argument;
pub mod call;
pub mod command;
pub mod config;
mod context;
pub mod data_type;
mod error;
mod guard;
mod huge_pages;
mod injected;
pub mod key;
pub mod load;
pub mod log;
pub mod memory;
pub mod panes;
pub mod part;
pub mod replicated;
pub mod stats;
pub mod window;

#[cold]
fn missing_api(name: &str) -> ! {
    panic!("this server lacks {name}")
}
