//! The files of tests/support that need no server.

#[allow(dead_code)] // The server tests use the rest.
#[path = "../support/abilities.rs"]
pub mod abilities;
#[allow(dead_code)]
#[path = "../support/command_pages.rs"]
pub mod command_pages;
#[path = "../support/names.rs"]
pub mod names;
#[allow(dead_code)]
#[path = "../support/page.rs"]
pub mod page;
#[path = "../support/tested.rs"]
pub mod tested;
