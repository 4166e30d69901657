//! One small controller that decides when the next call to somebody else's API may leave, and
//! learns from what comes back.
//!
//! It joins what is usually apart: pacing (GCRA), an adaptive rate, backoff for each call, calls
//! in flight, a retry budget, and what the server says about its limit. It is `no_std`, allocates
//! nothing, counts in integers only, and has no clock: time is an argument, so the same decisions
//! fall, bit for bit, in a browser, in an edge worker, on a server and on a microcontroller.
//!
//! Start at [`Controller`]: [`poll`](Controller::poll) asks whether a call may leave,
//! [`settle`](Controller::settle) reports what became of it, [`retry`](Controller::retry) plans
//! its next attempt.
//!
//! ```
//! use tidegate::{Ask, Controller, Decision, Instant, Outcome, Policy};
//!
//! let mut gate: Controller = Controller::new(Policy::named("aimd").unwrap(), 7, Instant::ZERO);
//! let Decision::Go(permit) = gate.poll(Instant::ZERO, &Ask::new()) else { panic!() };
//! // ... make the call ...
//! gate.settle(Instant::from_nanos(80_000_000), permit, Outcome::Ok);
//! // At ten calls a second the next one waits for the rest of its 100 ms.
//! let now = Instant::from_nanos(80_000_000);
//! let Decision::Wait(until) = gate.poll(now, &Ask::new()) else { panic!() };
//! assert_eq!(until.saturating_since(now).as_millis(), 20);
//! ```
//!
//! # Words
//!
//! | word | meaning |
//! |---|---|
//! | [law] | how the pace moves when outcomes arrive |
//! | [gate] | one reason a call may have to wait: pace, hold, window, budget |
//! | hold | a time before which nothing leaves |
//! | window | how many calls may be in flight |
//! | budget | how many retries the successes have paid for |
//! | [`Verdict`] | `Go < Wait(t) < Full < Refuse(reason)`; gates combine by `max` |
//! | [`Permit`](gate::Permit) | the right to one call; settled exactly once |
//! | [`queue`] | many calls in front of one controller: order, priority, deadline, cancellation |
//! | [`Outcome`] | what the call came back with |
//! | [`Hint`] | what the server said about its limit |
//!
//! # What it does not do
//!
//! It does not sleep, spawn, call or log; frontends do. A controller shares no state with another:
//! each learns by itself, from the same server. (With the feature `shared` many processes lease their
//! calls from one controller.)
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
#[doc = include_str!("../../README.md")]
struct Readme;

pub mod backoff;
pub mod gate;
pub mod law;
pub mod queue;
pub mod rng;
#[cfg(feature = "shared")]
pub mod shared;
pub mod signal;
pub mod snapshot;
pub mod time;

mod controller;
mod digest;
mod fixed;
mod hint;
#[cfg(feature = "keyed")]
mod keyed;
mod outcome;
mod policy;
mod rate;
mod stats;
mod verdict;

pub use controller::Controller;
pub use fixed::Ratio;
pub use hint::Hint;
#[cfg(feature = "keyed")]
pub use keyed::Keyed;
pub use outcome::{AsReply, Outcome, Reply};
pub use policy::Policy;
pub use rate::{Quota, QuotaError};
pub use rng::Rng;
pub use stats::Stats;
pub use time::{Instant, Span};
pub use verdict::{Ask, Decision, Reason, Verdict};
