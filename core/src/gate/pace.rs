//! The pace: GCRA as an exact leaky bucket.

use crate::rate::Quota;
use crate::time::{Instant, Span};
use crate::verdict::{Reason, Verdict};

/// Keeps calls to a [`Quota`]: the generic cell rate algorithm, in the form that ITU-T I.371
/// calls the continuous-state leaky bucket (its equal, virtual scheduling, is what the tests
/// compare it with, in exact rationals).
///
/// A call pours its cost into the bucket and waits while that would overflow it; the bucket drains
/// at the quota's rate. The level is counted in units of 1/period of a call, of which the quota's
/// *count* drain every nanosecond, so no division ever loses a remainder, however often the pace
/// is asked. A level above the brim is a debt: it comes from a cost that was corrected upwards.
///
/// The quota is an argument and not state, because a law moves it. Without one (`None`) calls cost
/// nothing here, and only what [`delay`](Self::delay) poured in drains, one unit a nanosecond.
///
/// ```
/// use tidegate::{Instant, Quota, Span, Verdict, gate::Pace};
///
/// let quota = Quota::per_second(10).unwrap().with_burst(2).unwrap();
/// let start = Instant::ZERO;
/// let mut pace = Pace::new(start);
/// for _ in 0..2 {
///     assert_eq!(pace.check(start, 1, Some(quota)), Verdict::Go);
///     pace.charge(start, 1, Some(quota));
/// }
/// let next = start.saturating_add(Span::from_millis(100));
/// assert_eq!(pace.check(start, 1, Some(quota)), Verdict::Wait(next));
/// assert_eq!(pace.check(next, 1, Some(quota)), Verdict::Go);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pace {
    level: u64,
    /// The latest instant seen. An earlier `now` is taken for this one.
    at: Instant,
}

/// A quota in the units of the bucket.
#[derive(Clone, Copy)]
struct Bucket {
    /// Units that drain each nanosecond.
    drain: u64,
    /// Units that one call pours in.
    call: u64,
    /// The brim, in calls; `None` where calls pour nothing in.
    burst: Option<u32>,
}

impl Bucket {
    const fn of(quota: Option<Quota>) -> Self {
        match quota {
            Some(quota) => Self {
                drain: quota.count.get(),
                call: quota.period.get(),
                burst: Some(quota.burst.get()),
            },
            None => Self { drain: 1, call: 0, burst: None },
        }
    }

    /// The highest level at which a call of `cost` still fits; `None` where it never does.
    /// Quotas are made so that `burst * call` fits 64 bits.
    const fn room(self, cost: u32) -> Option<u64> {
        match self.burst {
            None => Some(0),
            Some(burst) => match burst.checked_sub(cost) {
                Some(rest) => Some(self.call.saturating_mul(rest as u64)),
                None => None,
            },
        }
    }
}

impl Pace {
    /// A pace with its whole burst to spend.
    #[must_use]
    pub const fn new(now: Instant) -> Self {
        Self { level: 0, at: now }
    }

    /// Whether a call of `cost` may leave: `Go`, `Wait`, or [`Reason::TooBig`] where the cost is
    /// more than the burst. A cost of zero always goes.
    #[must_use]
    pub const fn check(&self, now: Instant, cost: u32, quota: Option<Quota>) -> Verdict {
        let bucket = Bucket::of(quota);
        if cost == 0 {
            return Verdict::Go;
        }
        let Some(room) = bucket.room(cost) else { return Verdict::Refuse(Reason::TooBig) };
        let excess = self.level_at(now, bucket).saturating_sub(room);
        if excess == 0 {
            return Verdict::Go;
        }
        let from = if self.at.as_nanos() > now.as_nanos() { self.at } else { now };
        match from.checked_add(Self::drained_after(excess, bucket)) {
            Some(at) => Verdict::Wait(at),
            None => Verdict::Refuse(Reason::Never),
        }
    }

    /// When a call of `cost` may leave, as far as this gate goes: the instant may be past. `None`
    /// where nothing is in the way, or the call can never leave.
    #[must_use]
    pub const fn ready_at(&self, cost: u32, quota: Option<Quota>) -> Option<Instant> {
        match self.check(self.at, cost, quota) {
            Verdict::Wait(at) => Some(at),
            _ => None,
        }
    }

    /// Pours in what a call of `cost` takes. Ask [`check`](Self::check) first.
    pub const fn charge(&mut self, now: Instant, cost: u32, quota: Option<Quota>) {
        self.drain(now, quota);
        let poured = Bucket::of(quota).call.saturating_mul(cost as u64);
        self.level = self.level.saturating_add(poured);
    }

    /// Corrects a call's cost from what was `charged` to what was `used`: a refund where it was
    /// less, a debt where it was more. A refund never exceeds the bucket's level, and a debt
    /// saturates at 2^64 units.
    pub const fn correct(&mut self, now: Instant, charged: u32, used: u32, quota: Option<Quota>) {
        self.drain(now, quota);
        let call = Bucket::of(quota).call;
        let more = used.saturating_sub(charged) as u64;
        let less = charged.saturating_sub(used) as u64;
        self.level = self
            .level
            .saturating_add(call.saturating_mul(more))
            .saturating_sub(call.saturating_mul(less));
    }

    /// Makes sure that no call leaves within `span` from now.
    pub const fn delay(&mut self, now: Instant, span: Span, quota: Option<Quota>) {
        self.drain(now, quota);
        let bucket = Bucket::of(quota);
        let Some(room) = bucket.room(1) else { return };
        let level = room.saturating_add(span.as_nanos().saturating_mul(bucket.drain));
        if level > self.level {
            self.level = level;
        }
    }

    /// Keeps the calls' worth of room in the bucket where the quota changes `from` one `to` another
    /// of the same period; what no longer fits is lost.
    pub const fn resize(&mut self, from: Quota, to: Quota) {
        let (from, to) = (Self::brim(from), Self::brim(to));
        self.level = self.level.saturating_add(to.saturating_sub(from));
        self.level = self.level.saturating_sub(from.saturating_sub(to));
    }

    /// Lets the bucket drain up to `now`. Do this before the quota changes: time that has passed
    /// drained at the old rate.
    pub const fn drain(&mut self, now: Instant, quota: Option<Quota>) {
        self.level = self.level_at(now, Bucket::of(quota));
        if now.as_nanos() > self.at.as_nanos() {
            self.at = now;
        }
    }

    const fn brim(quota: Quota) -> u64 {
        quota.period.get().saturating_mul(quota.burst.get() as u64)
    }

    /// Where the product saturates it is above any level, so the difference is still exact.
    const fn level_at(&self, now: Instant, bucket: Bucket) -> u64 {
        let elapsed = now.saturating_since(self.at).as_nanos();
        self.level.saturating_sub(elapsed.saturating_mul(bucket.drain))
    }

    const fn drained_after(excess: u64, bucket: Bucket) -> Span {
        // A quota's count is never zero; the branch lets the optimiser see that.
        if bucket.drain == 0 {
            return Span::MAX;
        }
        Span::from_nanos(excess.div_ceil(bucket.drain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_that_is_resized_keeps_the_calls_that_may_leave_at_once() {
        let burst = |calls| Quota::per_second(1).unwrap().with_burst(calls).unwrap();
        let now = Instant::ZERO;
        let room = |pace: Pace, calls: u32| {
            (1..=calls).rev().find(|cost| pace.check(now, *cost, Some(burst(calls))) == Verdict::Go)
        };
        // Two of five have left: three may leave, whatever more there were room for.
        let mut pace = Pace::new(now);
        pace.charge(now, 2, Some(burst(5)));
        for (from, to, expected) in [(5, 9, 3), (9, 4, 3), (4, 2, 2), (2, 5, 2)] {
            pace.resize(burst(from), burst(to));
            assert_eq!(room(pace, to), Some(expected), "from {from} to {to}");
        }
    }
}
