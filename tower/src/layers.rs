//! A call that counts against the limits of several keys.
//!
//! It waits in the queue of one key at a time, with its place from its arrival. When that key admits it, it takes the
//! permits of the others without waiting. If one of them delays it, it joins that queue and refunds its permits, so
//! calls of other keys do not wait for it.
//!
//! Two keys in constant demand would never have room at the same time. So a call may keep its permits for a while: see
//! [`HoldLimit`]. No lane is locked while another one is.

use std::iter;
use std::mem::take;
use std::task::{Context, Poll, ready};

use tidegate::queue::{Gate, HoldLimit, Joined, Place, Ticket};
use tidegate::{Call, Instant, Outcome, Reason, Reply, Span};

use crate::alarm::{Alarm, waker};
use crate::desk::Wait;
use crate::error::Error;
use crate::lane::Held;
use crate::observe::{self, Cause};
use crate::permit::Permit;
use crate::source::Right;
use crate::timer::Timer;

/// One key of a call.
pub(crate) struct Layer<const LIMITS: usize, T: Timer> {
    pub(crate) lane: Held<LIMITS, T>,
    /// `None` if it has none, or once it has ended.
    pub(crate) permit: Option<Right<LIMITS>>,
    pub(crate) call: Call<LIMITS>,
    pub(crate) place: Place,
    /// Whether the lane keeps the permit, because the call waits for another key.
    is_kept: bool,
    pub(crate) has_learnt: bool,
}

impl<const LIMITS: usize, T: Timer> Layer<LIMITS, T> {
    pub(crate) const fn new(
        lane: Held<LIMITS, T>,
        permit: Option<Right<LIMITS>>,
        call: Call<LIMITS>,
        place: Place,
    ) -> Self {
        Self { lane, permit, call, place, is_kept: false, has_learnt: false }
    }

    pub(crate) fn settle(&mut self, reply: Reply<LIMITS>) {
        if let Some(permit) = self.permit.take() {
            self.lane.change(|control, now| control.settle(now, permit, reply));
            self.observe(reply.outcome);
        }
    }

    pub(crate) fn learn(&mut self, reply: Reply<LIMITS>) {
        if let Some(permit) = &mut self.permit {
            self.lane.change(|control, now| control.learn(now, permit, reply));
            self.observe(reply.outcome);
            self.has_learnt = true;
        }
    }

    /// Settles the permit with what this key learns of the reply. Returns the next attempt, if one is due.
    pub(crate) fn retry(
        &mut self,
        learns: Reply<LIMITS>,
        reply: Reply<LIMITS>,
    ) -> Result<Call<LIMITS>, (Reason, Instant)> {
        self.settle(learns);
        let call = &self.call;
        self.lane
            .change(|control, now| control.retry(now, call, reply).map_err(|reason| (reason, now)))
    }

    /// Another attempt is made: this key sees it as one, not as a new call.
    pub(crate) fn try_again(&mut self, reply: Reply<LIMITS>) {
        let call = &self.call;
        _ = self.lane.change(|control, now| control.retry(now, call, reply));
    }

    pub(crate) fn correct(&mut self, used: [Option<u32>; LIMITS]) {
        if let Some(permit) = &mut self.permit {
            self.lane.change(|control, now| control.correct(now, permit, used));
        }
    }

    fn keep(&mut self) {
        if let Some(permit) = self.permit.take() {
            self.lane.hold(permit, self.call, self.place);
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
            self.lane.change(|control, now| control.refund(now, permit));
            observe::released(&self.lane);
        }
    }

    /// Ends a call. It is abandoned if it has not learnt from a response.
    pub(crate) fn release(&mut self) {
        if let Some(permit) = self.permit.take() {
            self.lane.change(|control, now| control.release(now, permit));
            self.observe(Outcome::Abandoned);
        }
    }

    fn observe(&self, outcome: Outcome) {
        match self.has_learnt {
            true => observe::released(&self.lane),
            false => observe::settled(&self.lane, outcome),
        }
    }
}

/// Passes the reply to the other keys of a call with `learn`. The last one gets all of it, and the others the outcome, or
/// nothing if the hints say that the last one's limit is used up. Returns what the first one learns.
pub(crate) fn teach<const LIMITS: usize, T: Timer>(
    others: &mut [Layer<LIMITS, T>],
    reply: Reply<LIMITS>,
    mut learn: impl FnMut(&mut Layer<LIMITS, T>, Reply<LIMITS>),
) -> Reply<LIMITS> {
    let Some((last, before)) = others.split_last_mut() else { return reply };
    let of_last = last.permit.as_ref().map(|permit| permit.others_learn(&reply));
    let learns = of_last.unwrap_or(reply.outcome.into());
    learn(last, reply);
    before.iter_mut().for_each(|layer| learn(layer, learns));
    learns
}

/// The permits of all keys, if the call may be sent now and no other call waits.
pub(crate) fn try_acquire<const LIMITS: usize, T: Timer>(
    first: Held<LIMITS, T>,
    others: Vec<Held<LIMITS, T>>,
    call: Call<LIMITS>,
) -> Option<Permit<LIMITS, T>> {
    let mut layers = Layers::new(call.not_before());
    for lane in iter::once(first).chain(others) {
        let (permit, place) = lane.try_take(&call)?;
        layers.layers.push(Layer::new(lane, Some(permit), call, place));
    }
    layers.permit()
}

/// A call in the queue of one of its keys.
pub(crate) struct Layers<const LIMITS: usize, T: Timer> {
    layers: Vec<Layer<LIMITS, T>>,
    /// The key in whose queue it waits. `None` once it has all permits, or will get none.
    turn: Option<(usize, Ticket)>,
    /// Whether it has not joined yet, because its backoff has not ended.
    is_in_backoff: bool,
    /// How long it keeps permits.
    limit: HoldLimit,
    /// Until when it keeps the permits that it has.
    keeps_until: Instant,
    /// The key in whose queue it waited first, the cause, and the start.
    waits: Option<(usize, Cause, Instant)>,
}

impl<const LIMITS: usize, T: Timer> Layers<LIMITS, T> {
    /// A call that arrived then, or whose backoff ends then.
    const fn new(since: Instant) -> Self {
        Self {
            layers: Vec::new(),
            turn: None,
            is_in_backoff: false,
            limit: HoldLimit::new(since, Instant::ZERO),
            keeps_until: Instant::ZERO,
            waits: None,
        }
    }

    /// A call joins all queues, which check its deadline and their room. If it has to wait, it stays in the last one
    /// that delays it.
    pub(crate) fn join(
        first: Held<LIMITS, T>,
        others: Vec<Held<LIMITS, T>>,
        call: Call<LIMITS>,
        new: Place,
    ) -> Result<Self, Error> {
        let mut this = Self::new(first.shared.timer.now());
        for (at, lane) in iter::once(first).chain(others).enumerate() {
            let mut place = new;
            let joined = lane.join(&call, &mut place);
            let rejected = |(reason, now)| Error::rejected(lane.key.clone(), reason, now);
            let permit = match joined.map_err(rejected)? {
                Joined::Admitted(permit) => Some(permit),
                Joined::Waits(ticket) => {
                    this.leave();
                    this.turn = Some((at, ticket));
                    None
                }
            };
            this.layers.push(Layer::new(lane, permit, call, place));
        }
        if this.turn.is_some() {
            this.refund();
        }
        Ok(this)
    }

    /// The next attempt of a call. After its backoff, it joins the queue of the first key.
    pub(crate) fn again(first: Layer<LIMITS, T>, others: Vec<Layer<LIMITS, T>>) -> Self {
        let mut this = Self::new(first.call.not_before());
        // All keys have the backoff of the first one: a call that joins earlier would delay others.
        let call = first.call;
        let again = |layer: Layer<_, _>| Layer::new(layer.lane, None, call, layer.place);
        this.layers.extend(iter::once(first).chain(others).map(again));
        this.is_in_backoff = true;
        this
    }

    pub(crate) fn poll(
        &mut self,
        alarm: &mut Alarm<T>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Permit<LIMITS, T>, Error>> {
        while self.is_in_backoff {
            let Layer { lane, call, .. } = &self.layers[0];
            if lane.may_join(call) {
                self.is_in_backoff = false;
                let now = lane.shared.timer.now();
                self.take_others(None, now)?;
            } else {
                #[cfg(feature = "metrics")]
                self.waits.get_or_insert_with(|| {
                    (0, observe::cause(lane, call.attempt()), lane.shared.timer.now())
                });
                ready!(alarm.poll(&lane.shared.timer, call.not_before(), cx));
            }
        }
        while let Some((at, ticket)) = &mut self.turn {
            let at = *at;
            let Layer { lane, call, place, .. } = &self.layers[at];
            let (wait, now) = lane.wait(ticket, waker::<T>(cx), call, *place);
            let decided = match wait {
                Wait::Until(mut until) => {
                    #[cfg(feature = "metrics")]
                    self.waits
                        .get_or_insert_with(|| (at, observe::cause(lane, call.attempt()), now));
                    if now < self.keeps_until {
                        until = until.min(self.keeps_until);
                    } else {
                        self.refund();
                    }
                    ready!(alarm.poll(&self.layers[at].lane.shared.timer, until, cx));
                    continue;
                }
                Wait::Admitted(permit) => Ok(permit),
                Wait::Rejected(reason) => Err(Error::rejected(lane.key.clone(), reason, now)),
            };
            self.turn = None;
            self.layers[at].permit = Some(decided?);
            self.take_others(Some(at), now)?;
        }
        self.permit().map_or(Poll::Pending, |permit| Poll::Ready(Ok(permit)))
    }

    /// Takes the permits of all keys but the one that has admitted the call, or joins the queue of one that delays it.
    fn take_others(&mut self, admitted: Option<usize>, now: Instant) -> Result<(), Error> {
        let others = self.layers.iter_mut().enumerate().filter(|(at, _)| Some(*at) != admitted);
        for (at, layer) in others {
            let before = layer.take();
            let Layer { lane, permit, call, place, .. } = layer;
            let joined = lane.rejoin(before, call, *place);
            let rejected = |(reason, now)| Error::rejected(lane.key.clone(), reason, now);
            match joined.map_err(rejected)? {
                Joined::Admitted(new) => *permit = Some(new),
                Joined::Waits(ticket) => {
                    self.turn = Some((at, ticket));
                    self.keep(at, ticket, now);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Keeps its permits if it can be sent soon, or refunds them.
    fn keep(&mut self, at: usize, ticket: Ticket, now: Instant) {
        // Two calls may each keep what the other needs. They mark it before they look, so one of them sees it.
        self.layers.iter_mut().for_each(Layer::keep);
        let Layer { lane, call, .. } = &self.layers[at];
        self.keeps_until = lane.holds_until(ticket, call, &mut self.limit);
        if self.keeps_until <= now {
            self.refund();
        }
    }

    /// The permit of the call, once it has those of all keys.
    fn permit(&mut self) -> Option<Permit<LIMITS, T>> {
        let mut others = take(&mut self.layers);
        for (at, Layer { lane, .. }) in others.iter().enumerate() {
            match self.waits {
                Some((first, cause, since)) if first == at => {
                    observe::admitted(lane, cause, lane.shared.timer.now() - since);
                }
                _ => observe::admitted(lane, observe::NO_WAIT, Span::ZERO),
            }
        }
        let first = (!others.is_empty()).then(|| others.remove(0))?;
        Some(Permit { first, others })
    }

    /// Refunds all permits that it has.
    fn refund(&mut self) {
        self.layers.iter_mut().for_each(Layer::refund);
    }

    /// Leaves the queue in which it waits.
    fn leave(&mut self) {
        if let Some((at, ticket)) = self.turn.take() {
            self.layers[at].lane.cancel(ticket);
        }
    }
}

impl<const LIMITS: usize, T: Timer> Drop for Layers<LIMITS, T> {
    fn drop(&mut self) {
        self.leave();
        self.refund();
    }
}
