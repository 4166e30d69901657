//! What the server reports about its limit in responses.

use core::num::{NonZeroU8, NonZeroU16};

use super::log::Log;
use super::places::Places;
use super::{AdaptiveState, Paced, Phase};
use crate::law::Sample;
use crate::outcome::Outcome;
use crate::snapshot::fields;
use crate::time::{Instant, Span};

/// What the rate of [`Adaptive`](super::Adaptive) is based on, from knowing nothing to knowing all.
///
/// ```
/// use tidegate::law::{Adaptive, Basis};
/// use tidegate::{Call, Controller, Decision, Hint, Instant, Outcome, Policy};
///
/// let mut gate: Controller<Adaptive> =
///     Controller::new(Policy::new(Adaptive::DEFAULT), 7, Instant::ZERO);
/// assert_eq!(gate.states().next().unwrap().basis(), Basis::Nothing);
/// let now = Instant::from_nanos(1_000_000_000);
/// let Decision::Admit(permit) = gate.poll(now, &Call::new()) else { panic!() };
/// gate.settle(now, permit, Outcome::Throttled.with(Hint::remaining(0)));
/// assert_eq!(gate.states().next().unwrap().basis(), Basis::Remaining);
/// ```
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Basis {
    /// Nothing yet: no limit was met, so calls do not wait for a rate.
    Nothing,
    /// Rejections and cooldowns.
    Rejections,
    /// In addition, the limit and its period.
    Quota,
    /// In addition, the number of remaining calls.
    Remaining,
}

/// The latest hints.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Hinted {
    /// The time per unit of cost, if all clients share the limit; zero if unknown.
    unit: Log,
    /// The limit; zero if unknown.
    limit: u32,
    /// What remained of the limit.
    left: u32,
    /// The most that ever remained: the size of the pool.
    most: u32,
    /// The number of responses that may still be older than `left`.
    stale: u16,
    /// The number of calls in a row without a wait after which the client counts as app-limited.
    busy: u8,
    /// Whether that must last for longer than a round trip.
    lasts: bool,
}

/// The server did not report what remains.
const UNKNOWN: u32 = u32::MAX;

/// After this many calls that did not wait, the client is app-limited.
const APP_LIMITED: u8 = 16;

/// Whether this is a rejection without any hint, beside which earlier hints still apply.
pub(super) fn is_bare(sample: &Sample<'_>) -> bool {
    let says = sample.hint.describes_limit() || sample.hint.cooldown().is_some();
    sample.outcome != Outcome::Ok && !says
}

impl Hinted {
    /// Whether the calls in flight leave an eighth of the pool to other clients.
    fn leaves_room(&self, in_flight: u16) -> bool {
        self.left != UNKNOWN && self.left > (self.most / 8).saturating_add(in_flight.into())
    }

    pub(super) fn new() -> Self {
        Self { left: UNKNOWN, busy: APP_LIMITED, ..Self::default() }
    }

    /// Whether responses have reported values that may be outdated.
    pub(super) fn knows(&self) -> bool {
        self.left != UNKNOWN || self.unit != Log::ZERO || self.limit > 0 || self.lasts
    }

    /// Whether less than a quarter of the pool is left.
    pub(super) const fn is_low(&self) -> bool {
        self.left < self.most.div_ceil(4)
    }

    /// Whether almost nothing of the pool is used.
    pub(super) const fn is_full(&self) -> bool {
        let full = self.left >= self.most.saturating_sub(self.most / 16);
        full && self.left > 0 && self.left != UNKNOWN
    }

    /// The limit on calls in flight if what remains has to last, or is less than half of the pool:
    /// the remaining calls, but at least one as a probe. When slow `starts`, an eighth of them, because
    /// other clients may have read the same number; all of a small pool, which the first calls of these
    /// clients use up in any case.
    pub(super) fn calls_left(&self, refilled: u16, starts: bool) -> Option<NonZeroU16> {
        const SMALL: u32 = 32;
        let left = u16::try_from(self.left).ok()?;
        let left = if starts && self.most > SMALL { left / 8 } else { left };
        let left = left.saturating_add(refilled);
        let binds = self.lasts || self.left < self.most.div_ceil(2);
        NonZeroU16::new(left.max(1)).filter(|_| binds)
    }
}

/// A rate may exceed the quota by an eighth, to make up for losses.
const SPARE: Log = Log::of_ratio(8, 7);

/// From there to a 64th below the quota: the highest rate to try if each rejection costs a cooldown.
pub(super) const BELOW: Log = Log::of_ratio(8 * 64, 7 * 63);

/// The time per unit.
fn of_quota(limit: u64, period: Span) -> Log {
    (Log::of_span(period) - Log::of(limit) - SPARE).max(Log::of(2))
}

impl AdaptiveState {
    /// What the rate is based on.
    #[must_use]
    pub fn basis(&self) -> Basis {
        match self.hinted {
            _ if self.is_open() => Basis::Nothing,
            Hinted { left, .. } if left != UNKNOWN => Basis::Remaining,
            Hinted { unit, .. } if unit != Log::ZERO => Basis::Quota,
            _ => Basis::Rejections,
        }
    }

    /// The interval of the limit that all clients share, at most the longest cooldown; zero if
    /// unknown.
    pub(super) fn quota(&self) -> Log {
        match (self.hinted.unit, &self.phase) {
            (Log::ZERO, _) | (_, Phase::Paced(Paced { refuted: true, .. })) => Log::ZERO,
            (unit, _) => self.usual.of_call(unit).min(self.ceiling()),
        }
    }

    /// Whether more was served than windows or a bucket of the told quota allow: it may be that of one of many nodes.
    pub(super) fn exceeds_quota(&self, now: Instant) -> bool {
        /// A quota may be enforced this inexactly.
        const LEAST: Log = Log::of_ratio(16 * 8, 17 * 7);
        let most = self.hinted.limit.saturating_mul(2);
        let more = self.meter.calls(self.usual).saturating_sub(most);
        let least = self.quota() + LEAST + Log::of(more.into());
        self.hinted.limit > 0 && more > 0 && least > Log::of_span(self.meter.cycle(now))
    }

    /// The first rate is known, so calls are paced from now on.
    pub(super) fn begin_paced(&mut self, now: Instant) {
        let refuted = matches!(&self.phase, Phase::Open(open) | Phase::Cooldown(open) if open.told)
            && self.exceeds_quota(now);
        self.phase = Phase::Paced(Paced { refuted, ..Paced::new(self.interval) });
        self.places = Places::new();
    }

    /// Whether what remains covers the calls in flight, one more call, and a reserve for other
    /// clients: an eighth of the pool.
    pub(super) fn has_room(&self, in_flight: u16) -> bool {
        self.hinted.busy == 0 && !self.is_open() && self.hinted.leaves_room(in_flight)
    }

    /// Whether a rejection says that enough is left for the call or, if it says nothing, the latest response that did
    /// left room for others.
    pub(super) fn is_unexplained(&self, sample: &Sample<'_>) -> bool {
        sample.hint.has_room(sample.cost)
            || is_bare(sample) && self.hinted.leaves_room(sample.in_flight)
    }

    /// Stores the hints of a response.
    pub(super) fn hear(&mut self, sample: &Sample<'_>) {
        let hint = sample.hint;
        if is_bare(sample) {
            self.hinted.busy = APP_LIMITED;
            return;
        }
        let limit = hint.limit.unwrap_or(0);
        let calls = self.usual.calls_in(limit);
        if let (1.., Some(period)) = (limit, hint.period) {
            let unit = of_quota(limit, period);
            self.see_quota(sample, calls, unit);
            self.hinted.unit = unit;
        } else if sample.fresh && sample.outcome == Outcome::Ok {
            // A value that is no longer reported must not apply forever.
            self.hinted.unit = Log::ZERO;
        }
        self.hinted.limit = calls;
        self.hinted.lasts = hint.reset > Some(self.round_trip());
        let left = hint.remaining.map_or(UNKNOWN, |left| self.usual.calls_in(left));
        if left <= self.hinted.left || self.hinted.stale == 0 {
            (self.hinted.left, self.hinted.stale) = (left, sample.in_flight);
        } else {
            // Responses can arrive out of order: the response to a call that was sent before `left`
            // was reported is older.
            self.hinted.stale = self.hinted.stale.saturating_sub(1);
        }
        if left != UNKNOWN {
            self.hinted.most = self.hinted.most.max(left);
        }
        if calls > 0 {
            self.hinted.most = self.hinted.most.min(calls);
        }
        match &mut self.phase {
            Phase::Open(open) => open.see_left(left, sample.in_flight.saturating_add(1)),
            Phase::Cooldown(_) => {}
            Phase::Paced(paced) if self.hinted.is_full() => {
                paced.unused = paced.unused.map(|responses| responses.saturating_add(1));
            }
            Phase::Paced(paced) => paced.unused = Some(NonZeroU8::MIN),
        }
        self.hinted.busy = match sample.rate_limited || sample.outcome != Outcome::Ok {
            true => APP_LIMITED,
            false => self.hinted.busy.saturating_sub(1),
        };
    }

    /// A response with a quota. If the same limit has another period, every client's share changes.
    fn see_quota(&mut self, sample: &Sample<'_>, limit: u32, unit: Log) {
        const MOST: Log = Log::OCTAVE.octaves(1);
        const LEAST: Log = Log::of_ratio(16, 15);
        let changed = (unit - self.hinted.unit).min(MOST).max(-MOST);
        let change = changed.max(-changed);
        let paced = match &mut self.phase {
            Phase::Open(open) | Phase::Cooldown(open) => return open.told = change <= LEAST,
            Phase::Paced(paced) => paced,
        };
        paced.refuted &= change <= LEAST;
        let known = self.hinted.unit > Log::ZERO;
        if known && limit == self.hinted.limit && sample.fresh && change > LEAST {
            // A client is never slowed to more than the longest cooldown.
            let most = self.interval.max(Log::of_coarse(self.ceiling.into()));
            self.interval = (self.interval + changed).min(most);
            paced.target = (paced.target + changed).min(most);
        }
    }
}

fields!(Hinted { unit: Log, limit: u32, left: u32, most: u32, stale: u16, busy: u8, lasts: bool });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::Adaptive;
    use crate::{Call, Controller, Decision, Hint, Instant, Policy};

    #[test]
    fn the_basis_is_the_best_of_the_hints_and_rejections() {
        let quota = Hint::quota(60, Span::from_secs(60));
        for (outcome, hint, basis) in [
            (Outcome::Ok, quota.and_remaining(7), Basis::Nothing),
            // The server may reject this one call each time.
            (Outcome::Throttled, Hint::NONE, Basis::Nothing),
            (Outcome::Throttled, Hint::NONE.and_limit(60), Basis::Rejections),
            (Outcome::Throttled, quota, Basis::Quota),
            (Outcome::Throttled, Hint::remaining(0), Basis::Remaining),
            (Outcome::Throttled, quota.and_remaining(0), Basis::Remaining),
        ] {
            let mut gate: Controller<Adaptive> =
                Controller::new(Policy::adaptive(), 7, Instant::ZERO);
            let Decision::Admit(permit) = gate.poll(Instant::ZERO, &Call::new()) else { panic!() };
            gate.settle(Instant::from_nanos(1 << 30), permit, outcome.with(hint));
            assert_eq!(gate.states().map(AdaptiveState::basis).next(), Some(basis), "{hint:?}");
        }
    }
}
