//! Open: no throttle yet, hence no pace; only a measurement of how fast calls leave.

use super::interval::Interval;
use crate::time::{Instant, Span};

/// Measures the rate at which calls leave, in blocks of at least 16 calls and one round trip, so
/// that the first refusal finds a rate to begin from. Until then calls wait for nothing.
///
/// A block of 16 calls alone would end within a round trip, and measure a burst for a rate: at
/// 100 ms it could not tell 320 calls a second from more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Open {
    block_from: Instant,
    /// The mean interval of the last full block.
    measured: Option<Mean>,
    sends: u32,
}

/// The bits of an interval, which are never zero.
type Mean = core::num::NonZeroU64;

const BLOCK: u32 = 16;

impl Open {
    pub(super) const fn new(now: Instant) -> Self {
        Self { block_from: now, measured: None, sends: 0 }
    }

    pub(super) fn released(&mut self, now: Instant, round_trip: Span) {
        if self.sends == 0 && self.measured.is_none() {
            self.block_from = now;
        }
        self.sends = self.sends.saturating_add(1);
        let lasted = now.saturating_since(self.block_from);
        if self.sends >= BLOCK && round_trip > Span::ZERO && lasted >= round_trip {
            self.measured = Mean::new(Interval::of_calls(lasted, self.sends).bits());
            self.sends = 0;
            self.block_from = now;
        }
    }

    /// The mean interval of the last full block; before the first, that of the calls so far. These
    /// may all have left at once, and then half a round trip is as long as they can have taken.
    pub(super) fn interval(&self, now: Instant, round_trip: Span) -> Interval {
        const SHORTEST: Span = Span::from_micros(1);
        match self.measured {
            Some(bits) => Interval::of_bits(bits.get()),
            None => {
                let half = Span::from_nanos(round_trip.as_nanos() / 2);
                let lasted = now.saturating_since(self.block_from).max(half).max(SHORTEST);
                Interval::of_calls(lasted, self.sends.max(1))
            }
        }
    }
}
