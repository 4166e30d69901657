//! The queue: many calls in front of one controller.
//!
//! It takes `now` and events, and returns which call is decided and when to poll again. The caller
//! owns the clock, the timer and the wakers. The queue keeps a call from [`join`](Queue::join)
//! until its waiter takes the permit. A retry joins again, with the [`Place`] of the first attempt.
//!
//! ```
//! use tidegate::queue::{Queue, Slot, Step, Turn};
//! use tidegate::{Call, Controller, Instant, Outcome, Policy, Quota, law::Fixed};
//!
//! let (law, now) = (Fixed::new(Quota::per_second(10).unwrap()), Instant::ZERO);
//! let mut gate: Controller<Fixed> = Controller::new(Policy::new(law), 7, now);
//! let mut queue = Queue::new([Slot::EMPTY; 4]);
//! let (place, call) = (queue.place(0), Call::new());
//! let one = queue.join(now, &mut gate, &call, place).unwrap();
//! let urgent = queue.place(7);
//! let urgent = queue.join(now, &mut gate, &call, urgent).unwrap();
//! assert_eq!(queue.poll(now, &mut gate), Step::Wake(urgent));
//! let due = Instant::from_nanos(100_000_000);
//! assert_eq!(queue.poll(now, &mut gate), Step::Sleep(Some(due)));
//!
//! // The waiter takes its permit, makes the call, and settles it.
//! let Turn::Admitted(permit) = queue.take(urgent) else { panic!() };
//! gate.settle(due, permit, Outcome::Ok);
//! queue.changed();
//! assert_eq!(queue.poll(due, &mut gate), Step::Wake(one));
//!
//! // A call that failed waits for another attempt, before all that came later.
//! let Turn::Admitted(permit) = queue.take(one) else { panic!() };
//! gate.settle(due, permit, Outcome::Failed);
//! queue.changed();
//! let next = gate.retry(due, &call, Outcome::Failed).unwrap();
//! queue.join(due, &mut gate, &next, place).unwrap();
//! assert_eq!(queue.poll(due, &mut gate), Step::Sleep(Some(next.not_before())));
//! ```
//!
//! Poll after every `join`, `cancel` and `changed`, and at the instant of [`Step::Sleep`], until the answer
//! is [`Step::Sleep`].
//!
//! | operation | `[Slot; N]` | [`Growing`] |
//! |---|---|---|
//! | `join`, `cancel`, `poll` that decides | O(N) | O(log n), and no allocation but the list's own growth |
//! | `take` | O(1) | O(1) |
//! | `poll` before its instant | one comparison | one comparison |
//!
//! # Invariants
//!
//! 1. A slot has at most one call, and a ticket names one call. It is spent when the call is taken
//!    or cancelled. (The attempts of a call that get the same slot have the same ticket.)
//! 2. Calls are admitted by priority, then by arrival. A retry keeps its place, so it precedes newer
//!    calls of its priority. But while the gate fails ([`Gate::is_failing`]), calls that have not been
//!    tried go first, whatever their priority: the next probe of a server in trouble is another call. Of
//!    two retries with the same priority, the one with fewer attempts goes first.
//! 3. A retry in backoff delays no other call.
//! 4. Only the first call is polled, so no call overtakes it, and expensive calls do not starve.
//! 5. After `Sleep(Some(t))`, `poll` before `t` without an event changes nothing, and `t` is after `now`.
//! 6. A call whose deadline is before its earliest possible turn is rejected when it joins, or as
//!    soon as the first call's wait shows it.
//! 7. A cancelled call whose permit was not taken is refunded. (The taker of a permit settles it.)
//! 8. A call of a priority above 0 finds a place as long as one of a lower priority waits for its
//!    first attempt: in an array the last of these gives up its slot, and its ticket is spent
//!    ([`Turn::Unknown`]). [`Growing`] has an eighth more room for such calls.
//! 9. A decided call keeps its slot until it is taken or cancelled. If waiters can disappear
//!    without notice, as in an edge worker, the caller cancels calls that are not taken in time.

mod gate;
mod heap;
mod patience;
mod storage;

pub use gate::{Ahead, Gate};
pub use heap::{Growing, Node};
pub use patience::Patience;
pub use storage::{Slot, Storage};

use crate::gate::Permit;
use crate::time::Instant;
use crate::verdict::{Call, Decision, Reason};
use storage::{NONE, State};

/// How many priorities there are: 0 to 7, and 7 is first. A larger one counts as 7.
pub const PRIORITIES: u8 = 8;

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

    /// Whether a retry with this place comes before a call with the other one that has not been tried.
    fn comes_before(self, other: Self, is_failing: bool) -> bool {
        !is_failing && self < other
    }

    /// After all other places.
    const LAST: Self = Self(u64::MAX);

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

/// A call in the queue, from `join` until it is taken or cancelled.
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

/// The state of a waiting call.
#[derive(Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use]
pub enum Turn<const LIMITS: usize = 1> {
    /// It waits.
    Waiting,
    /// It may be sent. Its ticket is spent.
    Admitted(Permit<LIMITS>),
    /// It will not be sent. Its ticket is spent.
    Rejected(Reason),
    /// The ticket was spent before.
    Unknown,
}

/// The first call that waits for its turn, if any, and the gate's decision on it.
#[derive(Debug)]
pub struct Head<const LIMITS: usize = 1> {
    first: u32,
    call: Option<Call<LIMITS>>,
    /// When to look again: after the next deadline, at the end of the next backoff, or when the
    /// gate says.
    next: Instant,
    decision: Option<Decision<Permit<LIMITS>>>,
    /// No call is sent before this instant.
    reach: Instant,
}

impl<const LIMITS: usize> Head<LIMITS> {
    /// Polls the gate for the call. Returns until when it has to wait, if it does.
    pub fn ask(
        &mut self,
        now: Instant,
        gate: &mut (impl Gate<LIMITS> + ?Sized),
    ) -> Option<Instant> {
        let call = self.call.as_ref()?;
        match gate.poll(now, call) {
            Decision::Wait(until) => {
                self.wait(until);
                return Some(until);
            }
            Decision::Full => {
                self.reach = gate.due_first(now, call);
                self.next = self.next.min(gate.ready_at(now, call).unwrap_or(Instant::MAX));
            }
            decision => self.decision = Some(decision),
        }
        None
    }

    /// Makes the call, if any, wait until then.
    pub fn wait(&mut self, until: Instant) {
        if self.call.is_some() {
            (self.reach, self.next) = (until, self.next.min(until));
        }
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Queue<S, const LIMITS: usize = 1> {
    slots: S,
    arrivals: u64,
    /// Until when `poll` has nothing to do. Zero after an event.
    asleep: Instant,
}

impl<S: Storage<LIMITS>, const LIMITS: usize> Queue<S, LIMITS> {
    /// An empty queue.
    #[must_use]
    pub const fn new(slots: S) -> Self {
        Self { slots, arrivals: 0, asleep: Instant::ZERO }
    }

    /// The storage, if the caller keeps more in it than calls: a waker for each slot, for example.
    #[must_use]
    pub const fn storage(&mut self) -> &mut S {
        &mut self.slots
    }

    /// Calls that wait for their turn or for their backoff to end.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.slots.waiting() as usize
    }

    /// The slot of the first call that waits for its turn, whose waiter should be woken at the
    /// instant of [`Step::Sleep`]. `None` if a call that joins now would be first. `is_failing` is what
    /// [`Gate::is_failing`] returns.
    #[must_use]
    pub fn first(&mut self, now: Instant, is_failing: bool) -> Option<usize> {
        let (first, _) = self.slots.look(now, is_failing);
        (first != NONE).then_some(first as usize)
    }

    /// The place of a new call.
    pub const fn place(&mut self, priority: u8) -> Place {
        self.arrivals = self.arrivals.wrapping_add(1);
        Place::new(priority, self.arrivals)
    }

    /// Adds an attempt of a call. Then poll.
    ///
    /// # Errors
    /// [`Reason::Late`] if the call would miss its deadline behind the calls before it, at the
    /// current rate (a retry is checked when it is granted). [`Reason::QueueFull`] if the storage
    /// is full.
    pub fn join(
        &mut self,
        now: Instant,
        gate: &mut (impl Gate<LIMITS> + ?Sized),
        call: &Call<LIMITS>,
        place: Place,
    ) -> Result<Ticket, Reason> {
        if let Some(ahead) = self.ahead(call, place.priority()) {
            let turn = gate.due_behind(now, call, &ahead);
            if turn > call.not_after() {
                gate.count_rejection();
                return Err(Reason::Late(turn));
            }
        }
        self.enter(call, place).ok_or(Reason::QueueFull)
    }

    /// The calls before a call of this priority, if there are any and it is the first attempt of a
    /// call with a deadline.
    fn ahead(&self, call: &Call<LIMITS>, priority: u8) -> Option<[Ahead; LIMITS]> {
        let looks = call.attempt() == 0 && call.not_after() < Instant::MAX;
        let ahead = looks.then(|| self.slots.ahead(priority))?;
        ahead.iter().any(|ahead| ahead.calls > 0).then_some(ahead)
    }

    /// Like [`join`](Self::join) without checking the calls before it, which is less code: a call
    /// that would miss its deadline is rejected when the wait of the first call shows it. `None` if
    /// the storage is full.
    pub fn enter(&mut self, call: &Call<LIMITS>, place: Place) -> Option<Ticket> {
        self.put(call, place, call.attempt > 0)
    }

    /// Like [`enter`](Self::enter), for a call that has waited here before and was refunded, because another limit
    /// delays it. It finds room as a retry does.
    pub fn enter_again(&mut self, call: &Call<LIMITS>, place: Place) -> Option<Ticket> {
        self.put(call, place, true)
    }

    fn put(&mut self, call: &Call<LIMITS>, place: Place, is_known: bool) -> Option<Ticket> {
        let (costs, attempt, estimated) = (call.costs, call.attempt, call.estimated);
        let (deadline, not_before) = (call.deadline, call.not_before);
        let slot = self.slots.claim(place, is_known)?;
        // A call behind others without a deadline or a backoff changes nothing for the queue.
        // Neither does one that gave up its slot, because it was behind this one.
        let is_plain = deadline == Instant::MAX && not_before == Instant::ZERO;
        if !(is_plain && self.slots.is_behind(place)) {
            self.asleep = Instant::ZERO;
        }
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.0 = State::Waiting { costs, attempt, estimated, place, deadline, not_before };
        }
        self.slots.enter(slot);
        Some(Ticket { slot, arrival: place.arrival() })
    }

    /// The earliest turn of a waiting call, behind all others of its priority, at the current rate.
    /// `None` if it does not wait.
    #[must_use]
    pub fn turn(
        &self,
        now: Instant,
        gate: &(impl Gate<LIMITS> + ?Sized),
        ticket: Ticket,
    ) -> Option<Instant> {
        let slot = self.slots.get(ticket.slot).filter(|slot| slot.is_of(ticket))?;
        let State::Waiting { costs, estimated, place, not_before, .. } = slot.0 else {
            return None;
        };
        let mut ahead = self.slots.ahead(place.priority());
        if not_before == Instant::ZERO {
            ahead.iter_mut().zip(costs).for_each(|(ahead, cost)| ahead.subtract(cost, estimated));
        }
        Some(gate.due_behind(now, &slot.call()?, &ahead).max(not_before))
    }

    /// The earliest turn of a call that joined now with this priority, at the current rate.
    #[must_use]
    pub fn turn_of_new(
        &self,
        now: Instant,
        gate: &(impl Gate<LIMITS> + ?Sized),
        call: &Call<LIMITS>,
        priority: u8,
    ) -> Instant {
        gate.due_behind(now, call, &self.slots.ahead(priority))
    }

    /// The next step. Call it until it returns `Sleep`.
    pub fn poll(&mut self, now: Instant, gate: &mut (impl Gate<LIMITS> + ?Sized)) -> Step {
        match self.head(now, gate.is_failing()) {
            Ok(mut head) => {
                head.ask(now, gate);
                self.conclude(head, || gate.count_rejection())
            }
            Err(until) => Step::Sleep(until),
        }
    }

    /// The first step of [`poll`](Self::poll), for a gate that is polled while the queue is not
    /// locked: [`Head::ask`] it, and [`conclude`](Self::conclude) if neither the queue nor the gate
    /// has changed since. `is_failing` is what [`Gate::is_failing`] returns.
    ///
    /// # Errors
    /// Where there is nothing to do: the instant of [`Step::Sleep`].
    pub fn head(
        &mut self,
        now: Instant,
        is_failing: bool,
    ) -> Result<Head<LIMITS>, Option<Instant>> {
        if now < self.asleep {
            return Err((self.asleep < Instant::MAX).then_some(self.asleep));
        }
        let (first, next) = self.slots.look(now, is_failing);
        let call = self.slots.get(first).and_then(Slot::call);
        Ok(Head { first, call, next, decision: None, reach: now })
    }

    /// The last step of [`poll`](Self::poll). `count` is called if a call is rejected without
    /// polling.
    pub fn conclude(&mut self, head: Head<LIMITS>, count: impl FnOnce()) -> Step {
        self.asleep = Instant::ZERO;
        let (slot, decision) = match head.decision {
            Some(decision) => (head.first, decision),
            None => match self.slots.late(head.reach) {
                Some(late) => {
                    count();
                    (late, Decision::Reject(Reason::Late(head.reach)))
                }
                None => {
                    self.asleep = head.next;
                    return Step::Sleep((head.next < Instant::MAX).then_some(self.asleep));
                }
            },
        };
        match self.end(slot, decision) {
            Some(ticket) => Step::Wake(ticket),
            None => Step::Sleep(None), // unreachable: it waits
        }
    }

    /// The decision on a call.
    pub fn take(&mut self, ticket: Ticket) -> Turn<LIMITS> {
        match self.slots.get(ticket.slot) {
            Some(slot) if slot.is_of(ticket) && slot.is_waiting() => Turn::Waiting,
            Some(slot) if slot.is_of(ticket) => self.slots.vacate(ticket.slot).into_turn(),
            _ => Turn::Unknown,
        }
    }

    /// Removes a call that was not taken, in any state. A spent ticket is harmless. Then poll.
    pub fn cancel(
        &mut self,
        now: Instant,
        gate: &mut (impl Gate<LIMITS> + ?Sized),
        ticket: Ticket,
    ) {
        if let Turn::Admitted(permit) = self.withdraw(ticket) {
            gate.refund(now, permit);
        }
    }

    /// Like `cancel`, but returns a permit instead of refunding it: less code for callers that take
    /// decisions at once.
    pub fn withdraw(&mut self, ticket: Ticket) -> Turn<LIMITS> {
        if self.slots.get(ticket.slot).is_none_or(|slot| !slot.is_of(ticket)) {
            return Turn::Unknown;
        }
        self.slots.leave(ticket.slot);
        self.asleep = Instant::ZERO;
        self.slots.vacate(ticket.slot).into_turn()
    }

    /// Reports that the gate changed: a call was settled or refunded, or the policy, the
    /// concurrency limit or the whole gate was replaced. Then poll.
    pub const fn changed(&mut self) {
        self.asleep = Instant::ZERO;
    }

    /// Decides a waiting call.
    fn end(&mut self, slot: u32, decision: Decision<Permit<LIMITS>>) -> Option<Ticket> {
        self.slots.leave(slot);
        let Slot(state) = self.slots.get_mut(slot)?;
        let State::Waiting { place, .. } = *state else { return None };
        let arrival = place.arrival();
        match decision {
            Decision::Admit(permit) => *state = State::Admitted { arrival, permit },
            Decision::Reject(reason) => *state = State::Rejected { arrival, reason },
            Decision::Wait(_) | Decision::Full => {} // unreachable
        }
        Some(Ticket { slot, arrival })
    }
}
