//! `cubic` against what was recorded with botocore's own classes (1.44.5) under a false clock: one
//! caller, one call at a time, its sent calls and its rate at several times.
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that overflows or panics fails, which is right"
)]

use tidegate::law::Cubic;
use tidegate::{Ask, Controller, Decision, Instant, Outcome, Policy, Span};

struct Caller {
    gate: Controller<Cubic>,
    now: Instant,
}

impl Caller {
    fn new() -> Self {
        let now = Instant::from_nanos(1_000_000_000_000);
        Self { gate: Controller::new(Policy::new(Cubic), 1, now), now }
    }

    /// Calls back to back, each of which takes so long.
    fn call(&mut self, times: u32, takes: u64, outcome: Outcome) {
        for _ in 0..times {
            let permit = loop {
                match self.gate.poll(self.now, &Ask::new()) {
                    Decision::Go(permit) => break permit,
                    Decision::Wait(until) => self.now = until,
                    other => panic!("{other:?}"),
                }
            };
            self.now = self.now.saturating_add(Span::from_millis(takes));
            self.gate.settle(self.now, permit, outcome);
        }
    }

    /// Tenths of calls a second.
    fn rate(&self) -> u64 {
        (self.gate.states().next().unwrap().rate_q20().unwrap() * 10) >> 20
    }
}

#[test]
fn one_refusal_at_a_hundred_a_second_is_grown_over_as_recorded() {
    let mut caller = Caller::new();
    caller.call(1_000, 10, Outcome::Ok);
    caller.call(1, 0, Outcome::Throttled);
    assert_eq!(caller.rate(), 700);
    let start = caller.now;
    let mut sent = 0;
    for (millis, recorded, rate) in [
        (500, 50, 795),
        (1_000, 100, 867),
        (2_000, 200, 956),
        (5_000, 500, 1_002),
        (10_000, 1_000, 1_774),
        (20_000, 2_000, 2_000),
        (60_000, 6_000, 2_000),
    ] {
        caller.call(recorded - sent, 10, Outcome::Ok);
        sent = recorded;
        let took = caller.now.saturating_since(start).as_millis();
        assert!(took.abs_diff(millis) <= 10, "{recorded} calls by {took} ms, not {millis}");
        assert!(caller.rate().abs_diff(rate) <= 2 + rate / 200, "{} at {millis} ms", caller.rate());
    }
}

#[test]
fn throttled_before_it_has_measured_it_starts_over_as_recorded() {
    let mut caller = Caller::new();
    caller.call(10, 10, Outcome::Ok);
    caller.call(1, 10, Outcome::Throttled);
    assert_eq!(caller.rate(), 5);
    let start = caller.now;
    let mut sent = 0;
    for (millis, recorded, rate) in [(5_000, 49, 496), (10_000, 985, 3_998)] {
        caller.call(recorded - sent, 1, Outcome::Ok);
        sent = recorded;
        let took = caller.now.saturating_since(start).as_millis();
        assert!(took.abs_diff(millis) <= 60, "{recorded} calls by {took} ms, not {millis}");
        assert!(caller.rate().abs_diff(rate) <= 2 + rate / 20, "{} at {millis} ms", caller.rate());
    }
}
