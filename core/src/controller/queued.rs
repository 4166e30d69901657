//! A controller behind a queue.

use core::borrow::Borrow;

use super::{Controller, pairs};
use crate::costs::Costs;
use crate::law::Law;
use crate::permit::Permit;
use crate::policy::Policy;
use crate::queue::{Ahead, Gate};
use crate::time::Instant;
use crate::verdict::{Call, Decision};

impl<L: Law, const LIMITS: usize, P: Borrow<Policy<L, LIMITS>>, C: Costs<LIMITS>> Gate<LIMITS, C>
    for Controller<L, LIMITS, P, C>
{
    type Permit = Permit<LIMITS, C>;

    fn poll(&mut self, now: Instant, call: &Call<LIMITS, C>) -> Decision<Permit<LIMITS, C>> {
        self.poll(now, call)
    }

    fn refund(&mut self, now: Instant, permit: Permit<LIMITS, C>) {
        self.refund(now, permit);
    }

    fn ready_at(&self, now: Instant, call: &Call<LIMITS, C>) -> Option<Instant> {
        self.ready_at(now, call)
    }

    fn due_behind(&self, now: Instant, call: &Call<LIMITS, C>, ahead: &[Ahead; LIMITS]) -> Instant {
        let mut due = now.max(self.cooldown.until()).max(call.not_before);
        pairs(self.laws(), &self.limits, |index, law, limit| {
            let before = self.usual.ahead(index, (law, limit), ahead);
            let cost = self.usual.cost_of(index, (law, limit), call);
            due = due.max(limit.due_behind(
                law,
                now,
                before,
                cost,
                self.in_flight(),
                call.attempt > 0,
            ));
        });
        due
    }

    fn due_first(&self, now: Instant, call: &Call<LIMITS, C>) -> Instant {
        self.due_first(now, call)
    }

    fn count_rejection(&mut self) {
        self.stats.count(|stats| &mut stats.rejected);
    }

    fn is_failing(&self) -> bool {
        self.is_failing()
    }
}
