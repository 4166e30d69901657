//! The gates: each is one reason why a call may have to wait.
//!
//! | gate | asks | answers |
//! |---|---|---|
//! | [`Pace`] | is the law's rate kept? | `Go`, `Wait`, or `Refuse` for what can never fit |
//! | [`Hold`] | has the server asked for a pause? | `Go` or `Wait` |
//! | [`Window`] | how many calls are in flight? | `Go` or `Full` |
//! | [`Budget`] | have successes paid for this retry? | `Go` or `Refuse` |
//!
//! A `check` is pure. All gates are asked before any is charged, and their verdicts combine by
//! `max`, so that nothing is ever half spent. [`Controller`](crate::Controller) does just that;
//! on its own, a gate is a plain limiter for whoever needs only one.

mod budget;
mod hold;
mod pace;
mod window;

pub use budget::{Budget, BudgetError, BudgetPolicy};
pub use hold::{Hold, HoldError, HoldPolicy};
pub use pace::Pace;
pub use window::{Permit, Window, WindowError, WindowPolicy};

/// Which gate had the last word.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
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
