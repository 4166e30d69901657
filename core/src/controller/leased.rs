//! What a controller does whose permits are leased to others, beyond what it does for its own calls.

use core::borrow::Borrow;

use super::{Controller, pairs_mut};
use crate::gate::{ConcurrencyLimit, Permit};
use crate::law::Law;
use crate::outcome::Reply;
use crate::policy::Policy;
use crate::time::{Instant, Span};

impl<L: Law, const LIMITS: usize, P: Borrow<Policy<L, LIMITS>>> Controller<L, LIMITS, P> {
    /// Takes a call back that came back `ago`. Only where it waited for its permit was the law the limit,
    /// whatever it looked like when a whole lease was made at once.
    pub(crate) fn settle_leased(
        &mut self,
        now: Instant,
        mut permit: Permit<LIMITS>,
        reply: &Reply<LIMITS>,
        waited: bool,
        ago: Span,
    ) {
        permit.parts.iter_mut().for_each(|part| part.rate_limited &= waited);
        self.learn_late(now, &mut permit, reply, ago);
        self.release(permit);
    }

    /// How many calls may be in flight, and how long a silent one keeps its place.
    pub(crate) const fn concurrency(&self) -> ConcurrencyLimit {
        self.concurrency
    }

    /// Spends whatever burst there is but `left` calls. A debt stays.
    pub(crate) fn forfeit(&mut self, now: Instant, left: u32) {
        pairs_mut(&self.policy.borrow().laws, &mut self.limits, |_, law, limit| {
            if let Some(quota) = law.quota(&limit.state) {
                limit.pacing.drain(now, Some(quota));
                limit.pacing.leave_at_most(left, quota);
            }
        });
    }

    /// Keeps places for so many calls that are in flight, and whose permits nobody here knows any more:
    /// for `span`, or until a lease would end.
    pub(crate) fn keep_places(&mut self, now: Instant, calls: u16, span: Span) {
        self.calls.keep(now, calls, span, self.concurrency);
    }
}
