//! The keys of a call, and its permit of each.

use std::mem::take;
use std::sync::Arc;

use smallvec::SmallVec;
use tidegate::queue::{Gate, Joined, Place, Ticket};
use tidegate::{Call, Decision, Outcome, Reply};

use crate::error::Error;
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
        let place = &mut self.place;
        self.permit = self.lane.act(|desk, now| {
            let decision = desk.is_free(now).then(|| desk.gate.poll(now, call))?;
            let Decision::Admit(permit) = decision else { return None };
            *place = desk.queue.place(place.priority());
            Some(permit)
        });
        self.permit.is_some()
    }

    /// A call joins the queue. `None` if it is admitted at once. One that is not new renews the permit that it has, or
    /// takes its turn again.
    pub(crate) fn join(
        &mut self,
        call: &Call<LIMITS>,
        is_new: bool,
    ) -> Result<Option<Ticket>, Error> {
        let before = self.take();
        let (lane, place) = (&self.lane, &mut self.place);
        let joined = lane.act(|desk, now| {
            if let Some(permit) = before
                && let Some(permit) = desk.change(|gate| gate.renew(now, permit, call))
            {
                return Ok(Joined::Admitted(permit));
            }
            desk.join(now, call, place, is_new).map_err(|reason| lane.rejected(reason, now))
        });
        match joined? {
            Joined::Admitted(right) => self.permit = Some(right),
            Joined::Waits(ticket) => return Ok(Some(ticket)),
        }
        Ok(None)
    }

    /// Ends a call. Without a reply now or before, it is abandoned.
    pub(crate) fn end(&mut self, reply: Option<&Reply<LIMITS>>) {
        if let Some(permit) = self.permit.take() {
            let has_learned = permit.own.has_learned();
            self.lane.change(|gate, now| gate.end(now, permit, reply));
            if !has_learned {
                let outcome = reply.map_or(Outcome::Abandoned, |reply| reply.outcome);
                observe::settled(&self.lane, outcome);
            }
        }
    }

    /// A second reply is ignored.
    pub(crate) fn learn(&mut self, reply: &Reply<LIMITS>) {
        if let Some(permit) = &mut self.permit
            && !permit.own.has_learned()
        {
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

    /// The permit, unless the lane kept it and had to refund it.
    fn take(&mut self) -> Option<Right<LIMITS>> {
        if !take(&mut self.is_kept) {
            return self.permit.take();
        }
        let held = &mut self.lane.lock().held;
        let at = held.iter().position(|(place, ..)| *place == self.place)?;
        Some(held.swap_remove(at).2)
    }

    pub(crate) fn refund(&mut self) {
        if let Some(permit) = self.take() {
            self.lane.change(|gate, now| gate.refund(now, permit));
        }
    }
}
