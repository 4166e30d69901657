//! Numbered slots that grow: the module has no allocator, so it takes pages and never gives them
//! back. A slot that is freed is the next to be taken.

/// At most this many blocks: 2^20 - 1 of the first block's slots, which no 32-bit memory holds.
const BLOCKS: usize = 20;

/// No slot.
const NONE: u32 = u32::MAX;

enum Slot<T> {
    Free { next: u32 },
    Taken(T),
}

/// Slots of one kind, in blocks that never move. The first has `FIRST` slots, and each has twice as
/// many as the one before.
pub struct Arena<T: 'static, const FIRST: u32 = 16> {
    blocks: [Option<&'static mut [Slot<T>]>; BLOCKS],
    /// The first free slot of a chain through all of them.
    free: u32,
    /// How many slots there are, free or taken.
    room: u32,
}

impl<T, const FIRST: u32> Arena<T, FIRST> {
    /// An arena that has taken no memory yet.
    pub const fn new() -> Self {
        Self { blocks: [const { None }; BLOCKS], free: NONE, room: 0 }
    }

    /// Puts a value into a free slot; `None` where the host gives no more memory.
    pub fn insert(&mut self, value: T) -> Option<u32> {
        if self.free == NONE {
            self.grow()?;
        }
        let index = self.free;
        let slot = self.slot(index)?;
        let Slot::Free { next } = *slot else { return None };
        *slot = Slot::Taken(value);
        self.free = next;
        Some(index)
    }

    /// The value of a slot; `None` where the slot is free or there is none.
    pub fn get(&mut self, index: u32) -> Option<&mut T> {
        match self.slot(index)? {
            Slot::Taken(value) => Some(value),
            Slot::Free { .. } => None,
        }
    }

    /// Frees a slot and returns its value; one that is free stays so.
    pub fn take(&mut self, index: u32) -> Option<T> {
        let next = self.free;
        let slot = self.slot(index).filter(|slot| matches!(slot, Slot::Taken(_)))?;
        let Slot::Taken(value) = core::mem::replace(slot, Slot::Free { next }) else { return None };
        self.free = index;
        Some(value)
    }

    /// Frees a slot; one that is free stays so.
    pub fn remove(&mut self, index: u32) {
        drop(self.take(index));
    }

    /// Block `n` has the slots from `FIRST` x (2^n - 1) on.
    fn slot(&mut self, index: u32) -> Option<&mut Slot<T>> {
        let block = (index / FIRST).checked_add(1)?.checked_ilog2()?;
        let begin = FIRST.checked_mul((1_u32 << block) - 1)?;
        let block = self.blocks.get_mut(block as usize)?.as_mut()?;
        block.get_mut((index - begin) as usize)
    }

    fn grow(&mut self) -> Option<()> {
        let block = self.blocks.iter_mut().find(|block| block.is_none())?;
        let begin = self.room;
        let length = begin.checked_add(FIRST)?;
        let room = begin.checked_add(length)?;
        // Chained, so that the first is the next to be taken.
        let free = |index| Slot::Free { next: if index + 1 < room { index + 1 } else { NONE } };
        *block = Some(take((begin..room).map(free))?);
        self.free = begin;
        self.room = room;
        Some(())
    }
}

/// Fresh memory that holds `values`, for good.
#[cfg(target_arch = "wasm32")]
fn take<T>(values: impl ExactSizeIterator<Item = T>) -> Option<&'static mut [T]> {
    const PAGE: usize = 65_536;
    const { assert!(align_of::<T>() <= PAGE) };
    let length = values.len();
    let bytes = length.checked_mul(size_of::<T>())?;
    let before = core::arch::wasm32::memory_grow(0, bytes.div_ceil(PAGE));
    // The host says no with the largest number, whose product overflows.
    let begin = before.checked_mul(PAGE)? as *mut T;
    for (index, value) in values.take(length).enumerate() {
        // SAFETY: the pages from `begin` on are new, aligned, and have room for `length` values.
        unsafe { begin.add(index).write(value) };
    }
    // SAFETY: all of them have just been written, and nobody else knows of them.
    Some(unsafe { core::slice::from_raw_parts_mut(begin, length) })
}

/// Fresh memory that holds `values`, for good: on the host, for tests.
#[cfg(not(target_arch = "wasm32"))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature as in wasm")]
fn take<T>(values: impl ExactSizeIterator<Item = T>) -> Option<&'static mut [T]> {
    Some(std::boxed::Box::leak(values.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn slots_keep_their_values_while_the_arena_grows() {
        let mut arena: Arena<u32> = Arena::new();
        let indices: Vec<u32> = (0..10_000_u32).map(|i| arena.insert(i).unwrap()).collect();
        assert_eq!(indices, (0..10_000).collect::<Vec<_>>());
        assert!(indices.iter().all(|i| arena.get(*i) == Some(&mut { *i })));
        assert_eq!(arena.get(16 * 1_023), None, "behind the last block");
        assert_eq!(arena.get(u32::MAX), None);
    }

    #[test]
    fn the_first_block_may_have_one_slot() {
        let mut arena: Arena<u32, 1> = Arena::new();
        for i in 0..100 {
            assert_eq!(arena.insert(i), Some(i));
        }
        assert!((0..100).all(|i| arena.get(i) == Some(&mut { i })));
    }

    #[test]
    fn a_freed_slot_is_the_next_to_be_taken_and_is_freed_once() {
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

    #[test]
    fn a_million_values_that_come_and_go_take_one_block() {
        let mut arena: Arena<u32> = Arena::new();
        for value in 0..1_000_000 {
            let index = arena.insert(value).unwrap();
            arena.remove(index);
        }
        assert_eq!(arena.room, 16);
    }
}
