//! A limit of a controller.

use core::num::NonZeroU16;

use crate::gate::{Pacing, lately};
use crate::hint::Hint;
use crate::law::{Law, Sent};
use crate::permit::Part;
use crate::queue::Ahead;
use crate::rate::Quota;
use crate::rng::Rng;
use crate::time::{Instant, Span};
use crate::verdict::Reason;

/// The state of one limit: its law and its pacing.
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Limit<S> {
    pub(super) state: S,
    pub(super) pacing: Pacing,
    /// Whether a call has waited for this limit since the previous call was admitted.
    pub(super) rate_limited: bool,
    /// Whether no call was sent since the latest cut or the latest message that answers no call.
    pub(super) idle: bool,
    /// Number of the law's cuts. A call in flight stores the number from when it was sent. After
    /// more than 65 535 cuts during one call, the call would wrongly count as fresh.
    pub(super) epoch: u16,
    /// The epoch when this law began.
    pub(super) began: u16,
}

impl<S: Copy> Limit<S> {
    pub(super) fn new(law: &impl Law<State = S>, now: Instant) -> Self {
        let state = law.start(now);
        Self {
            state,
            pacing: Pacing::new(now),
            rate_limited: false,
            idle: true, // not zero, so that small machines do not clear and copy the limit
            epoch: 0,
            began: 0,
        }
    }

    /// Starts `law` in place of the law `before`, and keeps the room that is left in the pacing. Calls
    /// in flight were sent under the law before, so they are not fresh.
    pub(super) fn restart(
        &mut self,
        before: &impl Law<State = S>,
        law: &impl Law<State = S>,
        now: Instant,
    ) {
        let began = self.epoch.wrapping_add(1);
        let from = self.quota(before);
        self.state = law.start(now);
        self.pacing.follow(now, from, self.quota(law));
        (self.rate_limited, self.idle) = (false, true);
        (self.epoch, self.began) = (began, began);
    }

    /// The law's rate.
    #[cfg_attr(target_arch = "wasm32", inline(never))] // any law: a copy for each use is large
    pub(super) fn quota(&self, law: &impl Law<State = S>) -> Option<Quota> {
        law.pace(&self.state, Instant::ZERO, 0, false).quota
    }

    /// How many calls the law admits in flight.
    #[cfg_attr(target_arch = "wasm32", inline(never))] // as above
    pub(super) fn concurrency(
        &self,
        law: &impl Law<State = S>,
        now: Instant,
    ) -> Option<NonZeroU16> {
        law.pace(&self.state, now, 0, false).concurrency
    }

    /// The interval before jitter; `None` if there is none.
    pub(super) fn interval(&self, law: &impl Law<State = S>, now: Instant) -> Option<Span> {
        law.interval(&self.state, now, None).max(self.quota(law).map(Quota::interval))
    }

    /// Whether the policy or the server limits what a call cost, so that the cost can be learned.
    pub(super) fn is_set(&self, law: &impl Law<State = S>, now: Instant, hint: &Hint) -> bool {
        let is_told = hint.limit.is_some() || hint.remaining.is_some();
        is_told || self.interval(law, now).is_some()
    }

    /// Corrects what a call was charged to what it used.
    pub(super) fn correct(
        &mut self,
        law: &impl Law<State = S>,
        now: Instant,
        (part, charged): (&Part, u32),
        used: u32,
    ) {
        if self.has_charged(part) {
            self.pacing.correct(lately(now), charged, used, self.quota(law));
            law.corrected(&mut self.state, now, charged, Some(used));
        }
    }

    /// The earliest instant at which pacing and law admit a call; `Err` if they never do. A cost of
    /// zero is not subject to them.
    pub(super) fn due(
        &self,
        law: &impl Law<State = S>,
        now: Instant,
        cost: u32,
        in_flight: u16,
        is_retry: bool,
    ) -> Result<Instant, Reason> {
        if cost == 0 {
            return Ok(Instant::ZERO);
        }
        let pace = law.pace(&self.state, now, in_flight, is_retry);
        let pacing = self.pacing.due(cost, pace.quota);
        match (pace.rejection, pacing) {
            (Some(one), Err(two)) => Err(one.max(two)),
            (Some(reason), Ok(_)) => Err(reason),
            (None, Ok(due)) if due >= pace.not_before => Ok(due),
            (None, _) if pace.not_before == Instant::MAX => Err(Reason::Never),
            (None, Ok(_)) => Ok(pace.not_before),
            (None, Err(reason)) => Err(reason),
        }
    }

    /// Whether a call was sent under this law, not under the law of an earlier policy.
    pub(super) fn has_charged(&self, part: &Part) -> bool {
        part.epoch.wrapping_sub(self.began) <= self.epoch.wrapping_sub(self.began)
    }

    /// Refunds a call. If it is the `newest`, no call was sent after it. Otherwise, the time since may have
    /// made room for later calls, and is not returned.
    pub(super) fn refund(
        &mut self,
        law: &impl Law<State = S>,
        now: Instant,
        (part, cost): (&Part, u32),
        sent: Instant,
        newest: bool,
    ) {
        self.rate_limited |= part.rate_limited;
        let paid = if newest { Span::ZERO } else { now - sent };
        self.pacing.refund(lately(now), cost, paid, self.quota(law));
        law.corrected(&mut self.state, now, cost, None);
    }

    /// The earliest instant at which a call of this cost may be sent after others, as far as is
    /// known: when the pacing has room for all of them, or with the law's intervals after them, as if each had the
    /// mean cost.
    pub(super) fn due_behind(
        &self,
        law: &impl Law<State = S>,
        now: Instant,
        ahead: Ahead,
        cost: u32,
        in_flight: u16,
        is_retry: bool,
    ) -> Instant {
        let Ok(due) = self.due(law, now, cost, in_flight, is_retry) else { return now };
        if cost == 0 || ahead.calls == 0 {
            return due;
        }
        let apart = law.interval(&self.state, now, Some(ahead.mean_cost())).unwrap_or_default();
        let spaced = |at: Instant| at + apart * ahead.calls.into();
        let Some(quota) = self.quota(law) else {
            return if due > now { spaced(due) } else { due };
        };
        let waited = self.rate_limited;
        let due = due.max(self.pacing.due_behind(now, waited, ahead.cost, cost, quota));
        let own = law.pace(&self.state, now, in_flight, is_retry).not_before;
        // Whether the law keeps calls further apart than the pacing does.
        let is_later = own > now && law.interval(&self.state, now, None) > Some(quota.interval());
        if is_later { due.max(spaced(own)) } else { due }
    }

    /// Charges an admitted call.
    pub(super) fn charge(&mut self, law: &impl Law<State = S>, sent: &Sent, rng: &mut Rng) {
        let &Sent { now, cost, .. } = sent;
        if cost == 0 {
            return;
        }
        self.idle = false;
        let waited = core::mem::take(&mut self.rate_limited);
        if let Some(quota) = self.quota(law) {
            self.pacing.charge_late(now, waited, cost, quota);
        }
        law.sent(&mut self.state, sent, rng);
    }
}
