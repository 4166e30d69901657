//! The meter: counts what was served between congestion events.

use super::cost::Usual;
use super::log::Log;
use crate::snapshot::fields;
use crate::time::{Instant, Span};

/// Counts what is served since a congestion event, and keeps the result of the previous epoch.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Meter {
    from: Instant,
    /// Length of the previous epoch.
    lasted: Log,
    /// The cost that was served since `from`.
    served: u32,
    /// The cost that was served in the previous epoch.
    before: u32,
    /// log2 of the latest cycle of bright and dark time, coarsely; zero before the first.
    scale: i16,
    /// Whether there was a congestion event.
    pub(super) set: bool,
}

/// The number of calls that is enough for a reading.
pub(super) const RIPE: u32 = 16;

/// The minimum number of calls in a cycle for its rate to be used.
pub(super) const FEW: u32 = 8;

impl Meter {
    pub(super) const fn new(now: Instant) -> Self {
        Self { from: now, lasted: Log::ZERO, served: 0, before: 0, scale: 0, set: false }
    }

    pub(super) fn count(&mut self, cost: u32) {
        self.served = self.served.saturating_add(cost);
    }

    /// Excludes a silence that ends now from the measurement.
    pub(super) fn skip(&mut self, silence: Span, now: Instant) {
        self.from = (self.from + silence).min(now);
    }

    /// Starts a new epoch, if the present one has enough calls.
    pub(super) fn turn(&mut self, now: Instant, usual: Usual) {
        if !self.set || usual.calls_in(self.served.into()) >= RIPE {
            self.lasted = Log::of_span(now - self.from);
            self.before = core::mem::take(&mut self.served);
            (self.from, self.set) = (now, true);
        }
    }

    /// Length of the present epoch so far.
    pub(super) fn lasts(&self, now: Instant) -> Span {
        now - self.from
    }

    /// Forgets everything before `now`.
    pub(super) fn restart(&mut self, now: Instant) {
        *self = Self { set: true, ..Self::new(now) };
    }

    /// Ends a cycle of bright and dark time. Returns whether it is the first, or at most four times
    /// as long as the previous one.
    pub(super) fn end_cycle(&mut self, now: Instant) -> bool {
        let before = self.scale;
        let scale = Log::of_span(self.cycle(now)).coarse();
        let scale = i16::try_from(scale).unwrap_or(i16::MAX);
        self.restart(now);
        self.scale = scale;
        before == 0 || scale <= before.saturating_add(2 << 8)
    }

    /// Whether nothing was served yet.
    pub(super) const fn is_empty(&self) -> bool {
        self.served == 0 && self.before == 0 && self.scale == 0
    }

    /// The number of calls in both epochs.
    pub(super) fn calls(&self, usual: Usual) -> u32 {
        usual.calls_in(u64::from(self.served).saturating_add(self.before.into()))
    }

    /// The length of both epochs at `end`.
    pub(super) fn cycle(&self, end: Instant) -> Span {
        let before = if self.before == 0 { Span::ZERO } else { self.lasted.span() };
        end - self.from + before
    }

    /// The mean interval of a usual call in both epochs; zero if they have too few calls.
    pub(super) fn mean(&self, now: Instant, usual: Usual) -> Log {
        match self.calls(usual) {
            0..RIPE => Log::ZERO,
            calls => Log::of_span(self.cycle(now)) - Log::of(calls.into()),
        }
    }

    /// The mean interval of a usual call in the previous epoch, if it had enough calls.
    pub(super) fn reading_before(&self, usual: Usual) -> Option<Log> {
        let calls = usual.calls_in(self.before.into());
        (calls >= RIPE).then(|| self.lasted - Log::of(calls.into()))
    }
}

fields!(Meter { from: Instant, lasted: Log, served: u32, before: u32, scale: i16, set: bool });
