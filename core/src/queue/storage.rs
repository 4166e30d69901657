//! Storage for the calls of a queue, and the search for the first of them.

use core::mem;

use super::gate::Ahead;
use super::{Place, Ticket};
use crate::gate::Permit;
use crate::time::{Instant, Span};
use crate::verdict::{Call, Reason};

/// No slot.
pub(super) const NONE: u32 = u32::MAX;
/// The smallest difference between two instants.
pub(super) const TICK: Span = Span::from_nanos(1);

/// Room for one call, from when it joins to `take`.
#[derive(Debug)]
pub struct Slot<const LIMITS: usize = 1, P = Permit<LIMITS>>(pub(super) State<LIMITS, P>);

#[derive(Debug)]
pub(super) enum State<const LIMITS: usize, P> {
    /// No call. A storage may keep a list of such slots.
    Free { next: u32 },
    /// Waiting for its turn.
    Waiting { call: Call<LIMITS>, place: Place },
    /// Admitted or rejected, which its waiter has not taken yet.
    Decided { arrival: u32, decision: Result<P, Reason> },
}

impl<const LIMITS: usize, P> Slot<LIMITS, P> {
    /// A slot without a call.
    pub const EMPTY: Self = Self(State::Free { next: NONE });

    /// Whether it contains the call of this ticket.
    pub(super) const fn is_of(&self, ticket: Ticket) -> bool {
        ticket.arrival
            == match self.0 {
                State::Free { .. } => return false,
                State::Waiting { place, .. } => place.arrival(),
                State::Decided { arrival, .. } => arrival,
            }
    }

    /// The call and its place, if it waits for its turn.
    pub(super) const fn waiting(&self) -> Option<(&Call<LIMITS>, Place)> {
        match &self.0 {
            State::Waiting { call, place } => Some((call, *place)),
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
    /// The permit of a call: that of the queue's [`Gate`](super::Gate).
    type Permit;

    /// How many slots there are. They are numbered from 0.
    fn slots(&self) -> u32;

    /// The slot with this number. `None` if there is none, or if it belongs to another queue in a
    /// shared storage.
    fn get(&self, slot: u32) -> Option<&Slot<LIMITS, Self::Permit>>;

    /// The slot with this number, mutably.
    fn get_mut(&mut self, slot: u32) -> Option<&mut Slot<LIMITS, Self::Permit>>;

    /// Takes a slot for a call with this place: a free one, or that of the last call with a lower
    /// priority that waits for its first attempt. `None` if there is none. A call that `is_known`, because
    /// it was accepted before, may get a slot that new calls may not.
    fn claim(&mut self, place: Place, _is_known: bool) -> Option<u32> {
        let (mut last, mut most) = (None, Place::new(place.priority(), u64::MAX));
        for number in 0..self.slots() {
            match self.get(number) {
                Some(Slot(State::Free { .. })) => return Some(number),
                Some(Slot(State::Waiting { place, call }))
                    if call.attempt == 0 && *place > most =>
                {
                    (last, most) = (Some(number), *place);
                }
                _ => {}
            }
        }
        last
    }

    /// Empties a slot, and returns its content.
    fn vacate(&mut self, slot: u32) -> Slot<LIMITS, Self::Permit> {
        self.get_mut(slot).map_or(Slot::EMPTY, |slot| mem::replace(slot, Slot::EMPTY))
    }

    /// The call in this slot starts waiting.
    fn enter(&mut self, _slot: u32) {}

    /// The call in this slot, if any, stops waiting.
    fn leave(&mut self, _slot: u32) {}

    /// The slot of the first call that waits, and the earliest deadline. While the gate `is_failing`, a
    /// retry is behind all calls that have not been tried.
    fn look(&self, is_failing: bool) -> (u32, Instant) {
        let (mut new, mut new_place) = (NONE, Place::LAST);
        let (mut retry, mut retry_place, mut least) = (NONE, Place::LAST, u64::MAX);
        let mut deadline = Instant::MAX;
        for (number, call, place) in waiting(self) {
            deadline = deadline.min(call.deadline);
            if call.attempt == 0 {
                if place < new_place {
                    (new, new_place) = (number, place);
                }
            } else if place.again(call.attempt) < least {
                (retry, retry_place, least) = (number, place, place.again(call.attempt));
            }
        }
        let retries =
            new == NONE || retry != NONE && retry_place.comes_before(new_place, is_failing);
        (if retries { retry } else { new }, deadline)
    }

    /// The slot of a waiting call with a deadline before `due`.
    fn late(&self, due: Instant) -> Option<u32> {
        waiting(self).find(|(_, call, _)| call.deadline < due).map(|(number, ..)| number)
    }

    /// Whether a call that has not been tried waits before this place.
    fn is_behind(&self, behind: Place) -> bool {
        waiting(self).any(|(_, call, place)| call.attempt == 0 && place < behind)
    }

    /// The calls that wait, with this priority or a higher one.
    fn ahead(&self, priority: u8) -> [Ahead; LIMITS] {
        let mut sums = [Ahead::default(); LIMITS];
        for (_, call, _) in waiting(self).filter(|(.., place)| place.priority() >= priority) {
            for (sum, cost) in sums.iter_mut().zip(call.costs) {
                sum.add(cost, call.estimated);
            }
        }
        sums
    }

    /// How many calls wait.
    fn waiting(&self) -> u32 {
        waiting(self).fold(0, |count, _| count.saturating_add(1))
    }
}

/// The waiting calls, with their slots and places.
fn waiting<S: Storage<LIMITS> + ?Sized, const LIMITS: usize>(
    storage: &S,
) -> impl Iterator<Item = (u32, &Call<LIMITS>, Place)> {
    (0..storage.slots()).filter_map(|number| {
        let (call, place) = storage.get(number)?.waiting()?;
        Some((number, call, place))
    })
}

impl<const LIMITS: usize, const N: usize, P> Storage<LIMITS> for [Slot<LIMITS, P>; N] {
    type Permit = P;

    #[expect(clippy::cast_possible_truncation, reason = "asserted to fit, at compile time")]
    fn slots(&self) -> u32 {
        const { assert!(N < NONE as usize, "more slots than numbers") };
        N as u32
    }

    fn get(&self, slot: u32) -> Option<&Slot<LIMITS, P>> {
        self.as_slice().get(slot as usize)
    }

    fn get_mut(&mut self, slot: u32) -> Option<&mut Slot<LIMITS, P>> {
        self.as_mut_slice().get_mut(slot as usize)
    }
}
