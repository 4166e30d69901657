//! Calls that complete with any reply, in any order.

use tidegate::{Hint, Instant, Outcome, Reason, Reply, Span, Verdict};

use crate::restart::record_of;
use crate::world::{Call, Flying, Kept, World};

impl<const LIMITS: usize> World<LIMITS> {
    pub fn settle(&mut self, which: usize, reply: Reply<LIMITS>) {
        if self.flying.is_empty() {
            return;
        }
        let flying = self.flying.remove(which.min(self.flying.len() - 1));
        let before = self.gate.clone();
        self.gate.settle(self.now, flying.permit.twin(), reply);
        self.has_come_back(&flying, &reply, &before);
        if reply.outcome == Outcome::Ok {
            self.retries.success();
        }
        self.retry(&flying.call, &reply);
    }

    fn has_come_back(
        &mut self,
        flying: &Flying<LIMITS>,
        reply: &Reply<LIMITS>,
        before: &Kept<LIMITS>,
    ) {
        assert_eq!(self.gate.in_flight() + 1, before.in_flight(), "its place is free");
        // With several limits each has its own cuts, and the counter does not say whose. A served
        // call's hint is news regardless of when it was sent, and is not a congestion event.
        let told =
            LIMITS == 1 && !self.terms.cuts_for_each_throttled && reply.outcome != Outcome::Ok;
        if self.gate.stats().slower > before.stats().slower && told {
            assert_eq!(flying.cuts, before.stats().slower, "it was sent before the latest cut");
        }
        if reply.outcome == Outcome::Abandoned {
            let record = |gate| record_of(gate, self.now);
            assert_eq!(record(&self.gate), record(before), "an abandoned call changed the state");
            // Only the room in the concurrency limit has changed.
            let verdict = before.check(self.now, &tidegate::Call::new());
            assert!(
                verdict == Verdict::Full
                    || self.gate.check(self.now, &tidegate::Call::new()) == verdict
            );
            return;
        }
        if reply.outcome == Outcome::Exhausted && reply.used == [None; LIMITS] {
            assert!(self.gate.states().eq(before.states()), "an exhausted quota changed a law");
        }
        for (limit, account) in self.accounts.iter_mut().enumerate() {
            if let (true, Some(quota), Some(used)) =
                (flying.charged[limit], self.terms.quotas[limit], reply.used[limit])
            {
                account.correct(self.now, flying.costs[limit], used, quota);
            }
        }
        if reply.outcome != Outcome::Ok {
            self.heeds(flying.costs, reply);
        }
    }

    /// A server's Retry-After is a floor, up to the policy's ceiling.
    fn heeds(&mut self, costs: [u32; LIMITS], reply: &Reply<LIMITS>) {
        let concerned = reply.hints.iter().zip(costs).filter(|(_, cost)| *cost > 0);
        let Some(asked) = concerned.filter_map(|(hint, _)| hint.cooldown()).max() else { return };
        let (ceiling, spread) = (self.terms.cooldown.ceiling(), self.terms.spread);
        self.cooldown = self.cooldown.max(self.now + ceiling);
        let least = ceiling - Span::from_nanos(spread.floor_of(ceiling.as_nanos()));
        let floor = if asked < ceiling { asked } else { least };
        // The largest instant is excluded, so that every cooldown ends.
        let last = Instant::from_nanos(u64::MAX - 1);
        let until = (self.now + floor).min(last);
        let free = [(); LIMITS].map(|()| 0);
        match self.gate.check(self.now, &tidegate::Call::of(free)) {
            Verdict::Admit => assert!(until <= self.now, "a wait of {asked:?} was ignored"),
            Verdict::Wait(told) => assert!(told >= until, "{asked:?} was cut short"),
            Verdict::Full | Verdict::Reject(_) => {}
        }
    }

    fn retry(&mut self, call: &Call<LIMITS>, reply: &Reply<LIMITS>) {
        let before = self.gate.clone();
        let next = self.gate.retry(self.now, &call.core, *reply).ok();
        assert!(self.gate.states().eq(before.states()), "planning a retry changed a law");
        let Some(next) = next else { return };
        assert!(
            reply.outcome.is_retryable() && !reply.hints.iter().any(|hint: &Hint| hint.no_retry)
        );
        assert_eq!(next.attempt(), call.core.attempt() + 1);
        assert!(self.terms.attempts.is_none_or(|most| next.attempt() < most.get()));
        let most = self.now + self.terms.backoff.unwrap_or(Span::ZERO);
        assert!(next.not_before() >= self.now && next.not_before() <= most, "a backoff too long");
        let verdict = self.gate.check(self.now, &next);
        assert!(!matches!(verdict, Verdict::Reject(Reason::Late(_))), "a retry that is late");
        self.waiting.push(Call { core: next, ..*call });
    }
}
