//! tidegate for async Rust: one gate for all tasks that call a rate-limited API.
//!
//! It decides when the next call may be sent, repeats what the server rejects, and learns its rate from the
//! responses. Start at [`Gate`]: [`run`](Gate::run) makes a call with its retries,
//! [`acquire`](Gate::acquire) waits for the right to make one.
#![warn(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod acquire;
mod adapter;
mod call;
mod classify;
mod drive;
mod error;
mod gate;
mod grpc;
mod keys;
mod lane;
mod layer;
mod observe;
mod permit;
mod request;
mod response;
mod shared;
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
pub use layer::{BoxError, Throttle, ThrottleLayer};
#[cfg(feature = "metrics")]
pub use observe::WAIT_BUCKETS;
pub use permit::Permit;
pub use request::{Describe, Repeat, copy};
pub use response::{Guarded, Hold, read};
pub use stats::Stats;
pub use timer::{Timer, Tokio};

pub use tidegate;
