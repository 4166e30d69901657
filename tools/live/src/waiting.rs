//! The calls of a process that wait for its controller, and who wakes them.

use std::sync::Arc;

use tidegate::gate::Permit;
use tidegate::law::AnyLaw;
use tidegate::queue::{Growing, Node, Place, Queue, Step, Ticket, Turn};
use tidegate::{Call, Controller, Instant, Policy, Reason, Reply};
use tokio::sync::Notify;

/// A controller and the queue in front of it. Every event admits what is due and wakes those that it
/// concerns.
pub struct Waiting<const LIMITS: usize> {
    gate: Controller<AnyLaw, LIMITS>,
    queue: Queue<Growing<Vec<Node<LIMITS>>, LIMITS>, LIMITS>,
    /// Of the call in each slot.
    wakers: Vec<Arc<Notify>>,
    /// When to look again.
    until: Option<Instant>,
}

impl<const LIMITS: usize> Waiting<LIMITS> {
    /// With no call yet, and room for this many.
    pub fn new(policy: Policy<AnyLaw, LIMITS>, seed: u64, most: u32) -> Self {
        Waiting {
            gate: Controller::new(policy, seed, Instant::ZERO),
            queue: Queue::new(Growing::new(Vec::new(), most)),
            wakers: Vec::new(),
            until: None,
        }
    }

    /// The place of a new call.
    pub fn place(&mut self) -> Place {
        self.queue.place(0)
    }

    /// An attempt joins. It looks with [`turn`](Self::turn), and again whenever it is woken.
    pub fn join(
        &mut self,
        now: Instant,
        call: &Call<LIMITS>,
        place: Place,
    ) -> Result<(Ticket, Arc<Notify>), Reason> {
        let ticket = self.queue.join(now, &mut self.gate, call, place)?;
        if self.wakers.len() <= ticket.slot() {
            self.wakers.resize_with(ticket.slot() + 1, Arc::default);
        }
        self.look(now);
        Ok((ticket, self.wakers[ticket.slot()].clone()))
    }

    /// What has become of a call that waits.
    pub fn turn(&mut self, ticket: Ticket) -> Turn<LIMITS> {
        self.queue.take(ticket)
    }

    /// A call came back. The next attempt, where there is one.
    pub fn settle(
        &mut self,
        now: Instant,
        permit: Permit<LIMITS>,
        call: &Call<LIMITS>,
        reply: Reply<LIMITS>,
    ) -> Option<Call<LIMITS>> {
        self.gate.settle(now, permit, reply);
        let next = self.gate.retry(now, call, reply).ok();
        self.queue.changed();
        self.look(now);
        next
    }

    /// A call that waits is given up.
    pub fn cancel(&mut self, now: Instant, ticket: Ticket) {
        self.queue.cancel(now, &mut self.gate, ticket);
        self.look(now);
    }

    /// Admits and rejects what is due.
    pub fn look(&mut self, now: Instant) {
        self.until = loop {
            match self.queue.poll(now, &mut self.gate) {
                Step::Wake(ticket) => self.wakers[ticket.slot()].notify_one(),
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
