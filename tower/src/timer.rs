//! The timer of a gate.

use core::future::Future;
use core::time::Duration;

use tidegate::Instant;

/// A monotonic clock and its sleeps. [`Tokio`] is the default.
///
/// Every waiting call has its own timer, and the gate has no task, so a runtime needs only a clock and a sleep. With
/// the feature `js`, `Js` provides those of Cloudflare Workers and browsers. To implement another timer:
///
/// ```
/// use tidegate_tower::Timer;
/// use tidegate_tower::tidegate::Instant;
/// # fn nanos() -> u64 { 0 }
/// # async fn sleep(_: u64) {}
///
/// struct Other;
///
/// impl Timer for Other {
///     type Sleep = std::pin::Pin<Box<dyn Future<Output = ()>>>;
///
///     fn now(&self) -> Instant {
///         Instant::from_nanos(nanos())
///     }
///
///     fn sleep_until(&self, at: Instant) -> Self::Sleep {
///         Box::pin(sleep((at - self.now()).as_nanos()))
///     }
/// }
/// ```
pub trait Timer: 'static {
    /// The future of a sleep. The gate's futures are [`Send`] if it is.
    type Sleep: Future<Output = ()>;

    /// How often a waiting call polls the gate, on a runtime whose tasks must not wake each other. By default they do.
    const POLLS: Option<Duration> = None;

    /// The time since any fixed epoch. It must never go back.
    fn now(&self) -> Instant;

    /// Sleeps until that time. If it ends earlier, it is started again.
    fn sleep_until(&self, at: Instant) -> Self::Sleep;
}

/// tokio's timer. It needs a runtime with `enable_time`, and works with `tokio::time::pause` in
/// tests.
///
/// ```
/// use tidegate_tower::{Timer, Tokio};
///
/// let timer = Tokio::default();
/// assert!(timer.now() <= timer.now());
/// ```
#[cfg(feature = "tokio")]
#[derive(Clone, Copy, Debug)]
pub struct Tokio {
    epoch: tokio::time::Instant,
}

/// tokio's timer. Without the feature `tokio` there is none.
#[cfg(not(feature = "tokio"))]
#[derive(Clone, Copy, Debug)]
pub enum Tokio {}

#[cfg(not(feature = "tokio"))]
impl Timer for Tokio {
    type Sleep = core::future::Pending<()>;

    fn now(&self) -> Instant {
        match *self {}
    }

    fn sleep_until(&self, _: Instant) -> Self::Sleep {
        match *self {}
    }
}

#[cfg(feature = "tokio")]
impl Tokio {
    /// The instant of a time on tokio's clock. Zero for times before the timer was created.
    pub(crate) fn at(&self, time: tokio::time::Instant) -> Instant {
        Instant::ZERO + span(time.saturating_duration_since(self.epoch))
    }
}

#[cfg(feature = "tokio")]
impl Default for Tokio {
    fn default() -> Self {
        Self { epoch: tokio::time::Instant::now() }
    }
}

#[cfg(feature = "tokio")]
impl Timer for Tokio {
    type Sleep = tokio::time::Sleep;

    fn now(&self) -> Instant {
        self.at(tokio::time::Instant::now())
    }

    fn sleep_until(&self, at: Instant) -> Self::Sleep {
        tokio::time::sleep(duration(at - self.now()))
    }
}

pub(crate) fn span(duration: Duration) -> tidegate::Span {
    tidegate::Span::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

pub(crate) const fn duration(span: tidegate::Span) -> Duration {
    Duration::from_nanos(span.as_nanos())
}

/// How long a waiting call relies on the timer of another one, whose future may no longer be polled.
pub(crate) const PATIENCE: tidegate::Span = tidegate::Span::from_secs(1);
