//! Growing lists and their memory: whole pages, which a host does not take back. A dropped list
//! leaves its block to the next one.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::ptr::{NonNull, drop_in_place};
use core::slice;

/// The smallest block, in bytes. All are powers of two.
const LEAST: usize = 128;

/// A `Vec` for a module without an allocator: a value that does not fit the host's memory is not
/// added.
pub struct List<T> {
    begin: NonNull<T>,
    len: usize,
    /// The bytes of its block; 0 before the first value.
    bytes: usize,
    owns: PhantomData<T>,
}

impl<T> List<T> {
    /// Creates an empty list, without memory.
    pub const fn new() -> Self {
        const { assert!(size_of::<T>() > 0 && align_of::<T>() <= LEAST) };
        Self { begin: NonNull::dangling(), len: 0, bytes: 0, owns: PhantomData }
    }

    /// Makes room for another value; `None` if the host provides no more memory.
    fn reserve(&mut self) -> Option<()> {
        let end = self.len.checked_add(1)?;
        if end.checked_mul(size_of::<T>())? > self.bytes {
            let bytes = (self.bytes * 2).max(size_of::<T>().next_power_of_two()).max(LEAST);
            let block = take(bytes)?.cast();
            // SAFETY: the new block is separate, aligned, and larger than the values that are
            // copied.
            unsafe { block.copy_from_nonoverlapping(self.begin, self.len) };
            self.give();
            (self.begin, self.bytes) = (block, bytes);
        }
        Some(())
    }

    /// Adds a value; `None` if the host provides no more memory.
    pub fn push(&mut self, value: T) -> Option<()> {
        self.reserve()?;
        // SAFETY: the block has room for another value.
        unsafe { self.begin.add(self.len).write(value) };
        self.len += 1;
        Some(())
    }

    /// Frees the block for other lists.
    fn give(&self) {
        if self.bytes > 0 {
            // SAFETY: the block came from `take` with this size, and its values are moved or
            // dropped.
            unsafe { give(self.begin.cast(), self.bytes) };
        }
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the first `len` values of the block are initialized.
        unsafe { slice::from_raw_parts(self.begin.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for List<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and no other list uses the block.
        unsafe { slice::from_raw_parts_mut(self.begin.as_ptr(), self.len) }
    }
}

impl<T> Extend<T> for List<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        _ = values.into_iter().try_for_each(|value| self.push(value));
    }
}

impl<T> Drop for List<T> {
    fn drop(&mut self) {
        // SAFETY: the values are not used after this.
        unsafe { drop_in_place(&raw mut **self) };
        self.give();
    }
}

/// The lists of members and coordinators grow as they are used.
#[cfg(feature = "shared")]
pub struct Pages;

#[cfg(feature = "shared")]
impl tidegate::shared::Storage for Pages {
    type List<T, const MOST: usize> = List<T>;
}

/// A value on the heap. A type that contains it stays small.
#[cfg(feature = "shared")]
pub struct Own<T>(List<T>);

#[cfg(feature = "shared")]
impl<T> Own<T> {
    /// `None` if the host provides no more memory.
    pub fn new(value: T) -> Option<Self> {
        let mut list = List::new();
        list.push(value)?;
        Some(Self(list))
    }
}

#[cfg(feature = "shared")]
impl<T> Deref for Own<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the list has one value.
        unsafe { self.0.begin.as_ref() }
    }
}

#[cfg(feature = "shared")]
impl<T> DerefMut for Own<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and no other list uses the block.
        unsafe { self.0.begin.as_mut() }
    }
}

#[cfg(target_arch = "wasm32")]
use pages::{give, take};

#[cfg(target_arch = "wasm32")]
mod pages {
    use super::{LEAST, NonNull};
    use crate::bare::Alone;

    const PAGE: usize = 65_536;

    /// The free blocks, by the logarithm of their size: each contains the address of the next.
    struct Blocks {
        free: [Option<NonNull<u8>>; usize::BITS as usize],
        /// The unused rest of the pages that were taken last.
        begin: usize,
        end: usize,
    }

    static BLOCKS: Alone<Blocks> =
        Alone::new(Blocks { free: [None; usize::BITS as usize], begin: 0, end: 0 });

    /// Takes a block of this size, a power of two.
    pub fn take(bytes: usize) -> Option<NonNull<u8>> {
        const { assert!(LEAST >= size_of::<usize>()) };
        BLOCKS.with(|blocks| {
            let free = blocks.free.get_mut(bytes.trailing_zeros() as usize)?;
            if let Some(block) = *free {
                // SAFETY: `give` wrote the address, and the block was not used since.
                *free = unsafe { block.cast().read() };
                return Some(block);
            }
            if blocks.end - blocks.begin < bytes {
                let pages = bytes.div_ceil(PAGE);
                // On failure the host returns the largest number, whose product overflows.
                blocks.begin = core::arch::wasm32::memory_grow(0, pages).checked_mul(PAGE)?;
                blocks.end = blocks.begin + pages * PAGE;
            }
            let block = NonNull::new(blocks.begin as *mut u8);
            blocks.begin += bytes;
            block
        })
    }

    /// Takes a block back.
    ///
    /// # Safety
    /// It came from `take` with this size, and nothing uses it any more.
    pub unsafe fn give(block: NonNull<u8>, bytes: usize) {
        BLOCKS.with(|blocks| {
            if let Some(free) = blocks.free.get_mut(bytes.trailing_zeros() as usize) {
                // SAFETY: the block is unused, aligned, and has room for an address.
                unsafe { block.cast().write(*free) };
                *free = Some(block);
            }
        });
    }
}

/// Takes a block of this size, a power of two: on the host, for tests.
#[cfg(not(target_arch = "wasm32"))]
fn take(bytes: usize) -> Option<NonNull<u8>> {
    let layout = std::alloc::Layout::from_size_align(bytes, LEAST).ok()?;
    // SAFETY: the size is not zero.
    NonNull::new(unsafe { std::alloc::alloc(layout) })
}

/// Takes a block back.
///
/// # Safety
/// It came from `take` with this size, and nothing uses it any more.
#[cfg(not(target_arch = "wasm32"))]
unsafe fn give(block: NonNull<u8>, bytes: usize) {
    if let Ok(layout) = std::alloc::Layout::from_size_align(bytes, LEAST) {
        // SAFETY: as the caller promises.
        unsafe { std::alloc::dealloc(block.as_ptr(), layout) };
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;
    use std::vec::Vec;

    use super::*;

    #[test]
    fn a_list_keeps_its_values_while_it_grows_and_drops_each_once() {
        let alive = Rc::new(());
        let mut list = List::new();
        assert_eq!(list.len(), 0);
        for number in 0..1_000_u32 {
            list.extend([(number, Rc::clone(&alive))]);
        }
        assert_eq!(
            list.iter().map(|(number, _)| *number).collect::<Vec<_>>(),
            (0..1_000).collect::<Vec<_>>()
        );
        assert_eq!(Rc::strong_count(&alive), 1_001);
        drop(list);
        assert_eq!(Rc::strong_count(&alive), 1);
    }

    #[test]
    fn a_value_larger_than_the_smallest_block_gets_a_separate_block() {
        let mut list = List::new();
        list.extend([[7_u8; 1_000], [8; 1_000], [9; 1_000]]);
        assert_eq!(list.iter().map(|value| value[999]).collect::<Vec<_>>(), [7, 8, 9]);
    }
}
