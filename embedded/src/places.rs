//! The places: a queue slot for each waiting call, with its key and its waker.

use core::task::Waker;

use tidegate::gate::Permit;
use tidegate::queue::{Place, Slot, Storage};

use crate::gates::{Chosen, Gates};

/// The places for all keys. A queue sees the calls of one key and the free slots, so keys are ordered
/// independently.
pub(crate) struct Places<G: Gates<LIMITS>, const N: usize, const LIMITS: usize> {
    slots: [Slot<LIMITS>; N],
    waiters: [Option<Waiter<G::Key>>; N],
    chosen: G::Chosen,
}

struct Waiter<K> {
    key: K,
    waker: Waker,
}

impl<G: Gates<LIMITS>, const N: usize, const LIMITS: usize> Places<G, N, LIMITS> {
    pub(crate) const fn new() -> Self {
        const { assert!(N > 0, "a queue has room for one task at least") };
        Self {
            slots: [const { Slot::EMPTY }; N],
            waiters: [const { None }; N],
            chosen: G::Chosen::NONE,
        }
    }

    /// Shows the calls of this key from now on. Returns whether it showed another key's before.
    pub(crate) fn choose(&mut self, key: &G::Key) -> bool {
        self.chosen.choose(key)
    }

    /// The call in this slot waits for the chosen `key`.
    pub(crate) fn wait(&mut self, slot: usize, key: &G::Key, waker: &Waker) {
        if let Some(waiter) = self.waiters.get_mut(slot) {
            *waiter = Some(Waiter { key: key.clone(), waker: waker.clone() });
        }
    }

    pub(crate) fn wake(&self, slot: usize) {
        if let Some(Some(waiter)) = self.waiters.get(slot) {
            waiter.waker.wake_by_ref();
        }
    }

    pub(crate) fn wake_all(&self) {
        self.waiters.iter().flatten().for_each(|waiter| waiter.waker.wake_by_ref());
    }

    /// The waker of this slot's task.
    pub(crate) fn waker(&self, slot: usize) -> Option<Waker> {
        self.waiters.get(slot)?.as_ref().map(|waiter| waiter.waker.clone())
    }

    /// Number of waiting tasks, for all keys.
    pub(crate) fn waiting(&self) -> usize {
        self.waiters.iter().flatten().fold(0, |count: usize, _| count.saturating_add(1))
    }
}

impl<G: Gates<LIMITS>, const N: usize, const LIMITS: usize> Storage<LIMITS>
    for Places<G, N, LIMITS>
{
    type Permit = Permit<LIMITS>;

    fn slots(&self) -> u32 {
        self.slots.slots()
    }

    fn get(&self, slot: u32) -> Option<&Slot<LIMITS>> {
        match self.waiters.get(slot as usize)? {
            Some(waiter) if !self.chosen.is(&waiter.key) => None,
            _ => self.slots.get(slot),
        }
    }

    fn get_mut(&mut self, slot: u32) -> Option<&mut Slot<LIMITS>> {
        match self.waiters.get(slot as usize)? {
            Some(waiter) if !self.chosen.is(&waiter.key) => None,
            _ => self.slots.get_mut(slot),
        }
    }

    /// A place among those of all keys. A task whose call loses its slot is woken.
    fn claim(&mut self, place: Place, is_retry: bool) -> Option<u32> {
        let slot = self.slots.claim(place, is_retry)?;
        if let Some(Some(waiter)) = self.waiters.get(slot as usize) {
            waiter.waker.wake_by_ref();
        }
        Some(slot)
    }

    fn vacate(&mut self, slot: u32) -> Slot<LIMITS> {
        if let Some(waiter) = self.waiters.get_mut(slot as usize) {
            *waiter = None;
        }
        self.slots.vacate(slot)
    }
}
