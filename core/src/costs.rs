//! What a call costs of each limit.

use core::fmt::Debug;

/// The costs of a call: an array with a number for each limit, or `()` where each call costs one of the only limit.
///
/// A controller of calls without costs links no code for them: see [`Single`](crate::Single).
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what a call costs of {LIMITS} limits",
    note = "use `[u32; LIMITS]`, an array with a number for each limit; `()` is for calls that cost one of a single limit"
)]
pub trait Costs<const LIMITS: usize>: Copy + Debug + Eq + sealed::Sealed {
    /// One of each limit.
    const ONES: Self;
    #[doc(hidden)]
    const ARE_STATED: bool;
    /// What a retry budget saved, or nothing.
    #[doc(hidden)]
    type Saved: Clone + Debug + Eq + sealed::Sealed + AsMut<[u64]>;
    #[doc(hidden)]
    const NOTHING: Self::Saved;

    #[doc(hidden)]
    fn of(&self, limit: usize) -> u32;

    #[doc(hidden)]
    fn set(&mut self, limit: usize, cost: u32);
}

impl Costs<1> for () {
    const ONES: Self = ();
    const ARE_STATED: bool = false;
    type Saved = [u64; 0];
    const NOTHING: [u64; 0] = [];

    #[inline(always)]
    fn of(&self, _: usize) -> u32 {
        1
    }

    fn set(&mut self, _: usize, _: u32) {}
}

impl<const LIMITS: usize> Costs<LIMITS> for [u32; LIMITS] {
    const ONES: Self = [1; LIMITS];
    const ARE_STATED: bool = true;
    type Saved = [u64; 1];
    const NOTHING: [u64; 1] = [0];

    #[inline(always)]
    fn of(&self, limit: usize) -> u32 {
        self.get(limit).copied().unwrap_or(0)
    }

    #[inline(always)]
    fn set(&mut self, limit: usize, cost: u32) {
        if let Some(own) = self.get_mut(limit) {
            *own = cost;
        }
    }
}

mod sealed {
    #[cfg(not(feature = "defmt"))]
    pub trait Sealed {}
    #[cfg(feature = "defmt")]
    pub trait Sealed: defmt::Format {}
    impl Sealed for () {}
    impl<const LIMITS: usize> Sealed for [u32; LIMITS] {}
    impl<const COUNT: usize> Sealed for [u64; COUNT] {}
}
