//! The lists of members and coordinators, in memory of the caller's choice.

use core::ops::{Deref, DerefMut};

/// Where a [`Member`](super::Member) and a [`Coordinator`](super::Coordinator) keep their lists: calls in flight, leases,
/// reports and members.
///
/// With an allocator, a list grows as it is used. So a thousand members take little memory, if few are busy:
///
/// ```
/// use tidegate::shared::{CountedMember, Member, Storage};
/// use tidegate::{Instant, Quota};
///
/// struct Heap;
///
/// impl Storage for Heap {
///     type List<T, const MOST: usize> = Vec<T>;
/// }
///
/// let alone = Quota::per_second(1).unwrap();
/// let member: Member<1_000, Heap> = Member::new(42, alone, Instant::ZERO);
/// assert!(size_of_val(&member) < 1_500);
/// # let _ = CountedMember::new(member);
/// ```
pub trait Storage {
    /// A list that is empty at first, and gets at most `MOST` values. It may stay as it is if there is no memory for another
    /// value: then there is room for fewer.
    type List<T, const MOST: usize>: Default + DerefMut<Target = [T]> + Extend<T>;
}

/// All lists have their full size from the start, within the member or coordinator. This needs no allocator.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Inline;

impl Storage for Inline {
    type List<T, const MOST: usize> = Array<T, MOST>;
}

/// The lists of [`Inline`].
#[derive(Debug)]
pub struct Array<T, const MOST: usize>(heapless::Vec<T, MOST>);

impl<T, const MOST: usize> Default for Array<T, MOST> {
    fn default() -> Self {
        Self(heapless::Vec::new())
    }
}

impl<T, const MOST: usize> Deref for Array<T, MOST> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T, const MOST: usize> DerefMut for Array<T, MOST> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T, const MOST: usize> Extend<T> for Array<T, MOST> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        for value in values {
            let _ = self.0.push(value);
        }
    }
}

/// A list of up to `MOST` values. What is removed leaves its room to later ones.
pub(super) struct Values<T, const MOST: usize, S: Storage> {
    list: S::List<T, MOST>,
    len: usize,
}

impl<T, const MOST: usize, S: Storage> Values<T, MOST, S> {
    pub(super) fn new() -> Self {
        Self { list: S::List::default(), len: 0 }
    }

    /// Adds a value. False if there is no room.
    pub(super) fn push(&mut self, value: T) -> bool {
        if let Some(place) = self.list.get_mut(self.len) {
            *place = value;
        } else if !self.is_full() {
            self.list.extend([value]);
        }
        let has_room = self.len < self.list.len();
        self.len = self.len.saturating_add(has_room.into());
        has_room
    }

    /// Removes this many values from the beginning.
    pub(super) fn remove_first(&mut self, count: usize) {
        let count = count.min(self.deref().len());
        self.rotate_left(count);
        self.len = self.len.saturating_sub(count);
    }

    pub(super) const fn is_full(&self) -> bool {
        self.len >= MOST
    }
}

impl<T: Copy, const MOST: usize, S: Storage> Values<T, MOST, S> {
    /// Removes the last value.
    pub(super) fn pop(&mut self) -> Option<T> {
        let last = self.last().copied()?;
        self.len = self.len.saturating_sub(1);
        Some(last)
    }

    /// Removes the first value.
    pub(super) fn pop_front(&mut self) -> Option<T> {
        let first = self.first().copied()?;
        self.remove_first(1);
        Some(first)
    }
}

impl<T, const MOST: usize, S: Storage> Deref for Values<T, MOST, S> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.list.get(..self.len).unwrap_or_default()
    }
}

impl<T, const MOST: usize, S: Storage> DerefMut for Values<T, MOST, S> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.list.get_mut(..self.len).unwrap_or_default()
    }
}

impl<T: core::fmt::Debug, const MOST: usize, S: Storage> core::fmt::Debug for Values<T, MOST, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(feature = "defmt")]
impl<T: defmt::Format, const MOST: usize, S: Storage> defmt::Format for Values<T, MOST, S> {
    fn format(&self, f: defmt::Formatter<'_>) {
        (**self).format(f);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug)]
    struct Heap;

    impl Storage for Heap {
        type List<T, const MOST: usize> = Vec<T>;
    }

    fn agrees<S: Storage>(steps: &[(u8, usize)]) {
        let mut values: Values<usize, 5, S> = Values::new();
        let mut model = VecDeque::new();
        for &(step, number) in steps {
            match step % 8 {
                0..4 => {
                    let fits = model.len() < 5;
                    assert_eq!(values.push(number), fits);
                    model.extend(fits.then_some(number));
                }
                4 => assert_eq!(values.pop(), model.pop_back()),
                5 => assert_eq!(values.pop_front(), model.pop_front()),
                _ => {
                    values.remove_first(number % 7);
                    model.drain(..model.len().min(number % 7));
                }
            }
            assert_eq!(&values[..], model.make_contiguous());
            assert_eq!(values.is_full(), model.len() == 5);
        }
    }

    proptest! {
        /// The model is std's queue.
        #[test]
        fn values_leave_in_order_and_their_room_is_used_again(
            steps in prop::collection::vec((any::<u8>(), any::<usize>()), 0..200),
        ) {
            agrees::<Inline>(&steps);
            agrees::<Heap>(&steps);
        }
    }
}
