//! Decides when the next call to a rate-limited API may be sent, and learns from the responses.
//!
//! It combines pacing (GCRA), an adaptive rate, backoff, concurrency limits, a retry budget and the server's hints. It
//! is `no_std`, does not allocate, uses only integers and has no clock: time is an argument, so decisions are identical
//! in a browser, an edge worker, a server and a microcontroller.
//!
//! Start at [`Controller`]: [`poll`](Controller::poll) asks whether a call may be sent,
//! [`settle`](Controller::settle) reports its outcome, and [`retry`](Controller::retry) returns the
//! next attempt.
//!
//! ```
//! use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy};
//!
//! let mut gate: Controller = Controller::new(Policy::named("aimd").unwrap(), 7, Instant::ZERO);
//! let Decision::Admit(permit) = gate.poll(Instant::ZERO, &Call::new()) else { panic!() };
//! // ... make the call ...
//! gate.settle(Instant::from_nanos(80_000_000), permit, Outcome::Ok);
//! // At ten calls per second, the next call waits for the rest of 100 ms.
//! let now = Instant::from_nanos(80_000_000);
//! let Decision::Wait(until) = gate.poll(now, &Call::new()) else { panic!() };
//! assert_eq!((until - now).as_millis(), 20);
//! ```
//!
//! # Terms
//!
//! | term | meaning |
//! |---|---|
//! | [law] | how the rate responds to outcomes |
//! | [gate] | a mechanism that can make a call wait: pacing, cooldown, concurrency limit, retry budget |
//! | cooldown | a time before which nothing is sent |
//! | concurrency limit | how many calls may be in flight |
//! | retry budget | retries that successes have paid for |
//! | [`Verdict`] | `Admit`, `Wait(t)`, `Full` or `Reject(reason)` |
//! | [`Permit`] | the right to one call; settled exactly once |
//! | [`queue`] | many calls that wait for one controller: order, priority, deadline, cancellation |
//! | [`Outcome`] | the result of a call |
//! | [`Hint`] | what the server said about its limit |
//!
//! # What it does not do
//!
//! It does not sleep, spawn, call or log; frontends do. Controllers do not share state: each learns from
//! the server. With the feature `shared`, many processes lease calls from one controller.
#![no_std]
#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation,
        reason = "a test that overflows fails, which is right"
    )
)]

#[cfg(test)]
#[macro_use]
extern crate std;

/// The example of the README is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod backoff;
pub mod call_time;
pub mod firmware;
pub mod gate;
pub mod law;
pub mod queue;
pub mod rng;
#[cfg(feature = "shared")]
pub mod shared;
pub mod signal;
pub mod snapshot;
pub mod time;

mod checked;
mod config_error;
mod controller;
mod costs;
mod digest;
mod fixed;
mod hint;
mod linked;
mod mean_cost;
mod outcome;
mod permit;
mod policy;
mod rate;
mod stats;
mod verdict;

pub use config_error::ConfigError;
pub use controller::{Controller, Single};
pub use costs::Costs;
pub use fixed::Ratio;
pub use hint::Hint;
pub use outcome::{AsReply, Outcome, Reply};
pub use permit::Permit;
pub use policy::Policy;
pub use rate::Quota;
pub use rng::Rng;
pub use stats::Stats;
pub use time::{Instant, Span};
pub use verdict::{Call, Decision, Reason, Retry, Verdict};
