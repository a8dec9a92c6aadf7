//! What the tests that speak to a real server stand on: the server itself, and a connection that shows
//! replies exactly as they came.

#![allow(dead_code)] // Not every program that includes this uses all of it.

pub mod abilities;
pub mod damage;
pub mod handler;
pub mod resp;
pub mod server;
pub mod set_on_drop;
pub mod state;
