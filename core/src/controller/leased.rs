//! Additional functions of a controller whose permits are leased to other processes.

use core::borrow::Borrow;

use super::{Controller, pairs_mut};
use crate::costs::Costs;
use crate::law::Law;
use crate::outcome::Reply;
use crate::permit::Permit;
use crate::policy::Policy;
use crate::time::{Instant, Span};

impl<L, const LIMITS: usize, P, C> Controller<L, LIMITS, P, C>
where
    L: Law,
    P: Borrow<Policy<L, LIMITS>>,
    C: Costs<LIMITS>,
{
    /// Settles a call that was settled elsewhere at `ago`. The law was the bottleneck only if the
    /// call itself waited for its permit; the wait when the whole lease was granted does not count.
    pub(crate) fn settle_leased(
        &mut self,
        now: Instant,
        mut permit: Permit<LIMITS, C>,
        reply: &Reply<LIMITS>,
        waited: bool,
        ago: Span,
    ) {
        permit.parts.iter_mut().for_each(|part| part.rate_limited &= waited);
        self.learn_late(now, &mut permit, reply, ago);
        self.release(permit);
    }

    /// Gives up the burst except for `left` calls. A debt stays.
    pub(crate) fn forfeit(&mut self, now: Instant, left: u32) {
        pairs_mut(&self.policy.borrow().laws, &mut self.limits, |_, law, limit| {
            if let Some(quota) = limit.quota(law) {
                limit.pacing.leave_at_most(now, left, quota);
            }
        });
    }

    /// The most calls that the policy admits in flight.
    pub(crate) const fn concurrency(&self) -> u16 {
        self.concurrency.get()
    }
}
