//! A rate that changes at known times.

use serde::{Deserialize, Serialize};
use tidegate::Instant;

use crate::scenario::units::{GRAINS_PER_CALL, Rate, Time};

/// A rate from a time on.
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

    /// The steps after a time, until another.
    pub fn between(&self, from: Instant, to: Instant) -> &[(Instant, Rate)] {
        let after = |time| self.0.partition_point(|step| step.0 <= time);
        &self.0[after(from)..after(to.max(from))]
    }

    /// What a bucket gains between two times, in grains.
    pub fn grains(&self, from: Instant, to: Instant) -> u128 {
        // Most schedules have one step, and most queries concern the last one.
        let mut index = match self.0.last() {
            Some(last) if last.0 <= from => self.0.len() - 1,
            _ => self.0.partition_point(|step| step.0 <= from).saturating_sub(1),
        };
        let (mut sum, mut from) = (0, from);
        while from < to {
            let Some(step) = self.0.get(index) else { break };
            let until = self.0.get(index + 1).map_or(to, |next| next.0.min(to));
            sum += step.1.grains() * u128::from((until - from).as_nanos());
            (from, index) = (until, index + 1);
        }
        sum
    }

    pub fn calls(&self, from: Instant, to: Instant) -> f64 {
        as_calls(self.grains(from, to))
    }

    /// The steps, in calls a second.
    pub fn steps(&self) -> Vec<(Instant, f64)> {
        self.0.iter().map(|step| (step.0, step.1.as_per_second())).collect()
    }
}

/// Whether the times rise and are after the start of the world.
pub fn in_order(times: impl IntoIterator<Item = Time>) -> bool {
    let mut last = Time::default();
    times.into_iter().all(|time| std::mem::replace(&mut last, time) < time)
}

#[expect(clippy::cast_precision_loss, reason = "for ratios")]
pub fn as_calls(grains: u128) -> f64 {
    grains as f64 / GRAINS_PER_CALL as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate::Span;

    #[test]
    fn a_schedule_integrates_over_its_steps() {
        let step =
            |at, rate: &str| Step { at: Span::from_secs(at).into(), rate: rate.parse().unwrap() };
        let steps = [step(10, "20/s"), step(20, "0/s"), step(30, "5/s")];
        let schedule = Schedule::new("10/s".parse().unwrap(), &steps);
        let at = |seconds| Instant::ZERO + Span::from_secs(seconds);
        for (from, to, calls) in [
            (0, 10, 100.0),
            (0, 20, 300.0),
            (5, 15, 150.0),
            (15, 35, 125.0),
            (22, 28, 0.0),
            (40, 50, 50.0),
            (7, 7, 0.0),
            (9, 3, 0.0),
        ] {
            assert_eq!(schedule.calls(at(from), at(to)), calls, "{from} to {to}");
        }
        assert_eq!(schedule.at(at(19)).as_per_second(), 20.0);
        assert_eq!(schedule.at(at(20)).as_per_second(), 0.0);
    }
}
