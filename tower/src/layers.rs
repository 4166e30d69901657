//! A call on its way to its permit: with one key, or with several whose limits it counts against.
//!
//! It waits in the queue of one key at a time, with its place from its arrival. When that key admits it, it takes the
//! permits of the others without waiting. If one of them delays it, it joins that queue and refunds its permits, so
//! calls of other keys do not wait for it.
//!
//! Two keys in constant demand would never have room at the same time. So a call may keep its permits for a while: see
//! [`HoldLimit`]. No lane is locked while another one is.

use std::mem::{replace, take};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tidegate::queue::{Gate, HoldLimit, Joined, Place, Ticket};
use tidegate::{Call, Instant, Outcome, Reply};

use crate::alarm::{Alarm, waker};
use crate::desk::Wait;
use crate::error::Error;
use crate::lane::Lane;
use crate::observe::{self, Cause};
use crate::permit::Permit;
use crate::source::Right;
use crate::timer::Timer;

/// One key of a call.
pub(crate) struct Layer<const LIMITS: usize, T: Timer> {
    pub(crate) lane: Arc<Lane<LIMITS, T>>,
    /// `None` if it has none, or once it has ended.
    pub(crate) permit: Option<Right<LIMITS>>,
    pub(crate) place: Place,
    /// Whether the lane keeps the permit, because the call waits for another key.
    is_kept: bool,
}

impl<const LIMITS: usize, T: Timer> Layer<LIMITS, T> {
    pub(crate) const fn new(lane: Arc<Lane<LIMITS, T>>, place: Place) -> Self {
        Self { lane, permit: None, place, is_kept: false }
    }

    /// Takes a permit if no other call waits. Returns whether there is one.
    pub(crate) fn try_take(&mut self, call: &Call<LIMITS>) -> bool {
        if let Some((right, place)) = self.lane.try_take(call, self.place.priority()) {
            (self.permit, self.place) = (Some(right), place);
        }
        self.permit.is_some()
    }

    pub(crate) fn settle(&mut self, reply: Reply<LIMITS>) {
        if let Some(permit) = self.permit.take() {
            self.lane.change(|gate, now| gate.settle(now, permit, reply));
            observe::settled(&self.lane, reply.outcome);
        }
    }

    pub(crate) fn learn(&mut self, reply: Reply<LIMITS>) {
        if let Some(permit) = &mut self.permit {
            self.lane.change(|gate, now| gate.learn(now, permit, reply));
            observe::settled(&self.lane, reply.outcome);
        }
    }

    pub(crate) fn correct(&mut self, used: [Option<u32>; LIMITS]) {
        if let Some(permit) = &mut self.permit {
            self.lane.change(|gate, now| gate.own.correct(now, &mut permit.own, used));
        }
    }

    fn keep(&mut self, call: Call<LIMITS>) {
        if let Some(permit) = self.permit.take() {
            self.lane.hold(permit, call, self.place);
            self.is_kept = true;
        }
    }

    fn take(&mut self) -> Option<Right<LIMITS>> {
        match take(&mut self.is_kept) {
            true => self.lane.take_held(self.place),
            false => self.permit.take(),
        }
    }

    pub(crate) fn refund(&mut self) {
        if let Some(permit) = self.take() {
            self.lane.change(|gate, now| gate.refund(now, permit));
            observe::released(&self.lane);
        }
    }

    /// Ends a call. It is abandoned if it has not learnt from a response.
    pub(crate) fn release(&mut self, has_learnt: bool) {
        if let Some(permit) = self.permit.take() {
            self.lane.change(|gate, now| gate.release(now, permit));
            match has_learnt {
                true => observe::released(&self.lane),
                false => observe::settled(&self.lane, Outcome::Abandoned),
            }
        }
    }
}

/// A call, with the permits that it has so far.
pub(crate) struct Layers<const LIMITS: usize, T: Timer> {
    pub(crate) permit: Permit<LIMITS, T>,
    turn: Turn,
    /// How long it keeps permits.
    limit: HoldLimit,
    /// Until when it keeps the permits that it has.
    keeps_until: Instant,
    /// The key in whose queue it waited first, the cause, and the start.
    waits: Option<(usize, Cause, Instant)>,
}

/// Where a call is.
enum Turn {
    /// It has just arrived.
    New,
    /// It is tried again, and its backoff may not have ended.
    Again,
    /// It waits in the queue of this key.
    Waits(usize, Ticket),
    /// It waits in no queue: it has all permits, or will get none.
    Out,
}

impl<const LIMITS: usize, T: Timer> Layers<LIMITS, T> {
    /// A call whose permits have not been used.
    pub(crate) const fn new(permit: Permit<LIMITS, T>) -> Self {
        let turn = if permit.call.attempt() == 0 { Turn::New } else { Turn::Again };
        let limit = HoldLimit::new(permit.call.not_before(), Instant::ZERO);
        Self { permit, turn, limit, keeps_until: Instant::ZERO, waits: None }
    }

    /// Ready when it has the permits of all keys.
    pub(crate) fn poll(
        &mut self,
        alarm: &mut Alarm<T>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Error>> {
        loop {
            let Permit { call, first, .. } = &self.permit;
            match &mut self.turn {
                Turn::New => self.join()?,
                // All keys have the backoff of the first one: a call that joins earlier would delay others.
                Turn::Again if first.lane.may_join(call) => {
                    self.turn = Turn::Out;
                    self.take_others(None)?;
                }
                Turn::Again => {
                    let until = call.not_before();
                    self.note_wait(0);
                    ready!(alarm.poll(&self.permit.first.lane.shared.timer, until, cx));
                }
                Turn::Waits(at, ticket) => {
                    let (at, call) = (*at, *call);
                    let Layer { lane, place, .. } = self.permit.layer(at);
                    let waker = waker::<T>(cx);
                    let (wait, now) =
                        lane.act(|desk, now| (desk.wait(now, ticket, waker, &call, *place), now));
                    match wait {
                        Wait::Until(mut until) => {
                            self.note_wait(at);
                            if now < self.keeps_until {
                                until = until.min(self.keeps_until);
                            } else {
                                self.permit.take_back();
                            }
                            ready!(alarm.poll(self.timer(), until, cx));
                        }
                        Wait::Admitted(right) => {
                            self.turn = Turn::Out;
                            self.permit.layer(at).permit = Some(right);
                            self.take_others(Some(at))?;
                        }
                        Wait::Rejected(reason) => {
                            let key = lane.key.clone();
                            self.turn = Turn::Out;
                            return Poll::Ready(Err(Error::rejected(key, reason, now)));
                        }
                    }
                }
                Turn::Out => {
                    self.observe();
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }

    /// Joins all queues, which check its deadline and their room. If it has to wait, it stays in the last one that
    /// delays it.
    fn join(&mut self) -> Result<(), Error> {
        let call = self.permit.call;
        if !self.permit.others.is_empty() {
            self.limit = HoldLimit::new(self.timer().now(), Instant::ZERO);
        }
        self.turn = Turn::Out;
        for at in 0..=self.permit.others.len() {
            let Layer { lane, permit, place, .. } = self.permit.layer(at);
            match lane.join(&call, place)? {
                Joined::Admitted(right) => *permit = Some(right),
                Joined::Waits(ticket) => {
                    self.leave();
                    self.turn = Turn::Waits(at, ticket);
                }
            }
        }
        if let Turn::Waits(..) = self.turn {
            self.permit.take_back();
        }
        Ok(())
    }

    /// Takes the permits of all keys but the one that has admitted the call, or joins the queue of one that delays it.
    fn take_others(&mut self, admitted: Option<usize>) -> Result<(), Error> {
        let call = self.permit.call;
        for at in (0..=self.permit.others.len()).filter(|at| Some(*at) != admitted) {
            let layer = self.permit.layer(at);
            let before = layer.take();
            match layer.lane.rejoin(before, &call, layer.place)? {
                Joined::Admitted(right) => layer.permit = Some(right),
                Joined::Waits(ticket) => {
                    self.turn = Turn::Waits(at, ticket);
                    self.keep(at, ticket);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Keeps its permits if it can be sent soon, or refunds them.
    fn keep(&mut self, at: usize, ticket: Ticket) {
        if self.permit.others.is_empty() {
            return;
        }
        // Two calls may each keep what the other needs. They mark it before they look, so one of them sees it.
        let call = self.permit.call;
        self.permit.layers().for_each(|layer| layer.keep(call));
        let lane = &self.permit.layer(at).lane;
        let (until, now) = lane.holds_until(ticket, &call, &mut self.limit);
        self.keeps_until = until;
        if until <= now {
            self.permit.take_back();
        }
    }

    /// Leaves the queue in which it waits, and refunds the permits that it has.
    pub(crate) fn give_up(&mut self) {
        self.leave();
        self.permit.take_back();
    }

    fn leave(&mut self) {
        if let Turn::Waits(at, ticket) = replace(&mut self.turn, Turn::Out) {
            self.permit.layer(at).lane.act(|desk, now| desk.cancel(now, ticket));
        }
    }

    fn timer(&self) -> &T {
        &self.permit.first.lane.shared.timer
    }

    /// It waits for this key.
    fn note_wait(&mut self, _at: usize) {
        #[cfg(feature = "metrics")]
        if self.waits.is_none() {
            let attempt = self.permit.call.attempt();
            let cause = observe::cause(&self.permit.layer(_at).lane, attempt);
            self.waits = Some((_at, cause, self.timer().now()));
        }
    }

    /// It is admitted.
    fn observe(&mut self) {
        let waits = self.waits;
        for (at, layer) in self.permit.layers().enumerate() {
            let of_this = waits.filter(|(first, ..)| *first == at);
            observe::admitted(&layer.lane, of_this.map(|(_, cause, since)| (cause, since)));
        }
    }
}
