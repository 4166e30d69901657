//! Snapshots of one law under another. The vectors have records at every distance of clocks, `tests/promises`
//! any events and any record, and `long_time` all damage.

use tidegate::law::{AnyLaw, Fixed};
use tidegate::snapshot::SnapshotError;
use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy, Quota, Span, Verdict};

use crate::{SECOND, at};

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

#[test]
fn a_refund_of_what_another_law_has_charged_is_no_credit() {
    let fixed = |burst| {
        let quota = Quota::per_second(1).unwrap().with_burst(burst).unwrap();
        Policy::new(AnyLaw::from(Fixed::new(quota)))
    };
    let mut gate = Gate::new(fixed(100), 1, at(0));
    let Decision::Admit(old) = gate.poll(at(0), &Call::new().cost(100)) else { panic!() };
    gate.set_policy(fixed(50), at(0));
    let Decision::Admit(new) = gate.poll(at(0), &Call::new().cost(50)) else { panic!() };
    gate.settle(at(0), old, Outcome::Ok.using([0]));
    assert_eq!(gate.check(at(0), &Call::new()), Verdict::Wait(at(SECOND)));
    gate.settle(at(0), new, Outcome::Ok.using([49]));
    assert_eq!(gate.check(at(0), &Call::new()), Verdict::Admit);
    // A rejection of a call that was sent before is none of the new law's.
    let mut gate = Gate::new(Policy::named("none").unwrap(), 1, at(0));
    let Decision::Admit(old) = gate.poll(at(0), &Call::new()) else { panic!() };
    gate.set_policy(Policy::named("aimd").unwrap(), at(0));
    let before = gate.intervals(at(0)).next();
    gate.settle(at(0), old, Outcome::Throttled);
    assert_eq!(gate.intervals(at(0)).next(), before);
}
