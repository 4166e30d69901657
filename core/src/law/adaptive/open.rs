//! Open: no throttle yet, hence no pace; only a measurement of how fast calls leave.

use super::IDLE_LOG2;
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
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Open {
    block_from: Instant,
    /// When the latest call left.
    latest: Instant,
    /// log2 of the mean interval of the last full block; zero before the first.
    measured: i16,
    /// In sixteenths of a usual call.
    sends: u32,
}

const BLOCK: u32 = 16 * PARTS;

impl Open {
    pub(super) const fn new(now: Instant) -> Self {
        Self { block_from: now, latest: now, measured: 0, sends: 0 }
    }

    pub(super) fn released(&mut self, now: Instant, parts: u32, round_trip: Span) {
        if (self.sends == 0 && self.measured == 0) || self.is_silent(now, round_trip) {
            (self.block_from, self.sends) = (now, 0);
        }
        self.latest = now;
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

    /// Whether nobody wanted to call for so long that it would make a burst look like a slow rate.
    fn is_silent(&self, now: Instant, round_trip: Span) -> bool {
        let silence = now.saturating_since(self.latest);
        let knows = self.measured != 0 || self.sends > PARTS;
        // Less than a round trip is no silence, and need not be looked at closer.
        knows && silence > round_trip && {
            let usual = self.interval(self.latest, round_trip).log2();
            Interval::log2_roughly_of(silence.halved(IDLE_LOG2)) > usual
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
        /// Of less than a block no slower rate is believed: two calls with a day between them are none.
        const SLOWEST: Interval = Interval::of_span(Span::from_secs(20));
        match self.measured {
            1.. => Interval::of_log2(self.measured.into()),
            _ => {
                let half = Span::from_nanos(round_trip.as_nanos() / 2);
                let lasted = now.saturating_since(self.block_from).max(half).max(SHORTEST);
                Interval::of_parts(lasted, self.sends.max(PARTS)).min(SLOWEST)
            }
        }
    }
}

fields!(Open { measured: i16 } else |now| { block_from: now, latest: now, sends: 0 });
