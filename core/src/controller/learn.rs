//! What a controller learns from responses.

use core::borrow::Borrow;

use super::each::{each, pairs_mut};
use super::{Controller, accounted};
use crate::costs::Costs;
use crate::gate::Entry;
use crate::hint::Hint;
use crate::law::{Law, Move, Sample};
use crate::outcome::{AsReply, Outcome, Reply};
use crate::permit::{Part, Permit};
use crate::policy::Policy;
use crate::time::{Instant, Span};

impl<L: Law, const LIMITS: usize, P: Borrow<Policy<L, LIMITS>>> Controller<L, LIMITS, P> {
    /// Corrects the cost of a call after [`learn`](Self::learn), for example when the end of a stream reports how many
    /// tokens it used. `None` keeps the cost of a limit. It does not affect the rate.
    ///
    /// ```
    /// use tidegate::law::Fixed;
    /// use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy, Quota, Verdict};
    ///
    /// let now = Instant::ZERO;
    /// let law = |each| Fixed::new(Quota::per_second(each).unwrap().with_burst(100).unwrap());
    /// let mut gate: Controller<Fixed, 2> = Controller::new(Policy::of([10, 100].map(law)), 7, now);
    /// let Decision::Admit(mut permit) = gate.poll(now, &Call::of([1, 90])) else { panic!() };
    /// gate.learn(now, &mut permit, Outcome::Ok); // the headers
    /// assert!(matches!(gate.check(now, &Call::of([1, 20])), Verdict::Wait(_)));
    /// gate.correct(now, &mut permit, [None, Some(70)]); // the end of the body
    /// assert_eq!(gate.check(now, &Call::of([1, 20])), Verdict::Admit);
    /// gate.release(permit);
    /// ```
    pub fn correct(
        &mut self,
        now: Instant,
        permit: &mut Permit<LIMITS>,
        used: [Option<u32>; LIMITS],
    ) {
        if !permit.learnt || permit.mark != self.mark {
            return;
        }
        let laws = &self.policy.borrow().laws;
        pairs_mut(laws, &mut self.limits, |index, law, limit| {
            if let (Some(part), Some(Some(used))) = (permit.parts.get_mut(index), used.get(index)) {
                limit.correct(law, now, (part, permit.costs.of(index)), *used);
                permit.costs.set(index, *used);
                self.usual.learn(index, part, *used);
            }
        });
    }
}

impl<L, const LIMITS: usize, P, C> Controller<L, LIMITS, P, C>
where
    L: Law,
    P: Borrow<Policy<L, LIMITS>>,
    C: Costs<LIMITS>,
{
    /// Learns from a call's response and frees its slot: [`learn`](Self::learn) and [`release`](Self::release) in one
    /// step. Call it once for each permit, in any order.
    pub fn settle(
        &mut self,
        now: Instant,
        mut permit: Permit<LIMITS, C>,
        reply: impl AsReply<LIMITS>,
    ) {
        reply.with_reply(|reply| self.learn_late(now, &mut permit, reply, Span::ZERO));
        self.release(permit);
    }

    /// Learns from a call's response before its body is complete. The call keeps its slot until you
    /// [`release`](Self::release) it at the end of the body. A body that streams for 20 seconds is not a round trip of
    /// 20 seconds. A second response to the same permit is ignored.
    ///
    /// ```
    /// use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy, Span};
    ///
    /// let now = Instant::ZERO;
    /// let mut gate: Controller = Controller::new(Policy::named("adaptive").unwrap(), 7, now);
    /// let Decision::Admit(mut permit) = gate.poll(now, &Call::new()) else { panic!() };
    /// let headers = now + Span::from_millis(25);
    /// gate.learn(headers, &mut permit, Outcome::Ok);
    /// assert_eq!(gate.in_flight(), 1);
    /// gate.release(permit); // at the end of the body
    /// assert_eq!(gate.in_flight(), 0);
    /// ```
    pub fn learn(
        &mut self,
        now: Instant,
        permit: &mut Permit<LIMITS, C>,
        reply: impl AsReply<LIMITS>,
    ) {
        reply.with_reply(|reply| {
            let is_first = !permit.learnt;
            self.learn_late(now, permit, reply, Span::ZERO);
            // What a later correction begins with.
            if is_first {
                each(&reply.used, |index, used| {
                    if let Some(used) = *used {
                        permit.costs.set(index, used);
                    }
                });
            }
        });
    }

    /// Learns from a server message that is not a response to a call: a throttle topic, an MQTT DISCONNECT, a command.
    /// If it asks for a cooldown, the cooldown applies. The law treats it as the response to a call that was sent since
    /// the previous message and the latest cut; if there was none, the law learns nothing.
    ///
    /// `Ok` and `Abandoned` change nothing. Costs in the message are ignored, and the counters count only responses.
    ///
    /// ```
    /// use tidegate::{Call, Controller, Decision, Hint, Instant, Outcome, Policy, Span, Verdict};
    ///
    /// let now = Instant::ZERO;
    /// let mut gate: Controller = Controller::new(Policy::named("adaptive").unwrap(), 7, now);
    /// let Decision::Admit(permit) = gate.poll(now, &Call::new()) else { panic!() };
    /// gate.settle(now, permit, Outcome::Ok); // a publication without an acknowledgement
    /// gate.report(now, Outcome::Throttled.with(Hint::retry_after(Span::from_secs(60))));
    /// assert!(matches!(gate.check(now, &Call::new()), Verdict::Wait(_)));
    /// ```
    pub fn report(&mut self, now: Instant, reply: impl AsReply<LIMITS>) {
        reply.with_reply(|&Reply { outcome, hints, .. }| {
            if !outcome.is_retryable() && outcome != Outcome::Exhausted {
                return;
            }
            let mut is_fresh = false;
            let parts = self.limits.each_mut().map(|limit| {
                let was_idle = core::mem::replace(&mut limit.idle, true);
                is_fresh |= !was_idle;
                let epoch = limit.epoch.wrapping_sub(u16::from(was_idle));
                Part { epoch, ..Part::NONE }
            });
            let (costs, number, mark) = (C::ONES, self.admitted, self.mark);
            let mut permit =
                Permit { sent: now, costs, parts, attempt: 0, number, mark, learnt: true };
            let message = Reply::about(outcome, hints);
            if is_fresh {
                outcome.count_down(&mut self.failing);
                self.teach(now, &mut permit, &message, Span::ZERO);
            }
            self.cool_down(now, &permit, &message);
        });
    }

    /// Learns from a response that arrived at `ago`.
    pub(super) fn learn_late(
        &mut self,
        now: Instant,
        permit: &mut Permit<LIMITS, C>,
        reply: &Reply<LIMITS>,
        ago: Span,
    ) {
        if permit.learnt || permit.mark != self.mark {
            return;
        }
        permit.learnt = true;
        self.count(reply.outcome);
        if reply.outcome == Outcome::Abandoned {
            return;
        }
        reply.outcome.count_down(&mut self.failing);
        self.teach(now, permit, reply, ago);
        self.tries_again &= !reply.outcome.is_retryable();
        if reply.outcome != Outcome::Ok {
            self.cool_down(now - ago, permit, reply);
        }
    }

    #[cfg_attr(not(feature = "shared"), expect(unused_variables, reason = "always now"))]
    fn teach(
        &mut self,
        now: Instant,
        permit: &mut Permit<LIMITS, C>,
        reply: &Reply<LIMITS>,
        ago: Span,
    ) {
        let Policy { laws, rules } = self.policy.borrow();
        if reply.outcome == Outcome::Ok {
            accounted(self.saved.as_mut(), rules, Entry::Deposit);
        }
        // If the server names the limits that rejected the call, the others learn nothing.
        let blame = LIMITS > 1 && permit.is_blamed_by(reply);
        // Without this call, which is about to end.
        let in_flight = self.calls.saturating_sub(1);
        pairs_mut(laws, &mut self.limits, |index, law, limit| {
            let (Some(part), Some(hint)) = (permit.parts.get_mut(index), reply.hints.get(index))
            else {
                return;
            };
            let charged = permit.costs.of(index);
            let mut cost = charged;
            if index > 0 {
                part.unstated &= reply.outcome == Outcome::Ok && limit.is_set(law, now, hint);
            }
            if C::ARE_STATED
                && let Some(used) = reply.used.get(index).copied().flatten()
            {
                limit.correct(law, now, (part, charged), used);
                self.usual.learn(index, part, used);
                cost = used.max(1);
            }
            // An exhausted quota is no evidence about the rate.
            let is_exhausted = reply.outcome == Outcome::Exhausted;
            if charged == 0 || is_exhausted || (blame && !hint.is_used_up(charged)) {
                return;
            }
            // Too many calls in flight are no evidence about the rate.
            let outcome = match reply.outcome {
                Outcome::Throttled if hint.concurrency => match limit.concurrency(law, now) {
                    Some(_) => Outcome::Busy,
                    None => return,
                },
                outcome => outcome,
            };
            let sample = Sample {
                now,
                sent: permit.sent,
                cost,
                outcome,
                hint,
                fresh: part.epoch == limit.epoch,
                rate_limited: part.rate_limited,
                attempt: permit.attempt,
                tries_again: self.tries_again,
                in_flight,
                ceiling: rules.cooldown.ceiling(),
                #[cfg(feature = "shared")]
                hinted_ago: ago,
            };
            match law.observe(&mut limit.state, &mut limit.pacing, &sample, &mut self.rng) {
                Move::Kept => {}
                Move::Slower => {
                    limit.idle = true;
                    limit.epoch = limit.epoch.wrapping_add(1);
                    self.stats.count(|stats| &mut stats.slower);
                }
                Move::Faster => self.stats.count(|stats| &mut stats.faster),
            }
        });
    }

    /// Follows the cooldown that the server asks for, if any.
    fn cool_down(&mut self, now: Instant, permit: &Permit<LIMITS, C>, reply: &Reply<LIMITS>) {
        if let Some(asked) = cooldown(&reply.hints, |index| permit.costs.of(index)) {
            self.cooldown.raise(now, asked, self.policy.borrow().rules.cooldown, &mut self.rng);
        }
    }

    pub(super) fn count(&mut self, outcome: Outcome) {
        self.stats.count(|stats| stats.of(outcome));
    }
}

/// The longest cooldown of all limits for which the call has a cost.
pub(super) fn cooldown<const LIMITS: usize>(
    hints: &[Hint; LIMITS],
    cost_of: impl Fn(usize) -> u32,
) -> Option<Span> {
    let mut longest = None;
    each(hints, |index, hint| {
        if cost_of(index) > 0 {
            longest = longest.max(hint.cooldown());
        }
    });
    longest
}
