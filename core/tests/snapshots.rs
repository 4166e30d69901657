//! Snapshots, one case each; `tests/promises` has any events and any record, `long_time` all damage.
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that overflows or panics fails, which is right"
)]

use tidegate::law::{AnyLaw, Fixed};
use tidegate::snapshot::SnapshotError;
use tidegate::{Ask, Controller, Decision, Hint, Instant, Outcome, Policy, Quota, Span, Verdict};

type Gate = Controller<AnyLaw, 1, 8>;

const LENGTH: usize = Gate::SNAPSHOT_BYTES;
const SECOND: u64 = 1_000_000_000;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn record_of(gate: &Gate, now: Instant) -> [u8; LENGTH] {
    let mut record = [0xAA; LENGTH];
    assert_eq!(gate.snapshot(now, &mut record), Ok(LENGTH));
    record
}

fn restored(policy: Policy, record: &[u8]) -> Result<(), SnapshotError> {
    Gate::restore(policy, 3, record, at(5), Span::ZERO).map(|_| ())
}

#[test]
fn each_law_refuses_the_records_of_the_others() {
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

#[test]
fn a_refund_of_what_another_law_has_charged_is_no_credit() {
    let fixed = |burst| {
        let quota = Quota::per_second(1).unwrap().with_burst(burst).unwrap();
        Policy::new(AnyLaw::from(Fixed::new(quota)))
    };
    let mut gate = Gate::new(fixed(100), 1, at(0));
    let Decision::Go(old) = gate.poll(at(0), &Ask::new().cost(100)) else { panic!() };
    gate.set_policy(fixed(50), at(0));
    let Decision::Go(new) = gate.poll(at(0), &Ask::new().cost(50)) else { panic!() };
    gate.settle(at(0), old, Outcome::Ok.using([0]));
    assert_eq!(gate.check(at(0), &Ask::new()), Verdict::Wait(at(SECOND)));
    gate.settle(at(0), new, Outcome::Ok.using([49]));
    assert_eq!(gate.check(at(0), &Ask::new()), Verdict::Go);
    // A refusal of a call that left before is none of the new law's.
    let mut gate = Gate::new(Policy::named("none").unwrap(), 1, at(0));
    let Decision::Go(old) = gate.poll(at(0), &Ask::new()) else { panic!() };
    gate.set_policy(Policy::named("aimd").unwrap(), at(0));
    let before = gate.intervals(at(0)).next();
    gate.settle(at(0), old, Outcome::Throttled);
    assert_eq!(gate.intervals(at(0)).next(), before);
}

#[test]
fn a_hold_goes_on_during_a_sleep_from_which_the_clock_begins_anew() {
    let policy = Policy::named("none").unwrap();
    let mut gate = Gate::new(policy, 7, at(0));
    let Decision::Go(permit) = gate.poll(at(0), &Ask::new()) else { panic!() };
    let half_an_hour = Hint::retry_after(Span::from_secs(1_800));
    gate.settle(at(SECOND), permit, Outcome::Throttled.with::<1>(half_an_hour));
    let mut record = [0; LENGTH];
    gate.snapshot(at(SECOND), &mut record).unwrap();
    let wait = |away: u64| {
        let gate = Gate::restore(policy, 8, &record, at(0), Span::from_secs(away)).unwrap();
        gate.next_at(at(0)).map(|at| at.as_nanos() / SECOND).unwrap_or(0)
    };
    let whole = wait(0);
    assert!((1_800..2_100).contains(&whole), "with what a fleet is spread by: {whole} s");
    assert_eq!(wait(600), whole - 600);
    assert_eq!(wait(3_600), 0);
}

#[test]
fn a_quota_fills_up_during_a_sleep_from_which_the_clock_begins_anew() {
    let law = Fixed::new(Quota::per_hour(1).unwrap());
    let policy = Policy::new(AnyLaw::from(law));
    let mut gate = Gate::new(policy, 7, at(0));
    assert!(matches!(gate.poll(at(0), &Ask::new()), Decision::Go(_)));
    let mut record = [0; LENGTH];
    gate.snapshot(at(5 * SECOND), &mut record).unwrap();
    let asleep = |away: u64| {
        let gate = Gate::restore(policy, 8, &record, at(0), Span::from_secs(away)).unwrap();
        gate.check(at(0), &Ask::new())
    };
    assert_eq!(asleep(7_200), Verdict::Go);
    assert_eq!(asleep(1_795), Verdict::Wait(at(1_800 * SECOND)));
    assert_eq!(asleep(0), Verdict::Wait(at(3_595 * SECOND)));
}
