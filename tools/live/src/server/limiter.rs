//! The limits that an API was started with, whichever they are.

use super::concurrency::Concurrency;
use super::gcra::Gcra;
use super::timeline::{Nanos, Timeline, nanos};
use super::tokens::Tokens;
use super::window::Window;
use crate::options::{Api, PolicyName};

/// Served or throttled, and what the caller might be told about it.
#[derive(Debug)]
pub struct Answer {
    pub served: bool,
    /// The state of each limit after the call. The policy's comes first.
    pub standings: Vec<Standing>,
}

/// Where the callers of one limit stand.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    pub count: Count,
    /// Calls in a period, or at once.
    pub quota: u64,
    pub period: Nanos,
    /// The most that can be left: what fits into the bucket, or the quota.
    pub limit: u64,
    pub remaining: u64,
    /// Until all of the limit is there again.
    pub reset: Nanos,
    /// Until another call fits; nothing if one does now.
    pub retry: Nanos,
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Count {
    /// What is in a bucket that refills evenly.
    Bucket,
    /// Calls in a period, counted anew when it ends.
    Period,
    /// Calls at once.
    Places,
    /// What is in a bucket, of which a call takes as many as it says.
    Tokens,
}

/// Decides at a call's arrival, exactly, and knows nothing of the library that its callers use:
/// the truth is not measured with the thing under test.
#[derive(Debug)]
enum Limiter {
    Gcra(Gcra),
    Window(Window),
    Concurrency(Concurrency),
    Tokens(Tokens),
}

/// The policy, and the other limits if there are any. A call is served where all of them have room.
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

    /// All limits are asked before any is charged.
    pub fn admit(&mut self, now: Nanos, tokens: u64) -> Answer {
        let room: Vec<bool> = self.0.iter_mut().map(|limit| limit.fits(now, tokens)).collect();
        let served = !room.contains(&false);
        if served {
            self.0.iter_mut().for_each(|limit| limit.take(tokens));
        }
        let standings = self.0.iter().map(|limit| limit.standing(now, tokens)).collect();
        Answer { served, standings }
    }

    /// A served call has been sent after `took`; only a limit that counts calls in flight cares.
    pub fn leave(&mut self, took: Nanos) {
        for limit in &mut self.0 {
            if let Limiter::Concurrency(places) = limit {
                places.leave(took);
            }
        }
    }

    /// How many calls could have been served from the beginning to `end`, at most: as many as the
    /// tightest limit lets through.
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
    fn a_call_that_one_limit_throttles_costs_nothing_of_the_other() {
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
        assert_eq!(limits.capacity(2_000), 6.0, "the window is the tighter of the two");
    }
}
