//! A call on its way to its permit: with one key, or with several whose limits it counts against.
//!
//! It waits in the queue of one key at a time, with its place from its arrival. When that key admits it, it takes the
//! permits of the others without waiting. If one of them delays it, it joins that queue and refunds its permits, so
//! calls of other keys do not wait for it.
//!
//! Two keys in constant demand would never have room at the same time. So a call may keep its permits for a while: see
//! [`HoldLimit`]. No lane is locked while another one is.

use std::fmt;
use std::future::Future;
use std::mem::replace;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tidegate::queue::{HoldLimit, Ticket};
use tidegate::{Instant, Span};

use crate::desk::Wait;
use crate::error::Error;
use crate::layers::Layer;
use crate::observe::{self, Cause};
use crate::permit::Permit;
use crate::timer::{Alarm, Timer, Tokio, cooperate, waker};

/// Waits for a permit. Returned by [`Call::acquire`](crate::Call::acquire).
///
/// It may be dropped at any time. The call then leaves the queue, and the next one takes its turn.
#[must_use = "futures do nothing unless polled"]
pub struct Acquire<const LIMITS: usize = 1, T: Timer = Tokio> {
    permit: Permit<LIMITS, T>,
    turn: Turn,
    /// How long it may take to take its permit.
    within: Span,
    limit: HoldLimit,
    /// Until when it keeps the permits that it has.
    keeps_until: Instant,
    /// The key in whose queue it waited first, the cause, and the start.
    waits: Option<(usize, Cause, Instant)>,
    alarm: Alarm<T>,
}

enum Turn {
    /// It has just arrived.
    New,
    /// It is tried again, and its backoff may not have ended.
    Again,
    /// It waits in the queue of this key.
    Waits(usize, Ticket),
    /// It waits in no queue: it has all permits, or will get none.
    Out,
    /// It has been told.
    Done,
}

impl<const LIMITS: usize, T: Timer> Acquire<LIMITS, T> {
    pub(crate) fn new(permit: Permit<LIMITS, T>) -> Self {
        Self {
            turn: if permit.call.attempt() == 0 { Turn::New } else { Turn::Again },
            within: permit.last().settings.take_within,
            limit: HoldLimit::new(permit.call.not_before(), Instant::ZERO),
            keeps_until: Instant::ZERO,
            waits: None,
            alarm: Alarm::default(),
            permit,
        }
    }

    /// Ready when it has the permits of all keys.
    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        loop {
            let Permit { call, layers, .. } = &self.permit;
            match &mut self.turn {
                Turn::New => self.join()?,
                // All keys have the backoff of the first one: a call that joins earlier would delay others.
                Turn::Again if call.not_before() <= self.permit.last().settings.timer.now() => {
                    self.turn = Turn::Out;
                    self.take_others(None)?;
                }
                Turn::Again => {
                    let until = call.not_before();
                    self.note_wait(0);
                    ready!(self.sleep(until, cx));
                }
                Turn::Waits(at, ticket) => {
                    let at = *at;
                    let (Layer { lane, place, .. }, within) = (&layers[at], &mut self.within);
                    let (wait, now) = lane.act(|desk, now| {
                        (desk.wait(now, ticket, within, waker::<T>(cx), call, *place), now)
                    });
                    match wait {
                        Wait::Until(mut until) => {
                            self.note_wait(at);
                            if now < self.keeps_until {
                                until = until.min(self.keeps_until);
                            } else {
                                self.permit.take_back();
                            }
                            ready!(self.sleep(until, cx));
                        }
                        Wait::Admitted(right) => {
                            self.turn = Turn::Out;
                            self.permit.layers[at].permit = Some(right);
                            self.take_others(Some(at))?;
                        }
                        Wait::Rejected(reason) => {
                            self.turn = Turn::Out;
                            return Poll::Ready(Err(lane.rejected(reason, now)));
                        }
                    }
                }
                Turn::Out => {
                    self.observe();
                    return Poll::Ready(Ok(()));
                }
                #[expect(clippy::panic, reason = "as every future does")]
                Turn::Done => panic!("`Acquire` polled after it was ready"),
            }
        }
    }

    /// Joins all queues, which check its deadline and their room. If it has to wait, it stays in the last one that
    /// delays it.
    fn join(&mut self) -> Result<(), Error> {
        let call = self.permit.call;
        if self.permit.layers.len() > 1 {
            self.limit = HoldLimit::new(self.permit.last().settings.timer.now(), Instant::ZERO);
        }
        self.turn = Turn::Out;
        for at in 0..self.permit.layers.len() {
            if let Some(ticket) = self.permit.layers[at].join(&call, true)? {
                self.leave();
                self.turn = Turn::Waits(at, ticket);
            }
        }
        if let Turn::Waits(..) = self.turn {
            self.permit.take_back();
        }
        Ok(())
    }

    /// Takes the permits of all keys but the one that has admitted the call, or joins the queue of one that delays it.
    fn take_others(&mut self, admitted: Option<usize>) -> Result<(), Error> {
        let Permit { call, layers, .. } = &mut self.permit;
        for (at, layer) in layers.iter_mut().enumerate().filter(|(at, _)| Some(*at) != admitted) {
            if let Some(ticket) = layer.join(call, false)? {
                self.turn = Turn::Waits(at, ticket);
                self.keep(at, ticket);
                break;
            }
        }
        Ok(())
    }

    /// Keeps its permits if it can be sent soon, or refunds them.
    fn keep(&mut self, at: usize, ticket: Ticket) {
        let Permit { call, layers, .. } = &mut self.permit;
        if layers.len() == 1 {
            return;
        }
        // Two calls may each keep what the other needs. They mark it before they look, so one of them sees it.
        layers.iter_mut().for_each(|layer| layer.keep(*call));
        let (until, now) = layers[at].lane.holds_until(ticket, call, &mut self.limit);
        self.keeps_until = until;
        if until <= now {
            self.permit.take_back();
        }
    }

    /// Leaves the queue in which it waits, and refunds the permits that it has.
    fn give_up(&mut self) {
        self.leave();
        self.permit.take_back();
    }

    fn leave(&mut self) {
        if let Turn::Waits(at, ticket) = replace(&mut self.turn, Turn::Out) {
            self.permit.layers[at].lane.act(|desk, now| desk.cancel(now, ticket));
        }
    }

    fn sleep(&mut self, until: Instant, cx: &mut Context<'_>) -> Poll<()> {
        self.alarm.poll(&self.permit.last().settings.timer, until, cx)
    }

    fn note_wait(&mut self, _at: usize) {
        #[cfg(feature = "metrics")]
        if self.waits.is_none() {
            let lane = &self.permit.layers[_at].lane;
            let cause = observe::cause(lane, self.permit.attempt());
            self.waits = Some((_at, cause, lane.settings.timer.now()));
        }
    }

    fn observe(&self) {
        for (at, layer) in self.permit.layers.iter().enumerate() {
            let of_this = self.waits.filter(|(first, ..)| *first == at);
            observe::admitted(&layer.lane, of_this.map(|(_, cause, since)| (cause, since)));
        }
    }
}

impl<const LIMITS: usize, T: Timer> Future for Acquire<LIMITS, T> {
    type Output = Result<Permit<LIMITS, T>, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let admitted = ready!(cooperate(cx, |cx| self.wait(cx)));
        if let Err(error) = &admitted {
            observe::rejected(error);
            self.give_up();
        }
        (self.turn, self.alarm) = (Turn::Done, Alarm::default()); // Its timer would wake the task.
        Poll::Ready(admitted.map(|()| self.permit.take()))
    }
}

impl<const LIMITS: usize, T: Timer> Drop for Acquire<LIMITS, T> {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl<const LIMITS: usize, T: Timer> fmt::Debug for Acquire<LIMITS, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if matches!(self.turn, Turn::Done) { "done" } else { "waits" };
        f.debug_tuple("Acquire").field(&state).finish()
    }
}
