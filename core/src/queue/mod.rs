//! The queue: many calls in front of one controller.
//!
//! It takes `now` and events, and returns which call is decided and when to poll again. The caller
//! owns the clock, the timer and the wakers. A call that finds no other call waiting is decided at
//! once. Others have a slot until their waiter takes the decision.
//!
//! ```
//! use tidegate::queue::{Joined, Node, Queue, Step, Turn};
//! use tidegate::{Call, Controller, Instant, Outcome, Policy, Quota, law::Fixed};
//!
//! let (law, now) = (Fixed::new(Quota::per_second(10).unwrap()), Instant::ZERO);
//! let mut gate: Controller<Fixed> = Controller::new(Policy::new(law), 7, now);
//! let mut queue = Queue::new(Vec::<Node>::new(), 10_000);
//! let (place, call) = (queue.place(0), Call::new());
//! let Ok(Joined::Admitted(permit)) = queue.admit_or_join(now, &mut gate, &call, place) else {
//!     panic!("no other call waits")
//! };
//! let urgent = queue.place(7);
//! let Ok(Joined::Waits(ticket)) = queue.admit_or_join(now, &mut gate, &call, urgent) else {
//!     panic!("one call in 100 ms")
//! };
//! let due = Instant::from_nanos(100_000_000);
//! assert_eq!(queue.poll(now, &mut gate), Step::Sleep(Some(due)));
//!
//! // The first call is made and settled. It failed. When its backoff has ended, it joins again, with its
//! // place.
//! gate.settle(due, permit, Outcome::Failed);
//! queue.changed();
//! let next = gate.retry(due, &call, Outcome::Failed).unwrap();
//! assert_eq!(queue.poll(due, &mut gate), Step::Wake(ticket));
//! let Turn::Admitted(permit) = queue.take(ticket) else { panic!() };
//! gate.settle(due, permit, Outcome::Ok);
//! queue.changed();
//! let later = next.not_before().max(Instant::from_nanos(200_000_000));
//! assert!(matches!(queue.admit_or_join(later, &mut gate, &next, place), Ok(Joined::Admitted(_))));
//! ```
//!
//! Poll after every call that waits, every `cancel` and `changed`, and at the instant of [`Step::Sleep`],
//! until the answer is [`Step::Sleep`].
//!
//! | operation | cost |
//! |---|---|
//! | `admit_or_join`, `cancel`, `poll` that decides | O(log n), and allocates only if the list grows |
//! | `take` | O(1) |
//! | `poll` before its instant | one comparison |
//!
//! # Invariants
//!
//! 1. A slot has at most one call, and a ticket names one call. It is spent when the call is taken
//!    or cancelled. (The attempts of a call that get the same slot have the same ticket.)
//! 2. Calls are admitted by priority, then by arrival. A retry keeps its place, so it precedes newer
//!    calls of its priority. But while the gate fails ([`Gate::is_failing`]), calls that have not been
//!    tried go first, whatever their priority: the next probe of a server in trouble is another call. Of
//!    two retries with the same priority, the one with fewer attempts goes first.
//! 3. A retry joins when its backoff has ended ([`Call::not_before`]). One that joins earlier delays the
//!    calls behind it.
//! 4. Only the first call is polled, so no call overtakes it, and expensive calls do not starve.
//! 5. After `Sleep(Some(t))`, `poll` before `t` without an event changes nothing, and `t` is after `now`.
//! 6. A call whose deadline is before its earliest possible turn is rejected when it joins, or as
//!    soon as the first call's wait shows it.
//! 7. A cancelled call whose permit was not taken is refunded. (The taker of a permit settles it.)
//! 8. Calls of a priority above 0 have an eighth more room. Retries always have room, because they were
//!    accepted before.
//! 9. A decided call keeps its slot until it is taken or cancelled. If waiters can disappear
//!    without notice, as in an edge worker, the caller cancels calls that are not taken in time.

mod gate;
mod heap;
mod hold_limit;
mod slot;

pub use gate::{Ahead, Gate};
pub use heap::Node;
pub use hold_limit::HoldLimit;

use core::ops::DerefMut;

use crate::costs::Costs;
use crate::permit::Permit;
use crate::time::{Instant, Span};
use crate::verdict::{Call, Decision, Reason};
use heap::Heaps;
use slot::{NONE, Slot};

/// How many priorities there are: 0 to 7, and 7 is first. A larger one counts as 7.
pub const PRIORITIES: u8 = 8;

/// The smallest difference between two instants.
const TICK: Span = Span::from_nanos(1);

/// The bits between the priority and the arrival of a [`Place`], which order retries by their attempts.
const ATTEMPTS: u64 = 0xFF << 48;

/// A call's place in the order, for all its attempts: its priority, then its arrival.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Place(u64);

impl Place {
    /// The place of a call that arrived after this many others, if the caller counts them. Several
    /// queues may share a count.
    #[must_use]
    pub const fn new(priority: u8, arrival: u64) -> Self {
        let last = PRIORITIES.saturating_sub(1);
        let behind = last.saturating_sub(priority);
        Self((behind as u64) << 56 | arrival & (u64::MAX >> 16))
    }

    /// The order among retries of a priority: by their number of attempts, then by arrival.
    fn again(self, attempt: u16) -> u64 {
        self.0 | u64::from(attempt.min(0xFF)) << 48
    }

    /// Its priority, from 0 to 7.
    #[must_use]
    pub const fn priority(self) -> u8 {
        PRIORITIES.saturating_sub(1).saturating_sub((self.0 >> 56) as u8)
    }

    /// The lower half of the arrival number.
    #[expect(clippy::cast_possible_truncation, reason = "half of it")]
    const fn arrival(self) -> u32 {
        self.0 as u32
    }
}

/// Identifies a call in the queue, until it is taken or cancelled.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Ticket {
    slot: u32,
    arrival: u32,
}

impl Ticket {
    /// The number of the call's slot. Use it as the index of data such as a waker.
    #[must_use]
    pub const fn slot(self) -> usize {
        self.slot as usize
    }

    /// The ticket as a plain number, to pass across a foreign interface: the slot, and above it 32
    /// bits of the arrival number. One that names no call is harmless.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the halves")]
    pub const fn from_raw(raw: u64) -> Self {
        Self { slot: raw as u32, arrival: (raw >> 32) as u32 }
    }
}

/// What to do next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
pub enum Step {
    /// This call is decided: wake its waiter, which gets the decision with [`Queue::take`]. Poll
    /// again.
    Wake(Ticket),
    /// Nothing to do until this instant or an event. `None` if only an event helps.
    Sleep(Option<Instant>),
}

/// The result of joining, for a call that is not rejected.
#[derive(Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
pub enum Joined<P = Permit> {
    /// It may be sent.
    Admitted(P),
    /// It waits. [`Queue::take`] returns the decision.
    Waits(Ticket),
}

/// The state of a waiting call.
#[derive(Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
pub enum Turn<P = Permit> {
    /// It waits.
    Waiting,
    /// It may be sent. Its ticket is spent.
    Admitted(P),
    /// It will not be sent. Its ticket is spent.
    Rejected(Reason),
    /// The ticket was spent before.
    Unknown,
}

/// A gate's decision on the call that is first.
enum Asked<P> {
    Decided(Result<P, Reason>),
    /// No call is sent before it is `due`. Look again at another instant, if no event comes before.
    Waits {
        due: Instant,
        look_again: Instant,
    },
}

/// See the module's documentation. Its calls are in a growable list of [`Node`]s, usually a `Vec`.
#[derive(Debug)]
pub struct Queue<T, const LIMITS: usize = 1> {
    slots: Heaps<T, LIMITS>,
    arrivals: u64,
    /// Until when `poll` has nothing to do. Zero after an event.
    asleep: Instant,
}

impl<T, const LIMITS: usize, P: 'static, C: Costs<LIMITS> + 'static> Queue<T, LIMITS>
where
    T: DerefMut<Target = [Node<LIMITS, P, C>]> + Extend<Node<LIMITS, P, C>>,
{
    /// A queue in this empty list, with room for `most` calls, and an eighth more for those with a priority above 0.
    /// Retries may exceed it, because they were accepted before.
    #[must_use]
    pub const fn new(empty: T, most: u32) -> Self {
        Self { slots: Heaps::new(empty, most), arrivals: 0, asleep: Instant::ZERO }
    }

    /// How many calls wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.slots.waiting() as usize
    }

    /// The slot of the first call that waits, whose waiter should be woken at the instant of
    /// [`Step::Sleep`]. `is_failing` is what [`Gate::is_failing`] returns.
    #[must_use]
    pub fn first(&self, is_failing: bool) -> Option<usize> {
        let (first, _) = self.slots.look(is_failing);
        (first != NONE).then_some(first as usize)
    }

    /// The place of a new call.
    pub const fn place(&mut self, priority: u8) -> Place {
        self.arrivals = self.arrivals.wrapping_add(1);
        Place::new(priority, self.arrivals)
    }

    /// Decides an attempt of a call at once if no other call waits. Otherwise, or if it has to wait, it
    /// gets a slot; then poll.
    ///
    /// # Errors
    /// The gate's reason. [`Reason::Late`] if the call would miss its deadline behind the calls before
    /// it, at the current rate (a retry is checked when it is granted). [`Reason::QueueFull`] if there
    /// is no room.
    pub fn admit_or_join(
        &mut self,
        now: Instant,
        gate: &mut (impl Gate<LIMITS, C, Permit = P> + ?Sized),
        call: &Call<LIMITS, C>,
        place: Place,
    ) -> Result<Joined<P>, Reason> {
        self.admit(now, gate, call, (place, call.attempt > 0))
    }

    /// Like [`admit_or_join`](Self::admit_or_join), for a call that has waited here before and was
    /// refunded, because another limit delays it. As a retry, it is not rejected because of the calls
    /// before it, and there is always room for it.
    ///
    /// # Errors
    /// Those of `admit_or_join`.
    pub fn rejoin(
        &mut self,
        now: Instant,
        gate: &mut (impl Gate<LIMITS, C, Permit = P> + ?Sized),
        call: &Call<LIMITS, C>,
        place: Place,
    ) -> Result<Joined<P>, Reason> {
        self.admit(now, gate, call, (place, true))
    }

    fn admit(
        &mut self,
        now: Instant,
        gate: &mut (impl Gate<LIMITS, C, Permit = P> + ?Sized),
        call: &Call<LIMITS, C>,
        (place, is_known): (Place, bool),
    ) -> Result<Joined<P>, Reason> {
        let (mut turn, mut wake) = (Instant::ZERO, None);
        if self.slots.waiting() == 0 {
            match ask(now, gate, call) {
                Asked::Decided(decision) => return decision.map(Joined::Admitted),
                Asked::Waits { due, look_again } => (turn, wake) = (due, Some(look_again)),
            }
        } else if !is_known && call.deadline < Instant::MAX {
            let ahead = self.slots.ahead(place.priority());
            if ahead.iter().any(|ahead| ahead.calls > 0) {
                turn = gate.due_behind(now, call, &ahead);
            }
        }
        let reason = if turn > call.deadline {
            Reason::Late(turn)
        } else if let Some(ticket) = self.put(call, place, is_known) {
            if let Some(look_again) = wake {
                self.asleep = look_again.min(call.deadline + TICK);
            }
            return Ok(Joined::Waits(ticket));
        } else {
            Reason::QueueFull
        };
        gate.count_rejection();
        Err(reason)
    }

    /// Gives a call a slot. `None` if there is no room.
    fn put(&mut self, call: &Call<LIMITS, C>, place: Place, is_known: bool) -> Option<Ticket> {
        let slot = self.slots.claim(place, is_known)?;
        // A call behind others without a deadline changes nothing for the queue.
        if call.deadline < Instant::MAX || !self.slots.is_behind(place) {
            self.asleep = Instant::ZERO;
        }
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = Slot::Waiting { call: *call, place };
        }
        self.slots.enter(slot);
        Some(Ticket { slot, arrival: place.arrival() })
    }

    /// The earliest time at which a call that joined now with this priority would be sent, at the
    /// current rate, and regardless of the calls in flight.
    #[must_use]
    pub fn turn(
        &self,
        now: Instant,
        gate: &(impl Gate<LIMITS, C> + ?Sized),
        call: &Call<LIMITS, C>,
        priority: u8,
    ) -> Instant {
        gate.due_behind(now, call, &self.slots.ahead(Place::new(priority, 0).priority()))
    }

    /// The next step. Call it until it returns `Sleep`.
    pub fn poll(
        &mut self,
        now: Instant,
        gate: &mut (impl Gate<LIMITS, C, Permit = P> + ?Sized),
    ) -> Step {
        if now < self.asleep {
            return self.sleep();
        }
        self.asleep = Instant::ZERO;
        let (first, (deadline, soonest)) = self.slots.look(gate.is_failing());
        let (mut due, mut wake) = (now, deadline + TICK);
        if let Some((call, _)) = self.slots.get(first).and_then(Slot::waiting) {
            match ask(now, gate, call) {
                Asked::Decided(decision) => return self.decide(first, decision),
                Asked::Waits { due: of_first, look_again } => {
                    (due, wake) = (of_first, wake.min(look_again));
                }
            }
        }
        if deadline < due {
            gate.count_rejection();
            return self.decide(soonest, Err(Reason::Late(due)));
        }
        self.asleep = wake;
        self.sleep()
    }

    fn sleep(&self) -> Step {
        Step::Sleep((self.asleep < Instant::MAX).then_some(self.asleep))
    }

    /// Decides a waiting call.
    fn decide(&mut self, slot: u32, decision: Result<P, Reason>) -> Step {
        self.slots.leave(slot);
        let mut arrival = 0;
        if let Some(slot) = self.slots.get_mut(slot)
            && let Slot::Waiting { place, .. } = slot
        {
            arrival = place.arrival();
            *slot = Slot::Decided { arrival, decision };
        }
        Step::Wake(Ticket { slot, arrival })
    }

    /// The decision on a call.
    pub fn take(&mut self, ticket: Ticket) -> Turn<P> {
        match self.slots.get(ticket.slot).filter(|slot| slot.is_of(ticket)) {
            Some(slot) if slot.waiting().is_some() => Turn::Waiting,
            Some(_) => match self.slots.vacate(ticket.slot) {
                Slot::Decided { decision: Ok(permit), .. } => Turn::Admitted(permit),
                Slot::Decided { decision: Err(reason), .. } => Turn::Rejected(reason),
                _ => Turn::Unknown, // unreachable
            },
            None => Turn::Unknown,
        }
    }

    /// Whether a call is admitted, and its permit was not taken.
    #[must_use]
    pub fn is_admitted(&self, ticket: Ticket) -> bool {
        let slot = self.slots.get(ticket.slot).filter(|slot| slot.is_of(ticket));
        matches!(slot, Some(Slot::Decided { decision: Ok(_), .. }))
    }

    /// Removes a call that was not taken, in any state. A spent ticket is harmless. Then poll.
    pub fn cancel(
        &mut self,
        now: Instant,
        gate: &mut (impl Gate<LIMITS, C, Permit = P> + ?Sized),
        ticket: Ticket,
    ) {
        if self.slots.get(ticket.slot).is_some_and(|slot| slot.is_of(ticket)) {
            self.slots.leave(ticket.slot);
            self.asleep = Instant::ZERO;
            if let Slot::Decided { decision: Ok(permit), .. } = self.slots.vacate(ticket.slot) {
                gate.refund(now, permit);
            }
        }
    }

    /// Reports that the gate changed: a call was settled or refunded, or the policy, the
    /// concurrency limit or the whole gate was replaced. Then poll.
    pub const fn changed(&mut self) {
        self.asleep = Instant::ZERO;
    }
}

/// Polls the gate for the call that is first.
fn ask<G: Gate<LIMITS, C> + ?Sized, const LIMITS: usize, C: Costs<LIMITS>>(
    now: Instant,
    gate: &mut G,
    call: &Call<LIMITS, C>,
) -> Asked<G::Permit> {
    match gate.poll(now, call) {
        Decision::Admit(permit) => Asked::Decided(Ok(permit)),
        Decision::Reject(reason) => Asked::Decided(Err(reason)),
        Decision::Wait(until) => Asked::Waits { due: until, look_again: until },
        Decision::Full => Asked::Waits {
            due: gate.due_first(now, call),
            look_again: gate.ready_at(now, call).unwrap_or(Instant::MAX),
        },
    }
}
