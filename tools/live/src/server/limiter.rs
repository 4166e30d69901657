//! The API's limits.

use super::concurrency::Concurrency;
use super::gcra::Gcra;
use super::timeline::{Nanos, Timeline, nanos};
use super::tokens::Tokens;
use super::window::Window;
use crate::options::{Api, PolicyName};

/// Whether a call is served, and the state to report to its caller.
#[derive(Debug)]
pub struct Answer {
    pub served: bool,
    /// The state of each limit after the call, that of the policy first.
    pub standings: Vec<Standing>,
}

/// The state of one limit.
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
    /// Time until another call fits. `None` if one fits now.
    pub retry: Nanos,
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Count {
    /// A bucket that refills evenly.
    Bucket,
    /// Calls in a fixed period.
    Period,
    /// Calls in flight.
    Places,
    /// A bucket of tokens. Each call states its cost.
    Tokens,
}

/// Decides exactly and independently of tidegate, so that the library is not measured with itself.
#[derive(Debug)]
enum Limiter {
    Gcra(Gcra),
    Window(Window),
    Concurrency(Concurrency),
    Tokens(Tokens),
}

/// The policy and further limits. A call is served if all of them have room.
#[derive(Debug)]
pub struct Limits(Vec<Limiter>);

impl Limits {
    pub fn new(api: &Api) -> Self {
        let timeline = api.timeline();
        let also = api.also().map(|(limit, period)| {
            let timeline = Timeline { limit, step: None, outage: timeline.outage.clone() };
            Limiter::Window(Window::new(timeline, period))
        });
        let policy = match api.policy {
            PolicyName::Gcra => Limiter::Gcra(Gcra::new(timeline, api.period(), api.burst)),
            PolicyName::Window => Limiter::Window(Window::new(timeline, api.period())),
            PolicyName::Concurrency => {
                Limiter::Concurrency(Concurrency::new(timeline, nanos(api.service())))
            }
        };
        let tokens = api.tokens().map(|(limit, period)| {
            let timeline = Timeline { limit, step: None, outage: api.timeline().outage };
            Limiter::Tokens(Tokens::new(timeline, period))
        });
        Limits([policy].into_iter().chain(also).chain(tokens).collect())
    }

    /// All limits are checked before any is charged.
    pub fn admit(&mut self, now: Nanos, tokens: u64) -> Answer {
        let room: Vec<bool> = self.0.iter_mut().map(|limit| limit.fits(now, tokens)).collect();
        let served = !room.contains(&false);
        if served {
            self.0.iter_mut().for_each(|limit| limit.take(tokens));
        }
        let standings = self.0.iter().map(|limit| limit.standing(now, tokens)).collect();
        Answer { served, standings }
    }

    /// Ends a served call that took `took`. Only a concurrency limit uses this.
    pub fn leave(&mut self, took: Nanos) {
        for limit in &mut self.0 {
            if let Limiter::Concurrency(places) = limit {
                places.leave(took);
            }
        }
    }

    /// The most calls that could have been served by `end`: the lowest capacity of all limits.
    pub fn capacity(&self, end: Nanos) -> f64 {
        self.0.iter().map(|limit| limit.capacity(end)).fold(f64::INFINITY, f64::min)
    }
}

impl Limiter {
    fn fits(&mut self, now: Nanos, tokens: u64) -> bool {
        match self {
            Limiter::Gcra(gcra) => gcra.fits(now, 1),
            Limiter::Window(window) => window.fits(now),
            Limiter::Concurrency(places) => places.fits(now),
            Limiter::Tokens(bucket) => bucket.fits(now, tokens),
        }
    }

    fn take(&mut self, tokens: u64) {
        match self {
            Limiter::Gcra(gcra) => gcra.take(1),
            Limiter::Window(window) => window.take(),
            Limiter::Concurrency(places) => places.take(),
            Limiter::Tokens(bucket) => bucket.take(tokens),
        }
    }

    fn standing(&self, now: Nanos, tokens: u64) -> Standing {
        match self {
            Limiter::Gcra(gcra) => gcra.standing(now, 1),
            Limiter::Window(window) => window.standing(now),
            Limiter::Concurrency(places) => places.standing(now),
            Limiter::Tokens(bucket) => bucket.standing(now, tokens),
        }
    }

    fn capacity(&self, end: Nanos) -> f64 {
        match self {
            Limiter::Gcra(gcra) => gcra.capacity(end),
            Limiter::Window(window) => window.capacity(end),
            Limiter::Concurrency(places) => places.capacity(end),
            Limiter::Tokens(bucket) => bucket.capacity(end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_one_limit_throttles_is_not_charged_to_the_other() {
        let timeline = |limit| Timeline { limit, step: None, outage: None };
        let bucket = Gcra::new(timeline(10), 1_000, 2);
        let window = Window::new(timeline(3), 1_000);
        let mut limits = Limits(vec![Limiter::Gcra(bucket), Limiter::Window(window)]);
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
}
