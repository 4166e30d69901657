//! Clients whose calls wait in one queue, as those of the product do.

use tidegate::law::Law;
use tidegate::queue::{Growing, Queue, Settled, Slot, Step, Ticket};
use tidegate::{Controller, Instant, Reason};

use crate::throttle::{AskOf, Call, Response, Throttle};

/// What a client process asks before each call.
pub enum Client {
    /// A throttle that each thread asks for itself.
    Alone(Box<dyn Throttle>),
    /// A queue for all threads.
    Queued(Box<dyn Queued>),
}

impl Client {
    /// How many permits are out, where the client counts them.
    pub fn in_flight(&self) -> Option<u32> {
        match self {
            Self::Alone(throttle) => throttle.in_flight(),
            Self::Queued(queue) => Some(queue.in_flight()),
        }
    }
}

/// A queue, and the controller behind it.
pub trait Queued {
    /// The call of a thread joins.
    fn join(&mut self, now: Instant, call: &Call, thread: u32) -> Result<(), Reason>;

    /// What is to be done next.
    fn next(&mut self, now: Instant) -> Next;

    /// A call came back. Whether it waits for another attempt.
    fn settle(&mut self, now: Instant, ticket: u64, response: &Response) -> bool;

    /// A call that was admitted is not sent.
    fn cancel(&mut self, now: Instant, ticket: u64);

    /// Calls that wait.
    fn waiting(&self) -> usize;

    /// Permits that are out.
    fn in_flight(&self) -> u32;
}

/// What a queue has to be done next.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// The call of this thread is sent, and settles with this number.
    Admit(u32, u64),
    /// The call of this thread is not sent.
    Reject(u32, Reason),
    /// Nothing before this instant, or before another event.
    Sleep(Option<Instant>),
}

/// The product's queue before the product's controller.
pub struct ProductQueue<L: Law, const LAWS: usize, const SLOTS: usize> {
    /// Apart, because it is large where a process has many threads.
    gate: Box<Controller<L, LAWS, SLOTS>>,
    queue: Queue<Growing<Vec<Slot<LAWS>>>, LAWS>,
    /// Whose call is in each slot.
    threads: Vec<u32>,
}

impl<L: Law + Copy, const LAWS: usize, const SLOTS: usize> ProductQueue<L, LAWS, SLOTS> {
    /// A queue without a call, for so many threads.
    pub fn new(gate: Box<Controller<L, LAWS, SLOTS>>, threads: u32) -> Self {
        let queue = Queue::new(Growing::new(Vec::new(), threads as usize));
        Self { gate, queue, threads: vec![0; threads as usize] }
    }
}

impl<L, const LAWS: usize, const SLOTS: usize> Queued for ProductQueue<L, LAWS, SLOTS>
where
    L: Law + Copy,
    Call: AskOf<LAWS>,
{
    fn join(&mut self, now: Instant, call: &Call, thread: u32) -> Result<(), Reason> {
        let ticket = self.queue.join(now, &mut *self.gate, *call.ask(), 0)?;
        self.threads[ticket.slot()] = thread;
        Ok(())
    }

    fn next(&mut self, now: Instant) -> Next {
        let step = self.queue.poll(now, &mut *self.gate);
        if let Step::Admit(ticket) | Step::Reject(ticket, _) = step {
            let _ = self.queue.take(now, &mut *self.gate, ticket);
        }
        match step {
            Step::Admit(ticket) => Next::Admit(self.threads[ticket.slot()], ticket.into_raw()),
            Step::Reject(ticket, reason) => Next::Reject(self.threads[ticket.slot()], reason),
            Step::Sleep(until) => Next::Sleep(until),
        }
    }

    fn settle(&mut self, now: Instant, ticket: u64, response: &Response) -> bool {
        let reply = response.outcome.with(response.hint);
        let ticket = Ticket::from_raw(ticket);
        self.queue.settle(now, &mut *self.gate, ticket, reply) == Settled::Retry
    }

    fn cancel(&mut self, now: Instant, ticket: u64) {
        let ticket = Ticket::from_raw(ticket);
        self.queue.cancel(now, &mut *self.gate, ticket);
    }

    fn waiting(&self) -> usize {
        self.queue.waiting()
    }

    fn in_flight(&self) -> u32 {
        u32::from(self.gate.in_flight())
    }
}
