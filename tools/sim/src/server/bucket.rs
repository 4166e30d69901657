//! A token bucket, which is equivalent to GCRA: each call takes a token, and tokens are added at a
//! rate.

use serde::Deserialize;
use tidegate::{Instant, Span};

use super::schedule::{Schedule, Step, as_calls, in_order};
use super::{Limit, Ruling};
use crate::chance::Chance;
use crate::scenario::units::{GRAINS_PER_CALL, Rate};

/// The scenario's settings of a bucket.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BucketSpec {
    /// How many tokens it holds.
    pub burst: u32,
    /// The number of tokens at the start; full if absent.
    pub start: Option<u32>,
    /// The refill rate.
    pub rate: Rate,
    /// Later rates.
    #[serde(default)]
    pub steps: Vec<Step>,
}

impl BucketSpec {
    pub(super) fn fault(&self) -> Option<&'static str> {
        if self.burst == 0 {
            return Some("burst must be 1 or more: an empty bucket never serves a call");
        }
        if self.start.is_some_and(|start| start > self.burst) {
            return Some("a bucket cannot start with more than its burst");
        }
        let rising = in_order(self.steps.iter().map(|step| step.at));
        (!rising).then_some("steps must come in order of time, after the start of the world")
    }
}

/// The bucket. Its credit is in grains, so nothing is rounded.
#[derive(Clone, Debug)]
pub struct Bucket {
    credit: u128,
    burst: u128,
    start: u128,
    counted: Instant,
    rate: Schedule,
}

impl Bucket {
    /// The bucket that `spec` describes.
    pub fn new(spec: &BucketSpec) -> Self {
        let start = spec.start.unwrap_or(spec.burst);
        Self::of(spec.burst, start, Schedule::new(spec.rate, &spec.steps))
    }

    /// A bucket of `burst` tokens that starts with `start` and fills at `rate`.
    pub fn of(burst: u32, start: u32, rate: Schedule) -> Self {
        let grains = |calls| u128::from(calls) * GRAINS_PER_CALL;
        let (burst, start) = (grains(burst), grains(start));
        Self { credit: start, burst, start, counted: Instant::ZERO, rate }
    }

    /// How long it takes to gain this much at the current rate. A server does not announce changes
    /// of its rate.
    fn filled(&self, now: Instant, grains: u128) -> Option<Span> {
        let nanos = grains.div_ceil(self.rate.at(now).grains().max(1));
        u64::try_from(nanos).ok().map(Span::from_nanos)
    }

    /// What it holds at `now`, in grains.
    fn credit(&self, now: Instant) -> u128 {
        (self.credit + self.rate.grains(self.counted, now)).min(self.burst)
    }

    /// Changes the rate from `at` on.
    pub fn change(&mut self, at: Instant, rate: Rate) {
        self.rate.push(at, rate);
    }
}

impl Limit for Bucket {
    fn arrive(&mut self, now: Instant, _: &mut Chance) -> Ruling {
        self.credit = self.credit(now);
        self.counted = now;
        let served = self.credit >= GRAINS_PER_CALL;
        if served {
            self.credit -= GRAINS_PER_CALL;
        }
        Ruling::served(served)
    }

    fn remaining(&self) -> Option<u64> {
        u64::try_from(self.credit / GRAINS_PER_CALL).ok()
    }

    fn level(&self, now: Instant) -> f64 {
        as_calls(self.credit(now))
    }

    fn next(&self, now: Instant) -> Option<Span> {
        self.filled(now, GRAINS_PER_CALL.saturating_sub(self.credit))
    }

    fn reset(&self, now: Instant) -> Option<Span> {
        self.filled(now, self.burst - self.credit)
    }

    /// The burst, and the time that it takes to fill.
    fn quota(&self, now: Instant) -> Option<(u64, Span)> {
        let calls = u64::try_from(self.burst / GRAINS_PER_CALL).ok()?;
        Some((calls, self.filled(now, self.burst)?))
    }

    fn capacity(&self, from: Instant, to: Instant) -> f64 {
        self.rate.calls(from, to)
    }

    fn start(&self) -> f64 {
        as_calls(self.start)
    }

    fn burst(&self) -> f64 {
        as_calls(self.burst)
    }

    fn audit(&self) -> Option<&'static str> {
        (self.credit > self.burst).then_some("the bucket holds more than its burst")
    }

    fn rate(&self) -> Vec<(Instant, f64)> {
        self.rate.steps()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::Stream;

    #[test]
    fn a_bucket_is_exact_to_the_nanosecond() {
        let spec = BucketSpec {
            burst: 2,
            start: Some(1),
            rate: "4/s".parse().unwrap(),
            steps: vec![Step { at: Span::from_secs(10).into(), rate: "1/s".parse().unwrap() }],
        };
        let mut bucket = Bucket::new(&spec);
        let mut chance = Chance::new(1, Stream::Server);
        const MS: u64 = 1_000_000;
        for (nanos, served, remaining, next) in [
            (0, true, 0, None),
            (0, false, 0, Some(250 * MS)),
            (250 * MS - 1, false, 0, Some(1)),
            (250 * MS, true, 0, None),
            // Full after half a second, and not more after ten.
            (9_500 * MS, true, 1, None),
            (9_500 * MS, true, 0, None),
            (9_500 * MS, false, 0, Some(250 * MS)),
            (9_750 * MS, true, 0, None),
            // A quarter of a token before the step, which the hint does not anticipate.
            (9_999 * MS, false, 0, Some(MS)),
            (10_000 * MS, true, 0, None),
            (10_999 * MS, false, 0, Some(MS)),
            (11_000 * MS, true, 0, None),
            (14_000 * MS, true, 1, None),
        ] {
            let now = Instant::from_nanos(nanos);
            assert_eq!(bucket.arrive(now, &mut chance), Ruling::served(served), "at {nanos}");
            assert_eq!(bucket.remaining(), Some(remaining), "at {nanos}");
            if let Some(next) = next {
                assert_eq!(bucket.next(now), Some(Span::from_nanos(next)), "at {nanos}");
            }
            assert_eq!(bucket.audit(), None);
        }
    }
}
