//! What admits the calls of a key: a controller, or a member that leases from a budget of several processes.

use tidegate::gate::Permit;
use tidegate::law::{AnyLaw, AnyState, Basis};
use tidegate::queue::{Ahead, Gate};
use tidegate::{Call, Controller, Decision, Instant, Policy, Reason, Reply, Span, Verdict};

#[cfg(feature = "local")]
use crate::local::{Leased, SharingStats};

/// See the module's documentation.
#[cfg_attr(
    feature = "local",
    expect(clippy::large_enum_variant, reason = "most gates share nothing")
)]
pub(crate) enum Source<const LIMITS: usize> {
    Own(Controller<AnyLaw, LIMITS>),
    #[cfg(feature = "local")]
    Shared(Box<Leased>),
}

/// The right to one call, of the source that granted it.
pub(crate) enum Right<const LIMITS: usize> {
    Own(Permit<LIMITS>),
    #[cfg(feature = "local")]
    Leased(u64),
}

/// What a controller does, and what a member does. A permit is of the same kind as its source.
macro_rules! either {
    ($source:expr, $own:pat => $does:expr, $leased:pat => $else:expr) => {
        match $source {
            Source::Own($own) => $does,
            #[cfg(feature = "local")]
            Source::Shared($leased) => $else,
        }
    };
    ($source:expr, $right:expr, $own:pat, $permit:pat => $does:expr, $leased:pat => $else:expr) => {
        match ($source, $right) {
            (Source::Own($own), Right::Own($permit)) => $does,
            #[cfg(feature = "local")]
            (Source::Shared($leased), Right::Leased($permit)) => $else,
            #[cfg(feature = "local")]
            _ => {}
        }
    };
}

impl<const LIMITS: usize> Right<LIMITS> {
    /// What the other limits of the call learn from a reply about this one.
    pub(crate) fn others_learn(&self, reply: &Reply<LIMITS>) -> Reply<LIMITS> {
        match self {
            Self::Own(permit) => permit.others_learn(reply),
            #[cfg(feature = "local")]
            Self::Leased(_) => reply.outcome.into(),
        }
    }
}

impl<const LIMITS: usize> Source<LIMITS> {
    #[inline]
    pub(crate) fn settle(&mut self, now: Instant, right: Right<LIMITS>, reply: Reply<LIMITS>) {
        either!(self, right, own, permit => own.settle(now, permit, reply),
            leased => leased.settle(now, permit, &reply));
    }

    #[inline]
    pub(crate) fn learn(&mut self, now: Instant, right: &mut Right<LIMITS>, reply: Reply<LIMITS>) {
        either!(self, right, own, permit => own.learn(now, permit, reply),
            leased => leased.learn(*permit, &reply));
    }

    /// Ends a call that has learnt, or is abandoned.
    #[inline]
    pub(crate) fn release(&mut self, _now: Instant, right: Right<LIMITS>) {
        either!(self, right, own, permit => own.release(permit),
            leased => leased.release(_now, permit));
    }

    /// A lease is one call, whatever it used.
    pub(crate) fn correct(
        &mut self,
        now: Instant,
        right: &mut Right<LIMITS>,
        used: [Option<u32>; LIMITS],
    ) {
        either!(self, right, own, permit => own.correct(now, permit, used), _ => _ = permit);
    }

    /// The permit as of now, or `None` if the call has to wait again. A lease stays as it is.
    pub(crate) fn renew(
        &mut self,
        now: Instant,
        right: Right<LIMITS>,
        call: &Call<LIMITS>,
    ) -> Option<Right<LIMITS>> {
        match (self, right) {
            (Self::Own(own), Right::Own(permit)) => own.renew(now, permit, call).map(Right::Own),
            #[cfg(feature = "local")]
            (_, right) => Some(right),
        }
    }

    pub(crate) fn retry(
        &mut self,
        now: Instant,
        call: &Call<LIMITS>,
        reply: Reply<LIMITS>,
    ) -> Result<Call<LIMITS>, Reason> {
        either!(self, own => own.retry(now, call, reply), leased => leased.retry(now, call, &reply))
    }

    /// Leases may arrive when they are requested.
    pub(crate) fn check(&self, now: Instant, call: &Call<LIMITS>) -> Verdict {
        either!(self, own => own.check(now, call), _ => Verdict::Admit)
    }

    /// Until when the key must be kept, if it has no calls.
    pub(crate) fn kept_until(&self, now: Instant) -> Option<Instant> {
        let own = match self.check(now, &Call::new()) {
            Verdict::Wait(until) => Some(until),
            _ => None,
        };
        either!(self, _ => own, leased => (!leased.is_spare()).then(|| now + Span::from_secs(1)))
    }

    /// What currently delays a plain call.
    #[cfg(feature = "metrics")]
    pub(crate) fn why(&self, now: Instant) -> Option<tidegate::gate::Gate> {
        either!(self, own => own.why(now, &Call::new()), _ => Some(tidegate::gate::Gate::Pacing))
    }

    pub(crate) fn counts(&self) -> &tidegate::Stats {
        either!(self, own => own.stats(), leased => &leased.member.stats().calls)
    }

    pub(crate) fn in_flight(&self) -> u16 {
        either!(self, own => own.in_flight(), leased => leased.member.member().in_flight())
    }

    /// The longest interval of all limits.
    pub(crate) fn interval(&self, now: Instant) -> Option<Span> {
        either!(self, own => own.intervals(now).flatten().max(), leased => leased.member.member().fleet()?.1)
    }

    /// What the rate of `adaptive` is based on.
    pub(crate) fn basis(&self) -> Option<Basis> {
        let basis = |state: &AnyState| match state {
            AnyState::Adaptive(state) => Some(state.basis()),
            _ => None,
        };
        either!(self, own => own.states().filter_map(basis).max(), _ => None)
    }

    #[cfg(feature = "local")]
    pub(crate) fn sharing(&self) -> SharingStats {
        either!(self, _ => SharingStats::default(), leased => leased.stats())
    }

    /// That of a shared budget is where the budget is.
    pub(crate) fn set_policy(&mut self, policy: Policy<AnyLaw, LIMITS>, now: Instant) {
        either!(self, own => own.set_policy(policy, now), _ => {});
    }

    pub(crate) fn reset(&mut self, now: Instant) {
        either!(self, own => own.reset(now), _ => {});
    }

    /// `None` for a shared budget, which has a record where it is.
    pub(crate) fn snapshot(&self, now: Instant) -> Option<Vec<u8>> {
        let mut record = vec![0; Controller::<AnyLaw, LIMITS>::SNAPSHOT_BYTES];
        let written = either!(self, own => own.snapshot(now, &mut record), _ => return None);
        debug_assert_eq!(written, Ok(record.len()));
        Some(record)
    }
}

impl<const LIMITS: usize> Gate<LIMITS> for Source<LIMITS> {
    type Permit = Right<LIMITS>;

    #[inline]
    fn poll(&mut self, now: Instant, call: &Call<LIMITS>) -> Decision<Right<LIMITS>> {
        either!(self, own => of(own.poll(now, call), Right::Own),
            leased => of(leased.poll(now, call), Right::Leased))
    }

    #[inline]
    fn refund(&mut self, now: Instant, right: Right<LIMITS>) {
        either!(self, right, own, permit => own.refund(now, permit),
            leased => leased.member.refund(now, permit));
    }

    #[inline]
    fn ready_at(&self, now: Instant, call: &Call<LIMITS>) -> Option<Instant> {
        either!(self, own => own.ready_at(now, call),
            leased => leased.member.ready_at(now, &call.of_limits([1])))
    }

    fn due_behind(&self, now: Instant, call: &Call<LIMITS>, ahead: &[Ahead; LIMITS]) -> Instant {
        either!(self, own => Gate::due_behind(own, now, call, ahead), leased => {
            let ahead = ahead.first().copied().unwrap_or_default();
            leased.member.due_behind(now, &call.of_limits([1]), &[ahead])
        })
    }

    fn due_first(&self, now: Instant, call: &Call<LIMITS>) -> Instant {
        either!(self, own => own.due_first(now, call),
            leased => leased.member.due_first(now, &call.of_limits([1])))
    }

    fn count_rejection(&mut self) {
        either!(self, own => Gate::count_rejection(own), leased => leased.member.count_rejection());
    }

    #[inline]
    fn is_failing(&self) -> bool {
        either!(self, own => own.is_failing(), leased => leased.member.is_failing())
    }
}

#[inline]
fn of<P, Q>(decision: Decision<P>, right: impl FnOnce(P) -> Q) -> Decision<Q> {
    match decision {
        Decision::Admit(permit) => Decision::Admit(right(permit)),
        Decision::Wait(until) => Decision::Wait(until),
        Decision::Full => Decision::Full,
        Decision::Reject(reason) => Decision::Reject(reason),
    }
}
