//! Long time and bad luck: clocks as old as they get, clocks that step, slew, stop and leap, records
//! that were damaged, and polls without end.

mod age;
mod clocks;
mod damage;
mod idle;
mod ticks;
mod world;

use tidegate::gate::{ConcurrencyLimit, RetryBudgetPolicy};
use tidegate::{Controller, Policy, Ratio, Span};

type Gate = Controller;

/// Every law, with every gate that a call may meet: a concurrency limit with an expiry, a retry budget,
/// backoff and cooldowns.
fn every_policy() -> impl Iterator<Item = (&'static str, Policy)> {
    let concurrency = ConcurrencyLimit::new(8, Span::from_secs(30)).unwrap();
    let retry_budget = RetryBudgetPolicy::new(Ratio::HALF, 10).unwrap();
    Policy::NAMES.iter().map(move |name| {
        (
            *name,
            Policy::named(name).unwrap().concurrency(concurrency).retry_budget(Some(retry_budget)),
        )
    })
}
