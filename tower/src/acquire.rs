//! A call that waits for its permit.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tidegate::Instant;
use tidegate::queue::Place;

use crate::alarm::{self, Alarm};
use crate::desk::{Decided, Queued};
use crate::entry::Entry;
use crate::error::Error;
use crate::keys::{Keys, Names};
use crate::layers::{Layer, Layers};
use crate::observe::{self, Cause};
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
    stage: Stage<LIMITS, T>,
    /// The cause of the wait, and its start.
    waits: Option<(Cause, Instant)>,
    alarm: Alarm<T>,
}

enum Stage<const LIMITS: usize, T: Timer> {
    /// It waits for places in the table of keys.
    Key(Entry<LIMITS, T>),
    /// It waits in the queue of its key, or for the end of its backoff.
    Queue(Queued<LIMITS, T>),
    /// It has several keys.
    Layers(Box<Layers<LIMITS, T>>),
    /// It has completed.
    Done,
}

impl<const LIMITS: usize, T: Timer> Acquire<LIMITS, T> {
    pub(crate) fn new(
        keys: Arc<Keys<LIMITS, T>>,
        names: Names,
        call: tidegate::Call<LIMITS>,
        priority: u8,
    ) -> Self {
        Self::at(Stage::Key(Entry::new(keys, names, call, priority)))
    }

    /// Waits for the permits of a later attempt.
    pub(crate) fn again(first: Layer<LIMITS, T>, others: Vec<Layer<LIMITS, T>>) -> Self {
        Self::at(match others.is_empty() {
            true => Stage::Queue(Queued::new(first.lane, first.call, first.place)),
            false => Stage::Layers(Box::new(Layers::again(first, others))),
        })
    }

    fn at(stage: Stage<LIMITS, T>) -> Self {
        Self { stage, waits: None, alarm: Alarm::default() }
    }
}

impl<const LIMITS: usize, T: Timer> Future for Acquire<LIMITS, T> {
    type Output = Result<Permit<LIMITS, T>, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        alarm::cooperate(cx, |cx| self.poll_permit(cx))
    }
}

impl<const LIMITS: usize, T: Timer> Acquire<LIMITS, T> {
    fn poll_permit(&mut self, cx: &mut Context<'_>) -> Poll<Result<Permit<LIMITS, T>, Error>> {
        let Self { stage, waits, alarm } = self;
        loop {
            match stage {
                Stage::Key(entry) => {
                    let lanes = ready!(entry.lanes(alarm, cx)).inspect_err(observe::rejected);
                    let (call, place) = (entry.call, Place::new(entry.priority, 0));
                    *stage = Stage::Done;
                    let (first, others) = lanes?;
                    *stage = match others.is_empty() {
                        true => Stage::Queue(Queued::new(first, call, place)),
                        false => {
                            let layers = Layers::join(first, others, call, place);
                            Stage::Layers(Box::new(layers.inspect_err(observe::rejected)?))
                        }
                    };
                }
                Stage::Queue(queued) => {
                    let Poll::Ready(decided) = queued.poll(alarm, cx) else {
                        #[cfg(feature = "metrics")]
                        if let Some(lane) = &queued.lane {
                            waits.get_or_insert_with(|| {
                                let cause = observe::cause(lane, queued.call.attempt());
                                (cause, lane.shared.timer.now())
                            });
                        }
                        return Poll::Pending;
                    };
                    *stage = Stage::Done;
                    let Decided { lane, call, place, now, decision } = decided;
                    return Poll::Ready(match decision {
                        Ok(permit) => {
                            let (cause, since) = waits.unwrap_or((observe::NO_WAIT, now));
                            observe::admitted(&lane, cause, now - since);
                            Ok(Layer::new(lane, Some(permit), call, place).into())
                        }
                        Err(reason) => Err(Error::rejected(lane.key.clone(), reason, now))
                            .inspect_err(observe::rejected),
                    });
                }
                Stage::Layers(layers) => {
                    let permit = ready!(layers.poll(alarm, cx)).inspect_err(observe::rejected);
                    *stage = Stage::Done;
                    return Poll::Ready(permit);
                }
                #[expect(clippy::panic, reason = "as every future does")]
                Stage::Done => panic!("`Acquire` polled after it was ready"),
            }
        }
    }
}

impl<const LIMITS: usize, T: Timer> fmt::Debug for Acquire<LIMITS, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match &self.stage {
            Stage::Key(_) => "waits for a place for its key",
            Stage::Queue(_) => "waits in the queue",
            Stage::Layers(_) => "waits for several keys",
            Stage::Done => "done",
        };
        f.debug_tuple("Acquire").field(&stage).finish()
    }
}
