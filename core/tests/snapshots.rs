//! Snapshots: what is read is what was written, on any clock, and damage is found.
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that overflows or panics fails, which is right"
)]

use proptest::prelude::*;
use tidegate::gate::{BudgetPolicy, Permit};
use tidegate::law::{AnyLaw, Fixed};
use tidegate::snapshot::{SnapshotError, VERSION};
use tidegate::{
    Ask, Controller, Decision, Hint, Instant, Outcome, Policy, Quota, Ratio, Span, Verdict,
};

type Gate = Controller<AnyLaw, 1, 8>;

const LENGTH: usize = Gate::SNAPSHOT_BYTES;
const SECOND: u64 = 1_000_000_000;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn policies() -> impl Strategy<Value = Policy> {
    let budget = BudgetPolicy::new(Ratio::HALF, 5).unwrap();
    (prop::sample::select(Policy::NAMES), any::<bool>())
        .prop_map(move |(name, saves)| Policy::named(name).unwrap().budget(saves.then_some(budget)))
}

/// So long until the next call, what it costs, what becomes of it, and what is said of the limit.
type Event = (u64, u32, Outcome, u64);

fn events() -> impl Strategy<Value = Vec<Event>> {
    let outcomes = prop::sample::select(vec![
        Outcome::Ok,
        Outcome::Ok,
        Outcome::Throttled,
        Outcome::Busy,
        Outcome::Failed,
        Outcome::Abandoned,
    ]);
    prop::collection::vec((0..3 * SECOND, 1..50u32, outcomes, any::<u64>()), 0..60)
}

fn hint_of(word: u64) -> Hint {
    let span = Span::from_nanos(word >> 20);
    match word % 6 {
        0 => Hint::retry_after(span),
        1 => Hint::remaining(word >> 40),
        2 => Hint::quota(word >> 50, Span::from_secs(60)).and_remaining(word >> 52).and_reset(span),
        3 => Hint::quota(word >> 50, Span::from_secs(60)),
        _ => Hint::NONE,
    }
}

/// What a controller does with these events, waiting where it must; returns the clock's end.
fn live(gate: &mut Gate, mut now: Instant, events: &[Event]) -> Instant {
    for (pass, cost, outcome, word) in events {
        now = now.saturating_add(Span::from_nanos(*pass));
        let ask = Ask::new().cost(*cost);
        for _ in 0..3 {
            match gate.poll(now, &ask) {
                Decision::Go(permit) => {
                    now = now.saturating_add(Span::from_millis(70));
                    gate.settle(now, permit, outcome.with(hint_of(*word)));
                    let _ = gate.retry(now, &ask, *outcome);
                    break;
                }
                Decision::Wait(until) => now = until,
                Decision::Full | Decision::Refuse(_) => break,
            }
        }
    }
    now
}

fn record_of(gate: &Gate, now: Instant) -> [u8; LENGTH] {
    let mut record = [0xAA; LENGTH];
    assert_eq!(gate.snapshot(now, &mut record), Ok(LENGTH));
    record
}

proptest! {
    #[test]
    fn what_was_written_is_read_on_a_clock_that_is_ahead(
        policy in policies(), events in events(), start in 0..u64::MAX / 8, away in 0..1_000 * SECOND,
        ahead in 0..u64::MAX / 4, later in 0..1_000 * SECOND,
    ) {
        let mut gate = Gate::new(policy, 1, at(start));
        let now = live(&mut gate, at(start), &events);
        prop_assume!(now < at(u64::MAX / 4));
        let record = record_of(&gate, now);
        let there = now.saturating_add(Span::from_nanos(ahead + away)).as_nanos();
        let again = Gate::restore(policy, 2, &record, at(there), Span::from_nanos(away)).unwrap();
        let past = now.saturating_add(Span::from_nanos(away));
        prop_assert_eq!(record_of(&again, at(there)), record_of(&gate, past));
        // And both let the next call leave after the same time.
        let check = |gate: &Gate, now: Instant| match gate.check(now, &Ask::new()) {
            Verdict::Wait(until) => Some(until.saturating_since(now)),
            _ => None,
        };
        let later = Span::from_nanos(later);
        if gate.in_flight() == 0 {
            prop_assert_eq!(
                check(&again, at(there).saturating_add(later)),
                check(&gate, past.saturating_add(later)),
            );
        }
    }

    #[test]
    fn a_clock_that_starts_anew_lets_nothing_leave_sooner(
        policy in policies(), events in events(), start in 0..1_000 * SECOND,
    ) {
        let mut gate = Gate::new(policy, 1, at(start));
        let now = live(&mut gate, at(start), &events);
        let record = record_of(&gate, now);
        let again = Gate::restore(policy, 2, &record, at(0), Span::ZERO).unwrap();
        if let (Verdict::Wait(before), 0) = (gate.check(now, &Ask::new()), gate.in_flight()) {
            let Verdict::Wait(after) = again.check(at(0), &Ask::new()) else { panic!("a burst") };
            prop_assert!(after.saturating_since(at(0)) >= before.saturating_since(now));
        }
    }

    #[test]
    fn a_flipped_bit_is_found(policy in policies(), events in events(), bit in 0..LENGTH * 8) {
        let mut gate = Gate::new(policy, 1, at(0));
        let now = live(&mut gate, at(0), &events);
        let mut record = record_of(&gate, now);
        record[bit / 8] ^= 1 << (bit % 8);
        let expected = if bit < 8 { SnapshotError::Version } else { SnapshotError::Damaged };
        prop_assert_eq!(restored(policy, &record), Err(expected));
    }

    #[test]
    fn a_record_that_was_cut_or_grew_is_found(policy in policies(), events in events(), length in 0..2 * LENGTH) {
        let mut gate = Gate::new(policy, 1, at(0));
        let now = live(&mut gate, at(0), &events);
        let mut record = record_of(&gate, now).to_vec();
        record.resize(length, 0);
        let expected = if length == LENGTH { Ok(()) } else { Err(SnapshotError::Length) };
        prop_assert_eq!(restored(policy, &record), expected);
        prop_assert_eq!(gate.snapshot(now, &mut record).is_ok(), length >= LENGTH);
    }

    #[test]
    fn whatever_a_record_says_the_controller_goes_on(
        policy in policies(), events in events(), tag in 0..8u8,
        bytes in prop::collection::vec(any::<u8>(), LENGTH), now: u64, away: u64,
    ) {
        let mut record = bytes;
        record[0] = VERSION;
        record[1] = 1;
        // The law's tag stands behind the gates and the pace.
        record[2 + 8 + 9 + 4 + 24] = tag;
        seal(&mut record);
        let made = Gate::restore(policy, 3, &record, at(now), Span::from_nanos(away));
        if let Ok(mut gate) = made {
            let _ = live(&mut gate, at(now), &events);
            let record = record_of(&gate, at(now));
            prop_assert!(Gate::restore(policy, 3, &record, at(now), Span::ZERO).is_ok());
        }
    }
}

fn restored(policy: Policy, record: &[u8]) -> Result<(), SnapshotError> {
    Gate::restore(policy, 3, record, at(5), Span::ZERO).map(|_| ())
}

/// The check that the documentation tells of, written from there.
fn seal(record: &mut [u8]) {
    let end = record.len() - 4;
    let mut hash = 2_166_136_261u32;
    for byte in &record[..end] {
        hash = (hash ^ u32::from(*byte)).wrapping_mul(16_777_619);
    }
    record[end..].copy_from_slice(&hash.to_le_bytes());
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
