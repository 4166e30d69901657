//! What the desk needs of a controller, or of a table of them.

use tidegate::gate::{ConcurrencyLimit, Permit};
use tidegate::law::Law;
use tidegate::{Call, Controller, Instant, Policy, Reply, Verdict, queue};

/// A controller whose policy is in flash.
pub(crate) type Gate<L, const LIMITS: usize> = Controller<L, LIMITS, &'static Policy<L, LIMITS>>;

/// A controller for each key, of which one is chosen; one for all where the key is `()`.
pub trait Gates<const LIMITS: usize>: queue::Gate<LIMITS> {
    /// The law that they follow.
    type Law: Law + 'static;
    /// What distinguishes calls of different limits.
    type Key: Clone + Eq;
    /// The key whose calls a queue sees.
    type Chosen: Chosen<Self::Key>;

    /// Gates that have seen nothing yet.
    fn begin(policy: &'static Policy<Self::Law, LIMITS>, seed: u64, now: Instant) -> Self;

    /// All that follows is for this key.
    fn choose(&mut self, key: &Self::Key);

    /// [`Controller::check`].
    fn check(&self, now: Instant, call: &Call<LIMITS>) -> Verdict;

    /// [`Controller::settle`].
    fn settle(&mut self, now: Instant, permit: Permit<LIMITS>, reply: Reply<LIMITS>);

    /// [`Controller::retry`].
    fn retry(
        &mut self,
        now: Instant,
        call: &Call<LIMITS>,
        reply: Reply<LIMITS>,
    ) -> Option<Call<LIMITS>>;

    /// [`Controller::set_policy`], for every key.
    fn set_policy(&mut self, now: Instant, policy: &'static Policy<Self::Law, LIMITS>)
    where
        Self::Law: PartialEq;

    /// [`Controller::set_concurrency`], for every key.
    fn set_concurrency(&mut self, now: Instant, concurrency: ConcurrencyLimit);
}

/// The key that is chosen at present.
pub trait Chosen<K> {
    /// No key.
    const NONE: Self;

    /// Chooses a key; whether it is another than before.
    fn choose(&mut self, key: &K) -> bool;

    /// Whether it is this one.
    fn is(&self, key: &K) -> bool;
}

/// There is one only, which takes no memory.
impl Chosen<()> for () {
    const NONE: Self = ();

    fn choose(&mut self, (): &()) -> bool {
        false
    }

    fn is(&self, (): &()) -> bool {
        true
    }
}

impl<L: Law + 'static, const LIMITS: usize> Gates<LIMITS> for Gate<L, LIMITS> {
    type Law = L;
    type Key = ();
    type Chosen = ();

    fn begin(policy: &'static Policy<L, LIMITS>, seed: u64, now: Instant) -> Self {
        Self::new(policy, seed, now)
    }

    fn choose(&mut self, (): &()) {}

    fn check(&self, now: Instant, call: &Call<LIMITS>) -> Verdict {
        self.check(now, call)
    }

    fn settle(&mut self, now: Instant, permit: Permit<LIMITS>, reply: Reply<LIMITS>) {
        self.settle(now, permit, reply);
    }

    fn retry(
        &mut self,
        now: Instant,
        call: &Call<LIMITS>,
        reply: Reply<LIMITS>,
    ) -> Option<Call<LIMITS>> {
        self.retry(now, call, reply).ok()
    }

    fn set_policy(&mut self, now: Instant, policy: &'static Policy<L, LIMITS>)
    where
        L: PartialEq,
    {
        self.set_policy(policy, now);
    }

    fn set_concurrency(&mut self, now: Instant, concurrency: ConcurrencyLimit) {
        self.set_concurrency(concurrency, now);
    }
}
