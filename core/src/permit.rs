//! The permit: the right to one call.

use crate::costs::Costs;
use crate::outcome::{Outcome, Reply};
use crate::time::Instant;

/// The right to one call. Settle it exactly once.
///
/// It contains what the controller needs when the call ends, so the controller only keeps a count. It is neither
/// `Clone` nor `Copy`, so it cannot be settled twice. A dropped permit keeps its slot until the controller
/// [forgets](crate::Controller::forget) it. A controller ignores the permits of 255 in 256 other controllers.
///
/// ```compile_fail
/// # use tidegate::Permit;
/// fn twice(permit: Permit) -> (Permit, Permit) {
///     (permit, permit) // a permit cannot be copied
/// }
/// ```
#[derive(Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use = "a permit that is not settled keeps its place"]
pub struct Permit<const LIMITS: usize = 1, C = [u32; LIMITS]> {
    pub(crate) sent: Instant,
    pub(crate) costs: C,
    pub(crate) parts: [Part; LIMITS],
    pub(crate) attempt: u16,
    /// Number of calls admitted before it, modulo 256.
    pub(crate) number: u8,
    /// The mark of the controller that admitted the call.
    pub(crate) mark: u8,
    /// Whether the controller has learned from its response.
    pub(crate) learnt: bool,
}

/// The state of one limit for a call in flight.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Part {
    /// The number of cuts when it was sent. After 65,535 further cuts the call would appear fresh.
    pub(crate) epoch: u16,
    pub(crate) rate_limited: bool,
    /// Whether its caller did not state a cost.
    pub(crate) unstated: bool,
}

impl Part {
    pub(crate) const NONE: Self = Self { epoch: 0, rate_limited: false, unstated: false };
}

const _: () = assert!(size_of::<Permit>() == 24);

impl<const LIMITS: usize, C: Costs<LIMITS>> Permit<LIMITS, C> {
    /// When the call was admitted.
    #[must_use]
    pub const fn sent(&self) -> Instant {
        self.sent
    }

    /// The cost that the call was charged for each limit.
    ///
    /// ```
    /// use tidegate::{Call, Controller, Decision, Instant, Policy};
    ///
    /// let mut gate: Controller = Controller::new(Policy::named("none").unwrap(), 7, Instant::ZERO);
    /// let Decision::Admit(permit) = gate.poll(Instant::ZERO, &Call::new().cost(3)) else { panic!() };
    /// assert_eq!(permit.costs(), [3]);
    /// ```
    #[must_use]
    pub const fn costs(&self) -> C {
        self.costs
    }

    /// Whether the controller has [learned](crate::Controller::learn) from its response.
    #[must_use]
    pub const fn has_learned(&self) -> bool {
        self.learnt
    }

    /// What the other keys of a call with several keys learn from the reply, if this permit belongs to the key that the
    /// hints describe: the outcome, without the hints and the cost. They learn nothing if the hints say that the call
    /// was throttled because a limit of this key is used up: less of it is left than the call costs.
    ///
    /// ```
    /// use tidegate::{Call, Controller, Decision, Hint, Instant, Outcome, Policy};
    ///
    /// let mut gate: Controller = Controller::new(Policy::named("none").unwrap(), 7, Instant::ZERO);
    /// let Decision::Admit(permit) = gate.poll(Instant::ZERO, &Call::new().cost(3)) else { panic!() };
    /// let others_learn = |outcome: Outcome, hint| permit.others_learn(&outcome.with(hint)).outcome;
    /// assert_eq!(others_learn(Outcome::Throttled, Hint::remaining(2)), Outcome::Abandoned);
    /// assert_eq!(others_learn(Outcome::Throttled, Hint::remaining(3)), Outcome::Throttled);
    /// assert_eq!(others_learn(Outcome::Throttled, Hint::NONE), Outcome::Throttled);
    /// assert_eq!(others_learn(Outcome::Ok, Hint::remaining(0)), Outcome::Ok);
    /// ```
    #[must_use]
    pub fn others_learn(&self, reply: &Reply<LIMITS>) -> Reply<LIMITS> {
        Reply::from(if self.is_blamed_by(reply) { Outcome::Abandoned } else { reply.outcome })
    }

    /// Whether the reply says that the call was throttled because a limit of this permit is used up.
    pub(crate) fn is_blamed_by(&self, reply: &Reply<LIMITS>) -> bool {
        let mut limits = reply.hints.iter().enumerate();
        reply.outcome == Outcome::Throttled
            && limits.any(|(limit, hint)| hint.is_used_up(self.costs.of(limit)))
    }

    /// A copy of the permit, for a model checker that follows several futures of one controller.
    #[doc(hidden)]
    pub const fn twin(&self) -> Self {
        Self { ..*self }
    }

    /// The number of earlier attempts of the call.
    #[must_use]
    pub const fn attempt(&self) -> u16 {
        self.attempt
    }
}
