//! The sketches against their models.

#[path = "../../../../tests/support/damage.rs"]
mod damage;
#[allow(dead_code)] // This program has no time limits.
#[path = "../../../../tests/support/time.rs"]
mod time;

mod crowded_panes;
mod forms;
mod found;
mod mutation;
mod panes;
mod refusals;
