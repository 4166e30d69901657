//! Numbered places for calls in flight. Their numbers are part of messages.

use super::storage::{Inline, Storage, Values};
use crate::time::{Instant, Span};

/// Up to `SLOTS` calls in flight, each with a unique number. An unknown or repeated number names no
/// call.
///
/// Some calls are never settled. They are lost after an expiry: [`lose`](Self::lose) frees their places. Taking and
/// releasing a place takes constant time. The calls are searched for lost ones four times in an expiry, or when one is
/// lost if all places are taken.
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Slots<T, const SLOTS: usize, S: Storage = Inline> {
    /// Those that were ever taken.
    slots: Values<Slot<T>, SLOTS, S>,
    /// The first slot of the free list. `SLOTS` ends the list.
    freed: u16,
    in_flight: u16,
    next_number: u32,
    expiry: Span,
    /// No call is lost before this instant.
    first_lost: Instant,
}

/// How long a call may be in flight before it is considered lost.
pub(super) const EXPIRY: Span = Span::from_secs(300);

#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum Slot<T> {
    Free { next: u16 },
    Taken { number: u32, since: Instant, call: T },
}

impl<T, const SLOTS: usize, S: Storage> Slots<T, SLOTS, S> {
    #[expect(clippy::cast_possible_truncation, reason = "asserted to fit, at compile time")]
    const END: u16 = {
        assert!(SLOTS > 0 && SLOTS < u16::MAX as usize, "there are 1 to 65,534 slots");
        SLOTS as u16
    };

    /// No calls in flight. Numbers start with this one.
    pub(super) fn new(number: u32) -> Self {
        Self {
            slots: Values::new(),
            freed: Self::END,
            in_flight: 0,
            next_number: number,
            expiry: EXPIRY,
            first_lost: Instant::ZERO,
        }
    }

    /// Changes the expiry, also of calls in flight.
    pub(super) const fn set_expiry(&mut self, expiry: Span) {
        (self.expiry, self.first_lost) = (expiry, Instant::ZERO);
    }

    /// The next number, without the part for the place.
    pub(super) const fn next_number(&self) -> u32 {
        self.next_number
    }

    /// Calls in flight, including lost ones that were not yet found.
    pub(super) const fn in_flight(&self) -> u16 {
        self.in_flight
    }

    pub(super) const fn is_full(&self) -> bool {
        self.in_flight >= Self::END
    }

    /// No call is lost before this instant.
    pub(super) const fn first_lost(&self) -> Instant {
        self.first_lost
    }

    /// Takes a place for `call`, below 2^48. `Err` returns the call if there is no room.
    pub(super) fn take(&mut self, now: Instant, call: T) -> Result<u64, T> {
        if self.in_flight == 0 {
            self.first_lost = now + self.expiry;
        }
        let mut index = usize::from(self.freed);
        if self.freed >= Self::END && self.slots.len() < SLOTS {
            index = self.slots.len();
            self.slots.push(Slot::Free { next: Self::END });
        }
        let Some(slot) = self.slots.get_mut(index) else { return Err(call) };
        if let Slot::Free { next } = *slot {
            self.freed = next;
        }
        let number = self.next_number;
        *slot = Slot::Taken { number, since: now, call };
        self.in_flight = self.in_flight.saturating_add(1);
        self.next_number = self.next_number.wrapping_add(1);
        Ok((index as u64) << 32 | u64::from(number))
    }

    /// Releases the place and returns its content. `None` for a number that is unknown, was
    /// released before, or was lost.
    #[expect(clippy::cast_possible_truncation, reason = "the halves; what is above names no slot")]
    pub(super) fn release(&mut self, raw: u64) -> Option<T> {
        let index = if raw >> 48 == 0 { (raw >> 32) as u16 } else { u16::MAX };
        let slot = self.slots.get_mut(usize::from(index))?;
        if !matches!(slot, Slot::Taken { number, .. } if *number == raw as u32) {
            return None;
        }
        let taken = core::mem::replace(slot, Slot::Free { next: self.freed });
        self.freed = index;
        self.in_flight = self.in_flight.saturating_sub(1);
        match taken {
            Slot::Taken { call, .. } => Some(call),
            Slot::Free { .. } => None, // unreachable
        }
    }

    /// Frees the places of calls that were in flight for an expiry, and passes each call to `lost`.
    pub(super) fn lose(&mut self, now: Instant, mut lost: impl FnMut(T)) {
        let often = if self.is_full() { Span::ZERO } else { self.expiry.halved(2) };
        if now < self.first_lost + often || self.in_flight == 0 {
            return;
        }
        let mut next = Instant::MAX;
        for (index, slot) in (0..Self::END).zip(self.slots.iter_mut()) {
            let Slot::Taken { since, .. } = slot else { continue };
            let end = *since + self.expiry;
            if end > now {
                next = next.min(end);
            } else if let Slot::Taken { call, .. } =
                core::mem::replace(slot, Slot::Free { next: self.freed })
            {
                self.freed = index;
                self.in_flight = self.in_flight.saturating_sub(1);
                lost(call);
            }
        }
        self.first_lost = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    #[test]
    fn a_number_that_is_too_large_names_no_call() {
        let mut slots: Slots<u8, 2> = Slots::new(0);
        let raw = slots.take(Instant::ZERO, 7).unwrap();
        for bit in 32..64 {
            assert_eq!(slots.release(raw | 1 << bit), None, "bit {bit}");
        }
        assert_eq!(slots.release(raw), Some(7));
    }

    proptest! {
        /// The model is a plain list of the numbers in use.
        #[test]
        fn places_and_numbers_in_use_agree(
            first in any::<u32>(),
            events in prop::collection::vec((any::<u8>(), any::<u64>(), 0..90u64), 0..300),
        ) {
            let mut slots: Slots<u64, 5> = Slots::new(first);
            let mut out: Vec<(u64, Instant, u64)> = Vec::new();
            let (mut now, mut call) = (Instant::ZERO, 0);
            for (kind, raw, step) in events {
                now += Span::from_secs(step);
                match kind % 4 {
                    0 => {
                        let full = out.len() >= 5;
                        prop_assert_eq!(slots.is_full(), full);
                        let taken = slots.take(now, call);
                        prop_assert_eq!(taken.is_ok(), !full);
                        if let Ok(raw) = taken {
                            out.push((raw, now, call));
                            call += 1;
                        }
                    }
                    1 if !out.is_empty() => {
                        let (raw, _, call) = out.swap_remove(raw as usize % out.len());
                        prop_assert_eq!(slots.release(raw), Some(call));
                        prop_assert_eq!(slots.release(raw), None);
                    }
                    2 => {
                        // No call is lost before its expiry, and each within a quarter of one after it, or at once
                        // if another needs its place.
                        let often = if out.len() < 5 { EXPIRY.halved(2) } else { Span::ZERO };
                        let mut lost = Vec::new();
                        slots.lose(now, |call| lost.push(call));
                        let age = |since: Instant| now - since;
                        for (_, since, call) in &out {
                            let is_lost = lost.contains(call);
                            prop_assert!(!is_lost || age(*since) >= EXPIRY);
                            prop_assert!(is_lost || age(*since) < EXPIRY + often);
                        }
                        prop_assert!(lost.iter().all(|call| out.iter().any(|entry| entry.2 == *call)));
                        out.retain(|entry| !lost.contains(&entry.2));
                    }
                    _ => {
                        let known = out.iter().any(|entry| entry.0 == raw);
                        prop_assert!(known || slots.release(raw).is_none());
                    }
                }
                prop_assert_eq!(usize::from(slots.in_flight()), out.len());
            }
        }
    }
}
