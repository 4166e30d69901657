//! What a controller does whose permits are leased to others, beyond what it does for its own calls.

use super::{Controller, Flight, Part, each_mut};
use crate::gate::{Permit, Window};
use crate::law::Law;
use crate::outcome::Reply;
use crate::rng::Rng;
use crate::time::{Instant, Span};

impl<L: Law + Copy, const LIMITS: usize, const SLOTS: usize> Controller<L, LIMITS, SLOTS> {
    /// Takes a call back that came back `ago`. Only where it waited for its permit was the law the limit,
    /// whatever it looked like when a whole lease was made at once. False where the permit is unknown.
    pub(crate) fn settle_leased(
        &mut self,
        now: Instant,
        permit: Permit,
        reply: &Reply<LIMITS>,
        waited: bool,
        ago: Span,
    ) -> bool {
        let Some((sent, mut flight)) = self.release(permit) else { return false };
        each_mut(&mut flight.parts, |_, part| part.paced &= waited);
        self.learn(now, sent, &flight, reply, ago);
        true
    }

    /// When the latest pause that a server asked for ends or ended.
    pub(crate) const fn held_until(&self) -> Instant {
        self.hold.until()
    }

    /// Spends whatever burst there is but `left` calls. A debt stays.
    pub(crate) fn forfeit(&mut self, now: Instant, left: u32) {
        each_mut(&mut self.limits, |_, limit| {
            if let Some(quota) = limit.law.quota(&limit.state) {
                limit.pace.drain(now, Some(quota));
                limit.pace.leave_at_most(left, quota);
            }
        });
    }

    /// Numbers permits so that none of before is taken for one of them, nor one of another controller
    /// that was restored from the same record. For one that has just been restored.
    pub(crate) fn number_permits_afresh(&mut self, seed: u64) {
        let skipped = (1u32 << 24).wrapping_add(Rng::new(seed).next_u32() >> 8);
        self.window = Window::successor(self.window.next_number().wrapping_add(skipped));
    }

    /// Keeps places for so many calls that are in flight, and whose permits nobody here knows any more:
    /// for `span`, or until a lease would end.
    pub(crate) fn keep_places(&mut self, now: Instant, calls: u16, span: Span) {
        let parts = [Part { cost: 0, epoch: 0, paced: false }; LIMITS];
        let policy = self.rules.window;
        let since = now.saturating_sub(policy.lease().saturating_sub(span));
        for _ in 0..calls {
            if self.window.take(since, policy, Flight { parts, attempt: 0 }).is_none() {
                break;
            }
        }
    }
}
