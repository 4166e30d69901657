//! How long one answer can keep a client of `adaptive` back, and what silence is taken for.
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that overflows or panics fails, which is right"
)]

use tidegate::law::Adaptive;
use tidegate::{Ask, Controller, Decision, Hint, Instant, Outcome, Policy, Reply, Span, Verdict};

type Gate = Controller<Adaptive>;

const POLICY: Policy<Adaptive> = Policy::new(Adaptive::DEFAULT);
const MILLIS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLIS;
const HOUR: u64 = 3_600 * SECOND;
const DAY: u64 = 24 * HOUR;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn secs(count: u64) -> Span {
    Span::from_secs(count)
}

/// A call that leaves now and comes back after 50 ms; returns when that is.
fn call(gate: &mut Gate, now: u64, reply: impl Into<Reply>) -> u64 {
    let Decision::Go(permit) = gate.poll(at(now), &Ask::new()) else { panic!("has to wait") };
    gate.settle(at(now + 50 * MILLIS), permit, reply);
    now + 50 * MILLIS
}

fn wait(gate: &Gate, now: u64) -> u64 {
    match gate.check(at(now), &Ask::new()) {
        Verdict::Go => 0,
        Verdict::Wait(until) => until.as_nanos() - now,
        other => panic!("{other:?}"),
    }
}

fn interval(gate: &Gate, now: u64) -> u64 {
    gate.intervals(at(now)).next().unwrap().unwrap().as_nanos()
}

/// A client alone at a server of ten calls a second, told nothing, for ten minutes.
fn paced() -> (Gate, u64) {
    let (mut gate, mut now) = (Gate::new(POLICY, 7, at(0)), 0);
    let (mut level, mut latest) = (10 * SECOND, 0);
    while now < 600 * SECOND {
        now += wait(&gate, now);
        level = (level + (now - latest) * 10).min(10 * SECOND);
        latest = now;
        let served = level >= SECOND;
        level -= if served { SECOND } else { 0 };
        now = call(&mut gate, now, if served { Outcome::Ok } else { Outcome::Throttled });
    }
    assert!((80 * MILLIS..130 * MILLIS).contains(&interval(&gate, now)));
    (gate, now)
}

fn later(wish: u64) -> Reply {
    Outcome::Throttled.with(Hint::retry_after(secs(wish)))
}

#[test]
fn a_first_call_that_is_refused_after_days_waits_for_about_what_it_was_asked() {
    for seed in 0..50 {
        let mut gate = Gate::new(POLICY, seed, at(0));
        let now = call(&mut gate, 3 * DAY, later(2));
        assert!((2 * SECOND..5 * SECOND).contains(&wait(&gate, now)), "{}", wait(&gate, now));
        assert!(interval(&gate, now) < 5 * SECOND);
    }
}

#[test]
fn a_night_without_calls_does_not_count_as_a_slow_server() {
    let (mut gate, now) = paced();
    let now = call(&mut gate, now + 8 * HOUR, later(30));
    assert!((30 * SECOND..36 * SECOND).contains(&wait(&gate, now)));
    assert!(interval(&gate, now) < SECOND, "{}", interval(&gate, now));
}

#[test]
fn a_refusal_right_after_a_restart_does_not_undo_what_the_snapshot_kept() {
    let (gate, now) = paced();
    let mut record = [0; Gate::SNAPSHOT_BYTES];
    gate.snapshot(at(now), &mut record).unwrap();
    let mut gate = Gate::restore(POLICY, 8, &record, at(now + 8 * HOUR), secs(8 * 3_600)).unwrap();
    let now = call(&mut gate, now + 8 * HOUR, later(30));
    assert!((30 * SECOND..36 * SECOND).contains(&wait(&gate, now)));
    assert!(interval(&gate, now) < SECOND, "{}", interval(&gate, now));
}
