//! Counters of a controller's decisions and outcomes. Without the feature `stats`, nothing is
//! counted.

use crate::outcome::Outcome;
use crate::time::Span;

/// The counters of a controller since its start. They saturate.
///
/// They include `AutoSleeper`'s metrics ([`settled`](Self::settled), there `TotalInvocation`, [`slower`](Self::slower),
/// [`faster`](Self::faster), [`waits`](Self::waits) and [`waited`](Self::waited)), and other signs of the client's
/// health.
///
/// ```
/// use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy};
///
/// let mut gate: Controller = Controller::new(Policy::named("aimd").unwrap(), 7, Instant::ZERO);
/// let Decision::Admit(permit) = gate.poll(Instant::ZERO, &Call::new()) else { panic!() };
/// gate.settle(Instant::from_nanos(1_000_000), permit, Outcome::Throttled);
/// let stats = gate.stats();
/// assert_eq!((stats.admitted, stats.throttled, stats.slower), (1, 1, 1));
/// assert_eq!(stats.settled(), 1);
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Stats {
    /// Polls answered with `Admit`.
    pub admitted: u32,
    /// Polls answered with `Wait`.
    pub waits: u32,
    /// The sum of all waits that polls returned.
    pub waited: Span,
    /// Polls answered with `Full`.
    pub full: u32,
    /// Polls answered with `Reject`.
    pub rejected: u32,
    /// Calls settled as `Ok`.
    pub ok: u32,
    /// Calls settled as `Throttled`.
    pub throttled: u32,
    /// Calls settled as `Busy`.
    pub busy: u32,
    /// Calls settled as `Failed`.
    pub failed: u32,
    /// Calls settled as `Abandoned`.
    pub abandoned: u32,
    /// Calls settled as `Exhausted`.
    pub exhausted: u32,
    /// Times a law cut its rate or its concurrency limit.
    pub slower: u32,
    /// Times a law raised its rate or its concurrency limit.
    pub faster: u32,
    /// Retries granted by [`retry`](crate::Controller::retry).
    pub retries: u32,
}

impl Stats {
    /// All settled calls except abandoned ones. The sum saturates.
    #[must_use]
    pub const fn settled(&self) -> u32 {
        let served = self.ok.saturating_add(self.throttled).saturating_add(self.busy);
        served.saturating_add(self.failed).saturating_add(self.exhausted)
    }

    /// The counter of an outcome.
    pub(crate) const fn of(&mut self, outcome: Outcome) -> &mut u32 {
        match outcome {
            Outcome::Ok => &mut self.ok,
            Outcome::Throttled => &mut self.throttled,
            Outcome::Busy => &mut self.busy,
            Outcome::Failed => &mut self.failed,
            Outcome::Abandoned => &mut self.abandoned,
            Outcome::Exhausted => &mut self.exhausted,
        }
    }
}

/// The counters of a controller: nothing without the feature `stats`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Counters(#[cfg(feature = "stats")] Stats);

impl Counters {
    /// Adds one to a counter.
    #[inline(always)]
    pub(crate) fn count(&mut self, counter: impl FnOnce(&mut Stats) -> &mut u32) {
        self.note(|stats| {
            let counter = counter(stats);
            *counter = counter.saturating_add(1);
        });
    }

    /// Changes the counters.
    #[inline(always)]
    #[cfg_attr(not(feature = "stats"), expect(clippy::unused_self, unused_variables))]
    pub(crate) fn note(&mut self, note: impl FnOnce(&mut Stats)) {
        #[cfg(feature = "stats")]
        note(&mut self.0);
    }

    /// What was counted.
    #[cfg(feature = "stats")]
    pub(crate) const fn stats(&self) -> &Stats {
        &self.0
    }
}

#[cfg(all(test, feature = "stats"))]
mod tests {
    use super::*;

    #[test]
    fn all_calls_that_were_not_abandoned_are_settled() {
        let [ok, throttled, busy, failed, abandoned, exhausted] = [1, 2, 4, 8, 16, 32];
        let stats = Stats { ok, throttled, busy, failed, abandoned, exhausted, ..Stats::default() };
        assert_eq!(stats.settled(), 1 + 2 + 4 + 8 + 32);
    }
}
