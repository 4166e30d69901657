//! Long time and bad luck: clocks as old as they get, clocks that step, slew, stop and leap, records
//! that were damaged, and polls without end.
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that overflows or panics fails, which is right"
)]

mod age;
mod clocks;
mod damage;
mod idle;
mod ticks;
mod world;

use tidegate::gate::{BudgetPolicy, WindowPolicy};
use tidegate::{Controller, Instant, Policy, Ratio, Span};

type Gate = Controller;

const MILLIS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLIS;
const HOUR: u64 = 3_600 * SECOND;
const DAY: u64 = 24 * HOUR;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// Every law, with every gate that a call may meet: a window with a lease, a budget for retries,
/// backoff and holds.
fn every_policy() -> impl Iterator<Item = (&'static str, Policy)> {
    let window = WindowPolicy::new(8, Span::from_secs(30)).unwrap();
    let budget = BudgetPolicy::new(Ratio::HALF, 10).unwrap();
    Policy::NAMES
        .iter()
        .map(move |name| (*name, Policy::named(name).unwrap().window(window).budget(Some(budget))))
}
