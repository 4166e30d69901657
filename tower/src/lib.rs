//! tidegate for async Rust: one gate for all tasks that call a rate-limited API.
//!
//! It decides when the next call may be sent, retries throttled calls, and learns the rate from the responses: the
//! status, `Retry-After`, the `RateLimit` fields and the headers of many APIs.
//!
//! | for | use |
//! |---|---|
//! | any async call | [`Gate::run`], or [`Gate::acquire`] for a [`Permit`] |
//! | a request of reqwest | [`SendThrough`], feature `reqwest` |
//! | a client of reqwest-middleware | [`ThrottleLayer`] as a middleware, feature `reqwest-middleware` |
//! | a tower service | [`ThrottleLayer`] |
//! | the bodies of errors | [`PeekLayer`] inside the throttle; built in for reqwest |
//! | a tonic channel | [`ThrottleLayer::grpc`], feature `tonic` |
//! | processes that share a limit | [`Builder::share`], feature `local` |
//!
//! # What it promises
//!
//! - Calls are admitted by priority, then first come, first served. A retry goes before newer calls.
//! - A call that cannot meet its deadline is rejected as soon as that is known.
//! - A call with several [keys](Call::keys) is sent when all of them admit it. It exceeds no limit, and no key waits
//!   for another.
//! - Any future may be dropped at any time. A call that was not sent costs nothing. A call in flight is abandoned: its
//!   slot is free, and the gate learns nothing.
//! - A waiting future that is no longer polled delays others by at most two seconds: it loses a permit that it does not
//!   take [within one](Builder::take_within). When it is polled again, it waits at its old place in the queue, with
//!   twice as much time. A call in flight keeps its slot until its permit, response or [`run`](Gate::run) ends or is
//!   dropped.
//! - It spawns no task. Memory grows with the number of waiting calls and keys. No call waits for room for its
//!   [key](Builder::keys).
//!
//! # Features
//!
//! `tokio` is on by default. `js` adds `Js`, a timer for Cloudflare Workers and browsers; for other runtimes, implement
//! [`Timer`]. `reqwest`, `reqwest-middleware` and `tonic` support the requests and responses of these clients.
//! `metrics` and `tracing` report (install the recorder before the first call of a key):
//!
//! | metric | labels | meaning |
//! |---|---|---|
//! | `tidegate_wait_seconds` | `key`, `cause` | how long each attempt waited: a histogram, for [`WAIT_BUCKETS`] |
//! | `tidegate_attempts_total` | `key` | attempts that were admitted |
//! | `tidegate_outcomes_total` | `key`, `outcome` | their outcomes |
//! | `tidegate_rejections_total` | `key`, `reason` | attempts that were not sent, including retries |
//! | `tidegate_interval_seconds` | `key` | the law's time between two calls; 0 if there is none |
//! | `tidegate_in_flight`, `tidegate_waiting` | `key` | number of calls |
//!
//! A cause is `pacing`, `cooldown`, `concurrency limit`, `backoff`, `queue` (other calls are first) or `none`. Each
//! attempt has a span, `attempt`, with the fields `tidegate.key`, `tidegate.outcome` and, from the second attempt on,
//! `http.request.resend_count`. An attempt that is not sent emits a `DEBUG` event with `tidegate.key` and
//! `tidegate.reason`. A budget that [cannot be shared](local#if-the-budget-cannot-be-shared) emits a `WARN` event.
#![cfg_attr(
    not(all(feature = "local", feature = "metrics", feature = "reqwest", feature = "tonic")),
    allow(rustdoc::broken_intra_doc_links, reason = "what a feature brings")
)]
#![warn(missing_debug_implementations, missing_docs, unreachable_pub)]
#![warn(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod acquire;
mod adapter;
mod call;
mod classify;
mod desk;
mod drive;
mod error;
mod gate;
mod grpc;
#[cfg(all(feature = "js", target_family = "wasm"))]
mod js;
mod keys;
mod lane;
mod layer;
mod layers;
#[cfg(feature = "local")]
pub mod local;
mod observe;
mod peek;
mod permit;
mod request;
mod response;
mod source;
mod stats;
mod timer;
mod waiters;

pub use acquire::Acquire;
#[cfg(feature = "reqwest")]
pub use adapter::reqwest::{SendError, SendThrough};
#[cfg(feature = "tonic")]
pub use adapter::tonic::Grpc;
pub use call::Call;
pub use classify::{Classify, Responses, Standard};
pub use drive::Guard;
pub use error::{Error, RestoreError};
pub use gate::{Builder, Gate};
#[cfg(all(feature = "js", target_family = "wasm"))]
pub use js::{Js, JsSleep};
pub use layer::{BoxError, Throttle, ThrottleLayer};
#[cfg(feature = "metrics")]
pub use observe::WAIT_BUCKETS;
pub use peek::{Peek, PeekLayer, Peeked, peek};
pub use permit::Permit;
pub use request::{Describe, Repeat, copy};
pub use response::{Guarded, Hold, read};
pub use stats::Stats;
pub use timer::{Timer, Tokio};

pub use tidegate;

/// The examples of the READMEs are compiled.
#[cfg(all(
    doctest,
    feature = "local",
    feature = "metrics",
    feature = "reqwest-middleware",
    feature = "tonic"
))]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../../README.md")]
struct Readme;
