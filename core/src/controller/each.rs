//! Loops over the limits, without overhead for a single limit.
//!
//! When optimising for size, compilers keep the counter and branches of a loop over an array of
//! one, and most controllers have one limit.

/// Calls `act` with each of `items` and its index.
#[inline(always)]
pub(super) fn each<T, const COUNT: usize>(items: &[T; COUNT], mut act: impl FnMut(usize, &T)) {
    match items.as_slice() {
        [only] => act(0, only),
        items => (0..COUNT).zip(items).for_each(|(index, item)| act(index, item)),
    }
}

/// Calls `act` with each pair.
#[inline(always)]
pub(super) fn pairs<T, U, const COUNT: usize>(
    ones: &[T; COUNT],
    others: &[U; COUNT],
    mut act: impl FnMut(usize, &T, &U),
) {
    match (ones.as_slice(), others.as_slice()) {
        ([one], [other]) => act(0, one, other),
        (ones, others) => {
            (0..COUNT).zip(ones.iter().zip(others)).for_each(|(index, (a, b))| act(index, a, b));
        }
    }
}

/// The same with mutable pairs.
#[inline(always)]
pub(super) fn pairs_mut<T, U, const COUNT: usize>(
    ones: &[T; COUNT],
    others: &mut [U; COUNT],
    mut act: impl FnMut(usize, &T, &mut U),
) {
    match (ones.as_slice(), others.as_mut_slice()) {
        ([one], [other]) => act(0, one, other),
        (ones, others) => {
            (0..COUNT).zip(ones.iter().zip(others)).for_each(|(index, (a, b))| act(index, a, b));
        }
    }
}
