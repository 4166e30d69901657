//! Snapshots, one case each; `tests/promises` has any events and any record, `long_time` all damage.
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that overflows or panics fails, which is right"
)]

use tidegate::gate::Permit;
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
    // Of one law are: what only backs off or has a quota; and the three strategies.
    let same = |a: &str, b: &str| {
        let group = |name: &str| match name {
            "none" | "backoff" | "fixed" => 0,
            "gradual" | "proportional" | "remaining" => 1,
            other => 2 + Policy::NAMES.iter().position(|name| *name == other).unwrap(),
        };
        group(a) == group(b)
    };
    for written in Policy::NAMES {
        let gate = Gate::new(Policy::named(written).unwrap(), 1, at(9));
        let record = record_of(&gate, at(9));
        for read in Policy::NAMES {
            let expected =
                if same(written, read) { Ok(()) } else { Err(SnapshotError::OtherPolicy) };
            assert_eq!(
                restored(Policy::named(read).unwrap(), &record),
                expected,
                "{written} {read}"
            );
        }
    }
}

#[test]
fn a_permit_from_before_the_snapshot_takes_back_no_call_from_after_it() {
    let policy = Policy::named("none").unwrap();
    let mut gate = Gate::new(policy, 1, at(0));
    let Decision::Go(before) = gate.poll(at(0), &Ask::new()) else { panic!() };
    let record = record_of(&gate, at(0));
    let mut again = Gate::restore(policy, 2, &record, at(0), Span::ZERO).unwrap();
    assert_eq!(again.in_flight(), 0);
    let Decision::Go(after) = again.poll(at(0), &Ask::new()) else { panic!() };
    again.settle(at(1), Permit::from_raw(before.into_raw()), Outcome::Throttled);
    assert_eq!((again.in_flight(), again.stats().unknown), (1, 1));
    again.settle(at(1), after, Outcome::Ok);
    assert_eq!(again.in_flight(), 0);
}

#[test]
fn a_spent_burst_stays_spent_over_a_restart() {
    let policy = Policy::named("fixed").unwrap(); // ten a second
    let mut gate = Gate::new(policy, 1, at(0));
    assert!(matches!(gate.poll(at(0), &Ask::new()), Decision::Go(_)));
    let record = record_of(&gate, at(40_000_000));
    for (away, wait) in [(0, 60), (20, 40), (59, 1)] {
        let again = Gate::restore(policy, 2, &record, at(SECOND), Span::from_millis(away)).unwrap();
        let due = at(SECOND).saturating_add(Span::from_millis(wait));
        assert_eq!(again.check(at(SECOND), &Ask::new()), Verdict::Wait(due), "away {away} ms");
    }
    let again = Gate::restore(policy, 2, &record, at(SECOND), Span::from_millis(60)).unwrap();
    assert_eq!(again.check(at(SECOND), &Ask::new()), Verdict::Go);
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

#[test]
fn another_policy_keeps_what_its_law_has_learnt_and_what_is_in_flight() {
    let adaptive = Policy::named("adaptive").unwrap();
    let mut gate = Gate::new(adaptive, 1, at(0));
    let Decision::Go(first) = gate.poll(at(0), &Ask::new()) else { panic!() };
    let Decision::Go(_second) = gate.poll(at(0), &Ask::new()) else { panic!() };
    gate.settle(at(SECOND), first, Outcome::Throttled);
    let learnt = gate.intervals(at(SECOND)).next();
    gate.set_policy(adaptive.attempts(core::num::NonZeroU16::new(3)), at(SECOND));
    assert_eq!((gate.intervals(at(SECOND)).next(), gate.in_flight()), (learnt, 1));
    gate.set_policy(Policy::named("none").unwrap(), at(SECOND));
    assert_eq!((gate.check(at(SECOND), &Ask::new()), gate.in_flight()), (Verdict::Go, 1));
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
