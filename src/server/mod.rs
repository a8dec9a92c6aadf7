//! Floor 2: all that is known of the server. With two small files of the sketch floor the only place
//! with `unsafe`.
//!
//! Small safe types over the module API of Redis and Valkey. A family sees a [`call::Call`] (arguments
//! as byte slices, replies, keys, replication), implements [`datatype::DataType`] for what it stores,
//! and describes its commands and settings in static tables; [`module::Module::load`] registers all of it.
//!
//! The API is a table of function pointers that the server fills when the module is loaded; one that
//! the server lacks stays null. `api!` is how one is called.

/// The function of the module API with this name.
///
/// # Panics
/// If the server lacks it. Every handler and callback catches that (see [`guard`]); functions that a
/// supported server may lack are asked for with [`optional_api`] instead.
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

/// The function of the module API with this name, or `None` where the server lacks it.
macro_rules! optional_api {
    ($name:ident) => {{
        #[allow(unused_unsafe)]
        // SAFETY: as in `api`.
        let function = unsafe { redis_module::raw::$name };
        function
    }};
}

pub mod allocator;
pub mod aof;
pub mod argument;
pub mod call;
pub mod command;
pub mod config;
mod control_group;
pub mod datatype;
mod decimal;
pub mod defrag;
mod fault;
mod guard;
pub mod info;
pub mod key;
mod limit;
pub mod log;
pub mod memory;
pub mod module;
pub mod options;
pub mod outcome;
pub mod rdb;
pub mod reply;
mod save;
pub mod stats;

#[cold]
fn missing_api(name: &str) -> ! {
    panic!("this server lacks {name}")
}
