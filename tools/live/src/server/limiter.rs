//! The API's limit, and how many calls it can have served.

use super::timeline::{Nanos, Timeline, nanos};
use super::told::Told;
use crate::options::{Api, PolicyName};
use std::ops::Range;
use std::time::SystemTime;
use tidegate_limits::{Any, Bucket, Concurrency, Limit, Window};

#[derive(Debug)]
pub struct Limiter {
    timeline: Timeline,
    /// The step that is still to come.
    step: Option<(Nanos, u64)>,
    /// Of a concurrency limit, the expected time of a call.
    period: Nanos,
    limit: Any,
    /// How many calls have left a concurrency limit, and their time in all.
    left: (u64, u128),
}

impl Limiter {
    pub fn new(api: &Api) -> Self {
        let (timeline, period) = (api.timeline(), api.period());
        match api.policy {
            PolicyName::Gcra => Self::bucket(timeline, period, api.burst),
            PolicyName::Window => Self::window(timeline, period),
            PolicyName::Concurrency => Self::places(timeline, nanos(api.service())),
        }
    }

    fn of(timeline: Timeline, period: Nanos, limit: Any) -> Self {
        Self { step: timeline.step, timeline, period, limit, left: (0, 0) }
    }

    fn bucket(timeline: Timeline, period: Nanos, burst: u64) -> Self {
        let limit = Any::Bucket(Bucket::new(timeline.limit, period, burst));
        Self::of(timeline, period, limit)
    }

    fn window(timeline: Timeline, period: Nanos) -> Self {
        let limit = Any::Window(Window::new(timeline.limit, period));
        Self::of(timeline, period, limit)
    }

    fn places(timeline: Timeline, service: Nanos) -> Self {
        let limit = Any::Concurrency(Concurrency::new(timeline.limit, service));
        Self::of(timeline, service, limit)
    }

    /// Charges a call if it fits, and returns whether it does.
    pub fn admit(&mut self, now: Nanos) -> bool {
        if let Some((at, limit)) = self.step.take_if(|(at, _)| *at <= now) {
            self.limit.set_limit(at, limit);
        }
        self.limit.take(now, 1)
    }

    /// What to tell the caller of a call that arrived at `now`.
    pub fn told(&self, now: Nanos, clock: SystemTime) -> Told<'_> {
        let quota = self.timeline.limit_at(now);
        Told { limit: &self.limit, quota, period: self.period, cost: 1, id: 0, now: clock }
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
        let (most, part) = match &self.limit {
            Any::Window(_) | Any::Sliding(_) => return self.calls_in_windows(end),
            Any::Bucket(bucket) => (bucket.most(), period),
            // All that could have finished, plus one per place: a store of work that starts full. Calls that were
            // admitted before a step down may finish.
            Any::Concurrency(_) => {
                let most = self.timeline.limit.max(self.timeline.limit_at(end));
                (most, self.left.1.checked_div(self.left.0.into()).unwrap_or(period).max(1))
            }
        };
        self.timeline.supply(u128::from(most) * part, end) as f64 / part as f64
    }

    /// A whole limit in every window that has begun by `end`, except windows that an outage covers completely.
    fn calls_in_windows(&self, end: Nanos) -> f64 {
        let begun = end.div_ceil(self.period);
        let outage = self.timeline.outage_before(end);
        let until = if outage.end == end { begun } else { outage.end / self.period };
        let dark = outage.start.div_ceil(self.period)..until;
        self.most_in(0..begun, end) - self.most_in(dark, end)
    }

    /// The most that these windows can serve. In the window with the step the larger limit counts.
    fn most_in(&self, windows: Range<u64>, end: Nanos) -> f64 {
        let limit = self.timeline.limit;
        let (at, after) = self.timeline.step.filter(|(at, _)| *at < end).unwrap_or((end, 0));
        let count = |span: Range<u64>| {
            let from = span.start.max(windows.start);
            span.end.min(windows.end).saturating_sub(from) as f64
        };
        let (before, whole) = (at / self.period, at.div_ceil(self.period));
        count(0..before) * limit as f64
            + count(before..whole) * limit.max(after) as f64
            + count(whole..u64::MAX) * after as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steady(limit: u64) -> Timeline {
        Timeline { limit, step: None, outage: None }
    }

    #[test]
    fn windows_within_an_outage_serve_nothing_and_one_with_a_step_the_larger_limit() {
        let outage = Limiter::window(Timeline { outage: Some(1_500..3_000), ..steady(5) }, 1_000);
        for (end, capacity) in [(0, 0.0), (1, 5.0), (1_000, 5.0), (1_001, 10.0), (4_000, 15.0)] {
            assert_eq!(outage.capacity(end), capacity, "by {end}");
        }
        let step = Limiter::window(Timeline { step: Some((500, 1)), ..steady(3) }, 1_000);
        assert_eq!(step.capacity(3_000), 3.0 + 1.0 + 1.0);
    }

    #[test]
    fn a_bucket_can_serve_its_content_and_its_rate_over_steps_and_outages() {
        assert_eq!(Limiter::bucket(steady(7), 1_000, 5).capacity(100_000), 705.0);
        let step = Timeline { step: Some((1_000, 1)), ..steady(10) };
        assert_eq!(Limiter::bucket(step, 1_000, 1).capacity(2_500), 1.0 + 10.0 + 1.5);
        let outage = Timeline { outage: Some(1_000..3_000), ..steady(10) };
        assert_eq!(Limiter::bucket(outage, 1_000, 4).capacity(5_000), 4.0 + 30.0 + 4.0);
    }

    #[test]
    fn the_capacity_of_places_is_the_limit_times_the_run_divided_by_the_time_of_a_call() {
        let timeline = Timeline { outage: Some(1_000..2_000), ..steady(4) };
        let mut limiter = Limiter::places(timeline, 100);
        assert_eq!(limiter.capacity(3_000), 88.0, "from the configured time, as no call has ended");
        assert!(limiter.admit(0));
        limiter.leave(200);
        assert_eq!(limiter.capacity(3_000), 48.0, "from the measured time");
    }

    #[test]
    fn no_schedule_serves_more_than_the_capacity_of_any_limit() {
        let (down, up) = (Some((1_500, 1)), Some((1_500, 6)));
        for (step, outage) in [
            (None, Some(10..1_990)),
            (None, Some(0..950)),
            (down, None),
            (up, None),
            (up, Some(1_400..1_600)),
        ] {
            let timeline = Timeline { limit: 4, step, outage };
            for mut limiter in [
                Limiter::bucket(timeline.clone(), 1_000, 3),
                Limiter::window(timeline.clone(), 1_000),
                Limiter::places(timeline.clone(), 1_000),
            ] {
                let (mut inside, mut served) = (Vec::new(), 0);
                for now in 0..2_000 {
                    let left = |start: &mut u64| *start + 1_000 == now;
                    inside.extract_if(.., left).for_each(|_| limiter.leave(1_000));
                    while !timeline.is_out(now) && limiter.admit(now) {
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
