//! tidegate for embassy: one throttle for all tasks that call a rate-limited API.
#![no_std]
#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        clippy::unwrap_used,
        reason = "a test that overflows or panics fails, which is right"
    )
)]

#[cfg(test)]
extern crate std;

pub mod time;

mod acquire;
mod call;
mod client;
mod desk;
mod gates;
#[cfg(feature = "keyed")]
mod keyed;
mod line;
mod log;
mod permit;
mod refusal;
mod replied;
mod throttle;

pub use acquire::Acquire;
pub use call::Call;
#[cfg(feature = "keyed")]
pub use keyed::KeyedThrottle;
pub use permit::Permit;
pub use refusal::Refusal;
pub use replied::Replied;
pub use throttle::{Shared, Throttle};

pub use tidegate;
