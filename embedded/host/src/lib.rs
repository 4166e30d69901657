//! Virtual time for tests: a clock that jumps from timer to timer, and tasks that run when woken.
//! Unlike embassy-time's mock clock, it supports any tick rate.

mod clock;
mod tasks;

use tidegate::Policy;
use tidegate::law::Law;

pub use clock::{Time, far};
pub use tasks::{Tasks, Woken, next_poll};

/// A policy that lives as long as the test process.
pub fn leak<L: Law, const LIMITS: usize>(policy: Policy<L, LIMITS>) -> &'static Policy<L, LIMITS> {
    Box::leak(Box::new(policy))
}
