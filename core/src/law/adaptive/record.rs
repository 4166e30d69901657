//! The record: what is written down of the law's state.

use super::epoch::{Epoch, Habit};
use super::event::Event;
use super::meter::Meter;
use super::open::Open;
use super::pacer::Pacer;
use super::period::Share;
use super::remaining::Pool;
use super::{Adaptive, AdaptiveState, Tier, Usual};
use crate::snapshot::{Field, Reader, Record, Writer, fields, longest};

// What was served since the latest congestion says nothing once some unknown time has passed.
fields!(AdaptiveState {
    pacer: Pacer,
    event: Event,
    epoch: Epoch,
    tier: Tier,
    usual: Usual,
    round_trip: u32,
    quota: i16,
} else |now| {
    meter: Meter::new(now),
});

impl Field for Tier {
    const BYTES: usize = 1 + longest([
        <Open as Field>::BYTES,
        <Habit as Field>::BYTES,
        <Pool as Field>::BYTES,
        <Share as Field>::BYTES,
    ]);

    fn write(&self, out: &mut Writer<'_>) {
        match self {
            Self::Open(open) => out.variant(Self::BYTES, 0, |out| open.write(out)),
            Self::Blind(habit) => out.variant(Self::BYTES, 1, |out| habit.write(out)),
            Self::Remaining(pool) => out.variant(Self::BYTES, 2, |out| pool.write(out)),
            Self::Period(share) => out.variant(Self::BYTES, 3, |out| share.write(out)),
        }
    }

    fn read(input: &mut Reader<'_>) -> Option<Self> {
        input.variant(Self::BYTES, |tag, input| match tag {
            0 => Open::read(input).map(Self::Open),
            1 => Habit::read(input).map(Self::Blind),
            2 => Pool::read(input).map(Self::Remaining),
            3 => Share::read(input).map(Self::Period),
            _ => None,
        })
    }
}

impl Record for Adaptive {
    const BYTES: usize = <AdaptiveState as Field>::BYTES;

    fn write(&self, state: &AdaptiveState, out: &mut Writer<'_>) {
        Field::write(state, out);
    }

    fn read(&self, input: &mut Reader<'_>) -> Option<AdaptiveState> {
        <AdaptiveState as Field>::read(input)
    }
}
