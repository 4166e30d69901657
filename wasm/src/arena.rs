//! A growing list of numbered slots. Freed slots are reused first.

use core::mem;

use crate::list::List;

const NONE: u32 = u32::MAX;

enum Slot<T> {
    Free { next: u32 },
    Taken(T),
}

pub struct Arena<T> {
    slots: List<Slot<T>>,
    /// The first slot of the linked list of free slots.
    free: u32,
}

impl<T> Arena<T> {
    pub const fn new() -> Self {
        Self { slots: List::new(), free: NONE }
    }

    /// Number of slots, free or taken.
    pub fn slots(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Puts a value into a free slot; `None` if the host provides no more memory.
    pub fn insert(&mut self, value: T) -> Option<u32> {
        let index = if self.free == NONE { self.slots() } else { self.free };
        match self.slots.get_mut(index as usize) {
            Some(slot) => {
                let Slot::Free { next } = *slot else { return None };
                *slot = Slot::Taken(value);
                self.free = next;
            }
            None => self.slots.push(Slot::Taken(value))?,
        }
        Some(index)
    }

    /// The value of a slot; `None` if the slot is free or does not exist.
    #[inline(never)]
    pub fn get(&mut self, index: u32) -> Option<&mut T> {
        match self.slots.get_mut(index as usize)? {
            Slot::Taken(value) => Some(value),
            Slot::Free { .. } => None,
        }
    }

    /// Frees a slot and returns its value, if any.
    pub fn take(&mut self, index: u32) -> Option<T> {
        let slot = self.slots.get_mut(index as usize)?;
        if matches!(slot, Slot::Free { .. }) {
            return None;
        }
        let Slot::Taken(value) = mem::replace(slot, Slot::Free { next: self.free }) else {
            return None;
        };
        self.free = index;
        Some(value)
    }

    /// Frees a slot. No effect if it is free.
    pub fn remove(&mut self, index: u32) {
        drop(self.take(index));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_slot_is_reused_first_and_cannot_be_freed_twice() {
        let mut arena: Arena<u32> = Arena::new();
        let [a, b, c] = [1, 2, 3].map(|value| arena.insert(value).unwrap());
        arena.remove(b);
        arena.remove(b);
        arena.remove(77_777);
        assert_eq!(arena.get(b), None);
        assert_eq!(arena.insert(4), Some(b));
        assert_eq!(arena.insert(5), Some(3));
        assert_eq!([a, b, c].map(|index| *arena.get(index).unwrap()), [1, 4, 3]);
    }
}
