//! Peers: how other clients handle a rate limit, for comparison.
//!
//! Each is written from its source's published rules and constants, and is tested against figures
//! that the source itself publishes or that follow from its rules by hand. A peer does what its
//! source does, including defects. If it gives up a call, the call is lost, and the table shows it.
//!
//! | name | source | what it adapts |
//! |---|---|---|
//! | `aws-cubic` | the AWS SDKs, adaptive retry mode | the rate of each process |
//! | `nall-aimd`, `nall-cubic` | .NET's `Nall.RateLimiting.Adaptive` | the rate of each process |
//! | `request-rate-limiter` | the Rust crate | the rate of each process |
//! | `lance-aimd` | `lance-core` | the rate of each process |
//! | `oracle` | none: it knows the server | when each call is sent |
//! | `oracle-obedient` | the same, and it obeys `Retry-After` | when each call is sent |
//!
//! Other clients are laws of the product: those that adapt the rate (TChannel's, the Heroku client's),
//! those that only delay a call's next attempt (`backoff`), and a call without any throttle (`none`).

mod aws_cubic;
mod oracle;
mod paced;
mod smithy;
mod supply;

use std::rc::Rc;

use tidegate::{Instant, Span};

use crate::chance::Chance;
use crate::throttle::{Answer, Call, Outlook, Throttle};
use aws_cubic::AwsCubic;
use oracle::Oracle;
use paced::{Lance, Nall, Paced, PerCall};

/// Creates a peer for a process of a world.
type Make = fn(Chance, &Rc<Outlook>) -> Box<dyn Throttle>;

const PEERS: &[(&str, Make)] = &[
    ("aws-cubic", |chance, _| Box::new(Paced::new(AwsCubic::default(), 1.0, chance))),
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

pub fn names() -> impl Iterator<Item = &'static str> {
    PEERS.iter().map(|(name, _)| *name)
}

/// The peer with this name, for a process of the world that `outlook` describes. `seed` is the seed
/// of the process: equal seeds would synchronise peers.
pub fn named(name: &str, seed: u64, outlook: &Rc<Outlook>) -> Option<Box<dyn Throttle>> {
    let (_, make) = PEERS.iter().find(|(known, _)| *known == name)?;
    Some(make(Chance::of(seed), outlook))
}

/// How many attempts of a failed call had failed before.
fn earlier_failures(call: &Call) -> u32 {
    call.attempt.saturating_sub(1)
}

fn asleep(now: Instant, call: &Call) -> Option<Answer> {
    (call.not_before > now).then_some(Answer::Wait(call.not_before))
}

/// Delays the next attempt by `delay`. Returns true, because there is a next attempt.
fn sleep(now: Instant, call: &mut Call, delay: Span) -> bool {
    call.not_before = now + delay;
    true
}

fn in_seconds(now: Instant) -> f64 {
    now.as_nanos() as f64 / 1e9
}

/// A span of `seconds`, rounded down to nanoseconds. Negative values become zero.
fn seconds(seconds: f64) -> Span {
    Span::from_nanos((seconds * 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::throttle::{Ledger, Member, Response};
    use std::cell::RefCell;
    use std::collections::BTreeSet;
    use tidegate::{Hint, Outcome};

    /// A first attempt of thread 0.
    pub(super) fn call() -> Call {
        Call::new(0, Instant::MAX)
    }

    pub(super) fn back(attempt: u32) -> Call {
        Call { attempt, ..call() }
    }

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
