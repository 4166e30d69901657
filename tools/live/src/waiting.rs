//! The calls of a process that wait for its controller, and who wakes them.

use std::sync::Arc;

use tidegate::law::AnyLaw;
use tidegate::queue::{Growing, Queue, Settled, Slot, Step, Ticket, Turn};
use tidegate::{Ask, Controller, Instant, Policy, Reason, Reply};
use tokio::sync::Notify;

/// A controller and the queue in front of it. Every event admits what is due and wakes those that it
/// concerns.
pub struct Waiting<const LIMITS: usize> {
    gate: Controller<AnyLaw, LIMITS>,
    queue: Queue<Growing<Vec<Slot<LIMITS>>>, LIMITS>,
    /// Of the call in each slot.
    wakers: Vec<Arc<Notify>>,
    /// When to look again.
    until: Option<Instant>,
}

impl<const LIMITS: usize> Waiting<LIMITS> {
    /// With no call yet, and room for this many.
    pub fn new(policy: Policy<AnyLaw, LIMITS>, seed: u64, most: usize) -> Self {
        Waiting {
            gate: Controller::new(policy, seed, Instant::ZERO),
            queue: Queue::new(Growing::new(Vec::new(), most)),
            wakers: Vec::new(),
            until: None,
        }
    }

    /// A call joins. It looks with [`turn`](Self::turn), and again whenever it is woken.
    pub fn join(
        &mut self,
        now: Instant,
        ask: Ask<LIMITS>,
    ) -> Result<(Ticket, Arc<Notify>), Reason> {
        let ticket = self.queue.join(now, &mut self.gate, ask, 0)?;
        if self.wakers.len() <= ticket.slot() {
            self.wakers.resize_with(ticket.slot() + 1, Arc::default);
        }
        self.look(now);
        Ok((ticket, self.wakers[ticket.slot()].clone()))
    }

    /// What has become of a call that waits.
    pub fn turn(&mut self, now: Instant, ticket: Ticket) -> Turn {
        self.queue.take(now, &mut self.gate, ticket)
    }

    /// A call came back.
    pub fn settle(&mut self, now: Instant, ticket: Ticket, reply: Reply<LIMITS>) -> Settled {
        let settled = self.queue.settle(now, &mut self.gate, ticket, reply);
        self.look(now);
        settled
    }

    /// A call is given up.
    pub fn cancel(&mut self, now: Instant, ticket: Ticket) {
        self.queue.cancel(now, &mut self.gate, ticket);
        self.look(now);
    }

    /// Admits and rejects what is due.
    pub fn look(&mut self, now: Instant) {
        self.until = loop {
            match self.queue.poll(now, &mut self.gate) {
                Step::Admit(ticket) | Step::Reject(ticket, _) => {
                    self.wakers[ticket.slot()].notify_one();
                }
                Step::Sleep(until) => break until,
            }
        };
    }

    /// When to look again if nothing else happens.
    pub fn until(&self) -> Option<Instant> {
        self.until
    }

    /// The controller.
    pub fn gate(&self) -> &Controller<AnyLaw, LIMITS> {
        &self.gate
    }
}
