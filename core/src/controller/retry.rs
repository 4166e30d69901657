//! Retries: whether a call is tried again, and when.

use core::borrow::Borrow;

use super::{Controller, each::each};
use crate::law::Law;
use crate::outcome::AsReply;
use crate::policy::Policy;
use crate::time::{Instant, Span};
use crate::verdict::{Ask, Reason, Verdict};

impl<L: Law, const LIMITS: usize, P: Borrow<Policy<L, LIMITS>>> Controller<L, LIMITS, P> {
    /// The ask for the next attempt of a call that completed with `reply` (an [`Outcome`](crate::Outcome) will do).
    ///
    /// The ask carries the call's own backoff, so that polling with it waits. A server's wish to
    /// be left alone for a time is in the way of all calls alike. An error that another attempt
    /// cannot mend is no failure to a throttle: the server answered, so settle it as
    /// [`Outcome::Ok`](crate::Outcome::Ok) and do not retry.
    ///
    /// # Errors
    /// [`Reason::Final`] where another attempt would not help, [`Reason::Attempts`] where the policy allows
    /// no more, and [`Reason::Late`] where it could not be sent by the call's deadline or within the
    /// policy's time.
    pub fn retry(
        &mut self,
        now: Instant,
        ask: &Ask<LIMITS>,
        reply: impl AsReply<LIMITS>,
    ) -> Result<Ask<LIMITS>, Reason> {
        let is_final = reply.with_reply(|reply| {
            let mut is_final = !reply.outcome.is_retryable();
            each(&reply.hints, |_, hint| is_final |= hint.no_retry);
            is_final
        });
        if is_final { Err(Reason::Final) } else { self.try_again(now, ask) }
    }

    fn try_again(&mut self, now: Instant, ask: &Ask<LIMITS>) -> Result<Ask<LIMITS>, Reason> {
        let attempt = ask.attempt.saturating_add(1);
        let spent = self.rules().attempts.is_some_and(|most| attempt >= most.get());
        if spent {
            return Err(Reason::Attempts);
        }
        let (rung, delay) = match self.rules().backoff {
            Some(backoff) => {
                let rung = backoff.climb(ask.rung, &mut self.rng);
                (rung, backoff.delay(rung, &mut self.rng))
            }
            None => (Span::ZERO, Span::ZERO),
        };
        let not_before = now.saturating_add(delay);
        let first_failed = if ask.attempt == 0 { now } else { ask.first_failed };
        // A deadline too, because a gate may keep the call longer than its backoff does.
        let most =
            self.rules().elapsed.map_or(Instant::MAX, |most| first_failed.saturating_add(most));
        let deadline = ask.deadline.min(most);
        let next = Ask { attempt, rung, not_before, first_failed, deadline, ..*ask };
        if let Verdict::Refuse(late @ Reason::Late(_)) = self.check(now, &next) {
            return Err(late);
        }
        self.stats.count(|stats| &mut stats.retries);
        Ok(next)
    }
}
