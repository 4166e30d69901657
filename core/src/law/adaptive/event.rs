//! The congestion event: one refusal or many in a row, and how to probe until it is over.

use super::interval::Interval;
use crate::snapshot::fields;
use crate::time::{Instant, Span};

/// A run of misses (refusals and failures) without a success in between.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Event {
    /// When the latest event began.
    pub(super) at: Instant,
    /// Misses in a row; zero while calls are served.
    pub(super) misses: u8,
    /// Misses of the event before.
    pub(super) previous: u8,
    /// Whether one of the misses was a failure, or the server was busy too often: an outage rather
    /// than a limit.
    pub(super) down: bool,
}

/// So many misses in a row are a blackout: the server served nothing for a time.
pub(super) const BLACKOUT: u8 = 3;
/// A client probes an outage this often at least.
const PROBE: Interval = Interval::of_span(Span::from_secs(20));

impl Event {
    pub(super) const fn new(now: Instant) -> Self {
        Self { at: now, misses: 0, previous: 0, down: false }
    }

    pub(super) const fn is_on(&self) -> bool {
        self.misses > 0
    }

    /// The interval in force: doubled for each miss after the first, up to 20 s, four intervals, or
    /// (but for an outage) a quarter of the time since the event began. The quarter keeps probing
    /// free of scale; against an outage the 20 s decide how soon its end is seen, and how much load a
    /// fleet of probes is: 50 a second for a thousand clients.
    pub(super) fn interval(&self, interval: Interval, now: Instant) -> Interval {
        let Some(times @ 1..) = self.misses.checked_sub(1) else { return interval };
        let mut most = PROBE.max(interval.doubled(2));
        if !self.down {
            most = most.max(Interval::of_span(now.saturating_since(self.at).halved(2)));
        }
        interval.doubled(u32::from(times.min(20))).min(most).max(interval)
    }

    pub(super) fn miss(&mut self) {
        self.misses = self.misses.saturating_add(1).min(40);
    }

    pub(super) fn end(&mut self) {
        self.previous = self.misses;
        self.misses = 0;
        self.down = false;
    }
}

fields!(Event { at: Instant, misses: u8, previous: u8, down: bool });
