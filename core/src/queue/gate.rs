//! What a queue needs of the controller behind it.

use core::borrow::Borrow;

use crate::controller::Controller;
use crate::gate::Permit;
use crate::law::Law;
use crate::policy::Policy;
use crate::time::Instant;
use crate::verdict::{Call, Decision};

/// The calls that wait before another: how many have a cost of one limit, and what they cost of it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Ahead {
    /// How many.
    pub calls: u32,
    /// Their costs together.
    pub cost: u64,
}

impl Ahead {
    /// Counts a call of this cost, if it has one.
    pub(super) fn add(&mut self, cost: u32) {
        self.calls = self.calls.saturating_add(u32::from(cost > 0));
        self.cost = self.cost.saturating_add(cost.into());
    }

    /// Counts a call of this cost no longer.
    pub(super) fn subtract(&mut self, cost: u32) {
        self.calls = self.calls.saturating_sub(u32::from(cost > 0));
        self.cost = self.cost.saturating_sub(cost.into());
    }
}

/// A [`Controller`], or one of several that a frontend keeps.
pub trait Gate<const LIMITS: usize = 1> {
    /// [`Controller::poll`].
    fn poll(&mut self, now: Instant, call: &Call<LIMITS>) -> Decision<Permit<LIMITS>>;

    /// [`Controller::refund`].
    fn refund(&mut self, now: Instant, permit: Permit<LIMITS>);

    /// [`Controller::ready_at`].
    fn ready_at(&self, now: Instant, call: &Call<LIMITS>) -> Option<Instant>;

    /// The earliest instant at which `call` may be sent behind others, whatever is in flight.
    fn due_behind(&self, now: Instant, call: &Call<LIMITS>, ahead: &[Ahead; LIMITS]) -> Instant;

    /// The queue has rejected a call that was not polled for.
    fn count_rejection(&mut self);
}

impl<L: Law, const LIMITS: usize, P: Borrow<Policy<L, LIMITS>>> Gate<LIMITS>
    for Controller<L, LIMITS, P>
{
    fn poll(&mut self, now: Instant, call: &Call<LIMITS>) -> Decision<Permit<LIMITS>> {
        self.poll(now, call)
    }

    fn refund(&mut self, now: Instant, permit: Permit<LIMITS>) {
        self.refund(now, permit);
    }

    fn ready_at(&self, now: Instant, call: &Call<LIMITS>) -> Option<Instant> {
        self.ready_at(now, call)
    }

    fn due_behind(&self, now: Instant, call: &Call<LIMITS>, ahead: &[Ahead; LIMITS]) -> Instant {
        self.due_behind(now, call, ahead)
    }

    fn count_rejection(&mut self) {
        self.count_rejection();
    }
}
