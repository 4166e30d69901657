//! The API's limit, and how many calls it can have served.

use super::told::Told;
use super::{Nanos, nanos};
use crate::options::{Api, PolicyName};
use std::ops::Range;
use std::time::SystemTime;
use tidegate_limits::{Any, Bucket, Concurrency, Window};

#[derive(Clone, Debug)]
pub struct Limiter {
    /// Calls per period, or in flight.
    quota: u64,
    /// Of a concurrency limit, the expected time of a call.
    period: Nanos,
    limit: Any,
    outage: Range<Nanos>,
    /// How many calls have left a concurrency limit, and their time in all.
    left: (u64, u128),
}

impl Limiter {
    pub fn new(api: &Api) -> Self {
        let (quota, period) = (api.limit(), api.period());
        let (period, limit) = match api.policy {
            PolicyName::Gcra => (period, Any::Bucket(Bucket::new(quota, period, api.burst))),
            PolicyName::Window => (period, Any::Window(Window::new(quota, period))),
            PolicyName::Concurrency => {
                let takes = nanos(api.service());
                (takes, Any::Concurrency(Concurrency::new(quota, takes)))
            }
        };
        Self { quota, period, limit, outage: api.outage(), left: (0, 0) }
    }

    /// Charges a call if it fits, and returns whether it does. `None` during the outage.
    pub fn admit(&mut self, now: Nanos) -> Option<bool> {
        (!self.outage.contains(&now)).then(|| self.limit.take(now, 1))
    }

    pub const fn told(&self, clock: SystemTime) -> Told<'_> {
        let Self { quota, period, ref limit, .. } = *self;
        Told { limit, quota, period, cost: 1, id: 0, now: clock }
    }

    /// Ends a served call that took `took`. Only a concurrency limit uses this.
    pub fn leave(&mut self, took: Nanos) {
        if let Any::Concurrency(places) = &mut self.limit {
            places.leave(1);
            self.left = (self.left.0 + 1, self.left.1 + u128::from(took));
        }
    }

    /// The most calls that can have been served by `end`, at the mean time of served calls.
    pub fn capacity(&self, end: Nanos) -> f64 {
        let period = u128::from(self.period);
        let part = match &self.limit {
            Any::Window(_) | Any::Sliding(_) => return self.calls_in_windows(end),
            Any::Bucket(_) => period,
            // All that could have finished, plus one per place: a store of work that starts full.
            Any::Concurrency(_) => {
                self.left.1.checked_div(self.left.0.into()).unwrap_or(period).max(1)
            }
        };
        self.supply(u128::from(self.limit.most()) * part, end) as f64 / part as f64
    }

    /// The most that can have been taken by `end` from a store of `room` that starts full and regains the quota in each
    /// nanosecond: its content, what it regained while the API was up, and what it regained during the outage, once that
    /// is over.
    fn supply(&self, room: u128, end: Nanos) -> u128 {
        let regains = |time: Nanos| u128::from(self.quota) * u128::from(time);
        let outage = self.outage_before(end);
        let (before, during) = match outage.start {
            0 => (0, room),
            start => (room + regains(start), regains(outage.end - start).min(room)),
        };
        if outage.end == end { before } else { before + during + regains(end - outage.end) }
    }

    /// A whole limit in every window that has begun by `end`, except windows that the outage covers completely.
    fn calls_in_windows(&self, end: Nanos) -> f64 {
        let begun = end.div_ceil(self.period);
        let outage = self.outage_before(end);
        let until = if outage.end == end { begun } else { outage.end / self.period };
        let dark = until.saturating_sub(outage.start.div_ceil(self.period));
        ((begun - dark) * self.quota) as f64
    }

    /// The part of the outage before `end`. Empty if there is none.
    fn outage_before(&self, end: Nanos) -> Range<Nanos> {
        self.outage.start.min(end)..self.outage.end.min(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(limit: Any, quota: u64, period: Nanos, outage: Range<Nanos>) -> Limiter {
        Limiter { quota, period, limit, outage, left: (0, 0) }
    }

    fn bucket(quota: u64, burst: u64, outage: Range<Nanos>) -> Limiter {
        limiter(Any::Bucket(Bucket::new(quota, 1_000, burst)), quota, 1_000, outage)
    }

    fn window(quota: u64, outage: Range<Nanos>) -> Limiter {
        limiter(Any::Window(Window::new(quota, 1_000)), quota, 1_000, outage)
    }

    fn places(quota: u64, takes: Nanos, outage: Range<Nanos>) -> Limiter {
        limiter(Any::Concurrency(Concurrency::new(quota, takes)), quota, takes, outage)
    }

    const NEVER: Range<Nanos> = Nanos::MAX..Nanos::MAX;

    #[test]
    fn windows_within_an_outage_serve_nothing() {
        let outage = window(5, 1_500..3_000);
        for (end, capacity) in [(0, 0.0), (1, 5.0), (1_000, 5.0), (1_001, 10.0), (4_000, 15.0)] {
            assert_eq!(outage.capacity(end), capacity, "by {end}");
        }
    }

    #[test]
    fn an_outage_saves_at_most_one_bucket_available_after_its_end() {
        assert_eq!(bucket(7, 5, NEVER).capacity(100_000), 705.0);
        for (outage, end, capacity) in [
            (9_000..9_999, 0, 0.0),
            (9_000..9_999, 1_000, 4.0 + 10.0),
            (1_000..3_000, 5_000, 4.0 + 30.0 + 4.0),
            (1_000..1_200, 5_000, 4.0 + 48.0 + 2.0),
            (1_000..3_000, 1_000, 4.0 + 10.0),
            (1_000..3_000, 2_999, 4.0 + 10.0),
            (1_000..3_000, 3_000, 4.0 + 10.0),
            (0..3_000, 5_000, 4.0 + 20.0),
            (0..3_000, 2_000, 0.0),
        ] {
            let limiter = bucket(10, 4, outage.clone());
            assert_eq!(limiter.capacity(end), capacity, "{outage:?} by {end}");
        }
    }

    #[test]
    fn the_capacity_of_places_is_the_limit_times_the_run_divided_by_the_time_of_a_call() {
        let mut limiter = places(4, 100, 1_000..2_000);
        assert_eq!(limiter.capacity(3_000), 88.0, "from the configured time, as no call has ended");
        assert_eq!(limiter.admit(0), Some(true));
        limiter.leave(200);
        assert_eq!(limiter.capacity(3_000), 48.0, "from the measured time");
    }

    #[test]
    fn no_schedule_serves_more_than_the_capacity_of_any_limit() {
        for outage in [NEVER, 10..1_990, 0..950, 1_400..1_600] {
            for mut limiter in [
                bucket(4, 3, outage.clone()),
                window(4, outage.clone()),
                places(4, 1_000, outage.clone()),
            ] {
                let (mut inside, mut served) = (Vec::new(), 0);
                for now in 0..2_000 {
                    let left = |since: &mut Nanos| now - *since == 1_000;
                    inside.extract_if(.., left).for_each(|_| limiter.leave(1_000));
                    while limiter.admit(now) == Some(true) {
                        inside.push(now);
                        served += 1;
                    }
                }
                let capacity = limiter.capacity(2_000);
                assert!(f64::from(served) <= capacity, "{served} of {capacity}: {limiter:?}");
            }
        }
    }
}
