//! The gates: each is one reason why a call may have to wait.
//!
//! | gate | asks | answers |
//! |---|---|---|
//! | [`Pace`] | is the law's rate kept? | `Go`, `Wait`, or `Refuse` for what can never fit |
//! | [`Hold`] | has the server asked for a pause? | `Go` or `Wait` |
//! | [`Budget`] | have successes paid for this retry? | `Go` or `Refuse` |
//!
//! A `check` is pure. All gates are asked before any is charged, and their verdicts combine by
//! `max`, so that nothing is ever half spent. [`Controller`](crate::Controller) does just that;
//! on its own, a gate is a plain limiter for whoever needs only one.

mod budget;
mod hold;
mod in_flight;
mod pace;
mod permit;

pub use budget::{Budget, BudgetError, BudgetPolicy};
pub use hold::{Hold, HoldError, HoldPolicy};
pub(crate) use in_flight::InFlight;
pub use in_flight::{WindowError, WindowPolicy};
pub use pace::Pace;
pub(crate) use permit::Part;
pub use permit::Permit;

/// Which gate had the last word.
///
/// ```
/// use tidegate::{Ask, Controller, Decision, Hint, Instant, Outcome, Policy, Ratio, Span};
/// use tidegate::gate::{BudgetPolicy, Gate, WindowPolicy};
///
/// let one_at_a_time = WindowPolicy::new(1, Span::from_secs(30)).unwrap();
/// let policy = Policy::named("none").unwrap()
///     .window(one_at_a_time)
///     .budget(Some(BudgetPolicy::new(Ratio::HALF, 1).unwrap()));
/// let mut gate: Controller = Controller::new(policy, 7, Instant::ZERO);
/// let (now, ask) = (Instant::ZERO, Ask::new());
/// assert_eq!(gate.why(now, &ask), None);
/// let Decision::Go(permit) = gate.poll(now, &ask) else { panic!() };
/// assert_eq!(gate.why(now, &ask), Some(Gate::Window));
/// gate.settle(now, permit, Outcome::Failed);
/// // The reserve of one retry is spent on the first one. A new call still goes.
/// let retry = gate.retry(now, &ask, Outcome::Failed).unwrap();
/// let Decision::Go(permit) = gate.poll(now, &retry) else { panic!() };
/// gate.settle(now, permit, Outcome::Busy.with(Hint::retry_after(Span::from_secs(5))));
/// assert_eq!(gate.why(now, &retry), Some(Gate::Budget));
/// assert_eq!(gate.why(now, &ask), Some(Gate::Hold)); // for the five seconds that were asked for
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Gate {
    /// The law's rate.
    Pace,
    /// A pause: the server's, or this call's own backoff.
    Hold,
    /// The calls in flight.
    Window,
    /// The retry budget.
    Budget,
}
