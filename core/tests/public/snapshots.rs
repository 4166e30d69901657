//! Snapshots of one law restored with another. The vectors have records at every distance of
//! clocks and damaged ones, `tests/promises` any events and any record.

use proptest::prelude::*;
use tidegate::law::{AnyLaw, Fixed};
use tidegate::snapshot::SnapshotError;
use tidegate::{Call, Controller, Decision, Hint, Instant, Outcome, Policy, Quota, Reply, Span};

use crate::{MILLIS, at};

type Gate = Controller<AnyLaw>;

const LENGTH: usize = Gate::SNAPSHOT_BYTES;

fn record_of(gate: &Gate, now: Instant) -> [u8; LENGTH] {
    let mut record = [0xAA; LENGTH];
    assert_eq!(gate.snapshot(now, &mut record), Ok(LENGTH));
    record
}

fn restored(policy: Policy, record: &[u8]) -> Result<(), SnapshotError> {
    Gate::restore(policy, 3, record, at(5), Span::ZERO).map(|_| ())
}

#[test]
fn each_law_rejects_the_records_of_the_others() {
    let law = |name| core::mem::discriminant(&Policy::named(name).unwrap().laws()[0]);
    for written in Policy::NAMES {
        let gate = Gate::new(Policy::named(written).unwrap(), 1, at(9));
        let record = record_of(&gate, at(9));
        for read in Policy::NAMES {
            let same = law(written) == law(read);
            let expected = if same { Ok(()) } else { Err(SnapshotError::OtherPolicy) };
            assert_eq!(
                restored(Policy::named(read).unwrap(), &record),
                expected,
                "{written} {read}"
            );
        }
    }
}

/// The reply to a call.
fn reply() -> impl Strategy<Value = Reply> {
    let hint = prop_oneof![
        2 => Just(Hint::NONE),
        1 => (0..400u64).prop_map(|secs| Hint::retry_after(Span::from_secs(secs))),
        1 => (0..50u64, 1..400u64).prop_map(|(left, secs)| {
            Hint::remaining(left).and_limit(50).and_reset(Span::from_secs(secs))
        }),
        1 => (0..50u64).prop_map(|left| Hint::quota(50, Span::from_secs(60)).and_remaining(left)),
    ];
    let outcome = prop_oneof![
        6 => Just(Outcome::Ok),
        2 => Just(Outcome::Throttled),
        1 => Just(Outcome::Busy),
        1 => Just(Outcome::Failed),
    ];
    (outcome, hint).prop_map(|(outcome, hint)| outcome.with(hint))
}

/// How many calls are admitted at some times from `now` on, if none completes.
fn admits(gate: &Gate, now: Instant) -> [usize; 6] {
    [0, 100, 1_000, 10_000, 100_000, 1_000_000].map(|millis| {
        let (mut gate, now) = (gate.clone(), now + Span::from_millis(millis));
        let admitted = |_: &usize| matches!(gate.poll(now, &Call::new()), Decision::Admit(_));
        (0..64).take_while(admitted).count()
    })
}

proptest! {
    #[test]
    fn a_run_that_is_interrupted_by_a_snapshot_admits_the_same_calls(
        name in prop::sample::select(Policy::NAMES.to_vec()),
        life in prop::collection::vec((reply(), 0..5_000u64), 1..60),
        away in 0..1_000_000u64,
        clock in 0..1u64 << 62,
    ) {
        let policy = Policy::named(name).unwrap();
        let (mut gate, mut now) = (Gate::new(policy, 7, at(1 << 60)), 1 << 60);
        for (reply, pause) in life {
            if let Decision::Admit(permit) = gate.poll(at(now), &Call::new()) {
                now += 50 * MILLIS;
                gate.settle(at(now), permit, reply);
            }
            now += pause * MILLIS;
        }
        let away = Span::from_millis(away);
        let wakes = at((1 << 61) + clock);
        let again = Gate::restore(policy, 8, &record_of(&gate, at(now)), wakes, away).unwrap();
        let uncut = admits(&gate, at(now) + away);
        for (uncut, cut) in uncut.into_iter().zip(admits(&again, wakes)) {
            prop_assert!(uncut.abs_diff(cut) <= 1, "{name}: {uncut} and {cut}");
        }
    }
}

#[test]
fn policies_that_are_set_alternately_admit_no_more_than_the_faster_one() {
    let quotas = [(6, 1), (7, 1), (60, 10), (600, 20), (1, 5)].map(|(count, burst)| {
        let quota = Quota::per_minute(count).unwrap().with_burst(burst).unwrap();
        (Policy::new(AnyLaw::from(Fixed::new(quota))), u64::from(burst) + 10 * count)
    });
    for (one, most) in &quotas {
        for (two, also) in &quotas {
            let (mut gate, mut admitted) = (Gate::new(*one, 1, at(0)), 0);
            for step in 0..60_000 {
                let now = at(step * 10 * MILLIS);
                gate.set_policy(if step % 2 == 0 { *two } else { *one }, now);
                if let Decision::Admit(permit) = gate.poll(now, &Call::new()) {
                    gate.settle(now, permit, Outcome::Ok);
                    admitted += 1;
                }
            }
            // Timers may be late.
            assert!(admitted <= most.max(also) + 1, "{admitted}, {one:?}, {two:?}");
        }
    }
}
