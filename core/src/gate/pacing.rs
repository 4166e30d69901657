//! Pacing: GCRA as an exact leaky bucket.

use crate::fixed::{div_rem, mul_div_floor};
use crate::rate::Quota;
use crate::snapshot::fields;
use crate::time::{Instant, Span};
use crate::verdict::{Reason, Verdict};

/// Keeps calls within a [`Quota`]: the generic cell rate algorithm, in the form of the
/// continuous-state leaky bucket of ITU-T I.371. The tests compare it with exact rational
/// arithmetic.
///
/// A call adds its cost to the bucket, and waits while the bucket would overflow. The bucket drains
/// at the quota's rate. The level is counted in units of 1/period of a call. The quota's *count* of
/// these drain per nanosecond, so no division loses a remainder. A level above the bucket's size is
/// a debt, from a cost that was corrected upwards.
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
/// let next = start.saturating_add(Span::from_millis(100));
/// assert_eq!(pacing.check(start, 1, Some(quota)), Verdict::Wait(next));
/// assert_eq!(pacing.check(next, 1, Some(quota)), Verdict::Admit);
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Pacing {
    /// The level of the bucket, in units of 1/period of a call.
    level: u64,
    /// The latest instant seen, which replaces an earlier `now`.
    at: Instant,
    /// End of the law's cooldown.
    until: Instant,
}

impl Pacing {
    /// Creates a pacing with its whole burst available.
    #[must_use]
    pub const fn new(now: Instant) -> Self {
        Self { level: 0, at: now, until: Instant::ZERO }
    }

    /// Whether a call of `cost` may be sent: `Admit`, `Wait`, [`Reason::TooBig`] if the cost
    /// exceeds the burst, or [`Reason::Never`] if the wait would end after [`Instant::MAX`]. A cost
    /// of zero is always admitted.
    #[must_use]
    #[inline(always)] // so that a law without a quota links no bucket
    pub fn check(&self, now: Instant, cost: u32, quota: Option<Quota>) -> Verdict {
        match self.due(now, cost, quota) {
            Ok(due) if due > now => Verdict::Wait(due),
            Ok(_) => Verdict::Admit,
            Err(reason) => Verdict::Reject(reason),
        }
    }

    /// The earliest instant at which a call of `cost` may be sent; `Err` if there is none.
    #[inline(always)] // as above
    pub(crate) fn due(
        &self,
        now: Instant,
        cost: u32,
        quota: Option<Quota>,
    ) -> Result<Instant, Reason> {
        match quota {
            _ if cost == 0 => Ok(Instant::ZERO),
            Some(quota) => Ok(self.bucket_due(&quota, now, cost)?.max(self.until)),
            None => Ok(self.until),
        }
    }

    /// Whether a call of `cost` may be sent now.
    #[inline(always)] // as above
    pub(crate) fn is_clear(&self, now: Instant, cost: u32, quota: Option<Quota>) -> bool {
        self.until <= now
            && quota.is_none_or(|quota| {
                let rest = quota.burst.get().checked_sub(cost);
                rest.is_some_and(|rest| self.level_at(&quota, now) <= quota.call(rest))
            })
    }

    /// When this gate admits a call of `cost`. May be in the past. `None` if nothing delays the
    /// call, or if it can never be sent.
    #[must_use]
    pub fn ready_at(&self, cost: u32, quota: Option<Quota>) -> Option<Instant> {
        match self.check(self.at, cost, quota) {
            Verdict::Wait(at) => Some(at),
            _ => None,
        }
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
    /// let next = start.saturating_add(Span::from_millis(100));
    /// assert_eq!(pacing.take(start, 1, &quota), Verdict::Wait(next));
    /// assert_eq!(pacing.take(next, 1, &quota), Verdict::Admit);
    /// ```
    #[must_use = "a call may have to wait"]
    #[inline]
    pub fn take(&mut self, now: Instant, cost: u32, quota: &Quota) -> Verdict {
        // The usual case, with each value computed once. For a cost within the burst the product
        // fits, because the quota was checked for it.
        if self.until <= now
            && cost <= quota.burst.get()
            && let Some(passed) = now.as_nanos().checked_sub(self.at.as_nanos())
            && let Some(drained) = passed.checked_mul(quota.count.get())
            && let Some(level) = self.level.saturating_sub(drained).checked_add(quota.call(cost))
            && level <= brim(*quota)
        {
            (self.level, self.at) = (level, now);
            return Verdict::Admit;
        }
        self.take_slowly(now, cost, quota)
    }

    #[cold]
    fn take_slowly(&mut self, now: Instant, cost: u32, quota: &Quota) -> Verdict {
        let verdict = self.check(now, cost, Some(*quota));
        if verdict == Verdict::Admit {
            self.charge(now, cost, Some(*quota));
        }
        verdict
    }

    /// Adds the cost of a call. Call [`check`](Self::check) first: what overflows the bucket is a
    /// debt.
    pub fn charge(&mut self, now: Instant, cost: u32, quota: Option<Quota>) {
        self.drain(now, quota);
        self.pour(0, cost, quota);
    }

    /// Corrects a call's cost from `charged` to `used`: a refund if it was less, a debt if it was
    /// more. A refund never exceeds the bucket's level. A debt is paid within a day, because `used`
    /// may be what a server reports.
    #[inline(always)] // as above
    pub fn correct(&mut self, now: Instant, charged: u32, used: u32, quota: Option<Quota>) {
        self.drain(now, quota);
        let before = self.level;
        self.pour(charged, used, quota);
        if used > charged
            && let Some(quota) = quota
        {
            let day = LONGEST_DEBT.saturating_mul(quota.count()).as_nanos();
            self.level = self.level.min(brim(quota).saturating_add(day)).max(before);
        }
    }

    /// The same, for a bucket that is already drained up to now.
    #[inline(always)] // as above
    pub(crate) fn pour(&mut self, charged: u32, used: u32, quota: Option<Quota>) {
        let Some(quota) = quota else { return };
        let level = Span::from_nanos(self.level);
        let difference = quota.period().saturating_mul(charged.abs_diff(used).into());
        let level = match used > charged {
            true => level.saturating_add(difference),
            false => level.saturating_sub(difference),
        };
        self.level = level.as_nanos();
    }

    /// Takes back the cost of a call, except what drains in the time `drained`.
    #[inline(always)] // as above
    pub(crate) fn refund(&mut self, now: Instant, cost: u32, drained: Span, quota: Option<Quota>) {
        self.drain(now, quota);
        if let Some(quota) = quota {
            let cost = quota.period().saturating_mul(cost.into());
            let rest = cost.saturating_sub(drained.saturating_mul(quota.count()));
            self.level = self.level.saturating_sub(rest.as_nanos());
        }
    }

    /// Admits no call within `span` from now. Ends at the latest one instant before the end of
    /// time, so that it does end.
    pub fn delay(&mut self, now: Instant, span: Span) {
        self.until = self.until.max(now.max(self.at).saturating_add(span).min(Instant::LAST));
    }

    /// Changes to the quota of another law. The number of calls for which there is room is kept, up
    /// to the new burst; a debt stays. The bucket must be drained up to now.
    pub(crate) fn follow(&mut self, from: Option<Quota>, to: Option<Quota>) {
        let (Some(from), Some(to)) = (from, to) else {
            self.level = 0;
            return;
        };
        let (old, new) = (from.period.get(), to.period.get());
        let (full, to_full) = (brim(from), brim(to));
        let room = mul_div_floor(full.saturating_sub(self.level), new, old);
        let debt = mul_div_floor(self.level.saturating_sub(full), new, old);
        let debt = debt.saturating_add(u64::from(self.level > full));
        self.level = to_full.saturating_sub(room).saturating_add(debt);
    }

    /// Limits the room in the bucket to this many calls.
    #[cfg(feature = "shared")]
    pub(crate) fn leave_at_most(&mut self, calls: u32, quota: Quota) {
        let room = quota.period.get().saturating_mul(calls.into());
        self.level = self.level.max(brim(quota).saturating_sub(room));
    }

    /// Drains the bucket up to `now`. Call this before the quota changes, because the past time
    /// drained at the old rate.
    #[inline(always)] // as above
    pub fn drain(&mut self, now: Instant, quota: Option<Quota>) {
        match quota {
            Some(quota) => self.drain_at(&quota, now),
            None => (self.level, self.at) = (0, self.at.max(now)),
        }
    }

    fn drain_at(&mut self, quota: &Quota, now: Instant) {
        self.level = self.level_at(quota, now);
        self.at = self.at.max(now);
    }

    /// Drains the bucket for time before the start of the present clock.
    pub(crate) fn drain_for(&mut self, span: Span, quota: Option<Quota>) {
        if let Some(quota) = quota {
            self.level = self.level_at(&quota, self.at.saturating_add(span));
        }
    }

    fn bucket_due(&self, quota: &Quota, now: Instant, cost: u32) -> Result<Instant, Reason> {
        if cost > quota.burst.get() {
            return Err(Reason::TooBig);
        }
        match self.wait(quota, now, 0, cost) {
            Span::ZERO => Ok(Instant::ZERO),
            wait => self.at.max(now).checked_add(wait).ok_or(Reason::Never),
        }
    }

    /// How long until the bucket has room for a call of `cost`, after others that fill `ahead` of it.
    fn wait(&self, quota: &Quota, now: Instant, ahead: u64, cost: u32) -> Span {
        let level = self.level_at(quota, now).saturating_add(ahead);
        // The highest level at which the call still fits.
        let room = quota.call(quota.burst.get().saturating_sub(cost));
        let (drained, rest) = div_rem(level.saturating_sub(room), quota.count);
        Span::from_nanos(drained.saturating_add(u64::from(rest > 0)))
    }

    /// Charges an admitted call. If it had to wait at the latest instant seen, it is charged as of
    /// `lately`, so that the next one is due by the rate. Exception: the level at that time would
    /// not fit in 64 bits.
    #[inline(always)] // as above
    pub(crate) fn charge_late(&mut self, now: Instant, lately: Instant, cost: u32, quota: &Quota) {
        let call = quota.call(cost);
        let then = match self.level.checked_add(call) {
            Some(level) if level > brim(*quota) => lately,
            _ => now,
        };
        self.drain_at(quota, then);
        self.level = self.level.wrapping_add(call);
    }

    /// When the bucket has room for a call of `cost` after the calls `ahead` of it, with the delay
    /// since `lately` made up; the end of time if never.
    pub(crate) fn due_behind(
        &self,
        lately: Instant,
        ahead: u64,
        cost: u32,
        quota: &Quota,
    ) -> Instant {
        let ahead = quota.period().saturating_mul(ahead).as_nanos();
        let wait = self.wait(quota, lately, ahead, cost);
        self.at.max(lately).saturating_add(wait)
    }

    /// Ends the cooldown, because the user says so.
    pub(crate) const fn end_cooldown(&mut self) {
        self.until = Instant::ZERO;
    }

    /// Ends the cooldown at `latest` at the latest.
    pub(crate) fn shorten_cooldown(&mut self, latest: Instant) {
        self.until = self.until.min(latest);
    }

    /// If the product saturates, it exceeds any level, so the difference is exact.
    fn level_at(&self, quota: &Quota, now: Instant) -> u64 {
        let drained = now.saturating_since(self.at).saturating_mul(quota.count.get());
        self.level.saturating_sub(drained.as_nanos())
    }
}

/// No cost that a server reports delays a client by more than a day.
pub(crate) const LONGEST_DEBT: Span = Span::from_secs(86_400);

const fn brim(quota: Quota) -> u64 {
    quota.call(quota.burst.get())
}

fields!(Pacing { level: u64, at: Instant, until: Instant });

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cooldown_has_the_requested_length_at_any_rate() {
        let ten_seconds = Span::from_secs(10);
        for quota in
            [None, Some(Quota::per_hour(1).unwrap()), Some(Quota::per_second(100_000).unwrap())]
        {
            let mut pacing = Pacing::new(Instant::ZERO);
            pacing.delay(Instant::ZERO, ten_seconds);
            pacing.delay(Instant::ZERO, Span::from_secs(1));
            let end = Instant::ZERO.saturating_add(ten_seconds);
            assert_eq!(pacing.check(Instant::ZERO, 1, quota), Verdict::Wait(end), "{quota:?}");
            assert_eq!(pacing.check(end, 1, quota), Verdict::Admit, "{quota:?}");
        }
        let mut pacing = Pacing::new(Instant::ZERO);
        pacing.delay(Instant::from_nanos(7), Span::MAX);
        assert!(matches!(pacing.check(Instant::ZERO, 1, None), Verdict::Wait(_)));
        assert_eq!(pacing.check(Instant::MAX, 1, None), Verdict::Admit);
    }

    proptest! {
        #[test]
        fn take_equals_check_and_then_charge(
            (count, period) in (1u64.., 1u64..1 << 40), burst in 1u32..1 << 20, start: u64,
            calls in prop::collection::vec((0u64..1 << 40, any::<bool>(), 0u32..1 << 21, 0u64..1 << 30), 0..50),
        ) {
            let quota = Quota::per(count, Span::from_nanos(period)).unwrap().with_burst(burst).unwrap();
            let (mut now, mut one) = (start, Pacing::new(Instant::from_nanos(start)));
            let mut two = one.clone();
            for (step, back, cost, cooldown) in calls {
                now = if back { now.saturating_sub(step) } else { now.saturating_add(step) };
                let at = Instant::from_nanos(now);
                if cooldown < 1 << 24 {
                    one.delay(at, Span::from_nanos(cooldown));
                    two.delay(at, Span::from_nanos(cooldown));
                }
                let verdict = one.check(at, cost, Some(quota));
                if verdict == Verdict::Admit {
                    one.charge(at, cost, Some(quota));
                }
                prop_assert_eq!(two.take(at, cost, &quota), verdict);
                prop_assert_eq!(&one, &two);
            }
        }
    }
}
