//! Virtual time for the tests: a clock that jumps from timer to timer, and tasks that run when they
//! are woken. Unlike embassy-time's own mock clock it ticks at any rate.

mod clock;
mod tasks;

pub use clock::{Time, far};
pub use tasks::{Tasks, Woken, next_poll};
