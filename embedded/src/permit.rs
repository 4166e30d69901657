//! The permit: the right to one call, as a guard.

use tidegate::Permit as Raw;

use crate::desk::Verbs;
use crate::replied::Replied;
use crate::throttle::Shared;

/// The right to make one call. Report its result with [`settle`](Self::settle). A permit that is
/// dropped instead (the task was cancelled, or returned early with `?`) frees its place, and the
/// throttle learns nothing.
///
/// ```
/// # embassy_futures::block_on(async {
/// use embassy_sync::blocking_mutex::raw::NoopRawMutex;
/// use tidegate::{Outcome, Policy, law::Aimd};
/// use tidegate_embassy::{Rejection, Throttle};
///
/// let throttle: Throttle<NoopRawMutex, Aimd> = Throttle::seeded(const { &Policy::new(Aimd::DEFAULT) }, 7);
/// let permit = throttle.acquire().await?;
/// // ... make the call ...
/// permit.settle(Outcome::Ok);
/// drop(throttle.acquire().await?); // no call is made
/// assert_eq!(throttle.in_flight(), 0);
/// # Ok::<(), Rejection>(()) }).unwrap();
/// ```
#[must_use = "a permit that is dropped frees its place, and the throttle learns nothing: settle it"]
pub struct Permit<'a, T: Shared<LIMITS>, const LIMITS: usize = 1> {
    pub(crate) throttle: &'a T,
    pub(crate) key: T::Key,
    pub(crate) raw: Option<Raw<LIMITS, T::Costs>>,
}

impl<T: Shared<LIMITS>, const LIMITS: usize> Permit<'_, T, LIMITS> {
    /// Settles the call with its result: anything that [`run`](crate::Call::run) accepts, for example an
    /// [`Outcome`](tidegate::Outcome), or a reference to it.
    pub fn settle(mut self, answer: impl Replied<LIMITS>) {
        if let Some(raw) = self.raw.take() {
            self.throttle.desk().settle(&self.key, raw, &answer.compact(), None);
        }
    }
}

impl<T: Shared<LIMITS>, const LIMITS: usize> Drop for Permit<'_, T, LIMITS> {
    fn drop(&mut self) {
        self.throttle.desk().end(&self.key, self.raw.take(), 0);
    }
}

impl<T: Shared<LIMITS>, const LIMITS: usize> core::fmt::Debug for Permit<'_, T, LIMITS> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Permit").field(&self.raw).finish()
    }
}

#[cfg(feature = "defmt")]
impl<T: Shared<LIMITS>, const LIMITS: usize> defmt::Format for Permit<'_, T, LIMITS> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(f, "Permit({})", self.raw);
    }
}
