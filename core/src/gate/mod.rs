//! The gates: each is a reason why a call may have to wait.
//!
//! [`Controller`](crate::Controller) checks all of them before any is charged, so nothing is charged partially.
//! [`Pacing`] can also be used alone, as a plain limiter.

mod cooldown;
mod pacing;
mod retry_budget;

pub(crate) use cooldown::Cooldown;
pub use cooldown::CooldownPolicy;
pub use pacing::Pacing;
pub(crate) use pacing::{LONGEST_DEBT, lately};
pub use retry_budget::RetryBudgetPolicy;
pub(crate) use retry_budget::{Account, Entry, account};

/// The gate that delays or rejects a call.
///
/// ```
/// use tidegate::{Call, Controller, Decision, Hint, Instant, Outcome, Policy, Ratio, Span};
/// use tidegate::gate::{RetryBudgetPolicy, Gate};
///
/// let policy = Policy::named("none").unwrap()
///     .concurrency(core::num::NonZeroU16::MIN)
///     .retry_budget(Some(RetryBudgetPolicy::new(Ratio::HALF, 1).unwrap()));
/// let mut gate: Controller = Controller::new(policy, 7, Instant::ZERO);
/// let (now, call) = (Instant::ZERO, Call::new());
/// assert_eq!(gate.why(now, &call), None);
/// let Decision::Admit(permit) = gate.poll(now, &call) else { panic!() };
/// assert_eq!(gate.why(now, &call), Some(Gate::Concurrency));
/// gate.settle(now, permit, Outcome::Failed);
/// // The reserve of one retry is spent on the first one. A new call still goes.
/// let retry = gate.retry(now, &call, Outcome::Failed).unwrap();
/// let Decision::Admit(permit) = gate.poll(now, &retry) else { panic!() };
/// gate.settle(now, permit, Outcome::Busy.with(Hint::retry_after(Span::from_secs(5))));
/// assert_eq!(gate.why(now, &retry), Some(Gate::RetryBudget));
/// assert_eq!(gate.why(now, &call), Some(Gate::Cooldown)); // for the five seconds that were asked for
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Gate {
    /// The law's rate.
    Pacing,
    /// A cooldown: the server's, or this call's own backoff.
    Cooldown,
    /// The concurrency limit.
    Concurrency,
    /// The retry budget.
    RetryBudget,
}
