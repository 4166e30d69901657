//! tidegate for embassy: one throttle for all tasks that call a rate-limited API.
#![no_std]
#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, reason = "a test that overflows fails, which is right")
)]

#[cfg(test)]
extern crate std;

pub mod time;

mod acquire;
mod call;
mod desk;
mod gates;
#[cfg(feature = "keyed")]
mod keyed;
mod line;
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
