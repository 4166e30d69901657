//! The event queue, ordered by time and then by order of entry. It is the simulator's clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tidegate::Instant;

#[derive(Debug)]
pub struct Agenda<E> {
    /// The events, each after its time and the order of its entry in one number, which is fast to
    /// compare.
    entries: BinaryHeap<Reverse<(u128, E)>>,
    entered: u64,
}

impl<E: Ord> Agenda<E> {
    pub const fn new() -> Self {
        Self { entries: BinaryHeap::new(), entered: 0 }
    }

    pub fn enter(&mut self, at: Instant, event: E) {
        let key = u128::from(at.as_nanos()) << 64 | u128::from(self.entered);
        self.entries.push(Reverse((key, event)));
        self.entered += 1;
    }

    /// Removes the next event, unless it is later than `until`.
    pub fn take(&mut self, until: Instant) -> Option<(Instant, E)> {
        let at = Instant::from_nanos((self.entries.peek()?.0.0 >> 64) as u64);
        if at > until {
            return None;
        }
        self.entries.pop().map(|Reverse((_, event))| (at, event))
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub const fn entered(&self) -> u64 {
        self.entered
    }
}
