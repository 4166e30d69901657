//! Three binary heaps whose arrays lie in the slots: a call can be removed from any of them at any time.

use super::storage::{NONE, Slot, Storage};

/// What a heap is sorted by.
#[derive(Clone, Copy, Debug)]
pub(super) enum By {
    /// Priority, then arrival: the calls that may be sent as far as they are concerned.
    Rank,
    /// When the state of a call changes by itself: a backoff ends, a permit lapses.
    Time,
    /// The deadlines of the calls in the heap by rank.
    Deadline,
}

/// The slots, and how many calls each heap has.
#[derive(Debug)]
pub(super) struct Heaps<S, const LIMITS: usize> {
    pub(super) slots: S,
    lengths: [u32; 3],
}

impl<S: Storage<LIMITS>, const LIMITS: usize> Heaps<S, LIMITS> {
    pub(super) const fn new(slots: S) -> Self {
        Self { slots, lengths: [0; 3] }
    }

    pub(super) fn slot(&self, slot: u32) -> Option<&Slot<LIMITS>> {
        self.slots.get(slot as usize)
    }

    pub(super) fn slot_mut(&mut self, slot: u32) -> Option<&mut Slot<LIMITS>> {
        self.slots.get_mut(slot as usize)
    }

    pub(super) fn len(&self, by: By) -> u32 {
        self.lengths.get(by as usize).copied().unwrap_or(0)
    }

    /// The slot of the first call.
    pub(super) fn first(&self, by: By) -> Option<u32> {
        if self.len(by) > 0 { Some(self.at(by, 0)) } else { None }
    }

    pub(super) fn contains(&self, by: By, slot: u32) -> bool {
        self.index_of(by, slot) != NONE
    }

    pub(super) fn push(&mut self, by: By, slot: u32) {
        let index = self.len(by);
        self.set_len(by, index.saturating_add(1));
        self.rise(by, index, slot);
    }

    /// Removes a call, where it is in the heap.
    pub(super) fn remove(&mut self, by: By, slot: u32) {
        let index = self.index_of(by, slot);
        if index == NONE {
            return;
        }
        self.set_index(by, slot, NONE);
        let last = self.len(by).saturating_sub(1);
        self.set_len(by, last);
        if index < last {
            let moved = self.at(by, last);
            let index = self.rise(by, index, moved);
            self.sink(by, index, moved);
        }
    }

    /// Puts a call at `index`, or as far above as it belongs. Returns where it is then.
    fn rise(&mut self, by: By, mut index: u32, slot: u32) -> u32 {
        while index > 0 {
            let above = index.saturating_sub(1) / 2;
            let other = self.at(by, above);
            if !self.is_before(by, slot, other) {
                break;
            }
            self.put(by, index, other);
            index = above;
        }
        self.put(by, index, slot);
        index
    }

    /// Puts a call at `index`, or as far below as it belongs.
    fn sink(&mut self, by: By, mut index: u32, slot: u32) {
        loop {
            let left = index.saturating_mul(2).saturating_add(1);
            let right = left.saturating_add(1);
            if left >= self.len(by) {
                break;
            }
            let is_right =
                right < self.len(by) && self.is_before(by, self.at(by, right), self.at(by, left));
            let below = if is_right { right } else { left };
            let other = self.at(by, below);
            if !self.is_before(by, other, slot) {
                break;
            }
            self.put(by, index, other);
            index = below;
        }
        self.put(by, index, slot);
    }

    /// Of equal keys the one of the lower rank is first.
    fn is_before(&self, by: By, one: u32, two: u32) -> bool {
        match (self.slot(one), self.slot(two)) {
            (Some(one), Some(two)) => (one.key(by), one.rank) < (two.key(by), two.rank),
            _ => false, // not reached: a heap has only slots that there are
        }
    }

    fn put(&mut self, by: By, index: u32, slot: u32) {
        if let Some(place) = self.slot_mut(index) {
            place.link_mut(by).call = slot;
        }
        self.set_index(by, slot, index);
    }

    /// The slot of the call at `index` of a heap.
    fn at(&self, by: By, index: u32) -> u32 {
        self.slot(index).map_or(NONE, |place| place.link(by).call)
    }

    fn index_of(&self, by: By, slot: u32) -> u32 {
        self.slot(slot).map_or(NONE, |place| place.link(by).index)
    }

    fn set_index(&mut self, by: By, slot: u32, index: u32) {
        if let Some(place) = self.slot_mut(slot) {
            place.link_mut(by).index = index;
        }
    }

    fn set_len(&mut self, by: By, length: u32) {
        if let Some(len) = self.lengths.get_mut(by as usize) {
            *len = length;
        }
    }
}
