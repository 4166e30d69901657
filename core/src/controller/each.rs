//! A loop over the limits that costs nothing where there is one.

/// Does `act` with each of `items` and its index.
///
/// Compilers leave a loop over an array of one as it is where they are asked for small code, with
/// its counter and its branches; most controllers have one limit.
#[inline(always)]
pub(super) fn each<T, const COUNT: usize>(items: &[T; COUNT], mut act: impl FnMut(usize, &T)) {
    match items.as_slice() {
        [only] => act(0, only),
        items => items.iter().enumerate().for_each(|(index, item)| act(index, item)),
    }
}

/// The same with items that may change.
#[inline(always)]
pub(super) fn each_mut<T, const COUNT: usize>(
    items: &mut [T; COUNT],
    mut act: impl FnMut(usize, &mut T),
) {
    match items.as_mut_slice() {
        [only] => act(0, only),
        items => items.iter_mut().enumerate().for_each(|(index, item)| act(index, item)),
    }
}
