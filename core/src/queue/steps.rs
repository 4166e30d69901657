//! A poll in steps, for a gate that is polled while the queue is not locked.

use super::gate::Gate;
use super::storage::{Slot, State, Storage, TICK};
use super::{Place, Queue, Step, Ticket, Turn};
use crate::gate::Permit;
use crate::time::Instant;
use crate::verdict::{Call, Decision, Reason};

/// The first call that waits, if any, and the gate's decision on it.
#[derive(Debug)]
pub struct Head<const LIMITS: usize = 1, P = Permit<LIMITS>> {
    first: u32,
    call: Option<Call<LIMITS>>,
    /// When to look again: after the next deadline, or when the gate says.
    next: Instant,
    decision: Option<Result<P, Reason>>,
    /// No call is sent before this instant.
    due: Instant,
}

impl<const LIMITS: usize, P> Head<LIMITS, P> {
    /// Polls the gate for the call. Returns until when it has to wait, if it does.
    pub fn ask(
        &mut self,
        now: Instant,
        gate: &mut (impl Gate<LIMITS, Permit = P> + ?Sized),
    ) -> Option<Instant> {
        let call = self.call.as_ref()?;
        match gate.poll(now, call) {
            Decision::Admit(permit) => self.decision = Some(Ok(permit)),
            Decision::Reject(reason) => self.decision = Some(Err(reason)),
            Decision::Wait(until) => {
                self.wait(until);
                return Some(until);
            }
            Decision::Full => {
                self.due = gate.due_first(now, call);
                self.next = self.next.min(gate.ready_at(now, call).unwrap_or(Instant::MAX));
            }
        }
        None
    }

    /// Makes the call, if any, wait until then.
    pub fn wait(&mut self, until: Instant) {
        if self.call.is_some() {
            (self.due, self.next) = (until, self.next.min(until));
        }
    }
}

impl<S: Storage<LIMITS>, const LIMITS: usize> Queue<S, LIMITS> {
    /// Adds a call without a check of the calls before it. `None` if the storage is full.
    pub fn enter(&mut self, call: &Call<LIMITS>, place: Place) -> Option<Ticket> {
        self.put(call, place, call.attempt > 0).ok()
    }

    /// The first step of [`poll`](Self::poll): [`Head::ask`] the gate, and
    /// [`conclude`](Self::conclude) if neither the queue nor the gate has changed since.
    ///
    /// # Errors
    /// Where there is nothing to do: the instant of [`Step::Sleep`].
    pub fn head(
        &mut self,
        now: Instant,
        is_failing: bool,
    ) -> Result<Head<LIMITS, S::Permit>, Option<Instant>> {
        if now < self.asleep {
            return Err((self.asleep < Instant::MAX).then_some(self.asleep));
        }
        let (first, deadline) = self.slots.look(is_failing);
        let call = self.slots.get(first).and_then(Slot::waiting).map(|(call, _)| *call);
        let next = deadline.saturating_add(TICK);
        Ok(Head { first, call, next, decision: None, due: now })
    }

    /// The last step of [`poll`](Self::poll). `count` is called if a call is rejected without
    /// polling.
    pub fn conclude(&mut self, head: Head<LIMITS, S::Permit>, count: impl FnOnce()) -> Step {
        self.asleep = Instant::ZERO;
        if let Some(decision) = head.decision {
            return self.decide(head.first, decision);
        }
        if let Some(late) = self.slots.late(head.due) {
            count();
            return self.decide(late, Err(Reason::Late(head.due)));
        }
        self.asleep = head.next;
        self.sleep()
    }

    /// Like [`cancel`](Self::cancel), but returns a permit instead of refunding it.
    pub fn withdraw(&mut self, ticket: Ticket) -> Turn<S::Permit> {
        if self.slots.get(ticket.slot).is_none_or(|slot| !slot.is_of(ticket)) {
            return Turn::Unknown;
        }
        self.slots.leave(ticket.slot);
        self.asleep = Instant::ZERO;
        match self.slots.vacate(ticket.slot).0 {
            State::Decided { decision: Ok(permit), .. } => Turn::Admitted(permit),
            _ => Turn::Waiting,
        }
    }
}
