//! The timer of a call that waits.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use tidegate::Instant;

use crate::timer::{Timer, span};

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
