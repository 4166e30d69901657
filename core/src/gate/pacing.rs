//! The pacing: GCRA as an exact leaky bucket.

use crate::fixed::{div_rem, mul_div_floor};
use crate::rate::Quota;
use crate::snapshot::fields;
use crate::time::{Instant, Span};
use crate::verdict::{Reason, Verdict};

/// Keeps calls to a [`Quota`]: the generic cell rate algorithm, in the form that ITU-T I.371
/// calls the continuous-state leaky bucket. The tests compare it with the same in exact rationals.
///
/// A call adds its cost to the bucket, and waits as long as the bucket would overflow. The bucket
/// drains at the quota's rate. The level is counted in units of 1/period of a call, of which the
/// quota's *count* drain every nanosecond, so no division ever loses a remainder, however often the
/// pacing is asked. A level above the brim is a debt: it comes from a cost that was corrected
/// upwards.
///
/// The quota is an argument and not state, because a law moves it; without one (`None`) calls cost
/// nothing here. Beside the bucket stands a cooldown, before whose end nothing is sent.
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
    /// What is in the bucket, in 1/period of a call.
    level: u64,
    /// The latest instant seen. An earlier `now` is taken for this one.
    at: Instant,
    /// When the cooldown that a law made ends.
    until: Instant,
}

impl Pacing {
    /// Pacing with its whole burst to spend.
    #[must_use]
    pub const fn new(now: Instant) -> Self {
        Self { level: 0, at: now, until: Instant::ZERO }
    }

    /// Whether a call of `cost` may be sent: `Admit`, `Wait`, [`Reason::TooBig`] if the cost
    /// exceeds the burst, or [`Reason::Never`] if the wait would end after [`Instant::MAX`]. A cost
    /// of zero is always admitted.
    #[must_use]
    #[inline(always)] // a law without a quota then links no bucket
    pub fn check(&self, now: Instant, cost: u32, quota: Option<Quota>) -> Verdict {
        match self.due(now, cost, quota) {
            Ok(due) if due > now => Verdict::Wait(due),
            Ok(_) => Verdict::Admit,
            Err(reason) => Verdict::Reject(reason),
        }
    }

    /// From when on a call of `cost` may be sent; `Err` if that is never.
    #[inline(always)] // as above
    pub(crate) fn due(
        &self,
        now: Instant,
        cost: u32,
        quota: Option<Quota>,
    ) -> Result<Instant, Reason> {
        match quota {
            _ if cost == 0 => Ok(Instant::ZERO),
            Some(quota) => Ok(self.bucket_due(now, cost, quota)?.max(self.until)),
            None => Ok(self.until),
        }
    }

    /// Whether a call of `cost` may be sent now.
    #[inline(always)] // as above
    pub(crate) fn is_clear(&self, now: Instant, cost: u32, quota: Option<Quota>) -> bool {
        self.until <= now
            && quota.is_none_or(|quota| {
                let rest = quota.burst.get().checked_sub(cost);
                rest.is_some_and(|rest| self.level_at(now, quota) <= quota.call(rest))
            })
    }

    /// When a call of `cost` may be sent, as far as this gate goes: the instant may be past. `None`
    /// where nothing is in the way, or the call can never be sent.
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
        // What most calls come to, and nothing worked out twice. A cost within the burst is one that
        // quotas are made for: its product fits.
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

    /// Pours in what a call of `cost` takes. Ask [`check`](Self::check) first: what overflows the
    /// bucket is a debt, as in [`correct`](Self::correct).
    pub fn charge(&mut self, now: Instant, cost: u32, quota: Option<Quota>) {
        self.correct(now, 0, cost, quota);
    }

    /// Corrects a call's cost from what was `charged` to what was `used`: a refund where it was
    /// less, a debt where it was more. A refund never exceeds the bucket's level, and a debt
    /// saturates at 2^64 units.
    #[inline(always)] // as above
    pub fn correct(&mut self, now: Instant, charged: u32, used: u32, quota: Option<Quota>) {
        self.drain(now, quota);
        self.pour(charged, used, quota);
    }

    /// The same where the bucket has drained already.
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

    /// Makes sure that no call is sent within `span` from now. It ends one instant before the end of
    /// time at the latest, so that it does end.
    pub fn delay(&mut self, now: Instant, span: Span) {
        self.until = self.until.max(now.max(self.at).saturating_add(span).min(Instant::LAST));
    }

    /// Keeps the calls' worth of room in the bucket where the quota changes `from` one `to` another
    /// of the same period; what no longer fits is lost.
    pub fn resize(&mut self, from: Quota, to: Quota) {
        let (from, to) = (brim(from), brim(to));
        self.level = self.level.saturating_add(to.saturating_sub(from));
        self.level = self.level.saturating_sub(from.saturating_sub(to));
    }

    /// Keeps the calls' worth of room in the bucket where another law's quota follows, as far as its burst
    /// goes; and a debt. The bucket has drained up to now.
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

    /// Leaves room for so many calls, where there is room for more.
    #[cfg(feature = "shared")]
    pub(crate) fn leave_at_most(&mut self, calls: u32, quota: Quota) {
        let room = quota.period.get().saturating_mul(calls.into());
        self.level = self.level.max(brim(quota).saturating_sub(room));
    }

    /// Leaves room in the bucket for so many calls, given with 20 bits of fraction.
    pub(crate) fn leave_room(&mut self, calls_q20: u64, quota: Quota) {
        let room = (quota.period.get() >> 20).saturating_mul(calls_q20);
        self.level = brim(quota).saturating_sub(room);
    }

    /// Lets the bucket drain up to `now`. Do this before the quota changes: time that has passed
    /// drained at the old rate.
    #[inline(always)] // as above
    pub fn drain(&mut self, now: Instant, quota: Option<Quota>) {
        self.level = match quota {
            Some(quota) => self.level_at(now, quota),
            None => 0,
        };
        self.at = self.at.max(now);
    }

    /// Lets the bucket drain for time that passed before the present clock began.
    pub(crate) fn drain_for(&mut self, span: Span, quota: Option<Quota>) {
        if let Some(quota) = quota {
            self.level = self.level_at(self.at.saturating_add(span), quota);
        }
    }

    fn bucket_due(&self, now: Instant, cost: u32, quota: Quota) -> Result<Instant, Reason> {
        let rest = quota.burst.get().checked_sub(cost).ok_or(Reason::TooBig)?;
        // The highest level at which the call still fits.
        let excess = self.level_at(now, quota).saturating_sub(quota.call(rest));
        if excess == 0 {
            return Ok(Instant::ZERO);
        }
        let (drained, rest) = div_rem(excess, quota.count);
        let wait = Span::from_nanos(drained.saturating_add(u64::from(rest > 0)));
        self.at.max(now).checked_add(wait).ok_or(Reason::Never)
    }

    /// Charges a call that may be sent `now`. If it had to wait at the latest instant seen, it is charged as of
    /// `lately`, so that the next one is due by the rate; unless the level of then has no room for it in 64 bits.
    #[inline(always)] // as above
    pub(crate) fn charge_late(&mut self, now: Instant, lately: Instant, cost: u32, quota: Quota) {
        let call = quota.call(cost);
        let waited = self.level > quota.call(quota.burst.get().wrapping_sub(cost));
        let then = if waited && self.level.checked_add(call).is_some() { lately } else { now };
        self.level = self.level_at(then, quota).wrapping_add(call);
        self.at = self.at.max(then);
    }

    /// When the bucket has room for a call of `cost` and for those `ahead` of it, if it makes up for what is
    /// late since `lately`; the end of time if that is never.
    pub(crate) fn due_behind(
        &self,
        lately: Instant,
        ahead: u64,
        cost: u32,
        quota: Quota,
    ) -> Instant {
        let call = quota.period.get();
        let ahead = Span::from_nanos(call).saturating_mul(ahead).as_nanos();
        let level = self.level_at(lately, quota).saturating_add(ahead);
        let room = quota.call(quota.burst.get().saturating_sub(cost));
        let (drained, rest) = div_rem(level.saturating_sub(room), quota.count);
        let wait = Span::from_nanos(drained.saturating_add(u64::from(rest > 0)));
        self.at.max(lately).saturating_add(wait)
    }

    /// Ends the cooldown: the call that it was made for was not sent.
    pub(crate) const fn end_cooldown(&mut self) {
        self.until = Instant::ZERO;
    }

    /// If the product saturates it is above any level, so the difference is still exact.
    fn level_at(&self, now: Instant, quota: Quota) -> u64 {
        let drained = now.saturating_since(self.at).saturating_mul(quota.count.get());
        self.level.saturating_sub(drained.as_nanos())
    }
}

const fn brim(quota: Quota) -> u64 {
    quota.call(quota.burst.get())
}

fields!(Pacing { level: u64, at: Instant, until: Instant });

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_bucket_that_is_resized_keeps_the_calls_that_may_be_sent_at_once() {
        let burst = |calls| Quota::per_second(1).unwrap().with_burst(calls).unwrap();
        let now = Instant::ZERO;
        let room = |pacing: &Pacing, calls: u32| {
            (1..=calls)
                .rev()
                .find(|cost| pacing.check(now, *cost, Some(burst(calls))) == Verdict::Admit)
        };
        // Two of five have left: three may be sent, whatever more there were room for.
        let mut pacing = Pacing::new(now);
        pacing.charge(now, 2, Some(burst(5)));
        for (from, to, expected) in [(5, 9, 3), (9, 4, 3), (4, 2, 2), (2, 5, 2)] {
            pacing.resize(burst(from), burst(to));
            assert_eq!(room(&pacing, to), Some(expected), "from {from} to {to}");
        }
    }

    #[test]
    fn a_cooldown_is_as_long_as_it_says_at_any_rate() {
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
        fn to_take_is_to_ask_and_to_charge_on_go(
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
