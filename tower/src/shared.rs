//! State that all keys of a gate share: the clock, the settings, and the queue for a place in the
//! table of keys.

use std::collections::BTreeMap;
use std::mem::take;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use tidegate::Span;

use crate::timer::{Timer, span};

/// Settings and clock.
pub(crate) struct Shared<const LIMITS: usize, T: Timer> {
    pub(crate) timer: T,
    /// How it shares its budgets with other processes, if it does.
    #[cfg(feature = "local")]
    pub(crate) sharing: Option<crate::local::Sharing<LIMITS, T>>,
    pub(crate) line: Line,
    /// The maximum number of waiting calls per key.
    pub(crate) most_calls: u32,
    /// How long a decided call waits for its task to take the decision.
    pub(crate) take_within: Span,
}

impl<const LIMITS: usize, T: Timer> Shared<LIMITS, T> {
    pub(crate) fn patience(&self) -> Span {
        span(self.timer.patience())
    }
}

/// Calls that wait for a place in the table of keys, first come, first served.
#[derive(Debug, Default)]
pub(crate) struct Line {
    waiting: Mutex<Waiting>,
    /// How many wait. It is set before a call looks for a place, and read after one was freed.
    count: AtomicUsize,
}

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    wakers: BTreeMap<u64, Waker>,
    /// The keys that the table keeps, although their last calls have ended.
    returned: Vec<Arc<str>>,
}

impl Line {
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    /// Joins, and returns the call's number.
    pub(crate) fn join(&self, waker: &Waker) -> u64 {
        let mut waiting = self.lock();
        let number = waiting.next;
        waiting.next += 1;
        waiting.wakers.insert(number, waker.clone());
        self.count.store(waiting.wakers.len(), Ordering::SeqCst);
        number
    }

    /// Stores the latest waker of a call. Returns whether it is first.
    pub(crate) fn is_first(&self, number: u64, waker: &Waker) -> bool {
        let mut waiting = self.lock();
        let before = waiting.wakers.insert(number, waker.clone());
        let first = waiting.wakers.first_key_value().map(|(first, _)| *first);
        drop(waiting);
        // Its task, and with it another call, may end with it.
        drop(before);
        first == Some(number)
    }

    /// Leaves the queue. The next call may also find a place.
    pub(crate) fn leave(&self, number: u64) {
        let left = {
            let mut waiting = self.lock();
            let left = waiting.wakers.remove(&number);
            self.count.store(waiting.wakers.len(), Ordering::SeqCst);
            left
        };
        drop(left);
        self.wake_first(None);
    }

    /// Wakes the first call, because a place may be free: that of a key that is `returned`.
    pub(crate) fn wake_first(&self, returned: Option<Arc<str>>) {
        if returned.is_none() && self.is_empty() {
            return;
        }
        let first = {
            let mut waiting = self.lock();
            waiting.returned.extend(returned);
            waiting.wakers.first_key_value().map(|(_, waker)| waker.clone())
        };
        if let Some(waker) = first {
            waker.wake();
        }
    }

    /// Takes the returned keys.
    pub(crate) fn returned(&self) -> Vec<Arc<str>> {
        take(&mut self.lock().returned)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
