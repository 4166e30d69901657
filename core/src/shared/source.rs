//! Where departures come from.

use crate::controller::Controller;
use crate::gate::Permit;
use crate::law::Law;
use crate::outcome::Reply;
use crate::time::{Instant, Span};
use crate::verdict::{Ask, Decision};

/// What a [`Coordinator`](super::Coordinator) takes departures from: a [`Controller`], which holds
/// the budget itself, or an [`Isolate`](super::Isolate), which has a lease of it from another
/// coordinator. That is how coordinators form a tree.
pub trait Source {
    /// Whether a call may leave at `at`, which may lie ahead of the clock.
    fn poll(&mut self, at: Instant) -> Decision;

    /// A call came back `ago`, which is counted from `at`. Only where it `waited` was the rate what kept
    /// it back. False where nobody has left with this permit, or it was settled before.
    fn settle(
        &mut self,
        at: Instant,
        permit: Permit,
        reply: Reply,
        waited: bool,
        ago: Span,
    ) -> bool;

    /// The time between two departures at present; `None` where nothing is kept apart.
    fn interval(&self, at: Instant) -> Option<Span>;

    /// Before when nothing leaves at all.
    fn held_until(&self) -> Instant;

    /// Calls have left that this source knows nothing of: whatever it had saved up is spent, but the
    /// next call. (It may hear this often, and must not be kept from that one each time.)
    fn forfeit(&mut self, at: Instant);
}

impl<L: Law + Copy, const SLOTS: usize> Source for Controller<L, 1, SLOTS> {
    fn poll(&mut self, at: Instant) -> Decision {
        self.poll(at, &Ask::new())
    }

    fn settle(
        &mut self,
        at: Instant,
        permit: Permit,
        reply: Reply,
        waited: bool,
        ago: Span,
    ) -> bool {
        self.settle_leased(at, permit, &reply, waited, ago)
    }

    fn interval(&self, at: Instant) -> Option<Span> {
        self.intervals(at).next().flatten()
    }

    fn held_until(&self) -> Instant {
        self.held_until()
    }

    fn forfeit(&mut self, at: Instant) {
        self.forfeit(at, 1);
    }
}
