//! Tests whose result depends on neither the server nor the platform. They run on one server.

mod faults;
mod formats;
mod needs_huge_pages;
mod recipes;
mod replicated_creations;
mod samples;
mod worst_cases;
