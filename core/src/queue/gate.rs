//! What a queue needs of the gates.

use crate::time::Instant;
use crate::verdict::{Call, Decision};

/// The calls with a cost of one limit that wait before another call, and their total cost.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Ahead {
    /// Their number.
    pub calls: u32,
    /// Their total cost.
    pub cost: u64,
    /// How many calls, including those with a cost of 0, may have an [estimated](Call::estimated) cost.
    pub unstated: u32,
}

impl Ahead {
    /// Adds a call of this cost.
    pub(super) fn add(&mut self, cost: u32, estimated: bool) {
        self.calls = self.calls.saturating_add(u32::from(cost > 0));
        self.cost = self.cost.saturating_add(cost.into());
        self.unstated = self.unstated.saturating_add(u32::from(estimated && cost <= 1));
    }

    /// What one of them costs on average, rounded down, and at least 1.
    pub(crate) fn mean_cost(&self) -> u32 {
        let mean = self.cost.checked_div(self.calls.into()).unwrap_or(1).max(1);
        u32::try_from(mean).unwrap_or(u32::MAX)
    }

    /// Removes a call of this cost.
    pub(super) fn subtract(&mut self, cost: u32, estimated: bool) {
        self.calls = self.calls.saturating_sub(u32::from(cost > 0));
        self.cost = self.cost.saturating_sub(cost.into());
        self.unstated = self.unstated.saturating_sub(u32::from(estimated && cost <= 1));
    }
}

/// What admits the calls of a queue: a [`Controller`](crate::Controller), or one of several that a frontend manages.
pub trait Gate<const LIMITS: usize = 1, C = [u32; LIMITS]> {
    /// The right to one call.
    type Permit;

    /// [`Controller::poll`](crate::Controller::poll).
    fn poll(&mut self, now: Instant, call: &Call<LIMITS, C>) -> Decision<Self::Permit>;

    /// [`Controller::refund`](crate::Controller::refund).
    fn refund(&mut self, now: Instant, permit: Self::Permit);

    /// [`Controller::ready_at`](crate::Controller::ready_at).
    fn ready_at(&self, now: Instant, call: &Call<LIMITS, C>) -> Option<Instant>;

    /// The earliest instant at which `call` may be sent behind others, regardless of the calls in
    /// flight.
    fn due_behind(&self, now: Instant, call: &Call<LIMITS, C>, ahead: &[Ahead; LIMITS]) -> Instant;

    /// The same for a call that is first.
    fn due_first(&self, now: Instant, call: &Call<LIMITS, C>) -> Instant {
        self.due_behind(now, call, &[Ahead::default(); LIMITS])
    }

    /// The queue has rejected a call that the gate did not reject.
    fn count_rejection(&mut self);

    /// Whether fewer than two calls have succeeded since the latest failure, or retries wait longer than
    /// other calls. Then calls that have not been tried go first.
    fn is_failing(&self) -> bool;
}
