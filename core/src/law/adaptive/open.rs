//! Open: no throttle yet, hence no pace; only a measurement of how fast calls leave.

use super::cost::{self, PARTS};
use super::interval::Interval;
use super::octaves::{Octaves, clip};
use crate::snapshot::fields;
use crate::time::{Instant, Span};

/// Measures the rate at which calls leave, in blocks of at least 16 calls and one round trip, so
/// that the first refusal finds a rate to begin from. Until then calls wait for nothing.
///
/// A block of 16 calls alone would end within a round trip, and measure a burst for a rate: at
/// 100 ms it could not tell 320 calls a second from more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Open {
    block_from: Instant,
    /// log2 of the mean interval of the last full block; zero before the first.
    measured: i16,
    /// In sixteenths of a usual call.
    sends: u32,
}

const BLOCK: u32 = 16 * PARTS;

impl Open {
    pub(super) const fn new(now: Instant) -> Self {
        Self { block_from: now, measured: 0, sends: 0 }
    }

    pub(super) fn released(&mut self, now: Instant, parts: u32, round_trip: Span) {
        if self.sends == 0 && self.measured == 0 {
            self.block_from = now;
        }
        self.sends = self.sends.saturating_add(parts);
        if self.sends < BLOCK {
            return;
        }
        let lasted = now.saturating_since(self.block_from);
        if round_trip > Span::ZERO && lasted >= round_trip {
            self.measured = clip(Interval::of_parts(lasted, self.sends).log2());
            self.sends = 0;
            self.block_from = now;
        }
    }

    pub(super) fn rescale(&mut self, octaves: i32) {
        self.sends = cost::rescaled(self.sends, octaves);
        if self.measured != 0 {
            let moved = octaves.saturating_mul(256);
            self.measured = clip(Octaves::from(self.measured).saturating_add(moved).max(1));
        }
    }

    /// The mean interval of the last full block; before the first, that of the calls so far. These
    /// may all have left at once, and then half a round trip is as long as they can have taken.
    pub(super) fn interval(&self, now: Instant, round_trip: Span) -> Interval {
        const SHORTEST: Span = Span::from_micros(1);
        match self.measured {
            1.. => Interval::of_log2(self.measured.into()),
            _ => {
                let half = Span::from_nanos(round_trip.as_nanos() / 2);
                let lasted = now.saturating_since(self.block_from).max(half).max(SHORTEST);
                Interval::of_parts(lasted, self.sends.max(PARTS))
            }
        }
    }
}

fields!(Open { measured: i16 } else |now| { block_from: now, sends: 0 });
