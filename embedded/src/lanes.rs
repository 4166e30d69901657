//! The tasks that wait: a queue for each key, and their wakers.

use core::task::{Context, Waker};

use tidegate::Instant;
use tidegate::queue::{Gate, Place, Queue, Slot, Step, Ticket};

use crate::gates::{Gates, Of};
use crate::time::wake_at;

/// The queues of the keys that somebody waits for.
pub(crate) struct Lanes<K, const KEYS: usize, const WAITERS: usize, const LIMITS: usize> {
    lanes: [Lane<K, WAITERS, LIMITS>; KEYS],
    /// How many calls have come, of whatever key.
    arrivals: u64,
}

/// The queue of one key. All that wait for it have a place in it, also those whose turn has come and that
/// have not run since.
pub(crate) struct Lane<K, const WAITERS: usize, const LIMITS: usize> {
    key: Option<K>,
    pub(crate) queue: Queue<[Slot<LIMITS>; WAITERS], LIMITS>,
    wakers: [Option<Waker>; WAITERS],
}

impl<K: Clone + Eq, const KEYS: usize, const WAITERS: usize, const LIMITS: usize>
    Lanes<K, KEYS, WAITERS, LIMITS>
{
    pub(crate) const fn new() -> Self {
        const { assert!(WAITERS > 0, "there is room for one task at least") };
        Self { lanes: [const { Lane::new() }; KEYS], arrivals: 0 }
    }

    /// The place of a call that has just come.
    pub(crate) const fn place(&mut self, priority: u8) -> Place {
        self.arrivals = self.arrivals.wrapping_add(1);
        Place::new(priority, self.arrivals)
    }

    /// The lane of a key; `None` where nobody waits for it.
    pub(crate) fn of(&mut self, key: &K) -> Option<&mut Lane<K, WAITERS, LIMITS>> {
        self.lanes.iter_mut().find(|lane| lane.key.as_ref() == Some(key))
    }

    /// The lane of a key, for a task that is about to wait; `None` where there is no room for it.
    pub(crate) fn open(&mut self, key: &K) -> Option<&mut Lane<K, WAITERS, LIMITS>> {
        if self.waiting() >= WAITERS {
            return None;
        }
        let is_of = |lane: &Lane<K, _, _>| lane.key.as_ref() == Some(key);
        let place = self.lanes.iter().position(is_of);
        let place = place.or_else(|| self.lanes.iter().position(|lane| lane.key.is_none()))?;
        let lane = self.lanes.get_mut(place)?;
        lane.key.get_or_insert_with(|| key.clone());
        Some(lane)
    }

    /// Sends away those in backoff, for whoever has no room: they come again by themselves when it is over.
    pub(crate) fn make_room<G: Gates<LIMITS, Key = K>>(&mut self, now: Instant, gates: &mut G) {
        self.each(|key, lane| {
            while let Some(ticket) = lane.queue.delayed() {
                lane.queue.cancel(now, &mut Of { gates, key }, ticket);
                if let Some(waker) = lane.waker(ticket) {
                    waker.wake_by_ref();
                }
                lane.forget(ticket);
            }
        });
    }

    /// Every lane that somebody waits in, with its key.
    pub(crate) fn each(&mut self, mut act: impl FnMut(&K, &mut Lane<K, WAITERS, LIMITS>)) {
        for lane in &mut self.lanes {
            if let Some(key) = lane.key.clone() {
                act(&key, lane);
            }
        }
    }

    /// How many tasks wait.
    pub(crate) fn waiting(&self) -> usize {
        self.lanes.iter().fold(0, |sum, lane| sum.saturating_add(lane.queue.waiting()))
    }
}

impl<K, const WAITERS: usize, const LIMITS: usize> Lane<K, WAITERS, LIMITS> {
    const fn new() -> Self {
        let queue = Queue::new([Slot::EMPTY; WAITERS]);
        Self { key: None, queue, wakers: [const { None }; WAITERS] }
    }

    /// Notes whom to wake for a call.
    pub(crate) fn note(&mut self, ticket: Ticket, waker: &Waker) {
        match self.wakers.get_mut(ticket.slot()) {
            Some(Some(known)) => known.clone_from(waker),
            Some(none) => *none = Some(waker.clone()),
            None => {} // not reached: there is a waker for each slot
        }
    }

    /// Forgets a call that is no longer in the queue.
    pub(crate) fn forget(&mut self, ticket: Ticket) {
        if let Some(waker) = self.wakers.get_mut(ticket.slot()) {
            *waker = None;
        }
        if self.wakers.iter().all(Option::is_none) {
            self.key = None;
        }
    }

    /// Admits and rejects what is due, and wakes those that it concerns, but not the `present` one. The
    /// first of those that go on waiting wakes when there is more to do.
    pub(crate) fn pump(
        &mut self,
        now: Instant,
        gate: &mut impl Gate<LIMITS>,
        present: Option<Ticket>,
    ) {
        loop {
            match self.queue.poll(now, gate) {
                Step::Admit(ticket) | Step::Reject(ticket, _) => {
                    if let Some(waker) = self.waker(ticket).filter(|_| present != Some(ticket)) {
                        waker.wake_by_ref();
                    }
                }
                Step::Sleep(until) => {
                    if let (Some(until), Some(first)) = (until, self.queue.first())
                        && let Some(waker) = self.waker(first)
                    {
                        wake_at(until, &mut Context::from_waker(waker));
                    }
                    return;
                }
            }
        }
    }

    fn waker(&self, ticket: Ticket) -> Option<&Waker> {
        self.wakers.get(ticket.slot())?.as_ref()
    }
}
