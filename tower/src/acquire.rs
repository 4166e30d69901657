//! A call that waits for its permit.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use tidegate::queue::{Place, Ticket};
use tidegate::{Ask, Instant, Reason};

use crate::error::Error;
use crate::keys::Keys;
use crate::lane::{Held, Wait};
use crate::observe::{self, Cause};
use crate::permit::Permit;
use crate::timer::{Timer, Tokio, span};

/// Waits for a permit: what [`Call::acquire`](crate::Call::acquire) returns.
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
/// assert_eq!(gate.stats().counts.gone, 1);
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
    /// It was polled to its end.
    Done,
}

impl<const LIMITS: usize, T: Timer> Acquire<LIMITS, T> {
    pub(crate) fn new(
        keys: Arc<Keys<LIMITS, T>>,
        key: String,
        ask: Ask<LIMITS>,
        priority: u8,
    ) -> Self {
        let entry = Entry { keys, key, ask, priority, number: None, since: Instant::ZERO };
        Self { stage: Stage::Key(entry), alarm: Alarm::default() }
    }

    /// Waits for the permit of a later attempt.
    pub(crate) fn again(
        lane: Held<LIMITS, T>,
        ticket: Ticket,
        ask: Ask<LIMITS>,
        place: Place,
    ) -> Self {
        let queued = Queued { lane: Some(lane), ticket, ask, place, waits: None };
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
                    *stage = Stage::Queue(joined?);
                }
                Stage::Queue(queued) => {
                    let permit = ready!(queued.poll(alarm, cx)).inspect_err(observe::rejected);
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
            Stage::Done => "done",
        };
        f.debug_tuple("Acquire").field(&stage).finish()
    }
}

/// A call whose key is not in the table yet.
struct Entry<const LIMITS: usize, T: Timer> {
    keys: Arc<Keys<LIMITS, T>>,
    key: String,
    ask: Ask<LIMITS>,
    priority: u8,
    /// Its number in the line for a place, if it had to wait.
    number: Option<u64>,
    /// When it looked for a place the last time.
    since: Instant,
}

impl<const LIMITS: usize, T: Timer> Entry<LIMITS, T> {
    fn poll(
        &mut self,
        alarm: &mut Alarm<T>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Queued<LIMITS, T>, Error>> {
        loop {
            let until = match self.find(cx.waker()) {
                Ok(lane) => return Poll::Ready(self.join(lane)),
                Err(until) => until,
            };
            let timer = &self.keys.shared.timer;
            let (now, deadline) = (timer.now(), self.ask.not_after());
            if now > deadline {
                // How long it would take is known where it waits for a cooldown to end.
                let until = if until < Instant::MAX { until } else { now };
                let key = self.key.as_str().into();
                return Poll::Ready(Err(Error::rejected(key, Reason::Late(until), now)));
            }
            // The first in line may not be polled any more.
            let patience = span(timer.patience().max(LEAST));
            let until = until.min(now.saturating_add(patience)).min(after(deadline));
            ready!(alarm.poll(timer, until, cx));
        }
    }

    /// The lane of the key. `Err` says when to look again.
    fn find(&mut self, waker: &Waker) -> Result<Held<LIMITS, T>, Instant> {
        let Self { keys, key, number, since, .. } = self;
        if let Some(lane) = keys.find(key) {
            return Ok(lane);
        }
        let line = &keys.shared.line;
        let now = keys.shared.timer.now();
        let first = match *number {
            None if line.is_empty() => match keys.find_or_make(key) {
                Ok(lane) => return Ok(lane),
                // Once more when it is in line, or a place that is freed now could be missed.
                Err(_) => line.is_first(*number.insert(line.join(waker)), waker),
            },
            None => line.is_first(*number.insert(line.join(waker)), waker),
            Some(number) => line.is_first(number, waker),
        };
        let overdue = *since > Instant::ZERO
            && since.saturating_add(span(keys.shared.timer.patience())) <= now;
        *since = now;
        if first || overdue { keys.find_or_make(key) } else { Err(Instant::MAX) }
    }

    fn join(&mut self, lane: Held<LIMITS, T>) -> Result<Queued<LIMITS, T>, Error> {
        let ask = self.ask;
        match lane.join(&ask, self.priority) {
            Ok((ticket, place)) => Ok(Queued { lane: Some(lane), ticket, ask, place, waits: None }),
            Err((reason, now)) => Err(Error::rejected(lane.key.clone(), reason, now)),
        }
    }
}

impl<const LIMITS: usize, T: Timer> Drop for Entry<LIMITS, T> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.keys.shared.line.leave(number);
        }
    }
}

/// A call in the queue of its key.
struct Queued<const LIMITS: usize, T: Timer> {
    /// `None` once the permit is handed out.
    lane: Option<Held<LIMITS, T>>,
    ticket: Ticket,
    ask: Ask<LIMITS>,
    place: Place,
    /// What keeps it back, and since when.
    waits: Option<(Cause, Instant)>,
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
                        .get_or_insert_with(|| (observe::cause(lane, self.ask.attempt()), now));
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
            let permit = decided.map(|permit| Permit::new(lane, permit, self.ask, self.place));
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

/// The timer of one call.
struct Alarm<T: Timer> {
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
    fn poll(&mut self, timer: &T, until: Instant, cx: &mut Context<'_>) -> Poll<()> {
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
        // A sleep that has ended is not polled again.
        self.at = Instant::MAX;
        Poll::Ready(())
    }
}

/// How often a call looks for a place for its key at most, where every call watches the clock itself.
const LEAST: core::time::Duration = core::time::Duration::from_millis(100);

/// What is later than this is late.
const fn after(deadline: Instant) -> Instant {
    deadline.saturating_add(tidegate::Span::from_nanos(1))
}
