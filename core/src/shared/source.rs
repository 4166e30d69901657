//! Sources of leases.

use super::slots::Slots;
use super::storage::{Inline, Storage};
use crate::controller::Controller;
use crate::law::{AnyLaw, Law};
use crate::outcome::Reply;
use crate::permit::Permit;
use crate::time::{Instant, Span};
use crate::verdict::{Call, Decision};

/// What a [`Coordinator`](super::Coordinator) takes leases from: [`Leases`] of a [`Controller`],
/// which holds the budget itself, or a [`Member`](super::Member), which leases from another
/// coordinator. So coordinators can form a tree.
pub trait Source {
    /// Whether a call may be sent at `at`, which may be ahead of the clock.
    fn poll(&mut self, at: Instant) -> Decision<u64>;

    /// Settles a call that completed `ago` before `at`. If it `waited`, the rate was its limit.
    /// Returns false if the permit is unknown or was settled before.
    fn settle(&mut self, at: Instant, permit: u64, reply: Reply, waited: bool, ago: Span) -> bool;

    /// Frees the places of calls that are lost at `now`: they were not settled in time.
    fn lose(&mut self, _now: Instant) {}

    /// The current interval between two leases. `None` if there is none.
    fn interval(&self, at: Instant) -> Option<Span>;

    /// The time before which no call may be sent.
    fn cooldown_until(&self) -> Instant;

    /// Calls have been sent without this source's knowledge, so its burst is used up except for the
    /// next call. (It may be called often, and must not delay that one each time.)
    fn forfeit(&mut self, at: Instant);
}

/// A controller whose permits go over the wire as numbers: up to `LEASES` of them, leased or in flight.
/// A number that is unknown or repeated is harmless. A lease that is not settled within the [expiry](Self::set_expiry) is
/// lost: its member may be gone.
///
/// ```
/// use tidegate::shared::{Coordinator, Leases};
/// use tidegate::{Controller, Instant, Policy};
///
/// let now = Instant::ZERO;
/// let controller = Controller::new(Policy::named("adaptive").unwrap(), 7, now);
/// let desk: Coordinator = Coordinator::new(Leases::new(controller), now);
/// assert_eq!(desk.source().controller().in_flight(), 0);
/// ```
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Leases<L: Law = AnyLaw, const LEASES: usize = 1024, S: Storage = Inline> {
    controller: Controller<L>,
    permits: Slots<Permit, LEASES, S>,
    /// Calls in flight of an earlier source, and when their places become free.
    former: u16,
    former_until: Instant,
}

impl<L: Law, const LEASES: usize, S: Storage> Leases<L, LEASES, S> {
    /// A source without leases.
    #[must_use]
    pub fn new(controller: Controller<L>) -> Self {
        Self::numbered(controller, 0)
    }

    /// The same, with permits numbered from here on.
    pub(super) fn numbered(controller: Controller<L>, number: u32) -> Self {
        let permits = Slots::new(number);
        Self { controller, permits, former: 0, former_until: Instant::ZERO }
    }

    /// Keeps the places of calls whose permits are not known, until then.
    pub(super) const fn keep_places(&mut self, calls: u16, until: Instant) {
        self.controller.occupy(calls);
        (self.former, self.former_until) = (calls, until);
    }

    /// Sets after which time a lease that was not settled is lost. It must be longer than the longest call, and is five
    /// minutes if it is not set.
    pub const fn set_expiry(&mut self, expiry: Span) {
        self.permits.set_expiry(expiry);
    }

    /// The next permit's number.
    pub(super) const fn next_number(&self) -> u32 {
        self.permits.next_number()
    }

    /// The controller.
    pub const fn controller(&self) -> &Controller<L> {
        &self.controller
    }

    /// The controller, to change its policy.
    pub const fn controller_mut(&mut self) -> &mut Controller<L> {
        &mut self.controller
    }
}

impl<L: Law + Copy, const LEASES: usize, S: Storage> Source for Leases<L, LEASES, S> {
    // Inlined into the coordinator's loop, it makes one copy of the loop for each law.
    #[inline(never)]
    fn poll(&mut self, at: Instant) -> Decision<u64> {
        if self.permits.is_full() {
            return Decision::Full;
        }
        match self.controller.poll(at, &Call::new()) {
            Decision::Admit(permit) => match self.permits.take(at, permit) {
                Ok(number) => Decision::Admit(number),
                Err(permit) => {
                    self.controller.refund(at, permit); // there is no memory
                    Decision::Full
                }
            },
            Decision::Wait(until) => Decision::Wait(until),
            Decision::Full => Decision::Full,
            Decision::Reject(reason) => Decision::Reject(reason),
        }
    }

    fn settle(&mut self, at: Instant, permit: u64, reply: Reply, waited: bool, ago: Span) -> bool {
        let Some(permit) = self.permits.release(permit) else { return false };
        self.controller.settle_leased(at, permit, &reply, waited, ago);
        true
    }

    fn lose(&mut self, now: Instant) {
        self.permits.lose(now, |_| self.controller.forget(1));
        if now >= self.former_until {
            self.controller.forget(core::mem::take(&mut self.former));
        }
    }

    fn interval(&self, at: Instant) -> Option<Span> {
        self.controller.intervals(at).next().flatten()
    }

    fn cooldown_until(&self) -> Instant {
        self.controller.cooldown_until()
    }

    fn forfeit(&mut self, at: Instant) {
        self.controller.forfeit(at, 1);
    }
}
