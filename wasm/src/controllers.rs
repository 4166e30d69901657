//! The controllers of the module, and their permits.

use tidegate::Permit;
use tidegate::gate::Gate;
use tidegate::queue::{self, Ahead};
use tidegate::{Decision, Instant, Reason, Reply, Rng};

#[cfg(feature = "full")]
use crate::arena::Arena;
use crate::common::Requested;
use crate::desk::{self, Kind};
#[cfg(feature = "full")]
use crate::layers::Lent;
#[cfg(feature = "gate")]
use crate::number::{count, counters};
use crate::number::{deadline, millis, whole};
use crate::permits::Permits;
use crate::policy::{WORDS, expiry, gap, policy};
use crate::{Call, Controller, Costs, LIMITS};

/// A controller that can be paused, and the permits of its calls.
pub struct Pausable {
    pub controller: Controller,
    pub permits: Permits<LIMITS, Costs>,
    pub paused: bool,
    /// The permits that calls keep while they wait for another key.
    #[cfg(feature = "full")]
    pub lent: Arena<Lent>,
}

impl Pausable {
    fn new(controller: Controller, places: u16, row: &[f64; WORDS]) -> Self {
        Self {
            controller,
            permits: Permits::new(expiry(row), gap(row), places),
            paused: false,
            #[cfg(feature = "full")]
            lent: Arena::new(),
        }
    }

    /// Takes the permit of a number. A lost call gets its place back, which the end of the permit frees.
    fn take(&mut self, number: f64) -> Option<Permit<LIMITS, Costs>> {
        let (permit, is_lost) = self.permits.take(number)?;
        self.controller.occupy(is_lost.into());
        Some(permit)
    }

    /// Frees the places of lost calls, and those that have rested. Returns whether there were any.
    fn lose(&mut self, now: Instant, urgent: bool) -> bool {
        let free = self.permits.lose(now, urgent);
        self.controller.forget(free);
        free > 0
    }
}

impl queue::Gate<LIMITS, Costs> for Pausable {
    type Permit = f64;

    fn poll(&mut self, now: Instant, call: &Call) -> Decision<f64> {
        if self.paused {
            return Decision::Full;
        }
        self.lose(now, false);
        let decision = match self.controller.poll(now, call) {
            Decision::Full if self.lose(now, true) => self.controller.poll(now, call),
            decision => decision,
        };
        decision.map(|permit| self.permits.hand_out(permit))
    }

    fn refund(&mut self, now: Instant, permit: f64) {
        if let Some(permit) = self.take(permit) {
            self.controller.refund(now, permit);
        }
    }

    fn ready_at(&self, now: Instant, call: &Call) -> Option<Instant> {
        if self.paused {
            return None;
        }
        let ready = self.controller.ready_at(now, call).unwrap_or(Instant::MAX);
        Some(ready.min(self.permits.first_lost()))
    }

    fn due_behind(&self, now: Instant, call: &Call, ahead: &[Ahead; LIMITS]) -> Instant {
        let calls = ahead.first().map_or(0, |ahead| ahead.calls);
        let due = queue::Gate::due_behind(&self.controller, now, call, ahead);
        due.max(self.permits.due(now, self.controller.in_flight(), calls))
    }

    fn count_rejection(&mut self) {
        queue::Gate::count_rejection(&mut self.controller);
    }

    fn is_failing(&self) -> bool {
        queue::Gate::is_failing(&self.controller)
    }
}

impl Kind<LIMITS, Costs> for Pausable {
    #[cfg(feature = "gate")]
    /// If its tokens are NaN, they are not stated.
    fn call(Requested { costs, deadline: at, .. }: Requested) -> Call {
        let call = Call::of(counts(costs)).deadline(deadline(at));
        if costs[1].is_nan() { call.estimated() } else { call }
    }

    #[cfg(not(feature = "gate"))]
    fn call(requested: Requested) -> Call {
        Call::new().deadline(deadline(requested.deadline))
    }

    fn retry(&mut self, now: Instant, call: &Call, reply: Reply<LIMITS>) -> Result<Call, Reason> {
        self.controller.retry(now, call, reply)
    }

    /// Pacing, cooldown, concurrency limit (or a pause), retry budget.
    fn why(&mut self, now: Instant, call: &Call) -> u32 {
        match self.controller.why(now, call) {
            _ if self.paused => 3,
            Some(Gate::Pacing) => 1,
            Some(Gate::Cooldown) => 2,
            Some(Gate::Concurrency) => 3,
            Some(Gate::RetryBudget) => 4,
            _ => 0,
        }
    }

    #[cfg(feature = "full")]
    fn renew_lent(&mut self, now: Instant) -> bool {
        let Self { controller, permits, lent, .. } = self;
        let mut refunded = false;
        for slot in 0..lent.slots() {
            let Some(Lent { permit, call, until }) = lent.get(slot) else { continue };
            let renewed = permits.renew(*permit, |permit, is_lost| {
                controller.occupy(is_lost.into());
                if now < *until {
                    return controller.renew(now, permit, call);
                }
                controller.refund(now, permit);
                None
            });
            if renewed.is_none() {
                lent.remove(slot);
                refunded = true;
            }
        }
        refunded
    }

    #[cfg(feature = "full")]
    fn renew(&mut self, now: Instant, permit: f64, call: &Call) -> Option<f64> {
        let before = self.take(permit)?;
        if self.paused {
            self.controller.refund(now, before);
            return None;
        }
        let renewed = self.controller.renew(now, before, call)?;
        Some(self.permits.hand_out(renewed))
    }
}

pub type Desk = desk::Desk<Pausable, LIMITS, Costs>;

impl Desk {
    /// Creates a controller and returns its slot; -1 if there is no memory, -2 if the policy is
    /// invalid. At most `most` calls may wait.
    pub fn open(&mut self, row: &[f64; WORDS], seed: [u32; 2], now: f64, most: u32) -> i32 {
        let now = self.clock.read(now);
        let Some((policy, places)) = policy(row, u16::MAX) else { return -2 };
        let controller = Controller::with_rng(policy, Rng::new(whole(seed)), now);
        self.keep(Pausable::new(controller, places, row), most)
    }

    #[cfg(feature = "full")]
    /// Like `open`, but continues from a record; -3 if the record is invalid or does not fit the
    /// policy.
    pub fn restore(
        &mut self,
        row: &[f64; WORDS],
        seed: [u32; 2],
        now: f64,
        record: &[u8],
        away: f64,
        most: u32,
    ) -> i32 {
        let now = self.clock.read(now);
        let Some((policy, places)) = policy(row, u16::MAX) else { return -2 };
        let away = crate::number::span(away).unwrap_or_default();
        match Controller::restore(policy, whole(seed), record, now, away) {
            Ok(controller) => self.keep(Pausable::new(controller, places, row), most),
            Err(_) => -3,
        }
    }

    /// Sets another policy. Returns whether the policy is valid and the controller exists.
    pub fn follow(&mut self, gate: u32, row: &[f64; WORDS], now: f64) -> bool {
        let now = self.clock.read(now);
        let Some((policy, places)) = policy(row, u16::MAX) else { return false };
        let Some(kept) = self.gates.get(gate) else { return false };
        kept.change(|gate| {
            gate.controller.set_policy(policy, now);
            gate.permits.configure(expiry(row), gap(row), places);
        });
        true
    }

    /// Ends all cooldowns, and forgets what was learned.
    pub fn reset(&mut self, gate: u32, now: f64) {
        let now = self.clock.read(now);
        self.change(gate, |gate| gate.controller.reset(now));
    }

    pub fn pause(&mut self, gate: u32, paused: bool) {
        self.change(gate, |gate| gate.paused = paused);
    }

    pub fn change(&mut self, gate: u32, change: impl FnOnce(&mut Pausable)) {
        if let Some(kept) = self.gates.get(gate) {
            kept.change(change);
        }
    }

    /// Learns from the current reply, and the call keeps its place. An unknown permit is harmless.
    pub fn learn(&mut self, gate: u32, permit: f64, now: f64) {
        let (now, reply) = (self.clock.read(now), self.draft.reply);
        self.change(gate, |Pausable { controller, permits, .. }| {
            if let Some((permit, _)) = permits.get(permit) {
                controller.learn(now, permit, reply);
            }
        });
    }

    #[cfg(feature = "gate")]
    /// Reads the next bytes of a call's stream. None are its end: then the call costs the tokens that were reported.
    pub fn stream(&mut self, gate: u32, permit: f64, bytes: &[u8], now: f64) {
        let now = self.clock.read(now);
        self.change(gate, |Pausable { controller, permits, .. }| {
            let Some((permit, usage)) = permits.get(permit) else { return };
            usage.feed(bytes);
            if bytes.is_empty() && usage.tokens().is_some() {
                controller.correct(now, permit, [None, usage.tokens()]);
            }
        });
    }

    /// Ends a call that was learned, and frees its place, now or after the gap. An unknown permit is harmless.
    pub fn release(&mut self, gate: u32, permit: f64, now: f64) {
        let now = self.clock.read(now);
        self.change(gate, |gate| {
            if !gate.permits.rest(permit, now)
                && let Some(permit) = gate.take(permit)
            {
                gate.controller.release(permit);
            }
        });
    }

    /// The interval of a limit's law; 0 if there is none.
    pub fn interval(&mut self, gate: u32, limit: u32, now: f64) -> f64 {
        let now = self.clock.read(now);
        let kept = self.gates.get(gate);
        let interval =
            kept.and_then(|kept| kept.gate.controller.intervals(now).nth(limit as usize)).flatten();
        interval.map_or(0.0, millis)
    }

    #[cfg(feature = "gate")]
    /// The counters, in TypeScript's order.
    pub fn stats(&mut self, gate: u32) -> Option<[f64; COUNTERS]> {
        let Pausable { controller, permits, .. } = &self.gates.get(gate)?.gate;
        let s = controller.stats();
        Some(counters(&[
            s.admitted,
            s.waits,
            s.full,
            s.rejected,
            s.ok,
            s.throttled,
            s.busy,
            s.failed,
            s.abandoned,
            s.retries,
            s.slower,
            s.faster,
            controller.in_flight().saturating_sub(permits.resting()).into(),
        ]))
    }

    #[cfg(feature = "full")]
    /// Writes a controller's record and returns its length; 0 if the controller does not exist.
    pub fn snapshot(&mut self, gate: u32, now: f64, record: &mut [u8]) -> usize {
        let now = self.clock.read(now);
        self.gates
            .get(gate)
            .and_then(|kept| kept.gate.controller.snapshot(now, record).ok())
            .unwrap_or(0)
    }
}

/// Number of counters: core's, and the number of calls in flight.
#[cfg(feature = "gate")]
pub const COUNTERS: usize = 13;

/// Without `map`, which compiles to a loop when optimised for size.
#[cfg(feature = "gate")]
pub fn counts([requests, tokens]: [f64; LIMITS]) -> [u32; LIMITS] {
    [count(requests), count(tokens)]
}

#[cfg(all(test, feature = "gate"))]
mod tests {
    use tidegate::Retry;
    use tidegate::queue::Place;

    use super::*;

    const USUAL: [f64; WORDS] = {
        let mut row = [f64::NAN; WORDS];
        row[0] = 0.0;
        row[4] = 0.0;
        row
    };

    const PLAIN: Requested = Requested::PLAIN;

    /// The permit of a call; or, less than 0, when to try again (the call then no longer waits); or
    /// NaN.
    fn asked(desk: &mut Desk, gate: u32, requested: Requested, now: f64) -> f64 {
        let answer = desk.join(gate, requested, Place::new(0, 1), now);
        if answer < 0.0 {
            let next = desk.next(gate, now);
            desk.cancel(gate, (-1.0 - answer) as u32, 1.0);
            return next;
        }
        answer
    }

    fn settle(desk: &mut Desk, gate: u32, permit: f64, now: f64) {
        desk.learn(gate, permit, now);
        desk.release(gate, permit, now);
    }

    #[test]
    fn a_lost_call_that_ends_late_still_teaches_but_frees_no_place_of_another_call() {
        let mut row = USUAL;
        (row[8], row[9]) = (1.0, 400.0);
        let mut desk = Desk::new();
        let gate = desk.open(&row, [0, 7], 0.0, 100).cast_unsigned();
        let lost = asked(&mut desk, gate, PLAIN, 0.0);
        let other = asked(&mut desk, gate, PLAIN, 500.0);
        assert!(lost >= 0.0 && other >= 0.0);
        desk.draft.answer(0, f64::NAN);
        settle(&mut desk, gate, lost, 510.0);
        assert_eq!(desk.stats(gate).map(|told| [told[4], told[12]]), Some([1.0, 1.0]));
        assert!(desk.poll(gate, 520.0, [1.0, 0.0]) < 0.0);
        desk.release(gate, other, 520.0);
        assert_eq!(desk.stats(gate).map(|told| told[12]), Some(0.0));
    }

    #[test]
    fn invalid_numbers_are_harmless() {
        let mut desk = Desk::new();
        assert!(asked(&mut desk, 3, PLAIN, 0.0).is_nan());
        assert_eq!(desk.told.reason(), 0);
        let gate = desk.open(&USUAL, [0, 7], 0.0, 100).cast_unsigned();
        let permit = asked(&mut desk, gate, PLAIN, 0.0);
        for wrong in [f64::NAN, -1.0, 1e300, permit + 1.0, f64::INFINITY] {
            settle(&mut desk, gate, wrong, 1.0);
        }
        assert_eq!(desk.stats(gate).map(|told| told[12]), Some(1.0), "the call is still in flight");
        settle(&mut desk, gate, permit, 1.0);
        settle(&mut desk, gate, permit, 1.0);
        assert_eq!(desk.stats(gate).map(|told| told[12]), Some(0.0));
        desk.close(gate);
        desk.close(gate);
        assert_eq!(desk.stats(gate), None);
        assert_eq!(desk.retry(gate, PLAIN, 1.0, Retry::Failed), -1);
    }
}
