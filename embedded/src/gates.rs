//! What the desk needs of a controller or a table of controllers.

use core::num::NonZeroU16;

use tidegate::law::Law;
use tidegate::{Controller, Instant, Policy};

/// A controller whose policy is in flash.
pub(crate) type Gate<L, const LIMITS: usize> = Controller<L, LIMITS, &'static Policy<L, LIMITS>>;

/// A controller per key; a single one if the key is `()`.
pub trait Gates<const LIMITS: usize> {
    /// The law of the controllers.
    type Law: Law + 'static;
    /// What distinguishes calls of different limits.
    type Key: Clone + Eq;

    /// Whether there is more than one key.
    const KEYED: bool;

    /// New gates, which may replace others.
    fn begin(
        policy: &'static Policy<Self::Law, LIMITS>,
        seed: u64,
        now: Instant,
        replaced: Option<&Self>,
    ) -> Self;

    /// The key's controller, created if missing, or the time when there will be room for it.
    fn get(
        &mut self,
        key: &Self::Key,
        now: Instant,
    ) -> Result<&mut Gate<Self::Law, LIMITS>, Instant>;

    /// The key's controller, if there is one.
    fn known(&mut self, key: &Self::Key) -> Option<&mut Gate<Self::Law, LIMITS>>;

    /// The same.
    fn look(&self, key: &Self::Key) -> Option<&Gate<Self::Law, LIMITS>>;

    /// Calls [`Controller::set_policy`] for every key.
    fn set_policy(&mut self, now: Instant, policy: &'static Policy<Self::Law, LIMITS>)
    where
        Self::Law: PartialEq;

    /// Calls [`Controller::set_concurrency`] for every key.
    fn set_concurrency(&mut self, limit: NonZeroU16);
}

impl<L: Law + 'static, const LIMITS: usize> Gates<LIMITS> for Gate<L, LIMITS> {
    type Law = L;
    type Key = ();
    const KEYED: bool = false;

    fn begin(
        policy: &'static Policy<L, LIMITS>,
        seed: u64,
        now: Instant,
        replaced: Option<&Self>,
    ) -> Self {
        let mut gate = Self::new(policy, seed, now);
        if let Some(replaced) = replaced {
            gate.take_over(replaced);
        }
        gate
    }

    fn get(&mut self, (): &(), _: Instant) -> Result<&mut Self, Instant> {
        Ok(self)
    }

    fn known(&mut self, (): &()) -> Option<&mut Self> {
        Some(self)
    }

    fn look(&self, (): &()) -> Option<&Self> {
        Some(self)
    }

    fn set_policy(&mut self, now: Instant, policy: &'static Policy<L, LIMITS>)
    where
        L: PartialEq,
    {
        self.set_policy(policy, now);
    }

    fn set_concurrency(&mut self, limit: NonZeroU16) {
        self.set_concurrency(limit);
    }
}
