//! Virtual time for tests: a clock that jumps from timer to timer, and tasks that run when woken.
//! Unlike embassy-time's mock clock, it supports any tick rate.

mod clock;
mod tasks;

use core::num::NonZeroU16;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_time::Instant;
use tidegate::law::{Fixed, Law};
use tidegate::{Policy, Quota, Span};
use tidegate_embassy::{Throttle, time};

pub use clock::{Time, far};
pub use tasks::{Tasks, next_poll};

/// A policy that lives as long as the test process.
pub fn leak<L: Law, const LIMITS: usize>(policy: Policy<L, LIMITS>) -> &'static Policy<L, LIMITS> {
    Box::leak(Box::new(policy))
}

/// Ten calls a second, two at a time.
pub fn policy() -> Policy<Fixed> {
    let quota = Quota::per_second(10).unwrap();
    Policy::new(Fixed::new(quota)).concurrency(NonZeroU16::new(2).unwrap())
}

pub fn throttle<const WAITERS: usize>() -> Throttle<NoopRawMutex, Fixed, WAITERS> {
    Throttle::seeded(leak(policy()), 7)
}

/// The first tick that is at least this many milliseconds.
pub fn due(millis: u64) -> Instant {
    time::ticking(time::instant(Instant::from_ticks(0)) + Span::from_millis(millis))
}
