//! Storage for the calls of a queue, and the search for the first of them.

use core::mem;

use super::gate::Ahead;
use super::{Place, Ticket, Turn};
use crate::gate::Permit;
use crate::time::{Instant, Span};
use crate::verdict::{Call, Reason};

/// No slot.
pub(super) const NONE: u32 = u32::MAX;
/// The smallest difference between two instants.
pub(super) const TICK: Span = Span::from_nanos(1);

/// Room for one call, from `join` to `take`.
#[derive(Debug)]
pub struct Slot<const LIMITS: usize = 1>(pub(super) State<LIMITS>);

#[derive(Debug)]
pub(super) enum State<const LIMITS: usize> {
    /// No call. A storage may keep a list of such slots.
    Free { next: u32 },
    /// Waiting: for the end of its backoff, while `not_before` is above zero, and then for its
    /// turn.
    Waiting {
        costs: [u32; LIMITS],
        attempt: u16,
        estimated: bool,
        place: Place,
        deadline: Instant,
        not_before: Instant,
    },
    /// Admitted, with a permit that its waiter has not taken yet.
    Admitted { arrival: u32, permit: Permit<LIMITS> },
    /// Rejected, which its waiter has not taken yet.
    Rejected { arrival: u32, reason: Reason },
}

impl<const LIMITS: usize> Slot<LIMITS> {
    /// A slot without a call.
    pub const EMPTY: Self = Self(State::Free { next: NONE });

    pub(super) const fn is_waiting(&self) -> bool {
        matches!(self.0, State::Waiting { .. })
    }

    /// Whether it contains the call of this ticket.
    pub(super) const fn is_of(&self, ticket: Ticket) -> bool {
        ticket.arrival
            == match self.0 {
                State::Free { .. } => return false,
                State::Waiting { place, .. } => place.arrival(),
                State::Admitted { arrival, .. } | State::Rejected { arrival, .. } => arrival,
            }
    }

    /// The decision on its call.
    pub(super) fn into_turn(self) -> Turn<LIMITS> {
        match self.0 {
            State::Free { .. } => Turn::Unknown,
            State::Waiting { .. } => Turn::Waiting,
            State::Admitted { permit, .. } => Turn::Admitted(permit),
            State::Rejected { reason, .. } => Turn::Rejected(reason),
        }
    }

    /// The call to poll the gate with, if it waits for its turn.
    pub(super) fn call(&self) -> Option<Call<LIMITS>> {
        match self.0 {
            State::Waiting { costs, attempt, estimated, deadline, .. } => {
                Some(Call { attempt, estimated, deadline, ..Call::of(costs) })
            }
            _ => None,
        }
    }
}

/// Storage for the calls of a queue: `[Slot; N]` for few calls, [`Growing`](super::Growing) for
/// many.
///
/// The provided methods search all slots. That needs less code and memory than an index, and is as
/// fast for up to a few dozen calls. A storage with an index overrides them.
pub trait Storage<const LIMITS: usize = 1> {
    /// How many slots there are. They are numbered from 0.
    fn slots(&self) -> u32;

    /// The slot with this number. `None` if there is none, or if it belongs to another queue in a
    /// shared storage.
    fn get(&self, slot: u32) -> Option<&Slot<LIMITS>>;

    /// The slot with this number, mutably.
    fn get_mut(&mut self, slot: u32) -> Option<&mut Slot<LIMITS>>;

    /// Takes a slot for a call with this place: a free one, or that of the last call with a lower
    /// priority that waits for its first attempt. `None` if there is none. A retry may get a slot
    /// that new calls may not.
    fn claim(&mut self, place: Place, _is_retry: bool) -> Option<u32> {
        let (mut last, mut most) = (None, Place::new(place.priority(), u64::MAX));
        for number in 0..self.slots() {
            match self.get(number) {
                Some(Slot(State::Free { .. })) => return Some(number),
                Some(Slot(State::Waiting { place, attempt: 0, .. })) if *place > most => {
                    (last, most) = (Some(number), *place);
                }
                _ => {}
            }
        }
        last
    }

    /// Empties a slot, and returns its content.
    fn vacate(&mut self, slot: u32) -> Slot<LIMITS> {
        self.get_mut(slot).map_or(Slot::EMPTY, |slot| mem::replace(slot, Slot::EMPTY))
    }

    /// The call in this slot starts waiting.
    fn enter(&mut self, _slot: u32) {}

    /// The call in this slot, if any, stops waiting.
    fn leave(&mut self, _slot: u32) {}

    /// Ends backoffs that are over. Returns the slot of the first call that waits for its turn, and
    /// the first instant after the next deadline or at which the next backoff ends. While the gate
    /// `is_failing`, a retry is behind all calls that have not been tried.
    fn look(&mut self, now: Instant, is_failing: bool) -> (u32, Instant) {
        let (mut new, mut new_place) = (NONE, Place::LAST);
        let (mut retry, mut retry_place, mut least) = (NONE, Place::LAST, u64::MAX);
        let mut next = Instant::MAX;
        for number in 0..self.slots() {
            if let Some(Slot(State::Waiting { place, deadline, not_before, attempt, .. })) =
                self.get_mut(number)
            {
                let mut at = *not_before;
                if at <= now {
                    (at, *not_before) = (deadline.saturating_add(TICK), Instant::ZERO);
                    if *attempt == 0 {
                        if *place < new_place {
                            (new, new_place) = (number, *place);
                        }
                    } else if place.again(*attempt) < least {
                        (retry, retry_place, least) = (number, *place, place.again(*attempt));
                    }
                }
                next = next.min(at);
            }
        }
        let retries =
            new == NONE || retry != NONE && retry_place.comes_before(new_place, is_failing);
        (if retries { retry } else { new }, next)
    }

    /// The slot of a call that waits for its turn and has a deadline before `reach`.
    fn late(&self, reach: Instant) -> Option<u32> {
        (0..self.slots()).find(|slot| {
            matches!(self.get(*slot), Some(Slot(State::Waiting { deadline, not_before, .. }))
                if *not_before == Instant::ZERO && *deadline < reach)
        })
    }

    /// Whether a call that has not been tried waits for its turn before this place.
    fn is_behind(&self, behind: Place) -> bool {
        (0..self.slots()).any(|slot| {
            matches!(self.get(slot), Some(Slot(State::Waiting { place, not_before, attempt: 0, .. }))
                if *not_before == Instant::ZERO && *place < behind)
        })
    }

    /// The calls that wait for their turn, with this priority or a higher one.
    fn ahead(&self, priority: u8) -> [Ahead; LIMITS] {
        let mut sums = [Ahead::default(); LIMITS];
        for slot in (0..self.slots()).filter_map(|slot| self.get(slot)) {
            if let State::Waiting { costs, estimated, place, not_before: Instant::ZERO, .. } =
                &slot.0
                && place.priority() >= priority
            {
                for (sum, cost) in sums.iter_mut().zip(costs) {
                    sum.add(*cost, *estimated);
                }
            }
        }
        sums
    }

    /// How many calls wait.
    fn waiting(&self) -> u32 {
        let waits = |slot: &u32| self.get(*slot).is_some_and(Slot::is_waiting);
        (0..self.slots()).filter(waits).fold(0, |count, _| count.saturating_add(1))
    }
}

impl<const LIMITS: usize, const N: usize> Storage<LIMITS> for [Slot<LIMITS>; N] {
    #[expect(clippy::cast_possible_truncation, reason = "asserted to fit, at compile time")]
    fn slots(&self) -> u32 {
        const { assert!(N < NONE as usize, "more slots than numbers") };
        N as u32
    }

    fn get(&self, slot: u32) -> Option<&Slot<LIMITS>> {
        self.as_slice().get(slot as usize)
    }

    fn get_mut(&mut self, slot: u32) -> Option<&mut Slot<LIMITS>> {
        self.as_mut_slice().get_mut(slot as usize)
    }
}
