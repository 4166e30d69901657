//! Retries: whether and when a call is tried again.

use core::borrow::Borrow;

use super::Controller;
use super::each::each;
use super::learn::cooldown;
use crate::costs::Costs;
use crate::law::Law;
use crate::linked::Linked;
use crate::outcome::{AsReply, Outcome};
use crate::policy::Policy;
use crate::time::{Instant, Span};
use crate::verdict::{Call, Reason, Retry};

/// See [`Policy::PATIENCE`](crate::Policy::PATIENCE).
const PATIENT: u16 = 64;

impl Retry {
    /// Whether a call is tried again after this outcome, if `is_invited` says whether the server
    /// [invites](crate::Hint::may_repeat) the client to repeat it.
    #[must_use]
    #[inline]
    pub fn covers(self, outcome: Outcome, is_invited: bool) -> bool {
        self <= match outcome {
            Outcome::Throttled => Self::Throttled,
            _ if is_invited => Self::Invited,
            Outcome::Busy => Self::Rejected,
            _ => Self::Failed,
        }
    }
}

impl<L, const LIMITS: usize, P, C> Controller<L, LIMITS, P, C>
where
    L: Law,
    P: Borrow<Policy<L, LIMITS>>,
    C: Costs<LIMITS>,
{
    /// The next attempt of a call that completed with `reply` (an [`Outcome`](crate::Outcome) will do).
    ///
    /// It contains the call's backoff, so polling it waits. A cooldown that the server asked for delays all calls. If
    /// the server answered with an error that a retry cannot fix, settle it as [`Outcome::Ok`](crate::Outcome::Ok) and
    /// do not retry.
    ///
    /// # Errors
    /// [`Reason::Exhausted`] if the quota is used up, [`Reason::Final`] if another attempt would
    /// not help, [`Reason::Unsafe`] if [`Call::retry`] excludes it, [`Reason::Attempts`] if no more
    /// are allowed, and [`Reason::Late`] if it could not be sent by the call's deadline or within
    /// the policy's time. Here, a wait that the server asked for counts in full, even above the
    /// policy's ceiling.
    pub fn retry(
        &mut self,
        now: Instant,
        call: &Call<LIMITS, C>,
        reply: impl AsReply<LIMITS>,
    ) -> Result<Call<LIMITS, C>, Reason> {
        let mut next = *call;
        self.advance(now, &mut next, reply).map(|()| next)
    }

    /// [`retry`](Self::retry) in place: `call` becomes its next attempt. If there is none, it is used up.
    ///
    /// # Errors
    /// See [`retry`](Self::retry).
    pub fn advance(
        &mut self,
        now: Instant,
        call: &mut Call<LIMITS, C>,
        reply: impl AsReply<LIMITS>,
    ) -> Result<(), Reason> {
        let asked = reply.with_reply(|reply| {
            let (mut is_final, mut is_invited) = (!reply.outcome.is_retryable(), false);
            each(&reply.hints, |_, hint| {
                is_final |= hint.no_retry;
                is_invited |= hint.may_repeat;
            });
            match reply.outcome {
                Outcome::Exhausted => Err(Reason::Exhausted),
                _ if is_final => Err(Reason::Final),
                _ if call.retry == Retry::Never => Err(Reason::Attempts),
                _ if !call.retry.covers(reply.outcome, is_invited) => Err(Reason::Unsafe),
                outcome => {
                    let cooldown = cooldown(&reply.hints, |index| self.cost_of(index, call));
                    Ok((outcome == Outcome::Throttled, cooldown))
                }
            }
        });
        let (throttled, cooldown) = asked?;
        self.tries_again = self.rules().attempts.is_none_or(|most| most.get() > 1);
        self.try_again(now, call, throttled, cooldown)
    }

    fn cost_of(&self, index: usize, call: &Call<LIMITS, C>) -> u32 {
        let kept = self.limits.get(index).zip(self.laws().get(index));
        kept.map_or(0, |(limit, law)| self.usual.cost_of(index, (law, limit), call))
    }

    /// The next attempt, which the server will not serve before the end of its `cooldown`.
    fn try_again(
        &mut self,
        now: Instant,
        call: &mut Call<LIMITS, C>,
        throttled: bool,
        cooldown: Option<Span>,
    ) -> Result<(), Reason> {
        if call.attempt == 0 {
            call.first_failed = now;
        }
        call.attempt = call.attempt.saturating_add(1);
        let attempt = call.attempt;
        let since = now - call.first_failed;
        let is_extra = self.rules().attempts.is_some_and(|most| attempt >= most.get());
        let patient = throttled && since < self.rules().patience && attempt < PATIENT;
        if is_extra && !patient {
            return Err(Reason::Attempts);
        }
        let (step, delay) = match &self.policy.borrow().rules.backoff {
            Some(Linked { setting, follow }) => follow(setting, call.step, &mut self.rng),
            None => (Span::ZERO, Span::ZERO),
        };
        // The server may reject this call each time, and serve all others.
        let apart = if is_extra { since.halved(2) } else { Span::ZERO };
        (call.step, call.not_before) = (step, now + delay.max(apart));
        // Also as a deadline, because a gate may delay the call longer than its backoff does.
        let latest = call.first_failed + self.rules().elapsed;
        call.deadline = call.deadline.min(latest);
        let due = self.due_first(now, call);
        let due = cooldown.map_or(due, |cooldown| due.max(now + cooldown));
        if due > call.deadline {
            return Err(Reason::Late(due));
        }
        self.stats.count(|stats| &mut stats.retries);
        Ok(())
    }
}
