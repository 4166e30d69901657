//! Core's queue in front of a controller, as in every frontend.

use tidegate::Instant;
use tidegate::Permit;
use tidegate::law::Law;
use tidegate::queue::{Gate, Joined, Node, Place, Queue, Step, Ticket, Turn};

use crate::controllers::Permits;
use crate::throttle::{Answer, Call, Next, Response, Throttle};

type AnyGate<const LAWS: usize> = dyn Gate<LAWS, Permit = Permit<LAWS>>;

pub struct Queued<L: Law, const LAWS: usize> {
    permits: Permits<L, LAWS>,
    queue: Queue<Vec<Node<LAWS>>, LAWS>,
    /// The thread of the call in each slot.
    threads: Vec<u32>,
    /// The place of each thread's call, and its ticket while it waits.
    places: Box<[(Place, Option<Ticket>)]>,
}

impl<L: Law, const LAWS: usize> Queued<L, LAWS> {
    /// Creates a queue with room for one call per thread.
    pub fn new(permits: Permits<L, LAWS>, threads: u32) -> Self {
        let places = (0..threads).map(|_| (Place::new(0, 0), None)).collect();
        let queue = Queue::new(Vec::new(), u32::MAX);
        Self { permits, queue, threads: Vec::new(), places }
    }
}

impl<L: Law + Copy + 'static, const LAWS: usize> Throttle for Queued<L, LAWS> {
    fn poll(&mut self, now: Instant, call: &Call) -> Answer {
        let (gate, own) = self.permits.call(call);
        if own.not_before() > now {
            return Answer::Wait(own.not_before());
        }
        let (place, ticket) = &mut self.places[call.thread as usize];
        if call.attempt == 0 {
            *place = self.queue.place(0);
        }
        let gate: &mut AnyGate<LAWS> = gate;
        match self.queue.admit_or_join(now, gate, &own, *place) {
            Ok(Joined::Admitted(permit)) => self.permits.admit(call.thread, permit),
            Ok(Joined::Waits(joined)) => {
                *ticket = Some(joined);
                let slot = joined.slot();
                self.threads.resize(self.threads.len().max(slot + 1), 0);
                self.threads[slot] = call.thread;
                Answer::Queued
            }
            Err(reason) => Answer::Reject(reason),
        }
    }

    fn next(&mut self, now: Instant) -> Next {
        let gate: &mut AnyGate<LAWS> = &mut self.permits.gate;
        let ticket = match self.queue.poll(now, gate) {
            Step::Wake(ticket) => ticket,
            Step::Sleep(until) => {
                let first = self.queue.first(gate.is_failing());
                return Next::Sleep { until, first: first.map(|slot| self.threads[slot]) };
            }
        };
        let thread = self.threads[ticket.slot()];
        self.places[thread as usize].1 = None;
        match self.queue.take(ticket) {
            Turn::Admitted(permit) => Next::Decided(thread, self.permits.admit(thread, permit)),
            Turn::Rejected(reason) => Next::Decided(thread, Answer::Reject(reason)),
            Turn::Waiting | Turn::Unknown => Next::NOTHING, // unreachable
        }
    }

    fn withdraw(&mut self, now: Instant, thread: u32) {
        if let Some(ticket) = self.places[thread as usize].1.take() {
            self.queue.cancel(now, &mut self.permits.gate as &mut AnyGate<LAWS>, ticket);
        }
    }

    fn settle(&mut self, now: Instant, permit: u64, response: &Response) {
        self.permits.settle(now, permit, response);
        self.queue.changed();
    }

    fn retry(&mut self, now: Instant, call: &mut Call, response: &Response) -> bool {
        self.permits.retry(now, call, response)
    }

    fn in_flight(&self) -> Option<u32> {
        self.permits.in_flight()
    }

    fn rate(&self, now: Instant) -> Option<f64> {
        self.permits.rate(now)
    }
}
