//! The meter: counts what was served between congestion events.

use super::SLOWEST;
use super::cost::Usual;
use super::log::Log;
use crate::snapshot::fields;
use crate::time::{Instant, Span};

/// Counts what is served in an epoch, which begins with a congestion event, and in a cycle of bright and dark time,
/// which begins at the end of a dark time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Meter {
    /// Start of the present epoch, and the cost that was served in it.
    pub(super) from: Instant,
    served: u32,
    /// The mean interval of one unit of cost in the previous epoch; zero if it had too few calls.
    unit: Log,
    /// Start of the present cycle, and the cost that was served in it.
    cycle_from: Instant,
    in_cycle: u32,
    /// log2 of the dark time of the previous cycle, coarsely; zero before the first.
    dark: i16,
}

/// The number of calls that is enough for a reading.
pub(super) const RIPE: u32 = 16;

/// The minimum number of calls in a cycle for its rate to be used.
pub(super) const FEW: u32 = 8;

impl Meter {
    pub(super) const fn new(now: Instant) -> Self {
        Self { from: now, served: 0, unit: Log::ZERO, cycle_from: now, in_cycle: 0, dark: 0 }
    }

    pub(super) fn count(&mut self, cost: u32) {
        self.served = self.served.saturating_add(cost);
        self.in_cycle = self.in_cycle.saturating_add(cost);
    }

    /// Excludes a silence that ends now from the measurement.
    pub(super) fn skip(&mut self, silence: Span, now: Instant) {
        self.from = (self.from + silence).min(now);
        self.cycle_from = (self.cycle_from + silence).min(now);
    }

    /// Starts a new epoch, if the present one has enough calls or is the `first`.
    pub(super) fn turn(&mut self, now: Instant, usual: Usual, first: bool) {
        let ripe = usual.calls_in(self.served.into()) >= RIPE;
        if first || ripe {
            let unit = Log::of_span(now - self.from) - Log::of(self.served.into());
            (self.from, self.served, self.unit) = (now, 0, if ripe { unit } else { Log::ZERO });
        }
    }

    /// Ends a dark time of this length. Returns how long the cycle was, how many calls were served in it, and whether
    /// it followed another dark time.
    ///
    /// A server may have several windows, such as that of the hour beside that of the minute. A dark time much
    /// shorter than that of the previous cycle is part of the present cycle. A much longer one ends a longer window,
    /// whose start is unknown. Neither says what a window serves.
    pub(super) fn end_dark(
        &mut self,
        now: Instant,
        dark: Span,
        usual: Usual,
    ) -> Option<(Span, u32, bool)> {
        const FACTOR: i16 = 2 << 8;
        /// After about 32 shorter ones, the length is halved: the longer window may be gone.
        const DECAY: i16 = 8;
        let before = self.dark;
        let dark = i16::try_from(Log::of_span(dark).coarse().max(1)).unwrap_or(i16::MAX);
        if dark < before.saturating_sub(FACTOR) {
            self.dark = before.saturating_sub(DECAY);
            (self.from, self.served, self.unit) = (now, 0, Log::ZERO);
            return None;
        }
        let read = (self.cycle(now), self.calls(usual), before > 0);
        *self = Self { dark, ..Self::new(now) };
        (before == 0 || dark <= before.saturating_add(FACTOR)).then_some(read)
    }

    /// Whether nothing was served yet.
    pub(super) const fn is_empty(&self) -> bool {
        self.in_cycle == 0 && self.dark == 0
    }

    /// The number of calls in the present cycle.
    pub(super) fn calls(&self, usual: Usual) -> u32 {
        usual.calls_in(self.in_cycle.into())
    }

    /// The length of the present cycle at `end`.
    pub(super) fn cycle(&self, end: Instant) -> Span {
        end - self.cycle_from
    }

    /// The mean interval of a usual call in the present cycle; zero if it has too few calls.
    pub(super) fn mean(&self, now: Instant, usual: Usual) -> Log {
        match self.calls(usual) {
            0..RIPE => Log::ZERO,
            calls => Log::of_span(self.cycle(now)) - Log::of(calls.into()),
        }
    }

    /// The mean interval of a usual call in the previous epoch, if it had enough calls.
    pub(super) fn reading_before(&self, usual: Usual) -> Option<Log> {
        (self.unit != Log::ZERO).then(|| usual.of_call(self.unit.min(SLOWEST)))
    }
}

fields!(Meter {
    from: Instant,
    served: u32,
    unit: Log,
    cycle_from: Instant,
    in_cycle: u32,
    dark: i16
});
