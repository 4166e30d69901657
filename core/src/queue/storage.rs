//! Where a queue keeps its calls.

use core::ops::DerefMut;

use super::heap::By;
use crate::gate::Permit;
use crate::time::Instant;
use crate::verdict::{Ask, Reason};

/// No slot, or no place in a heap.
pub(super) const NONE: u32 = u32::MAX;

/// Room for one call, from `join` to its end.
#[derive(Debug)]
pub struct Slot<const LIMITS: usize = 1> {
    pub(super) ask: Ask<LIMITS>,
    /// The order of the calls: the lowest is first.
    pub(super) rank: u64,
    /// How many calls this slot has had.
    pub(super) generation: u32,
    pub(super) state: State,
    /// Its permit, once it is admitted.
    pub(super) permit: Option<Permit<LIMITS>>,
    /// The next free slot, where this one is free.
    pub(super) next_free: u32,
    links: [Link; 3],
}

/// What a call is about to do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    Free,
    /// It waits: for its backoff to end, or for its turn.
    Waiting,
    /// It has a permit, which lapses then if nobody takes it, or if it does not settle.
    Admitted {
        taken: bool,
        until: Instant,
    },
    /// Its permit has lapsed. The slot is free, and a late response still counts until it is needed.
    Lapsed,
    /// It was rejected, and its waiter has not taken the answer yet. The answer is dropped at `until`.
    Rejected {
        reason: Reason,
        until: Instant,
    },
}

/// A slot's part of a heap: the array is spread over the slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// The slot of the call at this place of the heap.
    pub(super) call: u32,
    /// The place of this slot's call.
    pub(super) index: u32,
}

impl<const LIMITS: usize> Slot<LIMITS> {
    /// One without a call.
    pub const EMPTY: Self = Self {
        ask: Ask::new(),
        rank: 0,
        generation: 0,
        state: State::Free,
        permit: None,
        next_free: NONE,
        links: [Link { call: NONE, index: NONE }; 3],
    };

    pub(super) const fn key(&self, by: By) -> u64 {
        match (by, self.state) {
            (By::Rank, _) => self.rank,
            (By::Deadline, _) => self.ask.not_after().as_nanos(),
            (By::Time, State::Admitted { until, .. } | State::Rejected { until, .. }) => {
                until.as_nanos()
            }
            (By::Time, _) => self.ask.not_before().as_nanos(),
        }
    }

    pub(super) const fn link(&self, by: By) -> &Link {
        let [rank, time, deadline] = &self.links;
        match by {
            By::Rank => rank,
            By::Time => time,
            By::Deadline => deadline,
        }
    }

    pub(super) const fn link_mut(&mut self, by: By) -> &mut Link {
        let [rank, time, deadline] = &mut self.links;
        match by {
            By::Rank => rank,
            By::Time => time,
            By::Deadline => deadline,
        }
    }
}

/// Where a queue keeps its calls: `[Slot; N]`, `&mut [Slot]`, or [`Growing`].
///
/// Slots are numbered from 0 without gaps. What is in one stays as it is, wherever the storage moves it.
pub trait Storage<const LIMITS: usize = 1> {
    /// The slot of this number; `None` where there are fewer.
    fn get(&self, slot: usize) -> Option<&Slot<LIMITS>>;

    /// The same, to change it.
    fn get_mut(&mut self, slot: usize) -> Option<&mut Slot<LIMITS>>;

    /// Adds an empty slot; `false` where there is no more room.
    fn grow(&mut self) -> bool {
        false
    }
}

impl<const LIMITS: usize, const N: usize> Storage<LIMITS> for [Slot<LIMITS>; N] {
    fn get(&self, slot: usize) -> Option<&Slot<LIMITS>> {
        self.as_slice().get(slot)
    }

    fn get_mut(&mut self, slot: usize) -> Option<&mut Slot<LIMITS>> {
        self.as_mut_slice().get_mut(slot)
    }
}

impl<const LIMITS: usize> Storage<LIMITS> for &mut [Slot<LIMITS>] {
    fn get(&self, slot: usize) -> Option<&Slot<LIMITS>> {
        <[_]>::get(self, slot)
    }

    fn get_mut(&mut self, slot: usize) -> Option<&mut Slot<LIMITS>> {
        <[_]>::get_mut(self, slot)
    }
}

/// A list of the caller's that grows, a `Vec` as a rule: up to so many calls.
///
/// ```
/// use tidegate::queue::{Growing, Queue};
///
/// let queue: Queue<_> = Queue::new(Growing::new(Vec::new(), 10_000));
/// assert_eq!(queue.waiting(), 0);
/// ```
#[derive(Debug)]
pub struct Growing<T> {
    slots: T,
    most: usize,
}

impl<T> Growing<T> {
    /// Room for `most` calls at most, in flight or waiting.
    pub const fn new(slots: T, most: usize) -> Self {
        Self { slots, most }
    }
}

impl<T, const LIMITS: usize> Storage<LIMITS> for Growing<T>
where
    T: DerefMut<Target = [Slot<LIMITS>]> + Extend<Slot<LIMITS>>,
{
    fn get(&self, slot: usize) -> Option<&Slot<LIMITS>> {
        self.slots.get(slot)
    }

    fn get_mut(&mut self, slot: usize) -> Option<&mut Slot<LIMITS>> {
        self.slots.get_mut(slot)
    }

    fn grow(&mut self) -> bool {
        let fits = self.slots.len() < self.most;
        if fits {
            self.slots.extend([Slot::EMPTY]);
        }
        fits
    }
}
