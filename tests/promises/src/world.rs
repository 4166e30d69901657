//! A controller and its client, and the promises for every call.

use core::num::NonZeroU16;

use tidegate::Permit;
use tidegate::gate::Gate;
use tidegate::law::{AnyLaw, Law};
use tidegate::{Controller, Decision, Instant, Quota, Reason, Span, Verdict};

use crate::account::{Account, Retries};
use crate::terms::{Bounds, Terms};

const SECOND: u64 = 1_000_000_000;
/// The maximum number of polls of a call that waits as decided: one per gate that may have a
/// separate reason, plus some.
const POLLS: usize = 8;

pub type Kept<const LIMITS: usize> = Controller<AnyLaw, LIMITS>;

/// A call that is polled or in flight.
#[derive(Clone, Copy, Debug)]
pub struct Call<const LIMITS: usize> {
    pub core: tidegate::Call<LIMITS>,
    pub costs: [u32; LIMITS],
    /// Whether costs of 0 and 1 beyond the first limit may be charged more.
    pub estimated: bool,
}

impl<const LIMITS: usize> Call<LIMITS> {
    pub const fn plain() -> Self {
        Self { core: tidegate::Call::new(), costs: [1; LIMITS], estimated: true }
    }
}

#[derive(Clone, Debug)]
pub struct World<const LIMITS: usize> {
    pub gate: Kept<LIMITS>,
    pub terms: Terms<LIMITS>,
    pub now: Instant,
    /// The latest instant of the clock.
    pub latest: Instant,
    pub waiting: Vec<Call<LIMITS>>,
    pub flying: Vec<Flying<LIMITS>>,
    /// When the last call that had to wait may be sent.
    pub told: Instant,
    /// The latest end of a cooldown: each adds at most the policy's ceiling to the clock.
    pub cooldown: Instant,
    pub accounts: [Account; LIMITS],
    pub retries: Retries,
    pub restarts: u64,
    answers: u64,
}

#[derive(Debug)]
pub struct Flying<const LIMITS: usize> {
    pub permit: Permit<LIMITS>,
    pub call: Call<LIMITS>,
    pub costs: [u32; LIMITS],
    /// The number of cuts when it was sent.
    pub cuts: u32,
    /// For each limit, whether the account that it was charged to still exists.
    pub charged: [bool; LIMITS],
}

impl<const LIMITS: usize> Clone for Flying<LIMITS> {
    fn clone(&self) -> Self {
        Self { permit: self.permit.twin(), ..*self }
    }
}

impl<const LIMITS: usize> World<LIMITS> {
    pub fn new(terms: Terms<LIMITS>, seed: u64, now: Instant) -> Self {
        Self::with(Controller::new(terms.policy, seed, now), terms, now)
    }

    pub fn with(gate: Kept<LIMITS>, terms: Terms<LIMITS>, now: Instant) -> Self {
        Self {
            gate,
            terms,
            now,
            latest: now,
            waiting: Vec::new(),
            flying: Vec::new(),
            told: now,
            cooldown: Instant::ZERO,
            accounts: [Account::new(); LIMITS],
            retries: Retries::NONE,
            restarts: 0,
            answers: 0,
        }
    }

    /// Discards the expectations: the state now comes from an arbitrary record.
    pub fn doubts_its_memory(&mut self) {
        self.cooldown = Instant::MAX;
        self.terms.retry_budget = None;
        self.terms.quotas = [None; LIMITS];
        self.terms.bounds = [Bounds::None; LIMITS];
    }

    /// Whether equal decisions have led to equal controllers.
    pub fn is_as(&self, other: &Self) -> bool {
        (self.answers, &self.gate) == (other.answers, &other.gate)
    }

    pub fn set_clock(&mut self, now: Instant) {
        self.now = now;
        self.latest = self.latest.max(now);
    }

    pub fn pass(&mut self, span: Span) {
        self.set_clock(self.now + span);
    }

    /// Sleeps as the last poll said, and polls again.
    pub fn wait_as_told(&mut self) {
        self.set_clock(self.told.max(self.now));
        self.poll_again(usize::MAX);
    }

    pub fn poll_again(&mut self, which: usize) {
        if !self.waiting.is_empty() {
            let which = which.min(self.waiting.len() - 1);
            let call = self.waiting.remove(which);
            self.poll(call);
        }
    }

    /// Returns whether the call was sent. If it has to wait, it is polled again later.
    pub fn poll(&mut self, call: Call<LIMITS>) -> bool {
        let before = self.gate.clone();
        let verdict = self.gate.check(self.now, &call.core);
        let why = self.gate.why(self.now, &call.core);
        assert_eq!(self.gate, before, "check changes the state");
        assert!(verdict != Verdict::Admit || why.is_none(), "{why:?} delays no call");
        self.a_deadline_rejects_what_would_be_late(&call.core, verdict);
        let decision = self.gate.poll(self.now, &call.core);
        self.note(&decision);
        match decision {
            Decision::Admit(permit) => {
                assert_eq!(verdict, Verdict::Admit);
                self.admit(call, permit, &before);
                return true;
            }
            Decision::Wait(until) => {
                assert_eq!(verdict, Verdict::Wait(until));
                self.a_wait_is_exact(&call.core, until, why);
                self.waiting.push(call);
            }
            Decision::Full => {
                assert_eq!(verdict, Verdict::Full);
                self.told = self.gate.next_at(self.now).unwrap_or(self.now);
                self.waiting.push(call);
            }
            Decision::Reject(reason) => {
                assert_eq!(verdict, Verdict::Reject(reason));
                assert!(
                    reason != Reason::RetryBudget || call.core.attempt() > 0,
                    "the call is not a retry"
                );
            }
        }
        // It may note that the law is the limit now, and nothing else.
        assert!(
            self.gate.states().eq(before.states()),
            "a poll that was not admitted changed a law"
        );
        self.has_cost_nothing(&before, &call.core);
        false
    }

    /// A call that was not sent has cost nothing: later decisions are unchanged.
    pub fn has_cost_nothing(&self, before: &Kept<LIMITS>, call: &tidegate::Call<LIMITS>) {
        assert_eq!(self.gate.in_flight(), before.in_flight());
        for later in [0, 1, SECOND / 7, 4_000 * SECOND] {
            let later = self.now + Span::from_nanos(later);
            for call in [call, &tidegate::Call::new()] {
                assert_eq!(self.gate.check(later, call), before.check(later, call));
            }
        }
    }

    /// A late call is rejected at once with the time that it would have taken, and no other call
    /// is.
    fn a_deadline_rejects_what_would_be_late(
        &self,
        call: &tidegate::Call<LIMITS>,
        verdict: Verdict,
    ) {
        let last = call.not_after();
        match verdict {
            Verdict::Wait(until) => assert!(until <= last, "the wait ends after the deadline"),
            Verdict::Reject(Reason::Late(at)) => assert!(at > last, "the call would be in time"),
            _ => {}
        }
        if call.attempt() == 0 && last < Instant::MAX {
            let free = self.gate.check(self.now, &call.deadline(Instant::MAX));
            let expected = match free {
                Verdict::Wait(until) if until > last => Verdict::Reject(Reason::Late(until)),
                Verdict::Admit if self.now > last => Verdict::Reject(Reason::Late(self.now)),
                other => other,
            };
            let full = free == Verdict::Full; // another gate behind it may be too late
            assert!(
                verdict == expected || full,
                "{verdict:?} with deadline {last:?}, {free:?} without"
            );
        }
    }

    fn admit(&mut self, call: Call<LIMITS>, permit: Permit<LIMITS>, before: &Kept<LIMITS>) {
        let costs = permit.costs();
        for (limit, (stated, charged)) in call.costs.into_iter().zip(costs).enumerate() {
            let is_unstated = call.estimated && limit > 0 && stated <= 1;
            assert!(stated == charged || is_unstated, "{charged} was charged for {stated}");
            assert!(charged >= stated, "{charged} was charged for {stated}");
        }
        let in_flight = self.gate.in_flight();
        let limit = self.terms.concurrency.get();
        assert!(in_flight <= limit, "{in_flight} in flight, with a limit of {limit}");
        assert_eq!(usize::from(in_flight), self.flying.len() + 1);
        assert_eq!(self.gate.stats().admitted, before.stats().admitted + 1);
        let limits = self.accounts.iter_mut().zip(costs).zip(self.terms.quotas);
        // A limit with no cost for this call does not see the time either.
        for ((account, cost), quota) in limits.filter(|((_, cost), _)| *cost > 0) {
            if let Some(quota) = quota {
                account.admit(self.now, cost, quota);
            }
        }
        if let (true, Some(retry_budget)) = (call.core.attempt() > 0, self.terms.retry_budget) {
            self.retries.admit(retry_budget);
        }
        let cuts = self.gate.stats().slower;
        let charged = [true; LIMITS];
        self.flying.push(Flying { permit, call, costs, cuts, charged });
    }

    fn a_wait_is_exact(
        &mut self,
        call: &tidegate::Call<LIMITS>,
        until: Instant,
        why: Option<Gate>,
    ) {
        assert!(until > self.now, "a wait is never zero");
        self.told = until;
        let wait = until - self.now;
        assert!(self.terms.longest.is_none_or(|longest| wait <= longest), "it waits {wait:?}");
        let ended = self.cooldown.max(call.not_before()).max(self.now);
        let later = self.gate.why(ended, call);
        assert_ne!(later, Some(Gate::Cooldown), "a cooldown exceeds its ceiling");
        // The pacing that follows a cooldown may count as the cooldown.
        let why = if until > ended { Some(Gate::Pacing) } else { why };
        if LIMITS > 1 && self.halves_where_a_second_ends() {
            return;
        }
        let then = self.gate.check(until, call);
        let same = self.gate.why(until, call) == why;
        assert!(
            !(matches!(then, Verdict::Wait(_)) && same),
            "{why:?} returned {until:?}, then {then:?}"
        );
        let sooner = Instant::from_nanos(until.as_nanos() - 1);
        assert_ne!(self.gate.check(sooner, call), Verdict::Admit, "the wait is longer than needed");
    }

    pub fn lose(&mut self, which: usize) {
        if !self.flying.is_empty() {
            self.flying.remove(which.min(self.flying.len() - 1));
            self.gate.forget(1);
        }
    }

    pub fn set_concurrency(&mut self, concurrency: NonZeroU16) {
        let before = self.gate.in_flight();
        self.gate.set_concurrency(concurrency);
        assert_eq!(self.gate.in_flight(), before, "a call in flight was forgotten");
        self.terms.concurrency = concurrency;
        self.terms.policy = self.terms.policy.concurrency(concurrency);
    }

    pub fn set_policy(&mut self, mut terms: Terms<LIMITS>) {
        let before = self.gate.clone();
        self.gate.set_policy(terms.policy, self.now);
        assert_eq!(self.gate.in_flight(), before.in_flight(), "a call in flight was forgotten");
        let ceiling = terms.cooldown.ceiling();
        let is_lower = ceiling < self.terms.cooldown.ceiling();
        let latest = if is_lower { self.now + ceiling } else { Instant::MAX };
        self.cooldown = self.cooldown.min(latest);
        let states = self.gate.states().zip(before.states());
        for (limit, (state, old)) in states.enumerate() {
            if terms.laws[limit] == self.terms.laws[limit] {
                let mut old = *old;
                terms.laws[limit].shorten(&mut old, latest);
                assert_eq!(*state, old, "an unchanged law lost its state");
                // The state may come from an arbitrary record.
                terms.quotas[limit] = self.terms.quotas[limit];
                terms.bounds[limit] = self.terms.bounds[limit];
            } else {
                self.accounts[limit] = Account::new();
                self.flying.iter_mut().for_each(|flying| flying.charged[limit] = false);
            }
        }
        // The balance of the previous retry budget is not known.
        let retry_budget = terms.retry_budget.filter(|_| terms.policy == self.terms.policy);
        self.terms = Terms { retry_budget, ..terms };
    }

    /// Whether a law halves its limit when a second ends. It may admit a call now and not later,
    /// when another limit's wait is over.
    pub fn halves_where_a_second_ends(&self) -> bool {
        self.terms.laws.iter().any(|law| matches!(law, AnyLaw::Tchannel(_)))
    }

    pub fn every_promise_holds(&self) {
        let laws = self.terms.laws.iter().zip(self.terms.bounds).zip(self.gate.states());
        for ((law, bounds), state) in laws {
            let holds = match bounds {
                Bounds::None => true,
                Bounds::Rate(floor, ceiling) => {
                    law.pace(state, self.now, 0, false).quota.is_some_and(|quota| {
                        // A law rounds its rates to their representation.
                        let (least, most) = (rate(floor).saturating_sub(1), rate(ceiling) + 1);
                        (least..=most).contains(&rate(quota))
                    })
                }
                Bounds::Calls(most) => law
                    .pace(state, self.now, 0, false)
                    .concurrency
                    .is_some_and(|calls| calls <= most),
            };
            assert!(holds, "{state:?} is not within {bounds:?}");
        }
        self.next_at_is_exact();
    }

    /// A plain call is sent at `next_at` and not before, never waits longer than a more expensive
    /// one, and a call that may be sent now may be sent later.
    fn next_at_is_exact(&self) {
        if self.halves_where_a_second_ends() {
            return;
        }
        let plain = tidegate::Call::new();
        let verdict = self.gate.check(self.now, &plain);
        // In the other limits, two would be a stated cost, which may be less than the usual one.
        let mut dearer = [1; LIMITS];
        dearer[0] = 2;
        let dearer = tidegate::Call::of(dearer).estimated();
        if self.gate.check(self.now, &dearer) == Verdict::Admit {
            assert_eq!(
                verdict,
                Verdict::Admit,
                "a cost of two is admitted, but a cost of one is not"
            );
        }
        if verdict == Verdict::Admit {
            for later in [1, SECOND / 7, 4_000 * SECOND] {
                let later = self.gate.check(self.now + Span::from_nanos(later), &plain);
                assert_eq!(later, Verdict::Admit, "the call may be sent now, but not later");
            }
        }
        let (Verdict::Wait(_) | Verdict::Full) = verdict else { return };
        let Some(next) = self.gate.next_at(self.now) else {
            assert!(verdict == Verdict::Full && self.gate.in_flight() > 0, "it waits for nothing");
            return;
        };
        if next == Instant::MAX {
            return; // the clock ends here
        }
        assert!(next > self.now, "next_at is in the past");
        assert_eq!(self.gate.check(next, &plain), Verdict::Admit, "at next_at");
        let sooner = Instant::from_nanos(next.as_nanos() - 1);
        assert_ne!(
            self.gate.check(sooner, &plain),
            Verdict::Admit,
            "the call could have been sent sooner"
        );
    }

    /// A call that polls again when its decision says is sent after a few polls, and does not spin.
    pub fn a_call_that_waits_as_told_is_sent(&self) {
        let (mut gate, mut now) = (self.gate.clone(), self.now);
        if now > Instant::from_nanos(u64::MAX / 2) {
            return; // the clock is near its end
        }
        for _ in 0..POLLS {
            match gate.poll(now, &tidegate::Call::new()) {
                Decision::Admit(_) => return,
                Decision::Wait(until) => now = until,
                Decision::Full => match gate.next_at(now) {
                    Some(next) => now = next,
                    None if gate.in_flight() > 0 => gate.forget(gate.in_flight()), // others must end
                    None => panic!("full without a reason"),
                },
                // A wait beyond the largest instant, or a law that rejects instead of waiting.
                Decision::Reject(Reason::Never | Reason::OverLimit) => return,
                Decision::Reject(reason) => panic!("a plain call is rejected: {reason}"),
            }
        }
        panic!("still waiting at {now:?}: {gate:?}");
    }

    fn note(&mut self, decision: &Decision<Permit<LIMITS>>) {
        let told = match decision {
            Decision::Admit(_) => 1,
            Decision::Wait(until) => until.as_nanos(),
            Decision::Full => 2,
            Decision::Reject(_) => 3,
        };
        self.answers = (self.answers ^ told).wrapping_mul(0x0100_0000_01B3);
    }
}

/// Calls a second with 20 bits of fraction.
fn rate(quota: Quota) -> u128 {
    (1_000_000_000 << 20) / u128::from(quota.interval().as_nanos())
}
