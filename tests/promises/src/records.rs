//! Arbitrary records: any bytes, or a valid record that was modified with a new checksum.

use tidegate::snapshot::{SnapshotError, VERSION};
use tidegate::{Controller, Instant, Span};

use crate::events::happen;
use crate::input::Input;
use crate::restart::record_of;
use crate::terms::Terms;
use crate::world::{Kept, World};

/// One limit or two, a policy, and then the record and the events after it.
pub fn try_with(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    if input.u8() & 1 == 0 { restore::<1>(input) } else { restore::<2>(input) }
}

fn restore<const LIMITS: usize>(mut input: Input<'_>) {
    let terms = Terms::<LIMITS>::of(&mut input);
    let how = input.u8();
    let (now, away) = (input.instant(), input.span());
    let record = match how % 4 {
        0 => input.rest().to_vec(),
        kind => {
            let mut world = World::new(terms, 3, input.instant());
            if kind == 1 {
                happen(&mut world, Input::new(input.bytes(16)));
            }
            let mut record = record_of(&world.gate, input.instant());
            for _ in 0..how >> 4 {
                let place = 2 + usize::from(input.u8()) % (record.len() - 6);
                let bytes = input.u8() % 9;
                for (place, byte) in record.iter_mut().skip(place).zip(input.bytes(bytes.into())) {
                    *place = *byte;
                }
            }
            seal(&mut record);
            record
        }
    };
    let made: Result<Kept<LIMITS>, _> = Controller::restore(terms.policy, 9, &record, now, away);
    match made {
        Ok(gate) => goes_on(gate, terms, now, input),
        Err(error) => is_said_rightly::<LIMITS>(error, &record),
    }
}

/// After any record, the controller keeps its contracts and can be saved again.
fn goes_on<const LIMITS: usize>(
    gate: Kept<LIMITS>,
    terms: Terms<LIMITS>,
    now: Instant,
    input: Input<'_>,
) {
    let record = record_of(&gate, now);
    let again: Result<Kept<LIMITS>, _> =
        Controller::restore(terms.policy, 9, &record, now, Span::ZERO);
    assert!(again.is_ok_and(|again| again.in_flight() == 0), "its own record is rejected");
    let mut world = World::with(gate, terms, now);
    world.doubts_its_memory();
    happen(&mut world, input);
    world.a_call_that_waits_as_told_is_sent();
}

fn is_said_rightly<const LIMITS: usize>(error: SnapshotError, record: &[u8]) {
    let expected = if record.len() != Kept::<LIMITS>::SNAPSHOT_BYTES {
        SnapshotError::Length
    } else if record[0] != VERSION {
        SnapshotError::Version
    } else {
        let mut sealed = record.to_vec();
        seal(&mut sealed);
        if sealed == record { SnapshotError::OtherPolicy } else { SnapshotError::Damaged }
    };
    assert_eq!(error, expected);
}

/// The checksum, implemented from the documentation.
fn seal(record: &mut [u8]) {
    let Some((body, check)) = record.split_last_chunk_mut::<4>() else { return };
    let hash = body
        .iter()
        .fold(2_166_136_261u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(16_777_619));
    *check = hash.to_le_bytes();
}
