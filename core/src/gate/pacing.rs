//! Pacing: GCRA with one theoretical arrival time.

use core::num::NonZeroU64;

use crate::fixed::div_rem;
use crate::rate::Quota;
use crate::snapshot::fields;
use crate::time::{Instant, LATENESS, Span};
use crate::verdict::{Reason, Verdict};

/// Keeps calls within a [`Quota`]: the generic cell rate algorithm, in the form of virtual
/// scheduling of ITU-T I.371. The tests compare it with an independent implementation.
///
/// The state is the theoretical arrival time: when the next call would arrive if calls arrived exactly at the rate. A
/// call moves it by the quota's interval times its cost. A call may arrive earlier, by as many intervals as the burst
/// has room for. A time further in the future is a debt, from a cost that was corrected upwards.
///
/// The quota is an argument, not state, because a law changes it. Without a quota (`None`) calls
/// cost nothing here. In addition, a cooldown can prevent all calls until its end.
///
/// ```
/// use tidegate::{Instant, Quota, Span, Verdict, gate::Pacing};
///
/// let quota = Quota::per_second(10).unwrap().with_burst(2).unwrap();
/// let start = Instant::ZERO;
/// let mut pacing = Pacing::new(start);
/// for _ in 0..2 {
///     assert_eq!(pacing.check(start, 1, Some(quota)), Verdict::Admit);
///     pacing.charge(start, 1, Some(quota));
/// }
/// let next = start + Span::from_millis(100);
/// assert_eq!(pacing.check(start, 1, Some(quota)), Verdict::Wait(next));
/// assert_eq!(pacing.check(next, 1, Some(quota)), Verdict::Admit);
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Pacing {
    /// The theoretical arrival time. From [`Instant::LAST`] on, no call is admitted.
    next: Instant,
    /// End of the law's cooldown.
    until: Instant,
}

/// The start of the time that a late timer may make up.
pub(crate) fn lately(now: Instant) -> Instant {
    now - LATENESS
}

/// No cost that a server reports delays a client by more than a day.
pub(crate) const LONGEST_DEBT: Span = Span::from_secs(86_400);

impl Pacing {
    /// Creates a pacing with its whole burst available.
    #[must_use]
    pub const fn new(now: Instant) -> Self {
        Self { next: now, until: Instant::ZERO }
    }

    /// Whether a call of `cost` may be sent: `Admit`, `Wait`, [`Reason::TooBig`] if the cost
    /// exceeds the burst, or [`Reason::Never`] if the wait would end after the last instant. A cost
    /// of zero is always admitted.
    #[must_use]
    #[inline(always)] // so that a law without a quota links no arithmetic
    pub fn check(&self, now: Instant, cost: u32, quota: Option<Quota>) -> Verdict {
        match self.due(cost, quota) {
            Ok(due) if due > now => Verdict::Wait(due),
            Ok(_) => Verdict::Admit,
            Err(reason) => Verdict::Reject(reason),
        }
    }

    /// The earliest instant at which a call of `cost` may be sent; `Err` if there is none.
    #[inline(always)] // as above
    pub(crate) fn due(&self, cost: u32, quota: Option<Quota>) -> Result<Instant, Reason> {
        match quota {
            _ if cost == 0 => Ok(Instant::ZERO),
            Some(quota) => Ok(self.due_at_rate(cost, quota)?.max(self.until)),
            None => Ok(self.until),
        }
    }

    fn due_at_rate(&self, cost: u32, quota: Quota) -> Result<Instant, Reason> {
        let rest = quota.burst().checked_sub(cost).ok_or(Reason::TooBig)?;
        if self.next >= Instant::LAST {
            return Err(Reason::Never);
        }
        Ok(self.next - quota.time_of(rest))
    }

    /// When this gate admits a call of `cost`. May be in the past. `None` if nothing delays the
    /// call, or if it can never be sent.
    #[must_use]
    pub fn ready_at(&self, cost: u32, quota: Option<Quota>) -> Option<Instant> {
        self.due(cost, quota).ok().filter(|due| *due > Instant::ZERO)
    }

    /// [`check`](Self::check), followed by a charge if the verdict is `Admit`. Sufficient for a
    /// separate limiter.
    ///
    /// ```
    /// use tidegate::{Instant, Quota, Span, Verdict, gate::Pacing};
    ///
    /// let quota = Quota::per_second(10).unwrap();
    /// let start = Instant::ZERO;
    /// let mut pacing = Pacing::new(start);
    /// assert_eq!(pacing.take(start, 1, &quota), Verdict::Admit);
    /// let next = start + Span::from_millis(100);
    /// assert_eq!(pacing.take(start, 1, &quota), Verdict::Wait(next));
    /// assert_eq!(pacing.take(next, 1, &quota), Verdict::Admit);
    /// ```
    #[must_use = "a call may have to wait"]
    #[inline]
    pub fn take(&mut self, now: Instant, cost: u32, quota: &Quota) -> Verdict {
        let verdict = self.check(now, cost, Some(*quota));
        if verdict == Verdict::Admit {
            self.charge(now, cost, Some(*quota));
        }
        verdict
    }

    /// Adds the cost of a call. Call [`check`](Self::check) first: what exceeds the burst is a debt.
    #[inline(always)] // as above
    pub fn charge(&mut self, now: Instant, cost: u32, quota: Option<Quota>) {
        if let Some(quota) = quota {
            let next = self.next.max(now) + quota.time_of(cost);
            self.next = next.min(Instant::LAST);
        }
    }

    /// Adds the cost of a call that may be late. A call that `waited` is charged as of its time, so
    /// that the next one is due by the rate, and so are others that the same timer delayed.
    #[inline(always)] // as above
    pub(crate) fn charge_late(&mut self, now: Instant, waited: bool, cost: u32, quota: Quota) {
        let next = self.start(now, waited) + quota.time_of(cost);
        self.next = next.min(Instant::LAST);
    }

    /// The theoretical arrival time of a call at `now`, with the delay of a late timer made up.
    fn start(&self, now: Instant, waited: bool) -> Instant {
        let lately = lately(now);
        if waited || self.next > lately { self.next.max(lately) } else { now }
    }

    /// Corrects a call's cost from `charged` to `used`: a refund if it was less, a debt if it was
    /// more. A refund makes room for no more than the burst. A debt is paid within a day, because
    /// `used` may be what a server reports.
    #[inline(always)] // as above
    pub fn correct(&mut self, now: Instant, charged: u32, used: u32, quota: Option<Quota>) {
        let Some(quota) = quota else { return };
        let difference = quota.time_of(charged.abs_diff(used));
        if used > charged {
            let most = now + quota.time_of(quota.burst()) + LONGEST_DEBT;
            let next = (self.next.max(now) + difference).min(most);
            self.next = self.next.max(next).min(Instant::LAST);
        } else {
            self.give_back(now, difference);
        }
    }

    /// Refunds the cost of a call, except what is paid for in the time `paid`.
    #[inline(always)] // as above
    pub(crate) fn refund(&mut self, now: Instant, cost: u32, paid: Span, quota: Option<Quota>) {
        if let Some(quota) = quota {
            self.give_back(now, quota.time_of(cost) - paid);
        }
    }

    fn give_back(&mut self, now: Instant, span: Span) {
        self.next = self.next.min((self.next - span).max(now));
    }

    /// Admits no call within `span` from now. The delay ends no later than one instant before the end of time, so that
    /// it does end.
    pub fn delay(&mut self, now: Instant, span: Span) {
        self.until = self.until.max((now + span).min(Instant::LAST));
    }

    /// Changes to another quota. The number of calls for which there is room at `now` is kept, up
    /// to the new burst; a debt stays.
    pub fn follow(&mut self, now: Instant, from: Option<Quota>, to: Option<Quota>) {
        if from == to {
            return;
        }
        let (Some(from), Some(to)) = (from, to) else {
            self.next = now;
            return;
        };
        self.rescale(now, from.interval(), to.interval());
        let more = to.time_of(to.burst().saturating_sub(from.burst()));
        let less = to.time_of(from.burst().saturating_sub(to.burst()));
        let next = self.next + more - less;
        self.next = next.max(now).min(Instant::LAST);
    }

    /// Changes to another interval. What is ahead of `now` stays the same number of whole calls. The
    /// part of a call takes no more time than before at a higher rate, and at a lower one as much
    /// more as a whole call does.
    pub(crate) fn rescale(&mut self, now: Instant, from: Span, to: Span) {
        let Some(interval) = NonZeroU64::new(from.as_nanos()) else { return };
        let (calls, part) = div_rem((self.next - now).as_nanos(), interval);
        let more = if part > 0 { to - from } else { Span::ZERO };
        let part = (Span::from_nanos(part) + more).min(to);
        self.next = (now + to * calls + part).min(Instant::LAST);
    }

    /// Limits the burst at `now` to this many calls.
    #[cfg(feature = "shared")]
    pub(crate) fn leave_at_most(&mut self, now: Instant, calls: u32, quota: Quota) {
        let used = quota.time_of(quota.burst().saturating_sub(calls));
        self.next = self.next.max((now + used).min(Instant::LAST));
    }

    /// When there is room for a call of `cost` after the calls `ahead` of it, the first of which may
    /// have `waited`; the end of time if never.
    pub(crate) fn due_behind(
        &self,
        now: Instant,
        waited: bool,
        ahead: u64,
        cost: u32,
        quota: Quota,
    ) -> Instant {
        let next = self.start(now, waited);
        let rest = u64::from(quota.burst().saturating_sub(cost));
        let apart = quota.interval() * ahead.abs_diff(rest);
        if ahead > rest { next + apart } else { next - apart }
    }

    /// Ends the cooldown, because the user says so.
    pub(crate) const fn end_cooldown(&mut self) {
        self.until = Instant::ZERO;
    }

    /// Ends the cooldown at `latest` at the latest.
    pub(crate) fn shorten_cooldown(&mut self, latest: Instant) {
        self.until = self.until.min(latest);
    }
}

fields!(Pacing { next: Instant, until: Instant });
