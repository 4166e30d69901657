//! What admits the calls of a key: a controller, and for a budget that processes share, a member that leases from it.

#[cfg(feature = "local")]
use std::num::NonZeroU16;

use tidegate::Permit;
use tidegate::law::AnyLaw;
use tidegate::queue::{Ahead, Gate};
use tidegate::{Call, Controller, Decision, Instant, Policy, Reply, Span, Verdict};

use crate::gate::Builder;
use crate::timer::Timer;
#[cfg(feature = "local")]
use {crate::local::Leased, tidegate::Outcome};

pub(crate) struct Source<const LIMITS: usize> {
    /// Without a limit if it leases: then it decides only about retries.
    pub(crate) own: Controller<AnyLaw, LIMITS>,
    #[cfg(feature = "local")]
    pub(crate) leased: Option<Box<Leased>>,
}

pub(crate) struct Right<const LIMITS: usize> {
    pub(crate) own: Permit<LIMITS>,
    /// The number of a lease, and what its call has learnt. It is reported when the place is, at the end of the response.
    #[cfg(feature = "local")]
    lease: Option<(u64, Option<Box<Reply>>)>,
}

impl<const LIMITS: usize> Right<LIMITS> {
    const fn of(own: Permit<LIMITS>) -> Self {
        Self {
            own,
            #[cfg(feature = "local")]
            lease: None,
        }
    }

    /// What the other limits of the call learn from a reply about this one.
    pub(crate) fn others_learn(&self, reply: &Reply<LIMITS>) -> Reply<LIMITS> {
        #[cfg(feature = "local")]
        if self.lease.is_some() {
            return reply.outcome.into();
        }
        self.own.others_learn(reply)
    }
}

impl<const LIMITS: usize> Source<LIMITS> {
    pub(crate) const fn new(own: Controller<AnyLaw, LIMITS>) -> Self {
        Self {
            own,
            #[cfg(feature = "local")]
            leased: None,
        }
    }

    pub(crate) fn of<T: Timer>(
        settings: &Builder<LIMITS, T>,
        policy: Policy<AnyLaw, LIMITS>,
        seed: u64,
    ) -> Self {
        let now = settings.timer.now();
        #[cfg(feature = "local")]
        if let Some(sharing) = &settings.sharing {
            let own = Controller::new(without_limits(policy), seed, now);
            return Self { own, leased: Some(Box::new(Leased::new(sharing, now))) };
        }
        Self::new(Controller::new(policy, seed, now))
    }

    /// Ends a call. Without a reply now or before, it is abandoned.
    #[inline]
    pub(crate) fn end(
        &mut self,
        now: Instant,
        right: Right<LIMITS>,
        reply: Option<&Reply<LIMITS>>,
    ) {
        #[cfg(feature = "local")]
        if let (Some(leased), Some((lease, learnt))) = (&mut self.leased, right.lease) {
            let all = learnt.map(|learnt| *learnt).or(reply.map(of_one));
            leased.member.settle(now, lease, all.unwrap_or(Outcome::Abandoned.into()));
            return match reply {
                Some(reply) => self.own.settle(now, right.own, reply.outcome),
                None => self.own.release(right.own),
            };
        }
        match reply {
            Some(reply) => self.own.settle(now, right.own, reply),
            None => self.own.release(right.own),
        }
    }

    #[inline]
    pub(crate) fn learn(&mut self, now: Instant, right: &mut Right<LIMITS>, reply: &Reply<LIMITS>) {
        #[cfg(feature = "local")]
        if let Some((_, learnt)) = &mut right.lease {
            *learnt = Some(Box::new(of_one(reply)));
            return self.own.learn(now, &mut right.own, reply.outcome);
        }
        self.own.learn(now, &mut right.own, reply);
    }

    /// The permit as of now, or `None` if the call has to wait again. A lease stays as it is.
    pub(crate) fn renew(
        &mut self,
        now: Instant,
        right: Right<LIMITS>,
        call: &Call<LIMITS>,
    ) -> Option<Right<LIMITS>> {
        #[cfg(feature = "local")]
        if right.lease.is_some() {
            return Some(right);
        }
        self.own.renew(now, right.own, call).map(Right::of)
    }

    /// Whether the key must be kept, although it has no calls.
    pub(crate) fn is_kept(&self, now: Instant) -> bool {
        #[cfg(feature = "local")]
        if self.leased.as_ref().is_some_and(|leased| !leased.is_spare()) {
            return true;
        }
        matches!(self.own.check(now, &Call::new()), Verdict::Wait(_))
    }

    #[cfg(feature = "metrics")]
    pub(crate) fn why(&self, now: Instant) -> Option<tidegate::gate::Gate> {
        #[cfg(feature = "local")]
        if self.leased.is_some() {
            return Some(tidegate::gate::Gate::Pacing);
        }
        self.own.why(now, &Call::new())
    }

    pub(crate) fn counts(&self) -> tidegate::Stats {
        let own = *self.own.stats();
        #[cfg(feature = "local")]
        if let Some(leased) = &self.leased {
            let mut counts = leased.member.stats().calls;
            counts.retries = own.retries;
            counts.rejected = counts.rejected.saturating_add(own.rejected);
            return counts;
        }
        own
    }

    pub(crate) fn interval(&self, now: Instant) -> Option<Span> {
        #[cfg(feature = "local")]
        if let Some(leased) = &self.leased {
            return leased.member.member().fleet()?.1;
        }
        self.own.intervals(now).flatten().max()
    }

    /// The law and the quota of a shared budget are where the budget is.
    pub(crate) fn set_policy(&mut self, policy: Policy<AnyLaw, LIMITS>, now: Instant) {
        #[cfg(feature = "local")]
        if self.leased.is_some() {
            return self.own.set_policy(without_limits(policy), now);
        }
        self.own.set_policy(policy, now);
    }

    /// `None` for a shared budget, which has a record where it is.
    pub(crate) fn snapshot(&self, now: Instant) -> Option<Vec<u8>> {
        #[cfg(feature = "local")]
        if self.leased.is_some() {
            return None;
        }
        let mut record = vec![0; Controller::<AnyLaw, LIMITS>::SNAPSHOT_BYTES];
        let written = self.own.snapshot(now, &mut record);
        debug_assert_eq!(written, Ok(record.len()));
        Some(record)
    }
}

/// The reply about the first limit: a lease is one call.
#[cfg(feature = "local")]
fn of_one<const LIMITS: usize>(reply: &Reply<LIMITS>) -> Reply {
    let hint = reply.hints.first().copied();
    hint.map_or(reply.outcome.into(), |hint| reply.outcome.with(hint))
}

/// The rules of a policy for retries.
#[cfg(feature = "local")]
fn without_limits<const LIMITS: usize>(policy: Policy<AnyLaw, LIMITS>) -> Policy<AnyLaw, LIMITS> {
    let unlimited = AnyLaw::from(tidegate::law::Fixed::UNLIMITED);
    policy.limits([unlimited; LIMITS]).concurrency(NonZeroU16::MAX)
}

impl<const LIMITS: usize> Gate<LIMITS> for Source<LIMITS> {
    type Permit = Right<LIMITS>;

    #[inline]
    fn poll(&mut self, now: Instant, call: &Call<LIMITS>) -> Decision<Right<LIMITS>> {
        #[cfg(feature = "local")]
        if let Some(leased) = &mut self.leased
            && self.own.check(now, call) == Verdict::Admit
        {
            let lease = match leased.poll(now, call) {
                Decision::Admit(lease) => Some((lease, None)),
                Decision::Wait(until) => return Decision::Wait(until),
                Decision::Full => return Decision::Full,
                Decision::Reject(reason) => return Decision::Reject(reason),
            };
            return self.own.poll(now, call).map(|own| Right { own, lease });
        }
        self.own.poll(now, call).map(Right::of)
    }

    #[inline]
    fn refund(&mut self, now: Instant, right: Right<LIMITS>) {
        #[cfg(feature = "local")]
        if let (Some(leased), Some((lease, _))) = (&mut self.leased, right.lease) {
            leased.member.refund(now, lease);
        }
        self.own.refund(now, right.own);
    }

    #[inline]
    fn ready_at(&self, now: Instant, call: &Call<LIMITS>) -> Option<Instant> {
        #[cfg(feature = "local")]
        if let Some(leased) = &self.leased {
            return leased.member.ready_at(now, &call.of_limits([1]));
        }
        self.own.ready_at(now, call)
    }

    fn due_behind(&self, now: Instant, call: &Call<LIMITS>, ahead: &[Ahead; LIMITS]) -> Instant {
        #[cfg(feature = "local")]
        if let Some(leased) = &self.leased {
            let ahead = ahead.first().copied().unwrap_or_default();
            return leased.member.due_behind(now, &call.of_limits([1]), &[ahead]);
        }
        Gate::due_behind(&self.own, now, call, ahead)
    }

    fn due_first(&self, now: Instant, call: &Call<LIMITS>) -> Instant {
        #[cfg(feature = "local")]
        if let Some(leased) = &self.leased {
            return leased.member.due_first(now, &call.of_limits([1]));
        }
        self.own.due_first(now, call)
    }

    fn count_rejection(&mut self) {
        Gate::count_rejection(&mut self.own);
    }

    #[inline]
    fn is_failing(&self) -> bool {
        self.own.is_failing()
    }
}
