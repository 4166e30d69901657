//! Endless polls without progress.

use core::num::NonZeroU16;

use tidegate::{Call, Decision, Hint, Instant, Outcome, Policy, Span, Verdict};

use super::{Gate, every_policy};
use crate::{HOUR, SECOND, at};

const POLLS: u64 = 10_000_000;

/// The part of a controller that determines decisions: everything except counters.
fn decides(gate: &Gate) -> String {
    let told = format!("{gate:?}");
    let (decides, counters) = told.split_once(", stats: ").unwrap();
    assert!(!counters.contains("limits") && counters.starts_with("Counters"));
    decides.to_owned()
}

/// A controller with this policy that delays every call for almost an hour.
fn held(policy: Policy) -> Gate {
    let mut gate = Gate::new(policy, 7, at(0));
    let Decision::Admit(permit) = gate.poll(at(0), &Call::new()) else {
        panic!("the first call waits")
    };
    let hint = Hint::retry_after(Span::from_secs(3_500));
    gate.settle(at(SECOND), permit, Outcome::Throttled.with(hint));
    gate
}

/// Polls `times` at clocks from `from` on, `step` apart, each with the same decision.
fn poll(gate: &mut Gate, times: u64, from: u64, step: u64, expected: &Decision) {
    for turn in 0..times {
        let answer = gate.poll(at(from + turn * step), &Call::new());
        assert!(answer == *expected, "poll {turn}: {answer:?} instead of {expected:?}");
    }
}

#[test]
fn polls_without_progress_change_no_state_and_no_decision() {
    let share = POLLS.div_ceil(Policy::NAMES.len() as u64 * 2);
    for (name, policy) in every_policy() {
        let mut gate = held(policy);
        let Decision::Wait(until) = gate.poll(at(2 * SECOND), &Call::new()) else {
            panic!("{name} delays nothing")
        };
        let (before, waits) = (decides(&gate), gate.stats().waits);
        let mut record = [[0; Gate::SNAPSHOT_BYTES]; 2];
        gate.snapshot(at(HOUR), &mut record[0]).unwrap();
        // With a clock that stands still, and then with one that advances slowly, to a minute
        // before the end.
        let (from, last) = (2 * SECOND, until.as_nanos() - 60 * SECOND);
        poll(&mut gate, share, from, 0, &Decision::Wait(until));
        poll(&mut gate, share, from, (last - from) / share, &Decision::Wait(until));
        assert_eq!(decides(&gate), before, "{name}");
        assert_eq!(u64::from(gate.stats().waits - waits), 2 * share, "{name}");
        gate.snapshot(at(HOUR), &mut record[1]).unwrap();
        assert_eq!(record[0], record[1], "{name}");
        // The wait has not changed by a nanosecond.
        assert_eq!(
            gate.check(at(until.as_nanos() - 1), &Call::new()),
            Verdict::Wait(until),
            "{name}"
        );
        assert_eq!(gate.check(until, &Call::new()), Verdict::Admit, "{name}");
        eprintln!("{name:<13} {} polls", 2 * share);
    }
}

#[test]
fn polls_at_a_full_concurrency_limit_and_of_rejected_calls_change_nothing() {
    let share = POLLS / 20;
    let policy = Policy::named("none").unwrap().concurrency(NonZeroU16::MIN);
    let mut gate = Gate::new(policy, 7, at(0));
    let Decision::Admit(permit) = gate.poll(at(0), &Call::new()) else { panic!() };
    poll(&mut gate, 1, SECOND, 0, &Decision::Full);
    let before = decides(&gate);
    poll(&mut gate, share, SECOND, HOUR / share, &Decision::Full);
    assert_eq!(decides(&gate), before);
    eprintln!("a full concurrency limit {share} polls");
    gate.settle(at(HOUR), permit, Outcome::Ok);
    assert_eq!(gate.check(at(HOUR), &Call::new()), Verdict::Admit);

    let mut gate = held(Policy::named("adaptive").unwrap());
    let hasty = Call::new().deadline(Instant::from_nanos(10 * SECOND));
    let rejected = gate.poll(at(2 * SECOND), &hasty);
    assert!(matches!(rejected, Decision::Reject(_)));
    let before = decides(&gate);
    for _ in 0..share {
        assert!(gate.poll(at(2 * SECOND), &hasty) == rejected);
    }
    assert_eq!(decides(&gate), before);
    eprintln!("a deadline    {share} polls");
}
