//! What the desk needs of a controller or a table of controllers.

use tidegate::law::Law;
use tidegate::{Controller, Costs, Instant, Policy};

/// A controller whose policy is in flash.
pub(crate) type Gate<L, const LIMITS: usize, C> =
    Controller<L, LIMITS, &'static Policy<L, LIMITS>, C>;

/// A controller per key; a single one if the key is `()`.
pub trait Gates<const LIMITS: usize> {
    type Law: Law + 'static;
    /// What distinguishes calls of different limits.
    type Key: Clone + Eq;
    type Costs: Costs<LIMITS>;

    /// Whether there is more than one key.
    const KEYED: bool;

    /// The key's controller, created if missing, or the time when there will be room for it.
    fn get(
        &mut self,
        key: &Self::Key,
        now: Instant,
    ) -> Result<&mut Gate<Self::Law, LIMITS, Self::Costs>, Instant>;

    /// The key's controller, if there is one.
    fn known(&mut self, key: &Self::Key) -> Option<&mut Gate<Self::Law, LIMITS, Self::Costs>>;

    /// The same.
    fn look(&self, key: &Self::Key) -> Option<&Gate<Self::Law, LIMITS, Self::Costs>>;

    /// Takes over the calls in flight of the gates that these replace, if they can be settled here.
    fn take_over(&mut self, replaced: &Self);
}

impl<L: Law + 'static, const LIMITS: usize, C: Costs<LIMITS>> Gates<LIMITS> for Gate<L, LIMITS, C> {
    type Law = L;
    type Key = ();
    type Costs = C;
    const KEYED: bool = false;

    fn get(&mut self, (): &(), _: Instant) -> Result<&mut Self, Instant> {
        Ok(self)
    }

    fn known(&mut self, (): &()) -> Option<&mut Self> {
        Some(self)
    }

    fn look(&self, (): &()) -> Option<&Self> {
        Some(self)
    }

    fn take_over(&mut self, replaced: &Self) {
        self.take_over(replaced);
    }
}
