//! The record: how the law's state is written to a snapshot.

use super::cost::Usual;
use super::hinted::Hinted;
use super::log::Log;
use super::meter::Meter;
use super::open::Open;
use super::paced::Paced;
use super::{
    Adaptive, AdaptiveState, Phase,
    blind::{MOST_MISSES, MOST_OWN},
};
use crate::law::record::{longest, record};
use crate::snapshot::{Field, Reader, Writer, fields};
use crate::time::Instant;

fields!(AdaptiveState {
    phase: Phase,
    meter: Meter,
    interval_end: Instant,
    release: Instant,
    interval: Log,
    event_at: Instant,
    round_trip: u32,
    ceiling: i16,
    misses: u8,
    calls: u8,
    own: u8,
    suspects: u8,
    score: u8,
    down: bool,
    fresh_at: Instant,
    missed_at: Instant,
    usual: Usual,
    hinted: Hinted,
});

impl Field for Phase {
    const BYTES: usize = 1 + longest([<Open as Field>::BYTES, <Paced as Field>::BYTES]);

    fn write(&self, out: &mut Writer<'_>) {
        match self {
            Self::Open(open) => out.variant(Self::BYTES, 0, |out| open.write(out)),
            Self::Paced(paced) => out.variant(Self::BYTES, 1, |out| paced.write(out)),
        }
    }

    fn read(input: &mut Reader<'_>) -> Self {
        let phase = input.variant(Self::BYTES, |tag, input| match tag {
            0 => Some(Self::Open(Open::read(input))),
            1 => Some(Self::Paced(Paced::read(input))),
            _ => None,
        });
        phase.unwrap_or(Self::Open(Open::new()))
    }
}

record!(Adaptive, AdaptiveState where |_law, state| state.misses <= MOST_MISSES && state.calls <= state.misses && state.own <= MOST_OWN);
