//! A token bucket, which is equivalent to GCRA: each call takes a token, and tokens are added at a
//! rate.

use serde::{Deserialize, Serialize};
use tidegate::{Instant, Span};
use tidegate_limits::Limit as _;

use super::schedule::{self, Schedule, Step, as_calls};
use super::{Limit, Ruling, Standing};
use crate::chance::Chance;
use crate::scenario::units::{GRAINS_PER_CALL, Rate};

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct BucketSpec {
    pub burst: u32,
    /// The number of tokens at the start; full if absent.
    pub start: Option<u32>,
    pub rate: Rate,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

impl BucketSpec {
    /// Whether it never refills.
    pub(crate) fn is_dry(&self) -> bool {
        self.rate.is_zero() && self.steps.iter().all(|step| step.rate.is_zero())
    }

    pub(super) fn fault(&self) -> Option<&'static str> {
        if self.burst == 0 {
            return Some("burst must be 1 or more: an empty bucket never serves a call");
        }
        if self.start.is_some_and(|start| start > self.burst) {
            return Some("a bucket cannot start with more than its burst");
        }
        schedule::fault(self.steps.iter().map(|step| step.at))
    }
}

/// The bucket. It is counted in grains, so nothing is rounded.
#[derive(Clone, Debug)]
pub struct Bucket {
    limit: tidegate_limits::Bucket,
    start: u32,
    counted: Instant,
    rate: Schedule,
}

impl Bucket {
    pub fn new(spec: &BucketSpec) -> Self {
        let start = spec.start.unwrap_or(spec.burst);
        Self::of(spec.burst, start, Schedule::new(spec.rate, &spec.steps))
    }

    /// A bucket of `burst` tokens that starts with `start` and fills at `rate`.
    pub fn of(burst: u32, start: u32, rate: Schedule) -> Self {
        let (grains, zero) = (rate.at(Instant::ZERO).grains(), Instant::ZERO);
        let limit = tidegate_limits::Bucket::of_parts(GRAINS_PER_CALL, grains, burst.into());
        Self { limit: limit.holding(start.into(), 0), start, counted: zero, rate }
    }

    /// The bucket at `now`. Its answers use the current rate, because a server does not announce changes.
    fn limit(&self, now: Instant) -> tidegate_limits::Bucket {
        let mut limit = self.limit;
        for &(at, rate) in self.rate.between(self.counted, now) {
            limit.set_rate(at.as_nanos(), rate.grains());
        }
        limit.fits(now.as_nanos(), 0);
        limit
    }
}

impl Limit for Bucket {
    fn arrive(&mut self, now: Instant, _: &mut Chance) -> Ruling {
        (self.limit, self.counted) = (self.limit(now), now);
        Ruling::served(self.limit.take(now.as_nanos(), 1))
    }

    fn set_rate(&mut self, now: Instant, rate: Rate) {
        (self.limit, self.counted) = (self.limit(now), now);
        self.limit.set_rate(now.as_nanos(), rate.grains());
        self.rate.set(now, rate);
    }

    fn standing(&self, now: Instant) -> Standing {
        let (limit, empty) = (self.limit(now), self.limit(now).holding(0, 0));
        Standing {
            remaining: Some(limit.remaining()),
            next: finite(limit.retry_after(1)),
            reset: finite(limit.reset()),
            // The burst, and the time that it takes to fill.
            quota: finite(empty.reset()).map(|period| (empty.most(), period)),
        }
    }

    fn level(&self, now: Instant) -> f64 {
        as_calls(self.limit(now).parts(now.as_nanos()))
    }

    fn capacity(&self, from: Instant, to: Instant) -> f64 {
        self.rate.calls(from, to)
    }

    fn start(&self) -> f64 {
        self.start.into()
    }

    fn burst(&self) -> f64 {
        self.limit.most() as f64
    }

    fn rate(&self) -> Vec<(Instant, f64)> {
        self.rate.steps()
    }
}

fn finite(nanos: u64) -> Option<Span> {
    (nanos < u64::MAX).then_some(Span::from_nanos(nanos))
}
