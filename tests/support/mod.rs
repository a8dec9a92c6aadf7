//! Support for tests with real servers: starts servers, and connects to them without converting replies.
//!
//! Functions that do not return a `Result` panic if they fail or take too long. The message has the end of the server's log, if a
//! server failed.

#![allow(dead_code)] // Each test program uses a part of this module.

pub mod abilities;
pub mod c_modules;
pub mod command_pages;
pub mod contexts;
pub mod cpu;
pub mod damage;
pub mod expiry;
pub mod main_thread;
pub mod names;
pub mod page;
pub mod peers;
pub mod repeated_values;
pub mod resp;
pub mod sample;
pub mod server;
pub mod set_on_drop;
pub mod state;
pub mod streams;
pub mod tested;
pub mod time;
pub mod variables;
