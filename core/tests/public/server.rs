//! A server with a limit, and the true hints of its responses.

use tidegate::{Hint, Outcome, Reply, Span};
use tidegate_limits::{Any, Bucket, Window};

use crate::SECOND;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Says {
    Nothing,
    Left,
    /// What remains, the limit, and the exact reset.
    Quota,
    /// What remains, the limit, and the period.
    Policy,
    /// What remains and the exact reset, or with a throttled call how long to wait.
    Reset,
    /// `Retry-After` with each throttled call.
    RetryAfter,
    /// Also `RateLimit-Policy` and `RateLimit` with all responses.
    Ietf,
    /// `Retry-After` and `X-RateLimit-Limit`, `-Remaining` and `-Reset`.
    XRateLimit,
}

/// A server with this many calls per period: windows, or a bucket.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) limit: Any,
    pub(crate) calls: u64,
    pub(crate) period: u64,
    pub(crate) says: Says,
}

impl Server {
    /// Windows, or a bucket with this burst.
    pub(crate) fn new(calls: u64, period: u64, burst: Option<u64>, says: Says) -> Self {
        let limit = match burst {
            Some(burst) => Any::Bucket(Bucket::new(calls, period, burst)),
            None => Any::Window(Window::new(calls, period)),
        };
        Self { limit, calls, period, says }
    }

    /// A bucket of one period's calls that sends no hints.
    pub(crate) fn bucket(calls: u64, period: u64) -> Self {
        Self::new(calls, period, Some(calls), Says::Nothing)
    }

    /// The same server with these hints.
    pub(crate) fn saying(&self, says: Says) -> Self {
        Self { says, ..self.clone() }
    }

    pub(crate) fn call(&mut self, now: u64) -> Reply {
        let served = self.limit.take(now, 1);
        self.reply(served)
    }

    pub(crate) fn reply(&self, served: bool) -> Reply {
        let outcome = if served { Outcome::Ok } else { Outcome::Throttled };
        let exact = Span::from_nanos;
        let whole = |span: u64| Span::from_secs(span.div_ceil(SECOND));
        let left = Hint::remaining(self.limit.remaining());
        let counts = left.and_limit(self.calls);
        let quota =
            Hint::quota(self.calls, exact(self.period)).and_remaining(self.limit.remaining());
        let (reset, wait) = (self.limit.reset(), self.limit.retry_after(1));
        let told = match self.says {
            Says::Nothing | Says::RetryAfter => Hint::NONE,
            Says::Left => left,
            Says::Quota => counts.and_reset(exact(reset)),
            Says::Policy => quota,
            Says::Reset if served => left.and_reset(exact(reset)),
            Says::Reset => Hint::retry_after(exact(wait)),
            Says::Ietf => quota.and_reset(whole(reset)),
            Says::XRateLimit => counts.and_reset(whole(reset)),
        };
        match self.says {
            Says::RetryAfter | Says::Ietf | Says::XRateLimit if !served => {
                outcome.with(told.and_retry_after(whole(wait)))
            }
            _ => outcome.with(told),
        }
    }
}
