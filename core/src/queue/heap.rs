//! Binary heaps whose arrays are spread over the slots, so that a call can be removed at any time.

use core::mem;
use core::ops::DerefMut;

use super::gate::Ahead;
use super::storage::{NONE, Slot, State, Storage, TICK};
use super::{ATTEMPTS, PRIORITIES, Place};
use crate::time::Instant;

/// A slot of [`Growing`] with its part of the heaps.
#[derive(Debug)]
pub struct Node<const LIMITS: usize = 1> {
    slot: Slot<LIMITS>,
    links: [Link; HEAPS],
}

impl<const LIMITS: usize> Node<LIMITS> {
    /// A node without a call.
    pub const EMPTY: Self = Self { slot: Slot::EMPTY, links: [Link::EMPTY; HEAPS] };
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
const HEAPS: usize = 4;

/// A call in a heap.
#[derive(Clone, Copy, Debug)]
struct Call {
    key: u64,
    slot: u32,
}

/// The orders of waiting calls.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum By {
    /// First attempts that wait for their turn, by priority and then by arrival.
    Place,
    /// Retries that wait for their turn, by priority, then by attempts and then by arrival.
    Attempts,
    /// Those with a deadline.
    Deadline,
    /// Calls that wait for the end of their backoff.
    Backoff,
}

/// A growable list of the caller, usually a `Vec`, with an index for many calls.
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
    /// The number of slots with a call.
    taken: u32,
    /// The number of calls in each heap.
    lengths: [u32; HEAPS],
    /// The calls of each priority that wait for their turn.
    load: [[Ahead; LIMITS]; PRIORITIES as usize],
    /// The first free slot.
    free: u32,
}

impl<T, const LIMITS: usize> Growing<T, LIMITS> {
    /// An empty list with room for `most` calls, and an eighth more for those with a priority above
    /// 0. Retries may exceed it, because they were admitted before.
    pub const fn new(empty: T, most: u32) -> Self {
        Self {
            nodes: empty,
            most,
            taken: 0,
            lengths: [0; HEAPS],
            load: [[Ahead { calls: 0, cost: 0, unstated: 0 }; LIMITS]; PRIORITIES as usize],
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

    fn claim(&mut self, place: Place, is_retry: bool) -> Option<u32> {
        let most = match place.priority() {
            _ if is_retry => NONE,
            0 => self.most,
            _ => self.most.saturating_add(self.most.div_ceil(8)),
        };
        if self.taken >= most {
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
            Some(&Slot(State::Waiting { not_before, .. })) if not_before > Instant::ZERO => {
                self.insert(By::Backoff, Call { key: not_before.as_nanos(), slot });
            }
            _ => self.make_ready(slot),
        }
    }

    fn leave(&mut self, slot: u32) {
        if self.index_of(By::Backoff, slot) == NONE {
            self.weigh(slot, Ahead::subtract);
        }
        for by in [By::Place, By::Attempts, By::Deadline, By::Backoff] {
            self.remove(by, slot);
        }
    }

    fn look(&mut self, now: Instant, is_failing: bool) -> (u32, Instant) {
        let mut next = u64::MAX;
        while let Some(Call { key, slot }) = self.first(By::Backoff) {
            if key > now.as_nanos() {
                next = key;
                break;
            }
            if let Some(Slot(State::Waiting { not_before, .. })) = self.get_mut(slot) {
                *not_before = Instant::ZERO;
            }
            self.remove(By::Backoff, slot);
            self.make_ready(slot);
        }
        if let Some(soonest) = self.first(By::Deadline) {
            next = next.min(soonest.key.saturating_add(TICK.as_nanos()));
        }
        let next = Instant::from_nanos(next);
        let first = match (self.first(By::Place), self.first(By::Attempts)) {
            (Some(new), Some(retry)) => {
                let place = Place(retry.key & !ATTEMPTS);
                if place.comes_before(Place(new.key), is_failing) { retry } else { new }
            }
            (one, other) => return (one.or(other).map_or(NONE, |one| one.slot), next),
        };
        (first.slot, next)
    }

    fn late(&self, reach: Instant) -> Option<u32> {
        let soonest = self.first(By::Deadline)?;
        (soonest.key < reach.as_nanos()).then_some(soonest.slot)
    }

    fn is_behind(&self, place: Place) -> bool {
        self.first(By::Place).is_some_and(|first| first.key < place.0)
    }

    fn ahead(&self, priority: u8) -> [Ahead; LIMITS] {
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

    fn waiting(&self) -> u32 {
        [By::Place, By::Attempts, By::Backoff]
            .into_iter()
            .fold(0, |count, by| count.saturating_add(self.len(by)))
    }
}

impl<T, const LIMITS: usize> Growing<T, LIMITS>
where
    T: DerefMut<Target = [Node<LIMITS>]> + Extend<Node<LIMITS>>,
{
    /// A call waits for its turn from now on.
    fn make_ready(&mut self, slot: u32) {
        if let Some(&Slot(State::Waiting { place, deadline, attempt, .. })) = self.get(slot) {
            self.weigh(slot, Ahead::add);
            match attempt {
                0 => self.insert(By::Place, Call { key: place.0, slot }),
                _ => self.insert(By::Attempts, Call { key: place.again(attempt), slot }),
            }
            if deadline < Instant::MAX {
                self.insert(By::Deadline, Call { key: deadline.as_nanos(), slot });
            }
        }
    }

    /// The first call of a heap.
    fn first(&self, by: By) -> Option<Call> {
        self.at(by, 0)
    }

    fn insert(&mut self, by: By, call: Call) {
        let index = self.len(by);
        self.set_len(by, index.saturating_add(1));
        self.rise(by, index, call);
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
    fn rise(&mut self, by: By, mut index: u32, call: Call) -> u32 {
        while index > 0 {
            let above = index.saturating_sub(1) / 2;
            match self.at(by, above) {
                Some(other) if call.key < other.key => self.put(by, index, other),
                _ => break,
            }
            index = above;
        }
        self.put(by, index, call);
        index
    }

    /// Puts a call at `index`, or as far below as it belongs.
    fn sink(&mut self, by: By, mut index: u32, call: Call) {
        loop {
            let mut below = index.saturating_mul(2).saturating_add(1);
            let right = below.saturating_add(1);
            let Some(mut other) = self.at(by, below) else { break };
            if let Some(one) = self.at(by, right)
                && one.key < other.key
            {
                (below, other) = (right, one);
            }
            if call.key <= other.key {
                break;
            }
            self.put(by, index, other);
            index = below;
        }
        self.put(by, index, call);
    }

    /// Adds a call to the load of its priority, or removes it.
    fn weigh(&mut self, slot: u32, count: fn(&mut Ahead, u32, bool)) {
        let Some(&Slot(State::Waiting { place, costs, estimated, .. })) = self.get(slot) else {
            return;
        };
        let priority = place.priority();
        if let Some(load) = self.load.get_mut(usize::from(priority)) {
            for (load, cost) in load.iter_mut().zip(costs) {
                count(load, cost, estimated);
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
    fn at(&self, by: By, index: u32) -> Option<Call> {
        let link = self.link(by, index).filter(|_| index < self.len(by))?;
        Some(Call { key: link.key, slot: link.slot })
    }

    fn put(&mut self, by: By, index: u32, call: Call) {
        if let Some(link) = self.link_mut(by, index) {
            (link.key, link.slot) = (call.key, call.slot);
        }
        self.set_index(by, call.slot, index);
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
