//! The line: who waits, in the order in which they came.

use core::task::Waker;

/// A place in the order of arrival. It is a call's own for all its attempts, so a retry goes before
/// the calls that came after it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Ticket(u32);

impl Ticket {
    /// Numbers wrap: of two that are in use at a time, the one is less than 2^31 behind the other.
    const fn is_before(self, other: Self) -> bool {
        self.0.wrapping_sub(other.0) > u32::MAX / 2
    }
}

/// The tasks that wait, each with the key that it waits for.
#[derive(Debug)]
pub(crate) struct Line<K, const PLACES: usize> {
    places: [Option<Waiter<K>>; PLACES],
    next: u32,
}

#[derive(Debug)]
struct Waiter<K> {
    key: K,
    ticket: Ticket,
    waker: Waker,
}

impl<K: Clone + Eq, const PLACES: usize> Line<K, PLACES> {
    pub(crate) const fn new() -> Self {
        const { assert!(PLACES > 0, "a line has room for one task at least") };
        Self { places: [const { None }; PLACES], next: 0 }
    }

    /// The ticket of a call that has just come.
    pub(crate) const fn ticket(&mut self) -> Ticket {
        let ticket = Ticket(self.next);
        self.next = self.next.wrapping_add(1);
        ticket
    }

    /// Whether anybody waits for `key`.
    pub(crate) fn is_for(&self, key: &K) -> bool {
        self.waiters().any(|waiter| waiter.key == *key)
    }

    /// How many who wait for the same key came before.
    pub(crate) fn ahead(&self, key: &K, ticket: Ticket) -> u32 {
        let before = |waiter: &&Waiter<K>| waiter.key == *key && waiter.ticket.is_before(ticket);
        self.waiters().filter(before).fold(0, |count, _| count.saturating_add(1))
    }

    /// Takes a place, or keeps the one it has; `false` where there is none left.
    pub(crate) fn join(&mut self, key: &K, ticket: Ticket, waker: &Waker) -> bool {
        if let Some(waiter) = self.places.iter_mut().flatten().find(|w| w.ticket == ticket) {
            waiter.waker.clone_from(waker);
            return true;
        }
        let Some(place) = self.places.iter_mut().find(|place| place.is_none()) else {
            return false;
        };
        *place = Some(Waiter { key: key.clone(), ticket, waker: waker.clone() });
        true
    }

    /// Gives the place back, if it has one.
    pub(crate) fn leave(&mut self, ticket: Ticket) {
        for place in &mut self.places {
            if place.as_ref().is_some_and(|waiter| waiter.ticket == ticket) {
                *place = None;
            }
        }
    }

    /// Wakes whoever is first of those that wait for `key`.
    pub(crate) fn wake_first(&self, key: &K) {
        let mut first: Option<&Waiter<K>> = None;
        for waiter in self.waiters().filter(|waiter| waiter.key == *key) {
            if first.is_none_or(|first| waiter.ticket.is_before(first.ticket)) {
                first = Some(waiter);
            }
        }
        if let Some(first) = first {
            first.waker.wake_by_ref();
        }
    }

    /// Wakes everybody.
    pub(crate) fn wake_all(&self) {
        self.waiters().for_each(|waiter| waiter.waker.wake_by_ref());
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.waiters().fold(0, |count, _| count.saturating_add(1))
    }

    fn waiters(&self) -> impl Iterator<Item = &Waiter<K>> {
        self.places.iter().flatten()
    }
}
