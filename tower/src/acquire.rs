//! A call that waits for its permit.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use crate::alarm::{self, Alarm};
use crate::error::Error;
use crate::layers::Layers;
use crate::observe;
use crate::permit::Permit;
use crate::timer::{Timer, Tokio};

/// Waits for a permit. Returned by [`Call::acquire`](crate::Call::acquire).
///
/// It may be dropped at any time. The call then leaves the queue, and the next one takes its turn.
///
/// ```
/// use tidegate_tower::{Acquire, Gate};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tidegate_tower::Error> {
/// let gate = Gate::adaptive();
/// let (one, two): (Acquire, Acquire) = (gate.acquire(), gate.acquire());
/// drop(one);
/// drop(two.await?);
/// assert_eq!(gate.stats().counts.admitted, 1);
/// # Ok(()) }
/// ```
#[must_use = "futures do nothing unless polled"]
pub struct Acquire<const LIMITS: usize = 1, T: Timer = Tokio> {
    /// `None` once it has completed.
    layers: Option<Layers<LIMITS, T>>,
    alarm: Alarm<T>,
}

impl<const LIMITS: usize, T: Timer> Acquire<LIMITS, T> {
    /// Waits for the permits of an attempt.
    pub(crate) fn new(permit: Permit<LIMITS, T>) -> Self {
        Self { layers: Some(Layers::new(permit)), alarm: Alarm::default() }
    }
}

impl<const LIMITS: usize, T: Timer> Future for Acquire<LIMITS, T> {
    type Output = Result<Permit<LIMITS, T>, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { layers, alarm } = &mut *self;
        #[expect(clippy::panic, reason = "as every future does")]
        let Some(waits) = layers else { panic!("`Acquire` polled after it was ready") };
        let admitted = ready!(alarm::cooperate(cx, |cx| waits.poll(alarm, cx)));
        if let Err(error) = &admitted {
            observe::rejected(error);
            waits.give_up();
        }
        let permit = layers.take().map(|layers| layers.permit);
        permit.map_or(Poll::Pending, |permit| Poll::Ready(admitted.map(|()| permit)))
    }
}

impl<const LIMITS: usize, T: Timer> Drop for Acquire<LIMITS, T> {
    fn drop(&mut self) {
        if let Some(layers) = &mut self.layers {
            layers.give_up();
        }
    }
}

impl<const LIMITS: usize, T: Timer> fmt::Debug for Acquire<LIMITS, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.layers.is_some() { "waits" } else { "done" };
        f.debug_tuple("Acquire").field(&state).finish()
    }
}
