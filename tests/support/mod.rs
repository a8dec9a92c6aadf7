//! Support for tests with real servers: the server itself, and a connection that returns replies exactly as sent.

#![allow(dead_code)] // Not every program that includes this uses all of it.

pub mod abilities;
pub mod damage;
pub mod handler;
pub mod resp;
pub mod server;
pub mod set_on_drop;
pub mod state;
