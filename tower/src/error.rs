//! Why a call was not sent, was given up, or was not retried.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tidegate::snapshot::SnapshotError;
use tidegate::{Instant, Reason};

use crate::timer::duration;

/// Why a call was not sent, was given up, or was not retried.
///
/// A call that was sent returns its last result, even if the server did not serve it. The reason why it was not retried
/// is the error of [`Permit::retry`](crate::Permit::retry), and an extension of the `http` or `reqwest` response:
///
/// ```
/// use tidegate_tower::Error;
/// use tidegate_tower::tidegate::Reason;
///
/// fn ran_out_of_attempts<B>(response: &http::Response<B>) -> bool {
///     matches!(response.extensions().get(), Some(Error::Rejected { reason: Reason::Attempts, .. }))
/// }
/// # assert!(!ran_out_of_attempts(&http::Response::new(())));
/// ```
///
/// An error for a call that was not sent:
///
/// ```
/// use std::time::Duration;
/// use tidegate_tower::tidegate::{Policy, Quota, Reason, law::Fixed};
/// use tidegate_tower::{Error, Gate};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let gate = Gate::new(Policy::new(Fixed::new(Quota::per_minute(1).unwrap())));
/// let first = gate.acquire().await.unwrap();
/// // The next may be sent in a minute. This one learns it at once, and not after ten seconds.
/// let error = gate.with_timeout(Duration::from_secs(10)).acquire().await.unwrap_err();
/// assert!(matches!(error, Error::Rejected { reason: Reason::Late(_), .. }));
/// assert_eq!(error.wait(), Some(Duration::from_secs(60)));
/// # drop(first);
/// # }
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The gate did not admit the call, or another attempt. It was not sent.
    Rejected {
        /// The key of the call; empty if it has none.
        key: Arc<str>,
        /// Why.
        reason: Reason,
        /// How long the call would have had to wait when it was rejected. Zero if waiting does not help or the wait is
        /// unknown.
        wait: Duration,
    },
    /// The deadline passed while the call was in flight. The server may have served it.
    TimedOut {
        /// The key of the call; empty if it has none.
        key: Arc<str>,
    },
    /// The request cannot be copied: see [`Repeat`](crate::Repeat).
    NotRepeatable {
        /// The key of the call; empty if it has none.
        key: Arc<str>,
    },
}

impl Error {
    pub(crate) fn rejected(key: Arc<str>, reason: Reason, now: Instant) -> Self {
        let wait = match reason {
            Reason::Late(at) => duration(at - now),
            _ => Duration::ZERO,
        };
        Self::Rejected { key, reason, wait }
    }

    /// How long the call would have had to wait, if that is why it was rejected.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        match self {
            Self::Rejected { reason: Reason::Late(_), wait, .. } => Some(*wait),
            _ => None,
        }
    }

    /// The key of the call; empty if it has none.
    #[must_use]
    pub fn key(&self) -> &str {
        self.shared_key()
    }

    pub(crate) const fn shared_key(&self) -> &Arc<str> {
        match self {
            Self::Rejected { key, .. } | Self::TimedOut { key } | Self::NotRepeatable { key } => {
                key
            }
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key() {
            "" => f.write_str("the call ")?,
            key => write!(f, "the call to {key} ")?,
        }
        match self {
            Self::Rejected { reason: Reason::Late(_), wait: Duration::ZERO, .. } => f.write_str(
                "could not be sent by its deadline: allow more time, or make fewer calls",
            ),
            Self::Rejected { reason: Reason::Late(_), wait, .. } => write!(
                f,
                "would have to wait {wait:.1?}, too long for its deadline: allow more time, or make \
                 fewer calls"
            ),
            Self::Rejected { reason: Reason::QueueFull, .. } => f.write_str(
                "was rejected because the queue is full: make fewer calls at once, or raise \
                 `Builder::queue`",
            ),
            Self::Rejected { reason: Reason::TooBig, .. } => f.write_str(
                "costs more than the limit's burst, so it never fits: split the call, or raise the burst",
            ),
            Self::Rejected { reason: Reason::Unsafe, .. } => f.write_str(
                "was not retried, because it is not idempotent and the server may have served it: set an \
                 `Idempotency-Key`, or call `idempotent`",
            ),
            Self::Rejected { reason, .. } => write!(f, "was rejected: {reason}"),
            Self::TimedOut { .. } => {
                f.write_str("was still in flight at its deadline: allow more time")
            }
            Self::NotRepeatable { .. } => f.write_str(
                "was not retried, because its request cannot be copied: send a body that is not a stream, or \
                 set the layer's `repeat`",
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Rejected { reason, .. } => Some(reason),
            _ => None,
        }
    }
}

/// A record of a snapshot that cannot be restored.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RestoreError {
    /// The key of the record.
    pub key: Arc<str>,
    /// What is wrong with the record.
    pub reason: SnapshotError,
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the record of key {:?} cannot be restored: {}", self.key, self.reason)
    }
}

impl std::error::Error for RestoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.reason)
    }
}
