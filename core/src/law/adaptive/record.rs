//! The record: what is written down of the law's state.

use super::epoch::{Epoch, Habit};
use super::event::Event;
use super::meter::Meter;
use super::open::Open;
use super::pacer::Pacer;
use super::period::Share;
use super::remaining::Pool;
use super::{Adaptive, AdaptiveState, Tier, Usual};
use crate::snapshot::{Field, Reader, Writer, fields, longest, record};

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

    fn read(input: &mut Reader<'_>) -> Self {
        let tier = input.variant(Self::BYTES, |tag, input| match tag {
            1 => Some(Self::Blind(Habit::read(input))),
            2 => Some(Self::Remaining(Pool::read(input))),
            3 => Some(Self::Period(Share::read(input))),
            _ => (tag == 0).then(|| Self::Open(Open::read(input))),
        });
        tier.unwrap_or(Self::Blind(Habit::default()))
    }
}

record!(Adaptive, AdaptiveState);
