//! The API's limits.

use super::capacity::{Mean, calls_in_windows};
use super::timeline::{Nanos, Timeline, nanos};
use crate::options::{Api, PolicyName, Tokens};
use tidegate_limits::{Any, Bucket, Concurrency, Window};

/// Whether a call is served, and the state to report to its caller.
#[derive(Debug)]
pub struct Answer {
    pub served: bool,
    /// The state of each limit after the call, that of the policy first.
    pub standings: Vec<Standing>,
}

#[derive(Clone, Copy, Debug)]
pub struct Standing {
    pub count: Count,
    /// Calls per period, or in flight.
    pub quota: u64,
    pub period: Nanos,
    /// The most that can remain: the size of the bucket, or the quota.
    pub limit: u64,
    pub remaining: u64,
    /// Time until the whole limit is available.
    pub reset: Nanos,
    /// Time until another call fits. Zero if one fits now.
    pub retry: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Count {
    /// A bucket that refills evenly.
    Bucket,
    Period,
    Places,
    /// A bucket of tokens. Each call states its cost.
    Tokens,
}

#[derive(Debug)]
struct Limiter {
    count: Count,
    timeline: Timeline,
    /// The step that is still to come.
    step: Option<(Nanos, u64)>,
    /// Of a concurrency limit, the time of a call.
    period: Nanos,
    limit: Any,
    /// The cost of served calls in tokens, or their time in places.
    mean: Mean,
}

/// The policy and further limits. A call is served if all of them have room.
#[derive(Debug)]
pub struct Limits(Vec<Limiter>);

impl Limits {
    pub fn new(api: &Api) -> Self {
        let timeline = api.timeline();
        let steady = |limit| Timeline { limit, step: None, outage: api.timeline().outage };
        let policy = match api.policy {
            PolicyName::Gcra => Limiter::bucket(timeline, api.period(), api.burst),
            PolicyName::Window => Limiter::window(timeline, api.period()),
            PolicyName::Concurrency => Limiter::places(timeline, nanos(api.service())),
        };
        let also = api.also().map(|(limit, period)| Limiter::window(steady(limit), period));
        let tokens = api.tokens().map(|(limit, period)| Limiter::tokens(steady(limit), period));
        Limits([policy].into_iter().chain(also).chain(tokens).collect())
    }

    /// All limits are checked before any is charged.
    pub fn admit(&mut self, now: Nanos, tokens: u64) -> Answer {
        let room: Vec<bool> = self.0.iter_mut().map(|limit| limit.fits(now, tokens)).collect();
        let served = !room.contains(&false);
        if served {
            self.0.iter_mut().for_each(|limit| limit.charge(tokens));
        }
        let standings = self.0.iter().map(|limit| limit.standing(now, tokens)).collect();
        Answer { served, standings }
    }

    /// Ends a served call that took `took`. Only a concurrency limit uses this.
    pub fn leave(&mut self, took: Nanos) {
        for limiter in &mut self.0 {
            if let Any::Concurrency(places) = &mut limiter.limit {
                places.leave(1);
                limiter.mean.add(took);
            }
        }
    }

    /// The most calls that could have been served by `end`: the lowest capacity of all limits.
    pub fn capacity(&self, end: Nanos) -> f64 {
        self.0.iter().map(|limit| limit.capacity(end)).fold(f64::INFINITY, f64::min)
    }
}

impl Limiter {
    fn new(count: Count, timeline: Timeline, period: Nanos, limit: Any, expected: u64) -> Self {
        let step = timeline.step;
        Limiter { count, timeline, step, period, limit, mean: Mean::new(expected) }
    }

    fn bucket(timeline: Timeline, period: Nanos, burst: u64) -> Self {
        let limit = Any::Bucket(Bucket::new(timeline.limit, period, burst));
        Self::new(Count::Bucket, timeline, period, limit, 1)
    }

    /// A bucket that holds the tokens of one period.
    fn tokens(timeline: Timeline, period: Nanos) -> Self {
        let limit = Any::Bucket(Bucket::new(timeline.limit, period, timeline.limit));
        Self::new(Count::Tokens, timeline, period, limit, Tokens::MEAN.into())
    }

    fn window(timeline: Timeline, period: Nanos) -> Self {
        let limit = Any::Window(Window::new(timeline.limit, period));
        Self::new(Count::Period, timeline, period, limit, 1)
    }

    fn places(timeline: Timeline, service: Nanos) -> Self {
        let limit = Any::Concurrency(Concurrency::new(timeline.limit, service));
        Self::new(Count::Places, timeline, service, limit, service)
    }

    fn cost(&self, tokens: u64) -> u64 {
        if self.count == Count::Tokens { tokens } else { 1 }
    }

    fn fits(&mut self, now: Nanos, tokens: u64) -> bool {
        if let Some((at, limit)) = self.step.take_if(|(at, _)| *at <= now) {
            self.limit.set_limit(at, limit);
        }
        let cost = self.cost(tokens);
        self.limit.fits(now, cost)
    }

    fn charge(&mut self, tokens: u64) {
        let cost = self.cost(tokens);
        self.limit.charge(cost);
        if self.count == Count::Tokens {
            self.mean.add(tokens);
        }
    }

    fn standing(&self, now: Nanos, tokens: u64) -> Standing {
        Standing {
            count: self.count,
            quota: self.timeline.limit_at(now),
            period: self.period,
            limit: self.limit.most(),
            remaining: self.limit.remaining(),
            reset: self.limit.reset(),
            retry: self.limit.retry_after(self.cost(tokens)),
        }
    }

    /// The most calls that can have been served by `end`, at the mean cost or time of served calls.
    fn capacity(&self, end: Nanos) -> f64 {
        let part = match self.count {
            Count::Period => return calls_in_windows(&self.timeline, self.period, end),
            Count::Bucket | Count::Tokens => u128::from(self.period),
            // All that could have finished, plus one per place: a store of work that starts full.
            Count::Places => self.mean.whole(),
        };
        let most = match self.count {
            // Calls that were admitted before a step down may finish.
            Count::Places => self.timeline.limit.max(self.timeline.limit_at(end)),
            _ => self.limit.most(),
        };
        let units = self.timeline.supply(u128::from(most) * part, end) as f64 / part as f64;
        if self.count == Count::Tokens { units / self.mean.exact() } else { units }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steady(limit: u64) -> Timeline {
        Timeline { limit, step: None, outage: None }
    }

    #[test]
    fn a_call_that_one_limit_throttles_is_not_charged_to_the_other() {
        let (bucket, window) =
            (Limiter::bucket(steady(10), 1_000, 2), Limiter::window(steady(3), 1_000));
        let mut limits = Limits(vec![bucket, window]);
        let table = [
            (0, true, [1, 2]),
            (0, true, [0, 1]),
            (0, false, [0, 1]),
            (100, true, [0, 0]),
            (500, false, [2, 0]),
            (999, false, [2, 0]),
            (1_000, true, [1, 2]),
        ];
        for (now, served, remaining) in table {
            let answer = limits.admit(now, 0);
            let left: Vec<u64> = answer.standings.iter().map(|limit| limit.remaining).collect();
            assert_eq!((answer.served, &left[..]), (served, &remaining[..]), "at {now}");
        }
        assert_eq!(limits.capacity(2_000), 6.0, "the window is the tighter limit");
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
    fn the_capacity_in_tokens_is_in_calls_of_the_mean_cost() {
        let mut limits = Limits(vec![Limiter::tokens(steady(3_000), 1_000)]);
        assert_eq!(limits.capacity(1_000), 6.0, "from the configured cost, as no call was served");
        assert!(limits.admit(0, 500).served);
        assert_eq!(limits.capacity(1_000), 12.0, "from the measured cost");
    }

    #[test]
    fn the_capacity_of_places_is_the_limit_times_the_run_divided_by_the_time_of_a_call() {
        let timeline = Timeline { outage: Some(1_000..2_000), ..steady(4) };
        let mut limits = Limits(vec![Limiter::places(timeline, 100)]);
        let capacity = limits.capacity(3_000);
        assert_eq!(capacity, 88.0, "from the configured time, as no call has finished");
        assert!(limits.admit(0, 1).served);
        limits.leave(200);
        assert_eq!(limits.capacity(3_000), 48.0, "from the measured time");
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
            let each: [fn(Timeline) -> Limiter; 3] = [
                |timeline| Limiter::bucket(timeline, 1_000, 3),
                |timeline| Limiter::window(timeline, 1_000),
                |timeline| Limiter::places(timeline, 1_000),
            ];
            for limiter in each {
                let mut limits = Limits(vec![limiter(timeline.clone())]);
                let (mut inside, mut served) = (Vec::new(), 0);
                for now in 0..2_000 {
                    let left = |since: &mut Nanos| now - *since == 1_000;
                    inside.extract_if(.., left).for_each(|_| limits.leave(1_000));
                    while !timeline.is_out(now) && limits.admit(now, 1).served {
                        inside.push(now);
                        served += 1;
                    }
                }
                let capacity = limits.capacity(2_000);
                assert!(f64::from(served) <= capacity, "{served} of {capacity}: {limits:?}");
            }
        }
    }
}
