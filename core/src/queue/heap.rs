//! Binary heaps whose arrays lie in the slots: a call can be removed from any of them at any time.

use core::mem;
use core::ops::DerefMut;

use super::PRIORITIES;
use super::gate::Ahead;
use super::storage::{NONE, Slot, State, Storage};
use crate::time::Instant;

/// A slot of [`Growing`], with its part of the heaps.
#[derive(Debug)]
pub struct Node<const LIMITS: usize = 1> {
    slot: Slot<LIMITS>,
    links: [Link; 3],
}

impl<const LIMITS: usize> Node<LIMITS> {
    /// One without a call.
    pub const EMPTY: Self =
        Self { slot: Slot::EMPTY, links: [const { Link { call: NONE, index: NONE } }; 3] };
}

/// The array of a heap is spread over the nodes.
#[derive(Debug)]
struct Link {
    /// The slot of the call at this index of the heap.
    call: u32,
    /// The index of this slot's call.
    index: u32,
}

/// The orders of the calls that wait.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum By {
    /// Those that wait for their turn, by priority and then by arrival.
    Place,
    /// Those of them that have a deadline.
    Deadline,
    /// Those that wait for their backoff to end.
    Backoff,
}

/// A list of the caller's that grows, a `Vec` as a rule, with an index for many calls.
///
/// ```
/// use tidegate::queue::{Growing, Queue};
///
/// let queue: Queue<_> = Queue::new(Growing::new(Vec::new(), 10_000));
/// assert_eq!(queue.waiting(), 0);
/// ```
#[derive(Debug)]
pub struct Growing<T, const LIMITS: usize = 1> {
    nodes: T,
    most: u32,
    /// How many slots have a call.
    taken: u32,
    /// How many calls each heap has.
    lengths: [u32; 3],
    /// The calls of each priority that wait for their turn.
    load: [[Ahead; LIMITS]; PRIORITIES as usize],
    /// The first slot without a call.
    free: u32,
}

impl<T, const LIMITS: usize> Growing<T, LIMITS> {
    /// An empty list, with room for `most` calls. Retries may exceed it: they were admitted before.
    pub const fn new(empty: T, most: u32) -> Self {
        Self {
            nodes: empty,
            most,
            taken: 0,
            lengths: [0; 3],
            load: [[Ahead { calls: 0, cost: 0 }; LIMITS]; PRIORITIES as usize],
            free: NONE,
        }
    }
}

impl<T, const LIMITS: usize> Storage<LIMITS> for Growing<T, LIMITS>
where
    T: DerefMut<Target = [Node<LIMITS>]> + Extend<Node<LIMITS>>,
{
    fn slots(&self) -> u32 {
        u32::try_from(self.nodes.len()).unwrap_or(NONE)
    }

    fn get(&self, slot: u32) -> Option<&Slot<LIMITS>> {
        self.nodes.get(slot as usize).map(|node| &node.slot)
    }

    fn get_mut(&mut self, slot: u32) -> Option<&mut Slot<LIMITS>> {
        self.nodes.get_mut(slot as usize).map(|node| &mut node.slot)
    }

    fn claim(&mut self, is_retry: bool) -> Option<u32> {
        if self.taken >= if is_retry { NONE } else { self.most } {
            return None;
        }
        if self.get(self.free).is_none() {
            self.free = self.slots();
            self.nodes.extend([Node::EMPTY]);
        }
        let Slot(State::Free { next }) = *self.get(self.free)? else { return None };
        self.taken = self.taken.saturating_add(1);
        Some(mem::replace(&mut self.free, next))
    }

    fn vacate(&mut self, slot: u32) -> Slot<LIMITS> {
        let empty = Slot(State::Free { next: self.free });
        let Some(place) = self.get_mut(slot) else { return empty };
        let left = mem::replace(place, empty);
        self.free = slot;
        self.taken = self.taken.saturating_sub(1);
        left
    }

    fn enter(&mut self, slot: u32) {
        match self.get(slot) {
            Some(Slot(State::Waiting { not_before: Instant::ZERO, .. })) => self.make_ready(slot),
            _ => self.insert(By::Backoff, slot),
        }
    }

    fn leave(&mut self, slot: u32) {
        if self.index_of(By::Place, slot) != NONE {
            self.weigh(slot, Ahead::subtract);
        }
        for by in [By::Place, By::Deadline, By::Backoff] {
            self.remove(by, slot);
        }
    }

    fn look(&mut self, now: Instant) -> (u32, Instant) {
        let mut next = Instant::MAX;
        while let Some(slot) = self.first(By::Backoff)
            && let Some(Slot(State::Waiting { not_before, .. })) = self.get_mut(slot)
        {
            if *not_before > now {
                next = *not_before;
                break;
            }
            *not_before = Instant::ZERO;
            self.remove(By::Backoff, slot);
            self.make_ready(slot);
        }
        let soonest = self.first(By::Deadline).and_then(|slot| self.key(By::Deadline, slot));
        let next = next.min(soonest.map_or(Instant::MAX, Instant::from_nanos));
        (self.first(By::Place).unwrap_or(NONE), next)
    }

    fn late(&self, reach: Instant) -> Option<u32> {
        let soonest = self.first(By::Deadline)?;
        (self.key(By::Deadline, soonest)? < reach.as_nanos()).then_some(soonest)
    }

    fn ahead(&self, priority: u8) -> [Ahead; LIMITS] {
        let mut sums = [Ahead::default(); LIMITS];
        for load in self.load.iter().skip(priority.into()) {
            for (sum, load) in sums.iter_mut().zip(load) {
                sum.calls = sum.calls.saturating_add(load.calls);
                sum.cost = sum.cost.saturating_add(load.cost);
            }
        }
        sums
    }

    fn waiting(&self) -> u32 {
        self.len(By::Place).saturating_add(self.len(By::Backoff))
    }
}

impl<T, const LIMITS: usize> Growing<T, LIMITS>
where
    T: DerefMut<Target = [Node<LIMITS>]> + Extend<Node<LIMITS>>,
{
    /// A call waits for its turn from now on.
    fn make_ready(&mut self, slot: u32) {
        self.weigh(slot, Ahead::add);
        self.insert(By::Place, slot);
        if matches!(self.get(slot), Some(Slot(State::Waiting { deadline, .. })) if *deadline < Instant::MAX)
        {
            self.insert(By::Deadline, slot);
        }
    }

    /// The slot of the first call of a heap.
    fn first(&self, by: By) -> Option<u32> {
        if self.len(by) > 0 { Some(self.at(by, 0)) } else { None }
    }

    fn insert(&mut self, by: By, slot: u32) {
        let index = self.len(by);
        self.set_len(by, index.saturating_add(1));
        self.rise(by, index, slot);
    }

    /// Removes a call, where it is in the heap.
    fn remove(&mut self, by: By, slot: u32) {
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

    fn is_before(&self, by: By, one: u32, two: u32) -> bool {
        self.key(by, one) < self.key(by, two)
    }

    fn key(&self, by: By, slot: u32) -> Option<u64> {
        match self.get(slot) {
            Some(Slot(State::Waiting { place, deadline, not_before, .. })) => Some(match by {
                By::Place => place.0,
                By::Deadline => deadline.as_nanos(),
                By::Backoff => not_before.as_nanos(),
            }),
            _ => None, // not reached: the calls of a heap wait
        }
    }

    /// Adds a call to the load of its priority, or takes it away.
    fn weigh(&mut self, slot: u32, count: fn(&mut Ahead, u32)) {
        let Some(Slot(State::Waiting { place, costs, .. })) = self.get(slot) else { return };
        let (priority, costs) = (place.priority(), *costs);
        if let Some(load) = self.load.get_mut(usize::from(priority)) {
            for (load, cost) in load.iter_mut().zip(costs) {
                count(load, cost);
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

    /// The slot of the call at `index` of a heap.
    fn at(&self, by: By, index: u32) -> u32 {
        self.link(by, index).map_or(NONE, |link| link.call)
    }

    fn put(&mut self, by: By, index: u32, slot: u32) {
        if let Some(link) = self.link_mut(by, index) {
            link.call = slot;
        }
        self.set_index(by, slot, index);
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
