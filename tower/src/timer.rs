//! The timer of a gate, and those of its calls that wait.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

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
    type Sleep = std::future::Pending<()>;

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

/// Polls within the budget of tokio's task: a loop of calls that are admitted at once lets other futures run.
pub(crate) fn cooperate<R>(
    cx: &mut Context<'_>,
    poll: impl FnOnce(&mut Context<'_>) -> Poll<R>,
) -> Poll<R> {
    #[cfg(feature = "tokio")]
    let budget = ready!(tokio::task::coop::poll_proceed(cx));
    let done = ready!(poll(cx));
    #[cfg(feature = "tokio")]
    budget.made_progress();
    Poll::Ready(done)
}

/// The waker of the task for events of other tasks.
pub(crate) fn waker<'a, T: Timer>(cx: &'a Context<'_>) -> &'a Waker {
    if T::POLLS.is_none() { cx.waker() } else { Waker::noop() }
}

pub(crate) struct Alarm<T: Timer> {
    sleep: Option<Pin<Box<T::Sleep>>>,
    at: Instant,
}

impl<T: Timer> Default for Alarm<T> {
    fn default() -> Self {
        Self { sleep: None, at: Instant::MAX }
    }
}

impl<T: Timer> Alarm<T> {
    /// Ready at `until`, or earlier.
    pub(crate) fn poll(&mut self, timer: &T, until: Instant, cx: &mut Context<'_>) -> Poll<()> {
        let until = T::POLLS.map_or(until, |every| until.min(timer.now() + span(every)));
        if until == Instant::MAX {
            return Poll::Pending;
        }
        let sleep = match &mut self.sleep {
            Some(sleep) => {
                if self.at != until {
                    sleep.set(timer.sleep_until(until));
                }
                sleep
            }
            none => none.insert(Box::pin(timer.sleep_until(until))),
        };
        self.at = until;
        ready!(sleep.as_mut().poll(cx));
        // A completed sleep must not be polled again.
        self.at = Instant::MAX;
        Poll::Ready(())
    }
}
