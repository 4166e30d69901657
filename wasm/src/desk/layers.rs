//! Calls that count against the limits of several keys. Each key has its own permit.

use tidegate::queue::{Patience, Place};
use tidegate::{Call, Instant};

use super::{Desk, Kept, Pausable, Requested, number};
use crate::LIMITS;
use crate::line::Told;
use crate::number::{deadline, millis};

/// A permit that a call keeps while it waits for another key.
pub struct Lent {
    permit: f64,
    call: Call<LIMITS>,
    /// Then it is refunded: on the edge, the call may be lost.
    until: Instant,
}

impl Kept {
    /// Renews the permits that calls keep, so that no other call uses their room.
    pub fn renew(&mut self, now: Instant) {
        let Pausable { controller: control, permits, .. } = &mut self.gate;
        for slot in 0..self.lent.slots() {
            let Some(Lent { permit, call, until }) = self.lent.get(slot) else { continue };
            let renewed = permits.renew(*permit, |permit| {
                if now < *until {
                    return control.renew(now, permit, call);
                }
                control.refund(now, permit);
                None
            });
            if renewed.is_none() {
                self.lent.remove(slot);
                self.line.changed();
            }
        }
    }

    /// Like `Desk::join`, for a call that was in this queue before. It renews its permit, or enters the queue again.
    pub fn rejoin(
        &mut self,
        now: Instant,
        before: f64,
        (call, place): (&Call<LIMITS>, Place),
        told: &mut Told,
    ) -> f64 {
        if let Some(before) = self.gate.permits.take(before) {
            if self.gate.paused {
                self.gate.controller.refund(now, before);
            } else if let Some(permit) = self.gate.controller.renew(now, before, call) {
                return self.gate.permits.hand_out(permit);
            }
        }
        self.line.changed();
        self.line.join::<true, _>(now, &mut self.gate, (call, place), told, number)
    }

    /// How many permits calls keep.
    fn lent(&mut self) -> usize {
        (0..self.lent.slots()).filter(|slot| self.lent.get(*slot).is_some()).count()
    }
}

impl Desk {
    /// Until when a call keeps its permits of other keys, now that this one delays it: see `Patience`.
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
        kept.renew(now);
        let is_next = kept.line.first(now, &kept.gate) == slot;
        let lent = kept.lent();
        let until = Patience::new(deadline(since), deadline(delayed)).keeps_until(
            now,
            is_next,
            &kept.gate.controller,
            &call,
            lent,
        );
        millis(until.saturating_since(Instant::ZERO))
    }

    /// Keeps a permit until then, while the call waits for another key.
    pub fn lend(&mut self, gate: u32, permit: f64, requested: Requested, until: f64) {
        let call = self.call_of(requested);
        if let Some(kept) = self.gates.get(gate) {
            kept.lent.insert(Lent { permit, call, until: deadline(until) });
        }
    }

    /// Takes back the permit of a call that was not sent. An unknown permit is harmless.
    pub fn refund(&mut self, gate: u32, permit: f64, now: f64) {
        let now = self.clock.read(now);
        let Some(kept) = self.gates.get(gate) else { return };
        if let Some(permit) = kept.gate.permits.take(permit) {
            kept.gate.controller.refund(now, permit);
            kept.line.changed();
        }
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
    pub fn retry_beside(&mut self, gate: u32, requested: Requested, now: f64) {
        let now = self.clock.read(now);
        let call = self.call_of(requested);
        if let Some(kept) = self.gates.get(gate) {
            _ = kept.gate.controller.retry(now, &call, self.draft.reply);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desk::tests::{PLAIN, USUAL};

    #[test]
    fn a_permit_that_a_call_keeps_has_its_room_until_then() {
        // One call in 100 ms.
        let mut row = USUAL;
        row[0..5].copy_from_slice(&[1.0, 1.0, 100.0, 1.0, 1.0]);
        let mut desk = Desk::new();
        let gate = desk.open(&row, [0, 7], 0.0, 100).cast_unsigned();
        let place = Place::new(0, 1);
        let kept = desk.poll(gate, 0.0, PLAIN.costs);
        desk.lend(gate, kept, PLAIN, 450.0);
        for now in [100.0, 250.0, 449.0] {
            assert!(desk.poll(gate, now, PLAIN.costs) < 0.0);
        }
        desk.again = Some(kept);
        let renewed = desk.join(gate, PLAIN, place, 449.5);
        assert!(renewed >= 0.0);
        desk.lend(gate, renewed, PLAIN, 450.0);
        assert!(desk.poll(gate, 450.0, PLAIN.costs) >= 0.0);
        desk.again = Some(renewed);
        assert_eq!(desk.join(gate, PLAIN, place, 450.0), -1.0);
    }
}
