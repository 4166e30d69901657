//! Where a queue keeps its calls, and how it finds the first of them.

use core::mem;

use super::gate::Ahead;
use super::{Place, Ticket, Turn};
use crate::gate::Permit;
use crate::time::{Instant, Span};
use crate::verdict::{Call, Reason};

/// No slot.
pub(super) const NONE: u32 = u32::MAX;
/// What is later by this is later.
pub(super) const TICK: Span = Span::from_nanos(1);

/// Room for one call, from `join` to `take`.
#[derive(Debug)]
pub struct Slot<const LIMITS: usize = 1>(pub(super) State<LIMITS>);

#[derive(Debug)]
pub(super) enum State<const LIMITS: usize> {
    /// Without a call. A storage may keep a list of such slots.
    Free { next: u32 },
    /// It waits: for its backoff to end, as long as `not_before` is above zero, and then for its turn.
    Waiting {
        costs: [u32; LIMITS],
        attempt: u16,
        place: Place,
        deadline: Instant,
        not_before: Instant,
    },
    /// It has a permit, which its waiter has not taken yet.
    Admitted { arrival: u32, permit: Permit<LIMITS> },
    /// It will not be sent, which its waiter has not taken yet.
    Rejected { arrival: u32, reason: Reason },
}

impl<const LIMITS: usize> Slot<LIMITS> {
    /// One without a call.
    pub const EMPTY: Self = Self(State::Free { next: NONE });

    pub(super) const fn is_waiting(&self) -> bool {
        matches!(self.0, State::Waiting { .. })
    }

    /// Whether it has the call of this ticket.
    pub(super) const fn is_of(&self, ticket: Ticket) -> bool {
        ticket.arrival
            == match self.0 {
                State::Free { .. } => return false,
                State::Waiting { place, .. } => place.arrival(),
                State::Admitted { arrival, .. } | State::Rejected { arrival, .. } => arrival,
            }
    }

    /// What became of the call that was in it.
    pub(super) fn into_turn(self) -> Turn<LIMITS> {
        match self.0 {
            State::Free { .. } => Turn::Unknown,
            State::Waiting { .. } => Turn::Waiting,
            State::Admitted { permit, .. } => Turn::Admitted(permit),
            State::Rejected { reason, .. } => Turn::Rejected(reason),
        }
    }

    /// The place of a call that waits.
    pub(super) const fn place(&self) -> Option<Place> {
        match self.0 {
            State::Waiting { place, .. } => Some(place),
            _ => None,
        }
    }

    /// What a call that waits for its turn asks the gate.
    pub(super) fn call(&self) -> Option<Call<LIMITS>> {
        match self.0 {
            State::Waiting { costs, attempt, deadline, .. } => {
                Some(Call { attempt, deadline, ..Call::of(costs) })
            }
            _ => None,
        }
    }
}

/// Where a queue keeps its calls: `[Slot; N]` for few of them, [`Growing`](super::Growing) for many.
///
/// The methods that are provided look through all slots. That is less code and memory than an index, and
/// as fast up to a few dozen calls. A storage with an index has its own.
pub trait Storage<const LIMITS: usize = 1> {
    /// How many slots there are. They are numbered from 0.
    fn slots(&self) -> u32;

    /// The slot of this number; `None` if there are fewer. (Or where it is not this queue's, in a
    /// storage that several share.)
    fn get(&self, slot: u32) -> Option<&Slot<LIMITS>>;

    /// The same, to change it.
    fn get_mut(&mut self, slot: u32) -> Option<&mut Slot<LIMITS>>;

    /// Takes a slot for a call of this place: one without a call, or that of the last call that waits for its first
    /// attempt with a lower priority. `None` if there is none. A retry may have a slot that new calls may not.
    fn claim(&mut self, place: Place, is_retry: bool) -> Option<u32> {
        _ = is_retry;
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

    /// Empties a slot, and returns what was in it.
    fn vacate(&mut self, slot: u32) -> Slot<LIMITS> {
        self.get_mut(slot).map_or(Slot::EMPTY, |slot| mem::replace(slot, Slot::EMPTY))
    }

    /// The call in this slot waits from now on.
    fn enter(&mut self, slot: u32) {
        _ = slot;
    }

    /// The call in this slot, if any, does not wait from now on.
    fn leave(&mut self, slot: u32) {
        _ = slot;
    }

    /// Ends the backoffs that are over. The slot of the first call that waits for its turn, and the first
    /// instant after the next deadline, or at which the next backoff ends.
    fn look(&mut self, now: Instant) -> (u32, Instant) {
        let (mut first, mut least, mut next) = (NONE, Place::LAST, Instant::MAX);
        for number in 0..self.slots() {
            if let Some(Slot(State::Waiting { place, deadline, not_before, .. })) =
                self.get_mut(number)
            {
                let mut at = *not_before;
                if at <= now {
                    (at, *not_before) = (deadline.saturating_add(TICK), Instant::ZERO);
                    if *place < least {
                        (first, least) = (number, *place);
                    }
                }
                next = next.min(at);
            }
        }
        (first, next)
    }

    /// The slot of a call that waits for its turn, whose deadline is before `reach`.
    fn late(&self, reach: Instant) -> Option<u32> {
        (0..self.slots()).find(|slot| {
            matches!(self.get(*slot), Some(Slot(State::Waiting { deadline, not_before, .. }))
                if *not_before == Instant::ZERO && *deadline < reach)
        })
    }

    /// Whether a call waits for its turn before this place.
    fn is_behind(&self, behind: Place) -> bool {
        (0..self.slots()).any(|slot| {
            matches!(self.get(slot), Some(Slot(State::Waiting { place, not_before, .. }))
                if *not_before == Instant::ZERO && *place < behind)
        })
    }

    /// The calls that wait for their turn, with this priority or a higher one.
    fn ahead(&self, priority: u8) -> [Ahead; LIMITS] {
        let mut sums = [Ahead::default(); LIMITS];
        for slot in (0..self.slots()).filter_map(|slot| self.get(slot)) {
            if let State::Waiting { costs, place, not_before: Instant::ZERO, .. } = &slot.0
                && place.priority() >= priority
            {
                for (sum, cost) in sums.iter_mut().zip(costs) {
                    sum.add(*cost);
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
