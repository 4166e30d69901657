//! The event queue, ordered by time and then by order of entry. It is the simulator's clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tidegate::Instant;

use crate::order::sort_few;

/// An event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// A thread polls its throttle.
    Poll(u32),
    /// A thread's call arrives at the server.
    Arrive(u32),
    /// A thread's call returns.
    Return(u32),
    /// A process checks whether calls that found no room may be sent now.
    Wake(u32),
    /// A background call arrives at the server.
    Stranger,
}

/// The pending events.
///
/// An entry is one number: time, order of entry, and event. Most events are less than a round trip
/// ahead, so the queue is a timing wheel of pages of about a millisecond. Events are added to their
/// page unsorted, and a page is sorted when it is opened. A heap holds events beyond the wheel.
#[derive(Debug)]
pub struct Agenda {
    /// The current page and entries for the past, with the next event last.
    open: Vec<u128>,
    /// The number of the current page.
    page: u64,
    wheel: Vec<Vec<u128>>,
    /// One bit per page of the wheel, set if the page is not empty.
    written: [u64; (PAGES / 64) as usize],
    later: BinaryHeap<Reverse<u128>>,
    entered: u64,
}

const PAGES: u64 = 256;
const PAGE_BITS: u32 = 20;
const INDEX_BITS: u32 = 21;
const KIND_BITS: u32 = 3;
const ORDER_BITS: u32 = 64 - KIND_BITS - INDEX_BITS;

impl Agenda {
    /// Creates an empty queue.
    pub fn new() -> Self {
        Self {
            open: Vec::new(),
            page: 0,
            wheel: (0..PAGES).map(|_| Vec::new()).collect(),
            written: [0; (PAGES / 64) as usize],
            later: BinaryHeap::new(),
            entered: 0,
        }
    }

    /// Adds an event.
    pub fn enter(&mut self, at: Instant, event: Event) {
        let entry = pack(at, self.entered, event);
        self.entered += 1;
        let page = page_of(entry);
        if page <= self.page {
            let index = self.open.partition_point(|other| *other > entry);
            self.open.insert(index, entry);
        } else if page - self.page < PAGES {
            let slot = page % PAGES;
            self.wheel[slot as usize].push(entry);
            self.written[(slot / 64) as usize] |= 1 << (slot % 64);
        } else {
            self.later.push(Reverse(entry));
        }
    }

    /// Removes the next event, unless it is later than `until`.
    pub fn take(&mut self, until: Instant) -> Option<(Instant, Event)> {
        while self.open.is_empty() {
            self.turn()?;
        }
        let (at, event) = unpack(*self.open.last()?);
        if at > until {
            return None;
        }
        self.open.pop();
        Some((at, event))
    }

    /// Opens the next page that has events. `None` if there is none.
    fn turn(&mut self) -> Option<()> {
        let on_wheel = self.next_on_wheel();
        let later = self.later.peek().map(|entry| page_of(entry.0));
        self.page = on_wheel.into_iter().chain(later).min()?;
        if on_wheel == Some(self.page) {
            let slot = self.page % PAGES;
            std::mem::swap(&mut self.open, &mut self.wheel[slot as usize]);
            self.written[(slot / 64) as usize] &= !(1 << (slot % 64));
        }
        while let Some(&Reverse(entry)) = self.later.peek()
            && page_of(entry) == self.page
        {
            self.open.push(entry);
            self.later.pop();
        }
        if cfg!(feature = "full") {
            self.open.sort_unstable_by(|one, other| other.cmp(one));
        } else {
            // Worlds of the web page are small, and code size matters there.
            sort_few(&mut self.open, |one, other| one > other);
        }
        Some(())
    }

    /// The next page of the wheel that has events.
    fn next_on_wheel(&self) -> Option<u64> {
        let from = self.page + 1;
        // The rest of the word that contains `from`, the other words, then the start of the first
        // one.
        let words = PAGES / 64;
        (0..=words).find_map(|step| {
            let word = (from / 64 + step) % words;
            let first = if step == 0 { from % 64 } else { 0 };
            let bits = self.written[word as usize] >> first << first;
            let page = (from / 64 + step) * 64 + u64::from(bits.trailing_zeros());
            (bits != 0 && page < self.page + PAGES).then_some(page)
        })
    }

    /// Whether no event is pending.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty() && self.written == [0; 4] && self.later.is_empty()
    }

    /// How many events were added.
    pub const fn entered(&self) -> u64 {
        self.entered
    }
}

impl Default for Agenda {
    fn default() -> Self {
        Self::new()
    }
}

const fn page_of(entry: u128) -> u64 {
    (entry >> (64 + PAGE_BITS)) as u64
}

fn pack(at: Instant, order: u64, event: Event) -> u128 {
    let (kind, index) = match event {
        Event::Poll(index) => (0, index),
        Event::Arrive(index) => (1, index),
        Event::Return(index) => (2, index),
        Event::Wake(index) => (3, index),
        Event::Stranger => (4, 0),
    };
    debug_assert!(index >> INDEX_BITS == 0 && order >> ORDER_BITS == 0);
    let low = order << (KIND_BITS + INDEX_BITS) | kind << INDEX_BITS | u64::from(index);
    u128::from(at.as_nanos()) << 64 | u128::from(low)
}

#[expect(clippy::cast_possible_truncation, reason = "the parts of a number")]
const fn unpack(entry: u128) -> (Instant, Event) {
    let low = entry as u64;
    let index = low as u32 & ((1 << INDEX_BITS) - 1);
    let event = match (low >> INDEX_BITS) & ((1 << KIND_BITS) - 1) {
        0 => Event::Poll(index),
        1 => Event::Arrive(index),
        2 => Event::Return(index),
        3 => Event::Wake(index),
        _ => Event::Stranger,
    };
    (Instant::from_nanos((entry >> 64) as u64), event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::{Chance, Stream};
    use std::collections::BTreeMap;
    use tidegate::Span;

    #[test]
    fn events_are_ordered_by_time_and_then_by_entry() {
        let mut agenda = Agenda::new();
        let at = Instant::from_nanos;
        agenda.enter(at(5), Event::Poll(9));
        agenda.enter(at(3), Event::Return((1 << 21) - 1));
        agenda.enter(at(5), Event::Arrive(2));
        agenda.enter(Instant::MAX, Event::Stranger);
        assert_eq!(agenda.take(at(2)), None);
        assert_eq!(agenda.take(at(9)), Some((at(3), Event::Return((1 << 21) - 1))));
        agenda.enter(at(5), Event::Wake(0));
        for event in [Event::Poll(9), Event::Arrive(2), Event::Wake(0)] {
            assert_eq!(agenda.take(at(9)), Some((at(5), event)));
        }
        assert_eq!(agenda.take(at(9)), None);
        assert!(!agenda.is_empty());
        assert_eq!(agenda.take(Instant::MAX), Some((Instant::MAX, Event::Stranger)));
        assert!(agenda.is_empty());
    }

    #[test]
    fn the_wheel_agrees_with_a_sorted_map_at_any_distance() {
        let mut chance = Chance::new(1, Stream::Server);
        let (mut agenda, mut map) = (Agenda::new(), BTreeMap::new());
        let mut now = Instant::ZERO;
        for order in 0..200_000 {
            // Delays from zero to about an hour, log-uniform.
            let reach = 1 << chance.between(Span::ZERO, Span::from_nanos(42)).as_nanos();
            let at = now.saturating_add(chance.between(Span::ZERO, Span::from_nanos(reach)));
            agenda.enter(at, Event::Poll(order));
            map.insert((at, order), ());
            if order % 5 > 0 || map.len() > 100 {
                let Some(((at, order), ())) = map.pop_first() else { continue };
                // A call that comes too early changes nothing.
                if order % 7 == 0 && at > now {
                    assert_eq!(agenda.take(now), None);
                }
                assert_eq!(agenda.take(at), Some((at, Event::Poll(order))));
                now = at;
            }
        }
        assert_eq!(agenda.is_empty(), map.is_empty());
    }
}
