//! Calls that count against the limits of several keys. Each key has its own permit.

use tidegate::queue::{self, HoldLimit};
use tidegate::{Instant, Retry};

use crate::Call;
use crate::common::Requested;
use crate::controllers::{Desk, Pausable};
use crate::number::{deadline, millis};

/// A permit that a call keeps while it waits for another key.
pub struct Lent {
    pub permit: f64,
    pub call: Call,
    /// Then it is refunded: on the edge, the call may be lost.
    pub until: Instant,
}

impl Pausable {
    /// How many permits calls keep.
    fn lent(&mut self) -> usize {
        (0..self.lent.slots()).filter(|slot| self.lent.get(*slot).is_some()).count()
    }
}

impl Desk {
    /// Until when a call keeps its permits of other keys, now that this one delays it: see [`HoldLimit`].
    pub fn keeps_until(
        &mut self,
        gate: u32,
        slot: i32,
        requested: Requested,
        now: f64,
        [since, delayed]: [f64; 2],
    ) -> f64 {
        let now = self.clock.read(now);
        let call = self.call_of(requested);
        let Some(kept) = self.gates.get(gate) else { return 0.0 };
        kept.renew_lent(now);
        let is_next = kept.line.first(&kept.gate) == slot;
        let lent = kept.gate.lent();
        let mut limit = HoldLimit::new(deadline(since), deadline(delayed));
        let controller = &kept.gate.controller;
        let (verdict, in_flight) = (controller.check(now, &call), controller.in_flight());
        let until = limit.until(now, is_next, verdict, in_flight, lent);
        millis(until - Instant::ZERO)
    }

    /// Keeps a permit until then, while the call waits for another key.
    pub fn lend(&mut self, gate: u32, permit: f64, requested: Requested, until: f64) {
        let call = self.call_of(requested);
        if let Some(kept) = self.gates.get(gate) {
            kept.gate.lent.insert(Lent { permit, call, until: deadline(until) });
        }
    }

    /// Takes back the permit of a call that was not sent. An unknown permit is harmless.
    pub fn refund(&mut self, gate: u32, permit: f64, now: f64) {
        let now = self.clock.read(now);
        self.change(gate, |gate| queue::Gate::refund(gate, now, permit));
    }

    /// Like `learn`, for a call whose current reply describes the limit of another gate, with its permit.
    pub fn learn_beside(&mut self, gate: u32, permit: f64, (beside, last): (u32, f64), now: f64) {
        let reply = self.draft.reply;
        let Some(kept) = self.gates.get(beside) else { return };
        if let Some((last, _)) = kept.gate.permits.get(last) {
            self.draft.reply = last.others_learn(&reply);
            self.learn(gate, permit, now);
            self.draft.reply = reply;
        }
    }

    /// Like `retry`, for a gate beside the one that decides it. Before that one, which counts the attempt.
    pub fn retry_beside(&mut self, gate: u32, requested: Requested, now: f64, retry: Retry) {
        let now = self.clock.read(now);
        let call = self.call_of(requested).retry(retry);
        if let Some(kept) = self.gates.get(gate) {
            _ = kept.gate.controller.retry(now, &call, self.draft.reply);
        }
    }
}
