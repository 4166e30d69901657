//! An event queue, ordered by time and then by order of entry.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use tidegate::Instant;

/// The pending events.
#[derive(Debug)]
pub struct Agenda<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    entered: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at: Instant,
    number: u64,
    event: E,
}

impl<E> Default for Agenda<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), entered: 0 }
    }
}

impl<E> Agenda<E> {
    /// Adds an event.
    pub fn enter(&mut self, at: Instant, event: E) {
        self.entered += 1;
        self.heap.push(Reverse(Entry { at, number: self.entered, event }));
    }

    /// Removes the next event.
    pub fn take(&mut self) -> Option<(Instant, E)> {
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.event))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
