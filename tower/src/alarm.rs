//! The timer of a call that waits.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tidegate::Instant;

use crate::timer::Timer;

/// The timer of one call.
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
