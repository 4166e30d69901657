//! Peers: how other clients handle a rate limit, for comparison.
//!
//! Each is written from its source's published rules and constants, and is tested against figures
//! that the source itself publishes or that follow from its rules by hand. A peer does what its
//! source does, including defects. If it gives up a call, the call is lost, and the table shows it.
//!
//! | name | source | what it adapts |
//! |---|---|---|
//! | `fulljit` | AWS, full jitter from 1 s | a call's own delay |
//! | `cenkalti` | Go's `cenkalti/backoff`, v4 and v5 | a call's own delay, up to 15 minutes |
//! | `sre-k2` | Google SRE book, adaptive throttling | the share of calls that are sent |
//! | `retry-budget` | Finagle's `RetryBudget` | how many retries are sent |
//! | `netflix-vegas` | Netflix concurrency-limits | calls in flight |
//! | `aws-cubic` | the AWS SDKs, adaptive retry mode | the rate of each process |
//! | `nall-aimd`, `nall-cubic` | .NET's `Nall.RateLimiting.Adaptive` | the rate of each process |
//! | `request-rate-limiter` | the Rust crate | the rate of each process |
//! | `lance-aimd` | `lance-core` | the rate of each process |
//! | `oracle` | none: it knows the server | when each call is sent |
//! | `oracle-obedient` | the same, and it obeys `Retry-After` | when each call is sent |
//!
//! Other clients that adapt the rate (TChannel's, the Heroku client's) are laws of the product.
//! A call without any throttle is the product's `none`.

mod aws_cubic;
mod backoff;
mod cenkalti;
mod jitter;
mod oracle;
mod paced;
mod retry_budget;
mod smithy;
mod sre;
mod supply;
mod threads;
mod vegas;

use std::rc::Rc;

use crate::chance::Chance;
use crate::throttle::{Outlook, Throttle};
use aws_cubic::AwsCubic;
use backoff::Backoff;
use cenkalti::Cenkalti;
use jitter::FullJitter;
use oracle::Oracle;
use paced::{Lance, Nall, Paced, PerCall};
use retry_budget::RetryBudget;
use sre::Sre;
use vegas::Vegas;

/// Creates a peer for a process of a world.
type Make = fn(Chance, &Rc<Outlook>) -> Box<dyn Throttle>;

const PEERS: &[(&str, Make)] = &[
    ("fulljit", |chance, _| Box::new(Backoff::new(FullJitter, chance))),
    ("cenkalti", |chance, _| Box::new(Backoff::new(Cenkalti::default(), chance))),
    ("sre-k2", |chance, _| Box::new(Sre::new(chance))),
    ("retry-budget", |chance, _| Box::new(Backoff::new(RetryBudget::default(), chance))),
    ("netflix-vegas", |chance, _| Box::new(Vegas::new(chance))),
    ("aws-cubic", |chance, _| Box::new(AwsCubic::new(chance))),
    ("nall-aimd", |chance, outlook| nall(false, chance, outlook)),
    ("nall-cubic", |chance, outlook| nall(true, chance, outlook)),
    ("request-rate-limiter", |chance, _| Box::new(Paced::new(PerCall, 10.0, chance))),
    ("lance-aimd", |chance, _| Box::new(Paced::new(Lance::default(), 2_000.0, chance))),
    ("oracle", |_, outlook| Box::new(Oracle::new(outlook, false))),
    ("oracle-obedient", |_, outlook| Box::new(Oracle::new(outlook, true))),
];

fn nall(cubic: bool, chance: Chance, outlook: &Rc<Outlook>) -> Box<dyn Throttle> {
    let (rule, first) = Nall::new(cubic, outlook);
    Box::new(Paced::new(rule, first, chance))
}

/// The names that [`named`] knows.
pub fn names() -> impl Iterator<Item = &'static str> {
    PEERS.iter().map(|(name, _)| *name)
}

/// The peer with this name, for a process of the world that `outlook` describes. `seed` is the seed
/// of the process: equal seeds would synchronise peers.
pub fn named(name: &str, seed: u64, outlook: &Rc<Outlook>) -> Option<Box<dyn Throttle>> {
    let (_, make) = PEERS.iter().find(|(known, _)| *known == name)?;
    Some(make(Chance::of(seed), outlook))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::throttle::{Call, Ledger, Member, Response};
    use std::cell::RefCell;
    use std::collections::BTreeSet;
    use tidegate::{Hint, Instant, Outcome, Span};

    /// A first attempt of thread 0.
    pub(super) fn call() -> Call {
        let not_before = Instant::ZERO;
        Call {
            thread: 0,
            core: tidegate::Call::new(),
            core_of_two: tidegate::Call::new(),
            attempt: 0,
            not_before,
        }
    }

    /// A call after this many attempts.
    pub(super) fn back(attempt: u32) -> Call {
        Call { attempt, ..call() }
    }

    /// The instant this many seconds after the start.
    pub(super) fn at(seconds: f64) -> Instant {
        Instant::from_nanos((seconds * 1e9) as u64)
    }

    fn response(outcome: Outcome, sent: u64) -> Response {
        let sent = Instant::from_nanos(sent);
        Response { outcome, hint: Hint::NONE, sent, waited: Span::ZERO }
    }

    /// A throttled response to a call that was sent at `sent` nanoseconds.
    pub(super) fn throttled(sent: u64) -> Response {
        response(Outcome::Throttled, sent)
    }

    /// A success of a call that was sent at `sent` nanoseconds.
    pub(super) fn accepted(sent: u64) -> Response {
        response(Outcome::Ok, sent)
    }

    /// Ten calls a second, with a burst of ten.
    pub(super) fn outlook() -> Outlook {
        let member = Member { from: Instant::ZERO, to: Instant::MAX, stranger: None };
        Outlook {
            rate: vec![(Instant::ZERO, 10.0)],
            burst: 10.0,
            start: 10.0,
            window: None,
            way: (Span::from_millis(25), Span::from_millis(50)),
            strangers: 0.0,
            members: vec![member],
            ledger: RefCell::new(Ledger::default()),
        }
    }

    #[test]
    fn the_delay_after_a_first_failure_matches_the_name() {
        let table = [
            ("fulljit", 0.0, 1.0),
            ("cenkalti", 0.25, 0.75),
            ("sre-k2", 0.0, 0.0),
            ("retry-budget", 0.0, 1.0),
            ("netflix-vegas", 0.0, 0.1),
            ("aws-cubic", 0.0, 0.5),
            ("nall-aimd", 0.0, 0.1),
            ("lance-aimd", 0.1, 0.3),
            ("oracle", 0.0, 0.0),
        ];
        for (name, least, most) in table {
            let first_sleep = |seed| {
                let mut peer = named(name, seed, &Rc::new(outlook())).unwrap();
                let mut call = back(1);
                assert!(peer.retry(at(0.0), &mut call, &throttled(0)), "{name} gives up");
                call.not_before.as_nanos() as f64 / 1e9
            };
            let sleeps: Vec<f64> = (0..1_000).map(first_sleep).collect();
            let width = most - least;
            let in_first =
                |part: f64| sleeps.iter().filter(|s| **s <= least + width * part).count();
            // Tolerances: one nanosecond of rounding, and one per cent at either end.
            assert!(sleeps.iter().all(|s| (least - 1e-8..=most + 1e-8).contains(s)), "{name}");
            assert!(width == 0.0 || in_first(0.04) > 10 && in_first(0.96) < 990, "{name}");
        }
    }

    #[test]
    fn every_name_is_unique_among_peers_and_laws() {
        let all: Vec<&str> = names().chain(tidegate::Policy::NAMES.iter().copied()).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }
}
