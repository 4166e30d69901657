//! The keys of a call, and its permit of each.

use std::mem::take;
use std::sync::Arc;

use smallvec::SmallVec;
use tidegate::queue::{Gate, Place};
use tidegate::{Call, Outcome, Reply};

use crate::lane::Lane;
use crate::observe;
use crate::source::Right;
use crate::timer::Timer;

/// The keys of a call, from the most general to the most specific. Most calls have one.
pub(crate) type Layers<const LIMITS: usize, T> = SmallVec<[Layer<LIMITS, T>; 1]>;

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

    /// Lets the lane keep its permit. No other call uses its room.
    pub(crate) fn keep(&mut self, call: Call<LIMITS>) {
        if let Some(permit) = self.permit.take() {
            self.lane.lock().held.push((self.place, call, permit));
            self.is_kept = true;
        }
    }

    pub(crate) fn take(&mut self) -> Option<Right<LIMITS>> {
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
