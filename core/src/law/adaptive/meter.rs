//! The meter: how fast calls were served from one congestion to the next.

use super::cost::PARTS;
use super::interval::Interval;
use crate::time::{Instant, Span};

/// Counts served calls since a known moment. Where a server goes dark for a time and then serves
/// again (a fixed window that is used up), served calls over the whole cycle are an exact reading
/// of the capacity, which the rate of the bright part alone is not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Meter {
    pub(super) from: Instant,
    /// In sixteenths of a usual call.
    pub(super) served: u32,
    /// Whether a congestion has set the beginning. Until then it is the first call.
    pub(super) set: bool,
}

/// With fewer calls the reading is mostly chance.
const LEAST: u32 = 16 * PARTS;

impl Meter {
    pub(super) const fn new(now: Instant) -> Self {
        Self { from: now, served: 0, set: false }
    }

    pub(super) fn restart(&mut self, from: Instant, served: u32) {
        *self = Self { from, served, set: true };
    }

    pub(super) fn count(&mut self, parts: u32) {
        self.served = self.served.saturating_add(parts);
    }

    /// Leaves out a silence that ends now: what nobody asked for, nobody could serve.
    pub(super) fn skip(&mut self, silence: Span, now: Instant) {
        self.from = self.from.max(self.from.saturating_add(silence).min(now));
    }

    pub(super) fn cycle(&self, now: Instant) -> Span {
        now.saturating_since(self.from)
    }

    /// Whether enough was served since a congestion to trust the reading.
    pub(super) const fn is_ripe(&self) -> bool {
        self.set && self.served >= LEAST
    }

    pub(super) fn reading(&self, now: Instant) -> Interval {
        Interval::of_parts(self.cycle(now), self.served.max(PARTS))
    }
}
