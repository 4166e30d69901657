//! A rate that changes at known times.

use serde::{Deserialize, Serialize};
use tidegate::Instant;

use crate::scenario::units::{GRAINS_PER_CALL, Rate, Time};

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub at: Time,
    pub rate: Rate,
}

/// A rate that is constant between steps. It integrates exactly.
#[derive(Clone, Debug)]
pub struct Schedule(Vec<(Instant, Rate)>);

impl Schedule {
    /// A schedule of `rate` and the steps, which are ordered by time.
    pub fn new(rate: Rate, steps: &[Step]) -> Self {
        let first = (Instant::ZERO, rate);
        Self([first].into_iter().chain(steps.iter().map(|s| (s.at.instant(), s.rate))).collect())
    }

    /// Sets the rate from `at` on, in place of all steps from then on.
    pub fn set(&mut self, at: Instant, rate: Rate) {
        self.0.retain(|step| step.0 < at);
        self.0.push((at, rate));
    }

    pub fn at(&self, time: Instant) -> Rate {
        let index = self.0.partition_point(|step| step.0 <= time);
        index.checked_sub(1).and_then(|i| self.0.get(i)).map_or(Rate::default(), |step| step.1)
    }

    pub fn between(&self, from: Instant, to: Instant) -> &[(Instant, Rate)] {
        let after = |time| self.0.partition_point(|step| step.0 <= time);
        &self.0[after(from)..after(to.max(from))]
    }

    /// What a bucket gains between two times, in calls.
    pub fn calls(&self, from: Instant, to: Instant) -> f64 {
        let ends = self.0.iter().skip(1).map(|next| next.0.min(to)).chain([to]);
        let gains = self.0.iter().zip(ends).map(|(step, until)| {
            step.1.grains() * u128::from((until - step.0.max(from)).as_nanos())
        });
        as_calls(gains.sum())
    }

    /// The steps, in calls a second.
    pub fn steps(&self) -> Vec<(Instant, f64)> {
        self.0.iter().map(|step| (step.0, step.1.as_per_second())).collect()
    }
}

/// What is wrong with the times of steps, if anything.
pub fn fault(times: impl IntoIterator<Item = Time>) -> Option<&'static str> {
    let mut last = Time::default();
    let rise = times.into_iter().all(|time| std::mem::replace(&mut last, time) < time);
    (!rise).then_some("steps must be in order of time, after the start of the world")
}

pub fn as_calls(grains: u128) -> f64 {
    grains as f64 / GRAINS_PER_CALL as f64
}
