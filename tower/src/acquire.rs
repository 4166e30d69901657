//! A call that waits for its permit.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tidegate::Instant;
use tidegate::queue::{Place, Ticket};

use crate::alarm::Alarm;
use crate::entry::{Entry, Joined};
use crate::error::Error;
use crate::keys::Keys;
use crate::lane::{Held, Wait};
use crate::layers::Layered;
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
    alarm: Alarm<T>,
}

enum Stage<const LIMITS: usize, T: Timer> {
    /// It waits for a place in the table of keys.
    Key(Entry<LIMITS, T>),
    /// It waits in the queue of its key.
    Queue(Queued<LIMITS, T>),
    /// It has several keys.
    Layers(Box<Layered<LIMITS, T>>),
    /// It has completed.
    Done,
}

impl<const LIMITS: usize, T: Timer> Acquire<LIMITS, T> {
    pub(crate) fn new(
        keys: Arc<Keys<LIMITS, T>>,
        key: String,
        call: tidegate::Call<LIMITS>,
        priority: u8,
    ) -> Self {
        let entry = Entry::new(keys, key, call, priority);
        Self { stage: Stage::Key(entry), alarm: Alarm::default() }
    }

    /// Waits for the permits of several keys.
    pub(crate) fn layered(layers: Layered<LIMITS, T>) -> Self {
        Self { stage: Stage::Layers(Box::new(layers)), alarm: Alarm::default() }
    }

    /// Waits for the permit of a later attempt.
    pub(crate) fn again(
        lane: Held<LIMITS, T>,
        ticket: Ticket,
        call: tidegate::Call<LIMITS>,
        place: Place,
    ) -> Self {
        let queued = Queued { lane: Some(lane), ticket, call, place, waits: None };
        Self { stage: Stage::Queue(queued), alarm: Alarm::default() }
    }
}

impl<const LIMITS: usize, T: Timer> Future for Acquire<LIMITS, T> {
    type Output = Result<Permit<LIMITS, T>, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { stage, alarm } = self.get_mut();
        loop {
            match stage {
                Stage::Key(entry) => {
                    let joined = ready!(entry.poll(alarm, cx)).inspect_err(observe::rejected);
                    *stage = Stage::Done;
                    match joined? {
                        Joined::Admitted(permit) => return Poll::Ready(Ok(permit)),
                        Joined::Waits(queued) => *stage = Stage::Queue(queued),
                    }
                }
                Stage::Queue(queued) => {
                    let permit = ready!(queued.poll(alarm, cx)).inspect_err(observe::rejected);
                    *stage = Stage::Done;
                    return Poll::Ready(permit);
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

/// A call in the queue of its key.
pub(crate) struct Queued<const LIMITS: usize, T: Timer> {
    /// `None` once the permit is taken.
    pub(crate) lane: Option<Held<LIMITS, T>>,
    pub(crate) ticket: Ticket,
    pub(crate) call: tidegate::Call<LIMITS>,
    pub(crate) place: Place,
    /// The cause of the wait, and its start.
    pub(crate) waits: Option<(Cause, Instant)>,
}

impl<const LIMITS: usize, T: Timer> Queued<LIMITS, T> {
    fn poll(
        &mut self,
        alarm: &mut Alarm<T>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Permit<LIMITS, T>, Error>> {
        loop {
            let Some(lane) = &self.lane else { return Poll::Pending };
            let (wait, now) = lane.wait(self.ticket, cx.waker());
            let decided = match wait {
                Wait::Until(until) => {
                    #[cfg(feature = "metrics")]
                    self.waits
                        .get_or_insert_with(|| (observe::cause(lane, self.call.attempt()), now));
                    ready!(alarm.poll(&lane.shared.timer, until, cx));
                    continue;
                }
                Wait::Admitted(permit) => {
                    let (cause, since) = self.waits.unwrap_or((observe::NO_WAIT, now));
                    observe::admitted(lane, cause, now.saturating_since(since));
                    Ok(permit)
                }
                Wait::Rejected(reason) => Err(Error::rejected(lane.key.clone(), reason, now)),
                Wait::Lapsed => Err(Error::Lapsed { key: lane.key.clone() }),
            };
            let Some(lane) = self.lane.take() else { return Poll::Pending };
            let permit = decided.map(|permit| Permit::new(lane, permit, self.call, self.place));
            return Poll::Ready(permit);
        }
    }
}

impl<const LIMITS: usize, T: Timer> Drop for Queued<LIMITS, T> {
    fn drop(&mut self) {
        if let Some(lane) = &self.lane {
            lane.cancel(self.ticket);
        }
    }
}
