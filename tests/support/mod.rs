//! Support for tests with real servers: starts servers, and connects to them without converting replies.

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
