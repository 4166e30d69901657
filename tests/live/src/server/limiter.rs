//! The policy that an API was started with, whichever it is.

use super::concurrency::Concurrency;
use super::gcra::Gcra;
use super::timeline::{Nanos, Timeline, nanos};
use super::window::Window;
use crate::options::{Api, PolicyName};

/// Served or refused, and what the caller might be told about it.
#[derive(Debug)]
pub struct Answer {
    pub served: bool,
    pub standing: Standing,
}

/// Where the caller stands after this answer.
#[derive(Debug)]
pub struct Standing {
    pub limit: u64,
    pub remaining: u64,
    /// Until all of the limit is there again.
    pub reset: Nanos,
    /// Until another call could be served; nothing if this one was.
    pub retry: Nanos,
}

/// Decides at a call's arrival, exactly, and knows nothing of the library that its callers use:
/// the truth is not measured with the thing under test.
#[derive(Debug)]
pub enum Limiter {
    Gcra(Gcra),
    Window(Window),
    Concurrency(Concurrency),
}

impl Limiter {
    pub fn new(api: &Api, timeline: Timeline) -> Self {
        match api.policy {
            PolicyName::Gcra => Limiter::Gcra(Gcra::new(timeline, api.period(), api.burst)),
            PolicyName::Window => Limiter::Window(Window::new(timeline, api.period())),
            PolicyName::Concurrency => {
                Limiter::Concurrency(Concurrency::new(timeline, nanos(api.service())))
            }
        }
    }

    pub fn admit(&mut self, now: Nanos) -> Answer {
        match self {
            Limiter::Gcra(gcra) => gcra.admit(now),
            Limiter::Window(window) => window.admit(now),
            Limiter::Concurrency(places) => places.admit(now),
        }
    }

    /// A served call has left after `took`; only a policy that counts calls in flight cares.
    pub fn leave(&mut self, took: Nanos) {
        if let Limiter::Concurrency(places) = self {
            places.leave(took);
        }
    }

    /// How many calls could have been served from the beginning to `end`.
    pub fn capacity(&self, end: Nanos) -> f64 {
        match self {
            Limiter::Gcra(gcra) => gcra.capacity(end),
            Limiter::Window(window) => window.capacity(end),
            Limiter::Concurrency(places) => places.capacity(end),
        }
    }
}
