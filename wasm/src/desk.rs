//! The state of a module: gates and calls in numbered slots, and the reply that is being built.
//! JavaScript is single-threaded, so there is one desk.

use tidegate::queue::{Gate, Place};
use tidegate::{Call, Costs, Decision, Instant, Reason, Reply, Retry};

use crate::arena::Arena;
use crate::common::{Calls, Requested};
use crate::draft::Draft;
use crate::line::{Line, Told};
use crate::number::Clock;

/// A gate that JavaScript uses by a number: a controller, or a member of a fleet. Its permits are numbers too.
pub trait Kind<const LIMITS: usize, C>: Gate<LIMITS, C, Permit = f64> {
    fn call(requested: Requested) -> Call<LIMITS, C>;

    fn retry(
        &mut self,
        now: Instant,
        call: &Call<LIMITS, C>,
        reply: Reply<LIMITS>,
    ) -> Result<Call<LIMITS, C>, Reason>;

    /// See [`Desk::why`].
    fn why(&mut self, now: Instant, call: &Call<LIMITS, C>) -> u32;

    /// Renews the permits that calls keep while they wait for another key, so that no other call uses their room.
    /// Returns whether one was refunded.
    fn renew_lent(&mut self, _: Instant) -> bool {
        false
    }

    /// Renews the permit of a call with several keys. `None` if it was refunded.
    #[cfg(feature = "full")]
    fn renew(&mut self, _: Instant, _permit: f64, _: &Call<LIMITS, C>) -> Option<f64> {
        None
    }
}

/// A gate with its queue.
pub struct Kept<G, const LIMITS: usize, C> {
    pub gate: G,
    pub line: Line<LIMITS, C>,
}

impl<G: Kind<LIMITS, C>, const LIMITS: usize, C: Costs<LIMITS> + 'static> Kept<G, LIMITS, C> {
    pub fn change<R>(&mut self, change: impl FnOnce(&mut G) -> R) -> R {
        self.line.changed();
        change(&mut self.gate)
    }

    /// See [`Kind::renew_lent`].
    pub fn renew_lent(&mut self, now: Instant) {
        if self.gate.renew_lent(now) {
            self.line.changed();
        }
    }
}

pub struct Desk<G: Kind<LIMITS, C>, const LIMITS: usize, C> {
    pub gates: Arena<Kept<G, LIMITS, C>>,
    /// The later attempts of calls.
    pub calls: Calls<LIMITS, C>,
    /// The reply of the next call to be settled.
    pub draft: Draft<LIMITS>,
    pub clock: Clock,
    /// The permit of a call that was in the queue before and joins again.
    #[cfg(feature = "full")]
    pub again: Option<f64>,
    /// Details of the latest decision.
    pub told: Told,
}

impl<G: Kind<LIMITS, C>, const LIMITS: usize, C: Costs<LIMITS> + 'static> Desk<G, LIMITS, C> {
    pub const fn new() -> Self {
        Self {
            gates: Arena::new(),
            calls: Calls::new(),
            draft: Draft::new(),
            clock: Clock::NEW,
            #[cfg(feature = "full")]
            again: None,
            told: Told::new(),
        }
    }

    /// The slot of a new gate; -1 if there is no memory. At most `most` calls may wait.
    pub fn keep(&mut self, gate: G, most: u32) -> i32 {
        let slot = self.gates.insert(Kept { gate, line: Line::new(most) });
        slot.and_then(|slot| i32::try_from(slot).ok()).unwrap_or(-1)
    }

    pub fn close(&mut self, gate: u32) {
        self.gates.remove(gate);
    }

    #[cfg(any(feature = "gate", feature = "shared"))]
    /// In how many milliseconds a call that joined now could be sent at the earliest, ignoring
    /// calls in flight.
    pub fn peek(&mut self, gate: u32, now: f64) -> f64 {
        let now = self.clock.read(now);
        let Some(Kept { gate, line }) = self.gates.get(gate) else { return f64::NAN };
        crate::number::millis(line.peek(now, gate, &G::call(Requested::PLAIN)) - now)
    }

    /// Returns a permit for a call that does not wait; less than 0 or NaN if it would have to.
    pub fn poll(&mut self, gate: u32, now: f64, costs: [f64; 2]) -> f64 {
        let now = self.clock.read(now);
        let Some(kept) = self.gates.get(gate) else { return f64::NAN };
        kept.renew_lent(now);
        if !kept.line.is_empty() {
            return f64::NEG_INFINITY;
        }
        match kept.gate.poll(now, &G::call(Requested { costs, ..Requested::PLAIN })) {
            Decision::Admit(permit) => permit,
            _ => f64::NEG_INFINITY,
        }
    }

    /// See [`Line::join`]; also NaN if the gate does not exist.
    pub fn join(&mut self, gate: u32, requested: Requested, place: Place, now: f64) -> f64 {
        let now = self.clock.read(now);
        let call = self.call_of(requested);
        #[cfg(feature = "full")]
        let again = self.again.take();
        #[cfg(not(feature = "full"))]
        let again = None::<f64>;
        let Self { gates, told, .. } = self;
        told.rejected = None;
        let Some(kept) = gates.get(gate) else { return f64::NAN };
        kept.renew_lent(now);
        #[cfg(feature = "full")]
        if let Some(permit) = again {
            if let Some(permit) = kept.gate.renew(now, permit, &call) {
                return permit;
            }
            kept.line.changed();
        }
        let Kept { gate, line } = kept;
        line.join(now, gate, (&call, place, again.is_some()), told)
    }

    /// See [`Line::next`]; also less than 0 if the gate does not exist.
    pub fn next(&mut self, gate: u32, now: f64) -> f64 {
        let now = self.clock.read(now);
        let Self { gates, told, .. } = self;
        let Some(kept) = gates.get(gate) else { return f64::NEG_INFINITY };
        kept.renew_lent(now);
        kept.line.next(now, &mut kept.gate, told)
    }

    /// The slot of the first waiting call; -1 if there is none.
    pub fn first(&mut self, gate: u32) -> i32 {
        self.gates.get(gate).map_or(-1, |kept| kept.line.first(&kept.gate))
    }

    pub fn cancel(&mut self, gate: u32, slot: u32, turn: f64) {
        let now = self.clock.read(f64::NAN);
        if let Some(Kept { gate, line }) = self.gates.get(gate) {
            line.cancel(now, gate, slot, turn);
        }
    }

    /// The number of what delays the call; 0 if nothing does.
    pub fn why(&mut self, gate: u32, requested: Requested, now: f64) -> u32 {
        let now = self.clock.read(now);
        let call = self.call_of(requested);
        self.gates.get(gate).map_or(0, |kept| kept.gate.why(now, &call))
    }

    /// The next attempt after the current reply; see [`Calls::next`].
    pub fn retry(&mut self, gate: u32, requested: Requested, now: f64, retry: Retry) -> i32 {
        let now = self.clock.read(now);
        let call = self.call_of(requested).retry(retry);
        let Some(kept) = self.gates.get(gate) else { return -1 };
        let next = kept.gate.retry(now, &call, self.draft.reply);
        self.calls.next(requested.call, next)
    }

    pub fn call_of(&mut self, requested: Requested) -> Call<LIMITS, C> {
        self.calls.get(requested.call, || G::call(requested))
    }
}
