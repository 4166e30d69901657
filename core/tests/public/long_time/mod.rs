//! Clocks of any age, and clocks that step, slew, stop and jump.

mod age;
mod clocks;
mod world;

use core::num::NonZeroU16;

use tidegate::gate::RetryBudgetPolicy;
use tidegate::{Controller, Policy, Ratio};

type Gate = Controller;

/// Every law with every gate: a concurrency limit, a retry budget, backoff and cooldowns.
fn every_policy() -> impl Iterator<Item = (&'static str, Policy)> {
    let concurrency = NonZeroU16::new(8).unwrap();
    let retry_budget = RetryBudgetPolicy::new(Ratio::HALF, 10).unwrap();
    Policy::NAMES.iter().map(move |name| {
        (
            *name,
            Policy::named(name).unwrap().concurrency(concurrency).retry_budget(Some(retry_budget)),
        )
    })
}
