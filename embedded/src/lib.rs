//! tidegate for embassy: one throttle for all tasks of a firmware that call a rate-limited API.
//!
//! It decides when the next call may be sent, retries throttled calls, and learns the rate from the
//! responses. Start at [`Throttle`]: [`run`](Throttle::run) makes a call with its retries, and
//! [`acquire`](Throttle::acquire) waits for a permit.
//!
//! ```
//! use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
//! use embassy_time::Duration;
//! use tidegate::{Hint, Outcome, Policy, Reply, Span, law::Adaptive};
//! use tidegate_embassy::Throttle;
//!
//! static UPLINK: Throttle<CriticalSectionRawMutex, Adaptive> = Throttle::new();
//!
//! # embassy_futures::block_on(async {
//! UPLINK.start(const { &Policy::adaptive() }, 7); // a random number, or the chip's serial number
//! let mut rejections = 1;
//! let call = async || -> Result<Reply, &str> {
//!     // ... what your HTTP, MQTT or CoAP client makes of it; here, a server that rejects once:
//!     rejections -= 1;
//!     if rejections < 0 {
//!         return Ok(Outcome::Ok.into());
//!     }
//!     Ok(Outcome::Throttled.with(Hint::retry_after(Span::from_millis(30))))
//! };
//! let answer = UPLINK.with_timeout(Duration::from_secs(5)).run(call).await;
//! assert_eq!(answer, Ok(Ok(Outcome::Ok.into())));
//! # });
//! ```
//!
//! # What it does not do
//!
//! It does not make calls and has no network dependency. The features `reqwless`, `rust-mqtt` and
//! `coap-message` read the responses of these crates. It does not set a tick rate, allocate or
//! panic.
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

/// The examples of the README are compiled and run. They log to defmt, as firmware does.
#[cfg(all(doctest, feature = "defmt", feature = "sleep"))]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod time;

mod acquire;
mod call;
mod client;
mod desk;
mod done_by;
mod gates;
#[cfg(feature = "keyed")]
mod keyed;
mod line;
mod log;
mod permit;
mod rejection;
mod replied;
mod session;
mod throttle;

pub use acquire::Acquire;
pub use call::Call;
#[cfg(feature = "coap-message")]
pub use client::coap;
pub use done_by::DoneBy;
#[cfg(feature = "keyed")]
pub use keyed::KeyedThrottle;
pub use permit::Permit;
pub use rejection::Rejection;
pub use replied::{Replied, outcome, refined};
pub use session::{Connection, Sessions};
pub use throttle::{Shared, Throttle};

pub use tidegate;
