//! The agenda: what happens next, by time and then in the order it was entered. It is the clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tidegate::Instant;

/// What happens.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// A thread asks its throttle whether its call may leave.
    Ask(u32),
    /// The call of a thread arrives at the server.
    Arrive(u32),
    /// The call of a thread comes back.
    Return(u32),
    /// A process looks whether calls it had no room for may leave now.
    Wake(u32),
    /// A stranger's call arrives at the server.
    Stranger,
}

/// The events to come.
///
/// Each entry is one number: time, then order of entry, then the event. Nearly every event enters
/// one other; so one that was taken stays on top until the next one replaces it, which saves half
/// of the work.
#[derive(Debug, Default)]
pub struct Agenda {
    heap: BinaryHeap<Reverse<u128>>,
    entered: u64,
    top_is_taken: bool,
}

const INDEX_BITS: u32 = 21;
const KIND_BITS: u32 = 3;
const ORDER_BITS: u32 = 64 - KIND_BITS - INDEX_BITS;

impl Agenda {
    /// Enters an event.
    pub fn enter(&mut self, at: Instant, event: Event) {
        let (kind, index) = match event {
            Event::Ask(index) => (0, index),
            Event::Arrive(index) => (1, index),
            Event::Return(index) => (2, index),
            Event::Wake(index) => (3, index),
            Event::Stranger => (4, 0),
        };
        debug_assert!(index >> INDEX_BITS == 0 && self.entered >> ORDER_BITS == 0);
        let low = self.entered << (KIND_BITS + INDEX_BITS) | kind << INDEX_BITS | u64::from(index);
        let entry = Reverse(u128::from(at.as_nanos()) << 64 | u128::from(low));
        self.entered += 1;
        if std::mem::take(&mut self.top_is_taken)
            && let Some(mut top) = self.heap.peek_mut()
        {
            *top = entry;
            return;
        }
        self.heap.push(entry);
    }

    /// Takes the next event, unless it lies after `until`.
    #[expect(clippy::cast_possible_truncation, reason = "the parts of a number")]
    pub fn take(&mut self, until: Instant) -> Option<(Instant, Event)> {
        if std::mem::take(&mut self.top_is_taken) {
            self.heap.pop();
        }
        let Reverse(entry) = *self.heap.peek()?;
        let at = Instant::from_nanos((entry >> 64) as u64);
        if at > until {
            return None;
        }
        self.top_is_taken = true;
        let low = entry as u64;
        let index = low as u32 & ((1 << INDEX_BITS) - 1);
        let event = match (low >> INDEX_BITS) & ((1 << KIND_BITS) - 1) {
            0 => Event::Ask(index),
            1 => Event::Arrive(index),
            2 => Event::Return(index),
            3 => Event::Wake(index),
            _ => Event::Stranger,
        };
        Some((at, event))
    }

    /// Whether nothing is to come at all.
    pub fn is_empty(&self) -> bool {
        self.heap.len() == usize::from(self.top_is_taken)
    }

    /// How many events were entered.
    pub const fn entered(&self) -> u64 {
        self.entered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_in_the_order_they_were_entered() {
        let mut agenda = Agenda::default();
        let at = Instant::from_nanos;
        agenda.enter(at(5), Event::Ask(9));
        agenda.enter(at(3), Event::Return(1));
        agenda.enter(at(5), Event::Arrive(2));
        assert_eq!(agenda.take(at(2)), None);
        assert_eq!(agenda.take(at(9)), Some((at(3), Event::Return(1))));
        // This one replaces the one taken, and comes after its contemporaries.
        agenda.enter(at(5), Event::Wake((1 << 21) - 1));
        assert_eq!(agenda.take(at(9)), Some((at(5), Event::Ask(9))));
        // This one does not wait for a replacement.
        assert_eq!(agenda.take(at(9)), Some((at(5), Event::Arrive(2))));
        assert!(!agenda.is_empty());
        assert_eq!(agenda.take(at(9)), Some((at(5), Event::Wake((1 << 21) - 1))));
        assert!(agenda.is_empty());
        assert_eq!(agenda.take(Instant::MAX), None);
    }
}
