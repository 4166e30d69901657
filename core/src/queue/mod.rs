//! The queue: many calls in front of one controller.
//!
//! It takes `now` and events, and answers which call to admit and when to look again. The caller owns the
//! clock, the timer and the wakers. A call has one [`Ticket`] for its whole life: it waits, is admitted,
//! settles, and waits again where another attempt is due.
//!
//! ```
//! use tidegate::queue::{Queue, Settled, Slot, Step, Turn};
//! use tidegate::{Ask, Controller, Instant, Outcome, Policy, Quota, law::Fixed};
//!
//! let (law, now) = (Fixed::new(Quota::per_second(10).unwrap()), Instant::ZERO);
//! let mut gate: Controller<Fixed> = Controller::new(Policy::new(law), 7, now);
//! let mut queue = Queue::new([Slot::EMPTY; 4]);
//! let one = queue.join(now, &mut gate, Ask::new(), 0).unwrap();
//! let urgent = queue.join(now, &mut gate, Ask::new(), 7).unwrap();
//! assert_eq!(queue.poll(now, &mut gate), Step::Admit(urgent));
//! let due = Instant::from_nanos(100_000_000);
//! assert_eq!(queue.poll(now, &mut gate), Step::Sleep(Some(due)));
//!
//! // The waiter takes its permit, makes the call, and settles it.
//! assert_eq!(queue.take(now, &mut gate, urgent), Turn::Admitted);
//! assert_eq!(queue.settle(due, &mut gate, urgent, Outcome::Ok), Settled::Done);
//! assert_eq!(queue.poll(due, &mut gate), Step::Admit(one));
//! ```
//!
//! Poll after every `join`, `settle`, `cancel` and `changed`, and at the instant of [`Step::Sleep`], until
//! the answer is [`Step::Sleep`].
//!
//! | operation | cost |
//! |---|---|
//! | `join`, `take`, `settle`, `cancel` | O(log n), no allocation but the storage's own growth |
//! | `poll` before its instant | one comparison |
//! | `poll` that admits or rejects a call | O(log n) and one [`Gate::poll`] |
//!
//! # Invariants
//!
//! 1. A slot has one call at most, and a ticket names one call for good.
//! 2. Calls are admitted by priority, then by arrival. A retry keeps its arrival, so it precedes newer
//!    calls of its priority.
//! 3. A retry in backoff stands in nobody's way.
//! 4. Only the first call is put to the gate, so nobody overtakes it: no cost starves.
//! 5. After `Sleep(Some(t))`, `poll` before `t` without an event changes nothing, and `t` is after `now`.
//! 6. A call whose deadline is before the earliest turn that it can have is rejected when it joins, and
//!    as soon as the first call's wait tells.
//! 7. A cancelled call that was not sent is refunded; one that was is [`Outcome::Abandoned`].
//! 8. A permit that nobody takes within [`take_within`](Queue::take_within) is refunded.

mod gate;
mod heap;
mod storage;

pub use gate::{Ahead, Gate};
pub use storage::{Growing, Slot, Storage};

use crate::gate::Permit;
use crate::outcome::{Outcome, Reply};
use crate::time::{Instant, Span};
use crate::verdict::{Ask, Decision, Reason};
use heap::{By, Heaps};
use storage::{NONE, State};

/// One call, from `join` to its end.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Ticket {
    slot: u32,
    generation: u32,
}

impl Ticket {
    /// The number of the call's slot: the index of what the caller keeps for it, a waker for example.
    #[must_use]
    pub const fn slot(self) -> usize {
        self.slot as usize
    }

    /// The ticket as a plain number, to hand across a foreign interface.
    #[must_use]
    pub const fn into_raw(self) -> u64 {
        (self.generation as u64) << 32 | self.slot as u64
    }

    /// The ticket of a plain number. One that names no call is harmless.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the halves")]
    pub const fn from_raw(raw: u64) -> Self {
        Self { slot: raw as u32, generation: (raw >> 32) as u32 }
    }
}

/// What to do next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
pub enum Step {
    /// Wake this call's waiter, which takes its permit with [`Queue::take`]. Poll again.
    Admit(Ticket),
    /// This call will not be sent: wake its waiter, which gives the ticket back with [`Queue::take`]. Poll
    /// again.
    Reject(Ticket, Reason),
    /// Nothing to do until this instant or an event; `None` where only an event helps.
    Sleep(Option<Instant>),
}

/// What has become of a call that waits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
pub enum Turn {
    /// It waits.
    Waiting,
    /// It has its permit, and counts as sent from now on.
    Admitted,
    /// It will not be sent. Its ticket is spent.
    Rejected(Reason),
    /// The ticket names no call: it was spent, or the permit was not taken in time.
    Unknown,
}

/// What is next for a call that came back.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Settled {
    /// Nothing: it was served, or no other attempt is due. Its ticket is spent.
    Done,
    /// Another attempt, which waits under the same ticket.
    Retry,
    /// The ticket names no call in flight.
    Unknown,
}

/// How many priorities there are: 0 to 7, and 7 is first. A larger one counts as 7.
pub const PRIORITIES: u8 = 8;

/// See the module.
#[derive(Debug)]
pub struct Queue<S, const LIMITS: usize = 1> {
    heaps: Heaps<S, LIMITS>,
    /// The calls of each priority in the heap by rank, and their costs.
    load: [[Ahead; LIMITS]; PRIORITIES as usize],
    /// The first free slot.
    free: u32,
    /// Slots from here on have never been used.
    untouched: u32,
    arrivals: u64,
    waiting: u32,
    /// How long an admitted call keeps a permit that its waiter does not take.
    patience: Span,
    /// Until when `poll` has nothing to do; `None` after an event.
    asleep: Option<Option<Instant>>,
}

impl<S: Storage<LIMITS>, const LIMITS: usize> Queue<S, LIMITS> {
    /// An empty queue.
    #[must_use]
    pub const fn new(slots: S) -> Self {
        Self {
            heaps: Heaps::new(slots),
            load: [[Ahead { calls: 0, cost: 0 }; LIMITS]; PRIORITIES as usize],
            free: NONE,
            untouched: 0,
            arrivals: 0,
            waiting: 0,
            patience: Span::MAX,
            asleep: None,
        }
    }

    /// The same queue for waiters that can vanish without notice, as in an edge worker: a permit that is
    /// not taken within `patience` is refunded, and a rejection is forgotten then.
    #[must_use]
    pub fn take_within(self, patience: Span) -> Self {
        Self { patience, ..self }
    }

    /// Calls that wait for their turn or for their backoff to end.
    #[must_use]
    pub const fn waiting(&self) -> usize {
        self.waiting as usize
    }

    /// Whether a call that joins now is first, whatever its priority.
    #[must_use]
    pub fn is_clear(&self) -> bool {
        self.heaps.len(By::Rank) == 0
    }

    /// Adds a call. Poll then.
    ///
    /// # Errors
    /// [`Reason::Late`] where those before it take so long that it would miss its deadline, at the present
    /// rate; [`Reason::QueueFull`] where the storage has no room.
    pub fn join(
        &mut self,
        now: Instant,
        gate: &mut impl Gate<LIMITS>,
        ask: Ask<LIMITS>,
        priority: u8,
    ) -> Result<Ticket, Reason> {
        let priority = priority.min(PRIORITIES.saturating_sub(1));
        let turn = self.turn(now, gate, &ask, priority);
        if turn > ask.not_after() {
            gate.count_rejection();
            return Err(Reason::Late(turn));
        }
        let slot = match self.take_slot() {
            Some(slot) => slot,
            None => {
                // A place whose permit has lapsed will do.
                self.pass(now, gate);
                self.take_slot().ok_or(Reason::QueueFull)?
            }
        };
        let arrival = self.arrivals & (u64::MAX >> 8);
        self.arrivals = self.arrivals.wrapping_add(1);
        let behind = PRIORITIES.saturating_sub(1).saturating_sub(priority);
        let mut generation = 0;
        if let Some(place) = self.heaps.slot_mut(slot) {
            generation = place.generation.wrapping_add(1);
            place.rank = u64::from(behind) << 56 | arrival;
            (place.generation, place.ask, place.state) = (generation, ask, State::Waiting);
        }
        self.enter(slot);
        Ok(Ticket { slot, generation })
    }

    /// The next thing to do. Call it until it says `Sleep`.
    pub fn poll(&mut self, now: Instant, gate: &mut impl Gate<LIMITS>) -> Step {
        if let Some(until) = self.asleep
            && until.is_none_or(|until| now < until)
        {
            return Step::Sleep(until);
        }
        self.pass(now, gate);
        // No call overtakes the first one, so no other call can be admitted before it.
        let (mut reach, mut wake) = (now, Instant::MAX);
        if let Some(first) = self.heaps.first(By::Rank)
            && let Some(ask) = self.heaps.slot(first).map(|place| place.ask)
        {
            match gate.poll(now, &ask) {
                Decision::Go(permit) => return self.admit(now, gate.lease(), first, permit),
                Decision::Refuse(reason) => return self.reject(now, first, reason),
                Decision::Wait(until) => (reach, wake) = (until, until),
                Decision::Full => {
                    reach = gate.due_behind(now, &ask, &[Ahead::default(); LIMITS]);
                    wake = gate.ready_at(now, &ask).unwrap_or(Instant::MAX);
                }
            }
        }
        if let Some(soonest) = self.heaps.first(By::Deadline)
            && let Some(deadline) = self.heaps.slot(soonest).map(|place| place.ask.not_after())
        {
            if deadline < reach {
                gate.count_rejection();
                return self.reject(now, soonest, Reason::Late(reach));
            }
            wake = wake.min(deadline.saturating_add(TICK));
        }
        if self.waiting > 0
            && let Some(next) = self.heaps.first(By::Time)
            && let Some(place) = self.heaps.slot(next)
        {
            wake = wake.min(Instant::from_nanos(place.key(By::Time)));
        }
        let until = (wake < Instant::MAX).then_some(wake.max(now.saturating_add(TICK)));
        self.asleep = Some(until);
        Step::Sleep(until)
    }

    /// What has become of a call. The waiter of an admitted one makes the call then; the ticket of a
    /// rejected one is spent.
    pub fn take(&mut self, now: Instant, gate: &mut impl Gate<LIMITS>, ticket: Ticket) -> Turn {
        match self.state(ticket) {
            State::Waiting => Turn::Waiting,
            State::Admitted { taken, .. } => {
                if !taken {
                    let until = now.saturating_add(gate.lease());
                    self.heaps.remove(By::Time, ticket.slot);
                    self.set(ticket.slot, State::Admitted { taken: true, until });
                    self.heaps.push(By::Time, ticket.slot);
                }
                Turn::Admitted
            }
            State::Rejected { reason, .. } => {
                self.heaps.remove(By::Time, ticket.slot);
                self.give_slot(ticket.slot, State::Free);
                Turn::Rejected(reason)
            }
            State::Free | State::Lapsed => Turn::Unknown,
        }
    }

    /// A call came back; it waits again where another attempt is due. Poll then.
    pub fn settle(
        &mut self,
        now: Instant,
        gate: &mut impl Gate<LIMITS>,
        ticket: Ticket,
        reply: impl Into<Reply<LIMITS>>,
    ) -> Settled {
        self.come_back(now, gate, ticket, &reply.into(), true)
    }

    /// A call came back, and is not tried again whatever came of it. Poll then.
    pub fn finish(
        &mut self,
        now: Instant,
        gate: &mut impl Gate<LIMITS>,
        ticket: Ticket,
        reply: impl Into<Reply<LIMITS>>,
    ) -> Settled {
        self.come_back(now, gate, ticket, &reply.into(), false)
    }

    /// Ends a call, whatever its state; a spent ticket is harmless. Poll then.
    pub fn cancel(&mut self, now: Instant, gate: &mut impl Gate<LIMITS>, ticket: Ticket) {
        match self.state(ticket) {
            State::Waiting => {
                // The others wait for the first alone.
                let asleep =
                    self.asleep.filter(|_| self.heaps.first(By::Rank) != Some(ticket.slot));
                self.leave(ticket.slot);
                self.give_slot(ticket.slot, State::Free);
                self.asleep = asleep;
            }
            State::Admitted { taken: false, .. } => {
                self.refund(now, gate, ticket.slot);
                self.heaps.remove(By::Time, ticket.slot);
                self.give_slot(ticket.slot, State::Free);
                self.asleep = None;
            }
            State::Admitted { .. } | State::Lapsed => {
                self.finish(now, gate, ticket, Outcome::Abandoned);
            }
            State::Rejected { .. } => {
                self.heaps.remove(By::Time, ticket.slot);
                self.give_slot(ticket.slot, State::Free);
            }
            State::Free => {}
        }
    }

    /// Tells the queue that the gate changed: its policy, its window, or a restored snapshot. Poll after
    /// this.
    pub const fn changed(&mut self) {
        self.asleep = None;
    }

    fn come_back(
        &mut self,
        now: Instant,
        gate: &mut impl Gate<LIMITS>,
        ticket: Ticket,
        reply: &Reply<LIMITS>,
        again: bool,
    ) -> Settled {
        match self.state(ticket) {
            State::Admitted { .. } => {
                self.settle_permit(now, gate, ticket.slot, reply);
                self.heaps.remove(By::Time, ticket.slot);
                self.asleep = None;
                if again
                    && let Some(place) = self.heaps.slot_mut(ticket.slot)
                    && let Some(next) = gate.retry(now, &place.ask, *reply)
                {
                    (place.ask, place.state) = (next, State::Waiting);
                    self.enter(ticket.slot);
                    return Settled::Retry;
                }
                self.give_slot(ticket.slot, State::Free);
                Settled::Done
            }
            State::Lapsed => {
                self.settle_permit(now, gate, ticket.slot, reply);
                self.set(ticket.slot, State::Free);
                self.asleep = None;
                Settled::Done
            }
            _ => Settled::Unknown,
        }
    }

    /// When a call that joins now can be sent at the earliest; now where nobody is before it.
    fn turn(
        &self,
        now: Instant,
        gate: &impl Gate<LIMITS>,
        ask: &Ask<LIMITS>,
        priority: u8,
    ) -> Instant {
        let mut ahead = [Ahead::default(); LIMITS];
        if ask.not_after() == Instant::MAX {
            return now;
        }
        for load in self.load.iter().skip(priority.into()) {
            for (sum, load) in ahead.iter_mut().zip(load) {
                sum.calls = sum.calls.saturating_add(load.calls);
                sum.cost = sum.cost.saturating_add(load.cost);
            }
        }
        if ahead.iter().all(|ahead| ahead.calls == 0) {
            return now;
        }
        gate.due_behind(now, ask, &ahead)
    }

    /// Lets time pass for the calls whose state it changes.
    fn pass(&mut self, now: Instant, gate: &mut impl Gate<LIMITS>) {
        while let Some(next) = self.heaps.first(By::Time)
            && let Some(place) = self.heaps.slot(next)
            && place.key(By::Time) <= now.as_nanos()
        {
            let state = place.state;
            self.heaps.remove(By::Time, next);
            self.asleep = None;
            match state {
                State::Waiting => self.make_ready(next),
                State::Admitted { taken: false, .. } => {
                    self.refund(now, gate, next);
                    self.give_slot(next, State::Free);
                }
                State::Admitted { taken: true, .. } => {
                    self.give_slot(next, State::Lapsed);
                }
                _ => self.give_slot(next, State::Free),
            }
        }
    }

    fn admit(&mut self, now: Instant, lease: Span, slot: u32, permit: Permit<LIMITS>) -> Step {
        self.leave(slot);
        let until = now.saturating_add(lease.min(self.patience));
        if let Some(place) = self.heaps.slot_mut(slot) {
            place.permit = Some(permit);
        }
        self.set(slot, State::Admitted { taken: false, until });
        self.heaps.push(By::Time, slot);
        Step::Admit(self.ticket(slot))
    }

    fn reject(&mut self, now: Instant, slot: u32, reason: Reason) -> Step {
        self.leave(slot);
        self.set(slot, State::Rejected { reason, until: now.saturating_add(self.patience) });
        if self.patience < Span::MAX {
            self.heaps.push(By::Time, slot);
        }
        Step::Reject(self.ticket(slot), reason)
    }

    /// A call waits from now on.
    fn enter(&mut self, slot: u32) {
        self.waiting = self.waiting.saturating_add(1);
        let Some(place) = self.heaps.slot(slot) else { return };
        if place.ask.not_before() > Instant::ZERO {
            self.heaps.push(By::Time, slot);
            self.asleep = None;
        } else {
            self.make_ready(slot);
        }
    }

    /// A call waits for its turn from now on.
    fn make_ready(&mut self, slot: u32) {
        let Some(place) = self.heaps.slot(slot) else { return };
        let has_deadline = place.ask.not_after() < Instant::MAX;
        self.heaps.push(By::Rank, slot);
        if has_deadline {
            self.heaps.push(By::Deadline, slot);
        }
        self.weigh(slot, true);
        // Behind others and without a deadline, it changes nothing for them.
        if has_deadline || self.heaps.first(By::Rank) == Some(slot) {
            self.asleep = None;
        }
    }

    /// A call waits no longer.
    fn leave(&mut self, slot: u32) {
        self.waiting = self.waiting.saturating_sub(1);
        if self.heaps.contains(By::Rank, slot) {
            self.weigh(slot, false);
        }
        for by in [By::Rank, By::Time, By::Deadline] {
            self.heaps.remove(by, slot);
        }
        self.asleep = None;
    }

    /// Adds a call to the load of its priority, or takes it away.
    fn weigh(&mut self, slot: u32, more: bool) {
        let Some(place) = self.heaps.slot(slot) else { return };
        let behind = usize::try_from(place.rank >> 56).unwrap_or(0);
        let Some(load) = self.load.iter_mut().rev().nth(behind) else { return };
        for (load, cost) in load.iter_mut().zip(place.ask.costs) {
            let (calls, cost) = (u32::from(cost > 0), u64::from(cost));
            *load = match more {
                true => Ahead {
                    calls: load.calls.saturating_add(calls),
                    cost: load.cost.saturating_add(cost),
                },
                false => Ahead {
                    calls: load.calls.saturating_sub(calls),
                    cost: load.cost.saturating_sub(cost),
                },
            };
        }
    }

    fn ticket(&self, slot: u32) -> Ticket {
        let generation = self.heaps.slot(slot).map_or(0, |place| place.generation);
        Ticket { slot, generation }
    }

    /// The state of a ticket's call; `Free` where it names none.
    fn state(&self, ticket: Ticket) -> State {
        match self.heaps.slot(ticket.slot) {
            Some(place) if place.generation == ticket.generation => place.state,
            _ => State::Free,
        }
    }

    fn set(&mut self, slot: u32, state: State) {
        if let Some(place) = self.heaps.slot_mut(slot) {
            place.state = state;
        }
    }

    fn take_slot(&mut self) -> Option<u32> {
        if let Some(place) = self.heaps.slot(self.free) {
            return Some(core::mem::replace(&mut self.free, place.next_free));
        }
        let slot = self.untouched;
        if self.heaps.slot(slot).is_none() && !self.heaps.slots.grow() {
            return None;
        }
        self.untouched = slot.saturating_add(1);
        Some(slot)
    }

    fn permit(&mut self, slot: u32) -> Option<Permit<LIMITS>> {
        self.heaps.slot_mut(slot)?.permit.take()
    }

    fn refund(&mut self, now: Instant, gate: &mut impl Gate<LIMITS>, slot: u32) {
        if let Some(permit) = self.permit(slot) {
            gate.refund(now, permit);
        }
    }

    fn settle_permit(
        &mut self,
        now: Instant,
        gate: &mut impl Gate<LIMITS>,
        slot: u32,
        reply: &Reply<LIMITS>,
    ) {
        if let Some(permit) = self.permit(slot) {
            gate.settle(now, permit, *reply);
        }
    }

    fn give_slot(&mut self, slot: u32, state: State) {
        let next = self.free;
        if let Some(place) = self.heaps.slot_mut(slot) {
            (place.next_free, place.state) = (next, state);
            self.free = slot;
        }
    }
}

/// What is later by this is later.
const TICK: Span = Span::from_nanos(1);
