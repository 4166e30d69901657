//! The wakers of waiting calls, and which of them watches the clock.

#[cfg(feature = "local")]
use std::mem::take;
use std::task::Waker;

use tidegate::Instant;
use tidegate::queue::Ticket;

use crate::timer::PATIENCE;

/// Wakers by the slots of their calls.
///
/// One waiter, the watcher, has a timer for the next check of the queue. Only it is woken by the
/// passing of time. If it leaves or is late, because its future may no longer be polled, another
/// one takes over.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    slots: Vec<Option<Place>>,
    /// The calls with a waker, unordered.
    present: Vec<Ticket>,
    watcher: Option<Watcher>,
}

#[derive(Debug)]
struct Place {
    ticket: Ticket,
    waker: Waker,
    /// The index of the call in `present`.
    index: usize,
}

#[derive(Clone, Copy, Debug)]
struct Watcher {
    ticket: Ticket,
    /// The latest time at which it is polled, if its future still is.
    by: Instant,
}

impl Waiters {
    /// Registers a waiting call. Returns when its own timer should fire, and its previous waker.
    pub(crate) fn wait(
        &mut self,
        ticket: Ticket,
        waker: &Waker,
        now: Instant,
        until: Instant,
    ) -> (Instant, Option<Waker>) {
        let before = self.put(ticket, waker);
        let watches = match self.watcher {
            Some(watcher) => watcher.ticket == ticket || watcher.by + PATIENCE <= now,
            None => true,
        };
        if watches {
            self.watcher = Some(Watcher { ticket, by: until });
            return (until, before);
        }
        (now + PATIENCE, before)
    }

    /// Removes a call. Returns its waker, if it has not been woken yet.
    pub(crate) fn leave(&mut self, ticket: Ticket) -> Option<Waker> {
        if self.watcher.is_some_and(|watcher| watcher.ticket == ticket) {
            self.watcher = None;
        }
        self.take(ticket)
    }

    /// Returns the waker of the call that must reset its timer, because the queue must be polled at
    /// `until`. `None` if the watcher's timer is early enough.
    pub(crate) fn watch(&mut self, now: Instant, until: Instant) -> Option<Waker> {
        let ticket = match self.watcher {
            Some(watcher) if watcher.by + PATIENCE > now => {
                if watcher.by <= until {
                    return None;
                }
                watcher.ticket
            }
            // The newest one probably stays longest.
            _ => *self.present.last()?,
        };
        self.watcher = Some(Watcher { ticket, by: now });
        self.take(ticket)
    }

    /// Removes all calls.
    #[cfg(feature = "local")]
    pub(crate) fn all(&mut self) -> Vec<Waker> {
        let Self { slots, .. } = take(self);
        slots.into_iter().flatten().map(|place| place.waker).collect()
    }

    fn put(&mut self, ticket: Ticket, waker: &Waker) -> Option<Waker> {
        let slot = ticket.slot();
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, || None);
        }
        match &mut self.slots[slot] {
            Some(place) if place.ticket == ticket => {
                let is_new = !place.waker.will_wake(waker);
                is_new.then(|| std::mem::replace(&mut place.waker, waker.clone()))
            }
            place => {
                let index = self.present.len();
                *place = Some(Place { ticket, waker: waker.clone(), index });
                self.present.push(ticket);
                None
            }
        }
    }

    fn take(&mut self, ticket: Ticket) -> Option<Waker> {
        let place = self.slots.get_mut(ticket.slot())?;
        let Place { waker, index, .. } = place.take_if(|place| place.ticket == ticket)?;
        self.present.swap_remove(index);
        if let Some(moved) = self.present.get(index)
            && let Some(place) = &mut self.slots[moved.slot()]
        {
            place.index = index;
        }
        Some(waker)
    }
}
