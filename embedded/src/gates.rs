//! What the desk needs of a controller, or of a table of them.

use tidegate::gate::{Permit, WindowPolicy};
use tidegate::law::Law;
use tidegate::{Ask, Controller, Decision, Instant, Policy, Reply, Span, Verdict};

/// A controller whose policy is in flash.
pub(crate) type Gate<L, const LIMITS: usize> = Controller<L, LIMITS, &'static Policy<L, LIMITS>>;

/// A controller for each key; one for all where the key is `()`.
pub trait Gates<const LIMITS: usize> {
    /// The law that they follow.
    type Law: Law + 'static;
    /// What tells calls of different limits apart.
    type Key: Clone + Eq;

    /// Gates that have seen nothing yet.
    fn begin(policy: &'static Policy<Self::Law, LIMITS>, seed: u64, now: Instant) -> Self;

    /// [`Controller::check`].
    fn check(&self, key: &Self::Key, now: Instant, ask: &Ask<LIMITS>) -> Verdict;

    /// [`Controller::poll`].
    fn poll(
        &mut self,
        key: &Self::Key,
        now: Instant,
        ask: &Ask<LIMITS>,
    ) -> Decision<Permit<LIMITS>>;

    /// [`Controller::settle`].
    fn settle(
        &mut self,
        key: &Self::Key,
        now: Instant,
        permit: Permit<LIMITS>,
        reply: Reply<LIMITS>,
    );

    /// [`Controller::retry`].
    fn retry(
        &mut self,
        key: &Self::Key,
        now: Instant,
        ask: &Ask<LIMITS>,
        reply: Reply<LIMITS>,
    ) -> Option<Ask<LIMITS>>;

    /// [`Controller::next_at`].
    fn next_at(&self, key: &Self::Key, now: Instant) -> Option<Instant>;

    /// [`Controller::set_policy`], for every key.
    fn set_policy(&mut self, now: Instant, policy: &'static Policy<Self::Law, LIMITS>)
    where
        Self::Law: PartialEq;

    /// [`Controller::set_window`], for every key.
    fn set_window(&mut self, now: Instant, window: WindowPolicy);

    /// How many calls have left so far.
    fn gone(&self, key: &Self::Key) -> u32;

    /// The longest of [`Controller::intervals`].
    fn interval(&self, key: &Self::Key, now: Instant) -> Span;
}

impl<L: Law + 'static, const LIMITS: usize> Gates<LIMITS> for Gate<L, LIMITS> {
    type Law = L;
    type Key = ();

    fn begin(policy: &'static Policy<L, LIMITS>, seed: u64, now: Instant) -> Self {
        Self::new(policy, seed, now)
    }

    fn check(&self, (): &(), now: Instant, ask: &Ask<LIMITS>) -> Verdict {
        self.check(now, ask)
    }

    fn poll(&mut self, (): &(), now: Instant, ask: &Ask<LIMITS>) -> Decision<Permit<LIMITS>> {
        self.poll(now, ask)
    }

    fn settle(&mut self, (): &(), now: Instant, permit: Permit<LIMITS>, reply: Reply<LIMITS>) {
        self.settle(now, permit, reply);
    }

    fn retry(
        &mut self,
        (): &(),
        now: Instant,
        ask: &Ask<LIMITS>,
        reply: Reply<LIMITS>,
    ) -> Option<Ask<LIMITS>> {
        self.retry(now, ask, reply).ok()
    }

    fn next_at(&self, (): &(), now: Instant) -> Option<Instant> {
        self.next_at(now)
    }

    fn set_policy(&mut self, now: Instant, policy: &'static Policy<L, LIMITS>)
    where
        L: PartialEq,
    {
        self.set_policy(policy, now);
    }

    fn set_window(&mut self, now: Instant, window: WindowPolicy) {
        self.set_window(window, now);
    }

    fn gone(&self, (): &()) -> u32 {
        self.admitted().into()
    }

    fn interval(&self, (): &(), now: Instant) -> Span {
        self.intervals(now).flatten().fold(Span::ZERO, Span::max)
    }
}
