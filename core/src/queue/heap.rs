//! The calls of a queue, in binary heaps whose arrays are spread over the slots, so that a call can be removed at any
//! time.

use core::mem;
use core::ops::DerefMut;

use super::gate::Ahead;
use super::slot::{NONE, Slot};
use super::{ATTEMPTS, PRIORITIES, Place};
use crate::costs::Costs;
use crate::permit::Permit;
use crate::time::Instant;
use crate::verdict::Call;

/// A slot of a [`Queue`](super::Queue), with its part of the heaps.
#[derive(Debug)]
pub struct Node<const LIMITS: usize = 1, P = Permit<LIMITS>, C = [u32; LIMITS]> {
    slot: Slot<LIMITS, P, C>,
    links: [Link; HEAPS],
}

impl<const LIMITS: usize, P, C> Node<LIMITS, P, C> {
    /// A node without a call.
    pub const EMPTY: Self = Self { slot: Slot::Free { next: NONE }, links: [Link::EMPTY; HEAPS] };
}

/// An element of a heap's array, which is spread over the nodes. It includes the key, so that calls
/// are compared without reading their slots.
#[derive(Debug)]
struct Link {
    /// The call at this index of the heap.
    key: u64,
    slot: u32,
    /// The index of this slot's call.
    index: u32,
}

impl Link {
    const EMPTY: Self = Self { key: 0, slot: NONE, index: NONE };
}

/// How many orders there are.
const HEAPS: usize = 3;

/// A call in a heap.
#[derive(Clone, Copy, Debug)]
struct Item {
    key: u64,
    slot: u32,
}

/// The orders of waiting calls.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum By {
    /// First attempts, by priority and then by arrival.
    Place,
    /// Retries, by priority, then by attempts and then by arrival.
    Attempts,
    /// Calls with a deadline.
    Deadline,
}

/// The slots, in a growable list of the caller.
#[derive(Debug)]
pub(super) struct Heaps<T, const LIMITS: usize> {
    nodes: T,
    most: u32,
    /// The number of slots with a call.
    taken: u32,
    /// The number of calls in each heap.
    lengths: [u32; HEAPS],
    /// The waiting calls of each priority.
    load: [[Ahead; LIMITS]; PRIORITIES as usize],
    /// The first free slot.
    free: u32,
}

impl<T, const LIMITS: usize, P: 'static, C: Costs<LIMITS> + 'static> Heaps<T, LIMITS>
where
    T: DerefMut<Target = [Node<LIMITS, P, C>]> + Extend<Node<LIMITS, P, C>>,
{
    /// No calls, in an empty list.
    pub(super) const fn new(nodes: T, most: u32) -> Self {
        Self {
            nodes,
            most,
            taken: 0,
            lengths: [0; HEAPS],
            load: [[Ahead { calls: 0, cost: 0, unstated: 0 }; LIMITS]; PRIORITIES as usize],
            free: NONE,
        }
    }

    /// The slot with this number.
    pub(super) fn get(&self, slot: u32) -> Option<&Slot<LIMITS, P, C>> {
        self.nodes.get(slot as usize).map(|node| &node.slot)
    }

    /// The slot with this number, mutably.
    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut Slot<LIMITS, P, C>> {
        self.nodes.get_mut(slot as usize).map(|node| &mut node.slot)
    }

    /// Takes a free slot for a call with this place. `None` if there is no room. A call that `is_known`, because it
    /// was accepted before, always has room.
    pub(super) fn claim(&mut self, place: Place, is_known: bool) -> Option<u32> {
        let most = match place.priority() {
            _ if is_known => NONE,
            0 => self.most,
            _ => self.most.saturating_add(self.most.div_ceil(8)),
        };
        if self.taken >= most {
            return None;
        }
        if self.get(self.free).is_none() {
            self.free = u32::try_from(self.nodes.len()).unwrap_or(NONE);
            self.nodes.extend([Node::EMPTY]);
        }
        let Slot::Free { next } = *self.get(self.free)? else { return None };
        self.taken = self.taken.saturating_add(1);
        Some(mem::replace(&mut self.free, next))
    }

    /// Empties a slot, and returns its content.
    pub(super) fn vacate(&mut self, slot: u32) -> Slot<LIMITS, P, C> {
        let empty = Slot::Free { next: self.free };
        let Some(place) = self.get_mut(slot) else { return empty };
        let left = mem::replace(place, empty);
        self.free = slot;
        self.taken = self.taken.saturating_sub(1);
        left
    }

    /// The call in this slot starts waiting.
    pub(super) fn enter(&mut self, slot: u32) {
        let Some((&call, place)) = self.get(slot).and_then(Slot::waiting) else { return };
        self.weigh(&call, place, Ahead::add);
        match call.attempt {
            0 => self.insert(By::Place, Item { key: place.0, slot }),
            attempt => self.insert(By::Attempts, Item { key: place.again(attempt), slot }),
        }
        if call.deadline < Instant::MAX {
            self.insert(By::Deadline, Item { key: call.deadline.as_nanos(), slot });
        }
    }

    /// The call in this slot, if any, stops waiting.
    pub(super) fn leave(&mut self, slot: u32) {
        if let Some((&call, place)) = self.get(slot).and_then(Slot::waiting) {
            self.weigh(&call, place, Ahead::subtract);
        }
        for by in [By::Place, By::Attempts, By::Deadline] {
            self.remove(by, slot);
        }
    }

    /// The slot of the first call that waits; and the earliest deadline, with its slot. While the gate `is_failing`, a
    /// retry is behind all calls that have not been tried.
    pub(super) fn look(&self, is_failing: bool) -> (u32, (Instant, u32)) {
        let first = match (self.first(By::Place), self.first(By::Attempts)) {
            (Some(new), Some(retry)) if is_failing || new.key <= retry.key & !ATTEMPTS => Some(new),
            (new, retry) => retry.or(new),
        };
        let soonest = self.first(By::Deadline).map_or((Instant::MAX, NONE), |soonest| {
            (Instant::from_nanos(soonest.key), soonest.slot)
        });
        (first.map_or(NONE, |first| first.slot), soonest)
    }

    /// Whether a call that has not been tried waits before this place.
    pub(super) fn is_behind(&self, place: Place) -> bool {
        self.first(By::Place).is_some_and(|first| first.key < place.0)
    }

    /// The calls that wait, with this priority or a higher one.
    pub(super) fn ahead(&self, priority: u8) -> [Ahead; LIMITS] {
        let mut sums = [Ahead::default(); LIMITS];
        for load in self.load.iter().skip(priority.into()) {
            for (sum, load) in sums.iter_mut().zip(load) {
                sum.calls = sum.calls.saturating_add(load.calls);
                sum.cost = sum.cost.saturating_add(load.cost);
                sum.unstated = sum.unstated.saturating_add(load.unstated);
            }
        }
        sums
    }

    /// How many calls wait.
    pub(super) fn waiting(&self) -> u32 {
        self.len(By::Place).saturating_add(self.len(By::Attempts))
    }

    /// The first call of a heap.
    fn first(&self, by: By) -> Option<Item> {
        self.at(by, 0)
    }

    fn insert(&mut self, by: By, item: Item) {
        let index = self.len(by);
        self.set_len(by, index.saturating_add(1));
        self.rise(by, index, item);
    }

    /// Removes a call if it is in the heap.
    fn remove(&mut self, by: By, slot: u32) {
        let index = self.index_of(by, slot);
        let last = self.len(by).saturating_sub(1);
        if index != NONE
            && let Some(moved) = self.at(by, last)
        {
            self.set_index(by, slot, NONE);
            self.set_len(by, last);
            if index < last {
                let index = self.rise(by, index, moved);
                self.sink(by, index, moved);
            }
        }
    }

    /// Puts a call at `index`, or as far above as it belongs. Returns its final index.
    fn rise(&mut self, by: By, mut index: u32, item: Item) -> u32 {
        while index > 0 {
            let above = index.saturating_sub(1) / 2;
            match self.at(by, above) {
                Some(other) if item.key < other.key => self.put(by, index, other),
                _ => break,
            }
            index = above;
        }
        self.put(by, index, item);
        index
    }

    /// Puts a call at `index`, or as far below as it belongs.
    fn sink(&mut self, by: By, mut index: u32, item: Item) {
        loop {
            let mut below = index.saturating_mul(2).saturating_add(1);
            let right = below.saturating_add(1);
            let Some(mut other) = self.at(by, below) else { break };
            if let Some(one) = self.at(by, right)
                && one.key < other.key
            {
                (below, other) = (right, one);
            }
            if item.key <= other.key {
                break;
            }
            self.put(by, index, other);
            index = below;
        }
        self.put(by, index, item);
    }

    /// Adds a call to the load of its priority, or removes it.
    fn weigh(&mut self, call: &Call<LIMITS, C>, place: Place, count: fn(&mut Ahead, u32, bool)) {
        if let Some(load) = self.load.get_mut(usize::from(place.priority())) {
            for (index, load) in load.iter_mut().enumerate() {
                count(load, call.costs.of(index), call.estimated);
            }
        }
    }

    fn len(&self, by: By) -> u32 {
        self.lengths.get(by as usize).copied().unwrap_or(0)
    }

    fn set_len(&mut self, by: By, length: u32) {
        if let Some(len) = self.lengths.get_mut(by as usize) {
            *len = length;
        }
    }

    /// The call at `index` of a heap. `None` if the heap is shorter.
    fn at(&self, by: By, index: u32) -> Option<Item> {
        let link = self.link(by, index).filter(|_| index < self.len(by))?;
        Some(Item { key: link.key, slot: link.slot })
    }

    fn put(&mut self, by: By, index: u32, item: Item) {
        if let Some(link) = self.link_mut(by, index) {
            (link.key, link.slot) = (item.key, item.slot);
        }
        self.set_index(by, item.slot, index);
    }

    fn index_of(&self, by: By, slot: u32) -> u32 {
        self.link(by, slot).map_or(NONE, |link| link.index)
    }

    fn set_index(&mut self, by: By, slot: u32, index: u32) {
        if let Some(link) = self.link_mut(by, slot) {
            link.index = index;
        }
    }

    fn link(&self, by: By, node: u32) -> Option<&Link> {
        self.nodes.get(node as usize)?.links.get(by as usize)
    }

    fn link_mut(&mut self, by: By, node: u32) -> Option<&mut Link> {
        self.nodes.get_mut(node as usize)?.links.get_mut(by as usize)
    }
}
