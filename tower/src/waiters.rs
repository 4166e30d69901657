//! The wakers of waiting calls, and which of them watches the clock.

use std::collections::hash_map::RandomState;
use std::task::Waker;

use hashlink::LinkedHashMap;
use tidegate::queue::Ticket;
use tidegate::{Instant, Span};

/// How long a waiting call relies on the timer of another one, whose future may no longer be polled.
const PATIENCE: Span = Span::from_secs(1);

/// The waiting calls, in the order in which they began to wait.
///
/// One waiter, the watcher, has a timer for the next check of the queue. Only it is woken by the
/// passing of time. If it leaves or is late, because its future may no longer be polled, another
/// one takes over.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    calls: LinkedHashMap<Ticket, Waiter, RandomState>,
    watcher: Option<Watcher>,
}

#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) waker: Waker,
    /// How long the call may take to take its permit.
    pub(crate) within: Span,
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
        within: Span,
        now: Instant,
        until: Instant,
    ) -> (Instant, Option<Waiter>) {
        let before = match self.calls.get(&ticket) {
            Some(before) if before.waker.will_wake(waker) => None,
            _ => self.calls.insert(ticket, Waiter { waker: waker.clone(), within }),
        };
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

    /// Removes a call. `None` if it has been woken.
    pub(crate) fn leave(&mut self, ticket: Ticket) -> Option<Waiter> {
        if self.watcher.is_some_and(|watcher| watcher.ticket == ticket) {
            self.watcher = None;
        }
        self.calls.remove(&ticket)
    }

    /// Returns the call that must reset its timer, because the queue must be polled at `until`.
    /// `None` if the watcher's timer is early enough.
    pub(crate) fn watch(&mut self, now: Instant, until: Instant) -> Option<Waiter> {
        let ticket = match self.watcher {
            Some(watcher) if watcher.by + PATIENCE > now => {
                if watcher.by <= until {
                    return None;
                }
                watcher.ticket
            }
            // The newest one probably stays longest.
            _ => *self.calls.back()?.0,
        };
        self.watcher = Some(Watcher { ticket, by: now });
        self.calls.remove(&ticket)
    }

    #[cfg(feature = "local")]
    pub(crate) fn all(&mut self) -> Vec<Waker> {
        self.watcher = None;
        self.calls.drain().map(|(_, call)| call.waker).collect()
    }
}
