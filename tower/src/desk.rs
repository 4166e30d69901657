//! What admits the calls of a key, their queue, and the tasks of those that wait.

use std::collections::VecDeque;
use std::mem::take;
use std::task::Waker;

use tidegate::queue::{Joined, Node, Place, Queue, Step, Ticket, Turn};
use tidegate::{Call, Instant, Reason, Span};

use crate::source::{Right, Source};
use crate::waiters::{Waiter, Waiters};

pub(crate) struct Desk<const LIMITS: usize> {
    pub(crate) gate: Source<LIMITS>,
    pub(crate) queue: Queue<Vec<Node<LIMITS, Right<LIMITS>>>, LIMITS>,
    /// The permits of calls that wait for another key.
    pub(crate) held: Vec<(Place, Call<LIMITS>, Right<LIMITS>)>,
    waiters: Waiters,
    /// How long an admitted call may take to take its permit.
    take_within: Span,
    /// The admitted calls by the time at which their permits lapse. They usually take them in about this order.
    admitted: VecDeque<(Ticket, Instant)>,
    /// When to check the queue without an event.
    until: Instant,
    wakes: Wakes,
}

/// What to do after the lock is released.
#[derive(Default)]
#[must_use]
pub(crate) struct Wakes {
    woken: Vec<Waker>,
    /// A waker that is no longer needed. Its task, and with it another call, may end with it.
    spent: Option<Waiter>,
}

impl Wakes {
    pub(crate) fn wake(self) {
        drop(self.spent);
        self.woken.into_iter().for_each(Waker::wake);
    }
}

pub(crate) enum Wait<const LIMITS: usize> {
    Admitted(Right<LIMITS>),
    Rejected(Reason),
    /// It waits. Poll again at this time, or when woken.
    Until(Instant),
}

impl<const LIMITS: usize> Desk<LIMITS> {
    pub(crate) fn new(gate: Source<LIMITS>, most: u32, take_within: Span) -> Self {
        Self {
            gate,
            queue: Queue::new(Vec::new(), most),
            held: Vec::new(),
            waiters: Waiters::default(),
            take_within,
            admitted: VecDeque::new(),
            until: Instant::MAX,
            wakes: Wakes::default(),
        }
    }

    /// A call joins, and gets a permit if it may be sent at once. A new one gets a place.
    pub(crate) fn join(
        &mut self,
        now: Instant,
        call: &Call<LIMITS>,
        place: &mut Place,
        is_new: bool,
    ) -> Result<Joined<Right<LIMITS>>, Reason> {
        if !is_new {
            return self.queue.rejoin(now, &mut self.gate, call, *place);
        }
        *place = self.queue.place(place.priority());
        if !self.admitted.is_empty() {
            self.pump(now); // A permit that was not taken in time leaves room for this call.
        }
        self.queue.admit_or_join(now, &mut self.gate, call, *place)
    }

    /// Whether no call waits.
    pub(crate) fn is_free(&mut self, now: Instant) -> bool {
        self.pump(now);
        self.queue.waiting() == 0
    }

    /// The state of a waiting call. One that did not take its permit in time joins again, and gets another ticket.
    pub(crate) fn wait(
        &mut self,
        now: Instant,
        ticket: &mut Ticket,
        within: &mut Span,
        waker: &Waker,
        call: &Call<LIMITS>,
        place: Place,
    ) -> Wait<LIMITS> {
        // A decision is taken, however late, unless it has lapsed because of another event.
        let mut turn = self.queue.take(*ticket);
        if matches!(turn, Turn::Waiting) {
            self.pump(now);
            turn = self.queue.take(*ticket);
        }
        if matches!(turn, Turn::Unknown) {
            turn = match self.queue.rejoin(now, &mut self.gate, call, place) {
                Ok(Joined::Admitted(permit)) => Turn::Admitted(permit),
                Err(reason) => Turn::Rejected(reason),
                Ok(Joined::Waits(again)) => {
                    *ticket = again;
                    // A task that always runs late has enough time in the end.
                    *within = *within * 2;
                    self.pump(now);
                    self.queue.take(again)
                }
            };
        }
        let wait = match turn {
            Turn::Admitted(permit) => Wait::Admitted(permit),
            Turn::Rejected(reason) => Wait::Rejected(reason),
            Turn::Waiting | Turn::Unknown => {
                let (until, spent) = self.waiters.wait(*ticket, waker, *within, now, self.until);
                self.wakes.spent = spent;
                return Wait::Until(until);
            }
        };
        self.forget(*ticket);
        wait
    }

    /// Gives up a call that has not taken its permit. It costs nothing.
    pub(crate) fn cancel(&mut self, now: Instant, ticket: Ticket) {
        self.forget(ticket);
        self.queue.cancel(now, &mut self.gate, ticket);
    }

    /// Refunds the held permits that are no longer valid.
    pub(crate) fn renew_held(&mut self, now: Instant) {
        let Self { gate, queue, held, .. } = self;
        if held.is_empty() {
            return;
        }
        let renew = |(place, call, permit)| Some((place, call, gate.renew(now, permit, &call)?));
        let before = held.len();
        *held = take(held).into_iter().filter_map(renew).collect();
        if held.len() < before {
            queue.changed();
        }
    }

    pub(crate) fn change<R>(&mut self, change: impl FnOnce(&mut Source<LIMITS>) -> R) -> R {
        self.queue.changed();
        change(&mut self.gate)
    }

    /// Decides the calls that are due, after each event. Returns the tasks to wake.
    pub(crate) fn settle_down(&mut self, now: Instant) -> Wakes {
        if self.queue.waiting() > 0 || !self.admitted.is_empty() {
            self.pump(now);
            if self.queue.waiting() > 0 {
                let late = self.waiters.watch(now, self.until);
                self.wakes.woken.extend(late.map(|call| call.waker));
            }
        }
        take(&mut self.wakes)
    }

    #[cfg(feature = "local")]
    pub(crate) fn all(&mut self) -> Wakes {
        Wakes { woken: self.waiters.all(), spent: None }
    }

    fn pump(&mut self, now: Instant) {
        let Self { gate, queue, waiters, admitted, wakes, take_within, .. } = self;
        while let Some(&(ticket, by)) = admitted.front()
            && by <= now
        {
            admitted.pop_front();
            queue.cancel(now, gate, ticket);
        }
        let until = loop {
            match queue.poll(now, gate) {
                Step::Wake(ticket) => {
                    let call = waiters.leave(ticket);
                    if queue.is_admitted(ticket) {
                        let by = now + call.as_ref().map_or(*take_within, |call| call.within);
                        let at = admitted.partition_point(|(_, other)| *other <= by);
                        admitted.insert(at, (ticket, by));
                    }
                    wakes.woken.extend(call.map(|call| call.waker));
                }
                Step::Sleep(at) => break at.unwrap_or(Instant::MAX),
            }
        };
        let lapses = admitted.front().map_or(Instant::MAX, |(_, by)| *by);
        self.until = until.min(lapses);
        #[cfg(feature = "local")]
        if let Some(leased) = &self.gate.leased {
            self.until = self.until.min(leased.look_again(now));
        }
    }

    fn forget(&mut self, ticket: Ticket) {
        self.wakes.spent = self.waiters.leave(ticket);
        let is_it = |(admitted, _): &(Ticket, Instant)| *admitted == ticket;
        if let Some(at) = self.admitted.iter().position(is_it) {
            self.admitted.remove(at);
        }
    }
}
