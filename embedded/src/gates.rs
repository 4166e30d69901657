//! What the desk needs of a controller, or of a table of them.

use tidegate::gate::{Permit, WindowPolicy};
use tidegate::law::Law;
use tidegate::queue::{Ahead, Gate};
use tidegate::{Ask, Controller, Decision, Instant, Policy, Reply, Span, Verdict};

/// A controller for each key; one for all where the key is `()`.
pub trait Gates<const LIMITS: usize> {
    /// The law that they follow.
    type Law: Law + Copy;
    /// What tells calls of different limits apart.
    type Key: Clone + Eq;
    /// The controller of one key.
    type One: Gate<LIMITS>;

    /// Gates that have seen nothing yet.
    fn begin(policy: Policy<Self::Law, LIMITS>, seed: u64, now: Instant) -> Self;

    /// [`Controller::check`].
    fn check(&self, key: &Self::Key, now: Instant, ask: &Ask<LIMITS>) -> Verdict;

    /// [`Controller::poll`].
    fn poll(&mut self, key: &Self::Key, now: Instant, ask: &Ask<LIMITS>) -> Decision;

    /// [`Controller::retry`].
    fn retry(
        &mut self,
        key: &Self::Key,
        now: Instant,
        ask: &Ask<LIMITS>,
        reply: Reply<LIMITS>,
    ) -> Option<Ask<LIMITS>>;

    /// The controller of a key; `None` where there is none.
    fn get(&self, key: &Self::Key) -> Option<&Self::One>;

    /// The same, to change it.
    fn get_mut(&mut self, key: &Self::Key) -> Option<&mut Self::One>;

    /// [`Controller::set_policy`], for every key.
    fn set_policy(&mut self, now: Instant, policy: Policy<Self::Law, LIMITS>)
    where
        Self::Law: PartialEq;

    /// [`Controller::set_window`], for every key.
    fn set_window(&mut self, window: WindowPolicy);
}

impl<L: Law + Copy, const LIMITS: usize, const SLOTS: usize> Gates<LIMITS>
    for Controller<L, LIMITS, SLOTS>
{
    type Law = L;
    type Key = ();
    type One = Self;

    fn begin(policy: Policy<L, LIMITS>, seed: u64, now: Instant) -> Self {
        Self::new(policy, seed, now)
    }

    fn check(&self, (): &(), now: Instant, ask: &Ask<LIMITS>) -> Verdict {
        self.check(now, ask)
    }

    fn poll(&mut self, (): &(), now: Instant, ask: &Ask<LIMITS>) -> Decision {
        self.poll(now, ask)
    }

    fn retry(
        &mut self,
        (): &(),
        now: Instant,
        ask: &Ask<LIMITS>,
        reply: Reply<LIMITS>,
    ) -> Option<Ask<LIMITS>> {
        self.retry(now, ask, reply)
    }

    fn get(&self, (): &()) -> Option<&Self> {
        Some(self)
    }

    fn get_mut(&mut self, (): &()) -> Option<&mut Self> {
        Some(self)
    }

    fn set_policy(&mut self, now: Instant, policy: Policy<L, LIMITS>)
    where
        L: PartialEq,
    {
        self.set_policy(policy, now);
    }

    fn set_window(&mut self, window: WindowPolicy) {
        self.set_window(window);
    }
}

/// The controller of one key, which the first poll makes where there is none.
pub(crate) struct Of<'a, G: Gates<LIMITS>, const LIMITS: usize> {
    pub(crate) gates: &'a mut G,
    pub(crate) key: &'a G::Key,
}

impl<G: Gates<LIMITS>, const LIMITS: usize> Gate<LIMITS> for Of<'_, G, LIMITS> {
    fn poll(&mut self, now: Instant, ask: &Ask<LIMITS>) -> Decision {
        self.gates.poll(self.key, now, ask)
    }

    fn settle(&mut self, now: Instant, permit: Permit, reply: Reply<LIMITS>) {
        if let Some(gate) = self.gates.get_mut(self.key) {
            gate.settle(now, permit, reply);
        }
    }

    fn refund(&mut self, now: Instant, permit: Permit) {
        if let Some(gate) = self.gates.get_mut(self.key) {
            gate.refund(now, permit);
        }
    }

    fn retry(
        &mut self,
        now: Instant,
        ask: &Ask<LIMITS>,
        reply: Reply<LIMITS>,
    ) -> Option<Ask<LIMITS>> {
        self.gates.retry(self.key, now, ask, reply)
    }

    fn ready_at(&self, now: Instant, ask: &Ask<LIMITS>) -> Option<Instant> {
        self.gates.get(self.key)?.ready_at(now, ask)
    }

    fn due_behind(&self, now: Instant, ask: &Ask<LIMITS>, ahead: &[Ahead; LIMITS]) -> Instant {
        self.gates.get(self.key).map_or(now, |gate| gate.due_behind(now, ask, ahead))
    }

    fn lease(&self) -> Span {
        self.gates.get(self.key).map_or(Span::MAX, Gate::lease)
    }

    fn count_rejection(&mut self) {
        if let Some(gate) = self.gates.get_mut(self.key) {
            gate.count_rejection();
        }
    }
}
