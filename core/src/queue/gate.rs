//! What a queue needs of the controller behind it.

use crate::controller::Controller;
use crate::gate::Permit;
use crate::law::Law;
use crate::outcome::Reply;
use crate::time::{Instant, Span};
use crate::verdict::{Ask, Decision};

/// The calls that wait before another: how many have a cost of one limit, and what they cost of it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Ahead {
    /// How many.
    pub calls: u32,
    /// Their costs together.
    pub cost: u64,
}

/// A [`Controller`], or one of several that a frontend keeps.
pub trait Gate<const LIMITS: usize = 1> {
    /// [`Controller::poll`].
    fn poll(&mut self, now: Instant, ask: &Ask<LIMITS>) -> Decision<Permit<LIMITS>>;

    /// [`Controller::settle`].
    fn settle(&mut self, now: Instant, permit: Permit<LIMITS>, reply: Reply<LIMITS>);

    /// [`Controller::refund`].
    fn refund(&mut self, now: Instant, permit: Permit<LIMITS>);

    /// [`Controller::retry`].
    fn retry(
        &mut self,
        now: Instant,
        ask: &Ask<LIMITS>,
        reply: Reply<LIMITS>,
    ) -> Option<Ask<LIMITS>>;

    /// [`Controller::ready_at`].
    fn ready_at(&self, now: Instant, ask: &Ask<LIMITS>) -> Option<Instant>;

    /// The earliest instant at which `ask` may be sent behind others, whatever is in flight.
    fn due_behind(&self, now: Instant, ask: &Ask<LIMITS>, ahead: &[Ahead; LIMITS]) -> Instant;

    /// How long a call that does not settle keeps its place.
    fn lease(&self) -> Span;

    /// The queue has rejected a call that was not polled for.
    fn count_rejection(&mut self);
}

impl<L: Law + Copy, const LIMITS: usize> Gate<LIMITS> for Controller<L, LIMITS> {
    fn poll(&mut self, now: Instant, ask: &Ask<LIMITS>) -> Decision<Permit<LIMITS>> {
        self.poll(now, ask)
    }

    fn settle(&mut self, now: Instant, permit: Permit<LIMITS>, reply: Reply<LIMITS>) {
        self.settle(now, permit, reply);
    }

    fn refund(&mut self, now: Instant, permit: Permit<LIMITS>) {
        self.refund(now, permit);
    }

    fn retry(
        &mut self,
        now: Instant,
        ask: &Ask<LIMITS>,
        reply: Reply<LIMITS>,
    ) -> Option<Ask<LIMITS>> {
        self.retry(now, ask, reply)
    }

    fn ready_at(&self, now: Instant, ask: &Ask<LIMITS>) -> Option<Instant> {
        self.ready_at(now, ask)
    }

    fn due_behind(&self, now: Instant, ask: &Ask<LIMITS>, ahead: &[Ahead; LIMITS]) -> Instant {
        self.due_behind(now, ask, ahead)
    }

    fn lease(&self) -> Span {
        self.lease()
    }

    fn count_rejection(&mut self) {
        self.count_rejection();
    }
}
