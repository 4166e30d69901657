//! A call that waits for a place in the table of keys.

use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tidegate::{Call, Instant, Reason, Span};

use crate::alarm::{Alarm, waker};
use crate::error::Error;
use crate::keys::{Keys, Lanes, Names};
use crate::timer::{Timer, span};

/// A call whose keys are not all in the table yet.
pub(crate) struct Entry<const LIMITS: usize, T: Timer> {
    keys: Arc<Keys<LIMITS, T>>,
    names: Names,
    pub(crate) call: Call<LIMITS>,
    pub(crate) priority: u8,
    /// Its number in the queue for a place, if it had to wait.
    number: Option<u64>,
    /// When it last looked for a place.
    since: Instant,
}

impl<const LIMITS: usize, T: Timer> Entry<LIMITS, T> {
    pub(crate) const fn new(
        keys: Arc<Keys<LIMITS, T>>,
        names: Names,
        call: Call<LIMITS>,
        priority: u8,
    ) -> Self {
        Self { keys, names, call, priority, number: None, since: Instant::ZERO }
    }

    /// Waits for the lanes.
    pub(crate) fn lanes(
        &mut self,
        alarm: &mut Alarm<T>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Lanes<LIMITS, T>, Error>> {
        loop {
            let until = match self.find(waker::<T>(cx)) {
                Ok(lanes) => return Poll::Ready(Ok(lanes)),
                Err(until) => until,
            };
            let timer = &self.keys.shared.timer;
            let (now, deadline) = (timer.now(), self.call.not_after());
            if now > deadline {
                // The time is known if it waits for a cooldown to end.
                let until = if until < Instant::MAX { until } else { now };
                let key = self.names.first.as_str().into();
                return Poll::Ready(Err(Error::rejected(key, Reason::Late(until), now)));
            }
            // The first in the queue may no longer be polled.
            let patience = span(timer.patience().max(LEAST));
            let until = until.min(now + patience).min(after(deadline));
            ready!(alarm.poll(timer, until, cx));
        }
    }

    /// The lanes. `Err` returns when to try again.
    fn find(&mut self, waker: &Waker) -> Result<Lanes<LIMITS, T>, Instant> {
        let Self { keys, names, number, since, .. } = self;
        if let Some(lanes) = keys.find_all(names) {
            return Ok(lanes);
        }
        let line = &keys.shared.line;
        let now = keys.shared.timer.now();
        let first = match *number {
            None if line.is_empty() => match keys.find_or_make(names) {
                Ok(lanes) => return Ok(lanes),
                // Once more after it joined the queue, because a place that was freed in between
                // could be missed.
                Err(_) => line.is_first(*number.insert(line.join(waker)), waker),
            },
            None => line.is_first(*number.insert(line.join(waker)), waker),
            Some(number) => line.is_first(number, waker),
        };
        let overdue = *since > Instant::ZERO && *since + span(keys.shared.timer.patience()) <= now;
        *since = now;
        if first || overdue { keys.find_or_make(names) } else { Err(Instant::MAX) }
    }
}

impl<const LIMITS: usize, T: Timer> Drop for Entry<LIMITS, T> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.keys.shared.line.leave(number);
        }
    }
}

/// The shortest time between attempts to find a place for a key, if every call has its own timer.
const LEAST: Duration = Duration::from_millis(100);

/// The first instant after the deadline.
fn after(deadline: Instant) -> Instant {
    deadline + Span::from_nanos(1)
}
