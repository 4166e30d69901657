//! Records of a controller with a flipped bit, another length or another version.

use tidegate::snapshot::{SnapshotError, VERSION};
use tidegate::{Call, Decision, Hint, Instant, Outcome, Policy, Span};

use super::{Gate, every_policy};
use crate::{SECOND, at};

const LENGTH: usize = Gate::SNAPSHOT_BYTES;

/// The record of a controller that has learned something and has calls in flight.
fn record(policy: Policy) -> [u8; LENGTH] {
    let (mut gate, mut now) = (Gate::new(policy, 7, at(0)), Instant::ZERO);
    for turn in 0..40 {
        match gate.poll(now, &Call::new()) {
            Decision::Admit(permit) => {
                now += Span::from_millis(80);
                let hint = Hint::quota(600, Span::from_secs(60)).and_remaining(600 - turn);
                let outcome = if turn % 9 == 5 { Outcome::Throttled } else { Outcome::Ok };
                if turn % 7 > 0 {
                    gate.settle(now, permit, outcome.with(hint));
                }
            }
            Decision::Wait(until) => now = until,
            Decision::Full | Decision::Reject(_) => now += Span::from_secs(1),
        }
    }
    let mut record = [0; LENGTH];
    assert_eq!(gate.snapshot(now, &mut record), Ok(LENGTH));
    record
}

fn restored(policy: Policy, record: &[u8]) -> Result<(), SnapshotError> {
    Gate::restore(policy, 3, record, at(5 * SECOND), Span::ZERO).map(|_| ())
}

#[test]
fn a_record_with_a_flipped_bit_another_length_or_another_version_is_rejected() {
    for (name, policy) in every_policy() {
        let whole = record(policy);
        assert_eq!(restored(policy, &whole), Ok(()), "{name}");
        let mut other = whole;
        for bit in 0..LENGTH * 8 {
            other[bit / 8] ^= 1 << (bit % 8);
            let found = if bit < 8 { SnapshotError::Version } else { SnapshotError::Damaged };
            assert_eq!(restored(policy, &other), Err(found), "{name}: bit {bit}");
            other = whole;
        }
        let long = [whole, [0; LENGTH]].concat();
        for length in (0..LENGTH).chain(LENGTH + 1..=2 * LENGTH) {
            let cut = restored(policy, &long[..length]);
            assert_eq!(cut, Err(SnapshotError::Length), "{name}: {length} bytes");
        }
        for version in (0..=u8::MAX).filter(|version| *version != VERSION) {
            other[0] = version;
            let found = restored(policy, &other);
            assert_eq!(found, Err(SnapshotError::Version), "{name}: version {version}");
        }
    }
}
