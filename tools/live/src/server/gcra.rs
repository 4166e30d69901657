//! A bucket of `burst` calls that refills evenly with `limit` calls per period, as in Heroku's API.

use super::limiter::{Count, Standing};
use super::timeline::{Nanos, Timeline};

/// The generic cell rate algorithm (ITU-T I.371), stored as a debt so that nothing is rounded: a
/// call adds `period` times its cost to the debt, and every nanosecond subtracts `limit`.
#[derive(Debug)]
pub struct Gcra {
    timeline: Timeline,
    period: Nanos,
    burst: u64,
    debt: u128,
    at: Nanos,
}

impl Gcra {
    /// Starts with a full bucket.
    pub fn new(timeline: Timeline, period: Nanos, burst: u64) -> Self {
        Gcra { timeline, period, burst, debt: 0, at: 0 }
    }

    /// Whether a call of this cost fits at `now`.
    pub fn fits(&mut self, now: Nanos, cost: u64) -> bool {
        self.debt = self.debt.saturating_sub(self.timeline.integral(self.at..now));
        self.at = self.at.max(now);
        self.debt.saturating_add(self.price(cost)) <= self.room()
    }

    /// Charges a call that fits.
    pub fn take(&mut self, cost: u64) {
        self.debt += self.price(cost);
    }

    /// The state of this limit for a next call of this cost.
    pub fn standing(&self, now: Nanos, cost: u64) -> Standing {
        let room = self.room();
        let limit = self.timeline.limit_at(now);
        let until = |debt: u128| nanos(debt.div_ceil(u128::from(limit)));
        Standing {
            count: Count::Bucket,
            quota: limit,
            period: self.period,
            limit: self.burst,
            remaining: u64::try_from(room.saturating_sub(self.debt) / self.price(1))
                .unwrap_or(u64::MAX),
            reset: until(self.debt),
            retry: until(self.debt.saturating_add(self.price(cost)).saturating_sub(room)),
        }
    }

    /// The most calls that can have been served by `end`.
    pub fn capacity(&self, end: Nanos) -> f64 {
        self.timeline.supply(self.room(), end) as f64 / self.period as f64
    }

    fn room(&self) -> u128 {
        self.price(self.burst)
    }

    fn price(&self, cost: u64) -> u128 {
        u128::from(cost) * u128::from(self.period)
    }
}

fn nanos(value: u128) -> Nanos {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steady(limit: u64) -> Timeline {
        Timeline { limit, step: None, outage: None }
    }

    fn admit(gcra: &mut Gcra, now: Nanos) -> bool {
        let fits = gcra.fits(now, 1);
        if fits {
            gcra.take(1);
        }
        fits
    }

    #[test]
    fn a_call_is_served_at_the_exact_nanosecond() {
        // Three calls a second: a third of a second is not a whole number of nanoseconds.
        let mut gcra = Gcra::new(steady(3), 1_000_000_000, 2);
        let table = [
            (0, true, 1, 0),
            (0, true, 0, 333_333_334),
            (0, false, 0, 333_333_334),
            (333_333_333, false, 0, 1),
            (333_333_334, true, 0, 333_333_333),
            (666_666_666, false, 0, 1),
            (666_666_667, true, 0, 333_333_333),
            (999_999_999, false, 0, 1),
            (1_000_000_000, true, 0, 333_333_334),
            (900_000_000, false, 0, 333_333_334),
            (10_000_000_000, true, 1, 0),
        ];
        for (now, served, remaining, retry) in table {
            assert_eq!(admit(&mut gcra, now), served, "at {now}");
            let standing = gcra.standing(now, 1);
            assert_eq!((standing.remaining, standing.retry), (remaining, retry), "at {now}");
        }
    }

    #[test]
    fn over_a_long_time_exactly_the_limit_is_served() {
        let mut gcra = Gcra::new(steady(7), 1_000_000_000, 5);
        let served = (0..100_000).filter(|i| admit(&mut gcra, i * 1_000_000)).count();
        // 5 in the bucket, plus 7 a second for 99.999 s, of which the last is incomplete.
        assert_eq!(served, 5 + 699);
        assert_eq!(gcra.capacity(100_000_000_000), 705.0);
    }

    #[test]
    fn an_expensive_call_waits_until_its_whole_cost_is_available() {
        let mut gcra = Gcra::new(steady(100), 1_000, 100);
        assert!(gcra.fits(0, 70));
        gcra.take(70);
        let standing = gcra.standing(0, 50);
        assert_eq!((standing.remaining, standing.reset, standing.retry), (30, 700, 200));
        assert!(!gcra.fits(199, 50));
        assert!(gcra.fits(200, 50));
        assert!(!gcra.fits(100_000, 101), "the cost exceeds the bucket");
    }

    #[test]
    fn a_step_changes_the_refill_immediately() {
        let timeline = Timeline { limit: 10, step: Some((1_000, 1)), outage: None };
        let mut gcra = Gcra::new(timeline, 1_000, 1);
        let table = [
            (0, true),
            (99, false),
            (100, true),
            (950, true),
            // Half of the call refilled before the step. The other half takes ten times as long.
            (1_499, false),
            (1_500, true),
            (2_499, false),
            (2_500, true),
        ];
        for (now, served) in table {
            assert_eq!(admit(&mut gcra, now), served, "at {now}");
        }
        assert_eq!(gcra.capacity(2_500), 1.0 + 10.0 + 1.5);
    }

    #[test]
    fn an_outage_adds_at_most_one_bucket_to_the_capacity() {
        let timeline = Timeline { limit: 10, step: None, outage: Some(1_000..3_000) };
        assert_eq!(Gcra::new(timeline, 1_000, 4).capacity(5_000), 4.0 + 30.0 + 4.0);
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let mut gcra = Gcra::new(steady(u64::MAX), u64::MAX, u64::MAX);
        assert!(admit(&mut gcra, 0));
        assert!(admit(&mut gcra, u64::MAX));
        assert!(gcra.capacity(u64::MAX) >= 2.0);
        let mut slow = Gcra::new(steady(1), u64::MAX, 1);
        assert!(admit(&mut slow, 0));
        assert!(!admit(&mut slow, u64::MAX - 1));
        assert!(admit(&mut slow, u64::MAX));
    }
}
