//! The waiting calls of a gate: core's queue, with immediate decisions.

use tidegate::queue::{Gate, Joined, Node, Place, Queue, Step, Ticket, Turn};
use tidegate::{Call, Costs, Instant, Reason};

use crate::list::List;
use crate::number::millis;

pub struct Line<const LIMITS: usize, C> {
    queue: Queue<List<Node<LIMITS, f64, C>>, LIMITS>,
    /// A call that was decided when another joined.
    other: Option<Ticket>,
}

impl<const LIMITS: usize, C: Costs<LIMITS> + 'static> Line<LIMITS, C> {
    /// Creates a queue with room for `most` calls; a retry may exceed this.
    pub const fn new(most: u32) -> Self {
        Self { queue: Queue::new(List::new(), most), other: None }
    }

    /// Adds a call. Returns the number of its permit (0 or more) if it may be sent now, `-1 - slot`
    /// if it waits (`given` is then its turn), or NaN if it is rejected.
    ///
    /// A call with several keys that was in the queue before `is_known`. It finds room, and is not rejected because of
    /// the calls before it.
    pub fn join(
        &mut self,
        now: Instant,
        gate: &mut impl Gate<LIMITS, C, Permit = f64>,
        (call, place, is_known): (&Call<LIMITS, C>, Place, bool),
        told: &mut Told,
    ) -> f64 {
        let is_alone = is_known || self.is_empty();
        let turn = (!is_alone).then(|| self.queue.turn(now, gate, call, place.priority()));
        let joined = match is_known {
            true => self.queue.rejoin(now, gate, call, place),
            false => self.queue.admit_or_join(now, gate, call, place),
        };
        let ticket = match joined {
            Ok(Joined::Admitted(permit)) => return permit,
            Ok(Joined::Waits(ticket)) => ticket,
            Err(reason) => return told.decided(Turn::Rejected(reason)),
        };
        // It may come before the others.
        if self.other.is_none()
            && self.queue.first(gate.is_failing()) == Some(ticket.slot())
            && let Step::Wake(decided) = self.queue.poll(now, gate)
        {
            if decided == ticket {
                return told.decided(self.queue.take(ticket));
            }
            self.other = Some(decided);
        }
        let turn = turn.unwrap_or_else(|| gate.due_first(now, call));
        told.given = millis(turn - Instant::ZERO);
        -1.0 - ticket.slot() as f64
    }

    #[cfg(any(feature = "gate", feature = "shared"))]
    /// The turn of a call that joins now.
    pub fn peek(
        &self,
        now: Instant,
        gate: &impl Gate<LIMITS, C>,
        call: &Call<LIMITS, C>,
    ) -> Instant {
        self.queue.turn(now, gate, call, 0)
    }

    /// The slot of the next decided call (`given` is the number of its permit); or, less than 0, in
    /// how many milliseconds to call this again if nothing happens before.
    pub fn next(
        &mut self,
        now: Instant,
        gate: &mut impl Gate<LIMITS, C, Permit = f64>,
        told: &mut Told,
    ) -> f64 {
        let step = match self.other.take() {
            Some(other) => Step::Wake(other),
            None => self.queue.poll(now, gate),
        };
        match step {
            Step::Wake(ticket) => {
                told.given = told.decided(self.queue.take(ticket));
                ticket.slot() as f64
            }
            Step::Sleep(until) => until.map_or(f64::NEG_INFINITY, |until| -millis(until - now)),
        }
    }

    /// Ends the waiting call in a slot, if its place has this turn.
    pub fn cancel(
        &mut self,
        now: Instant,
        gate: &mut impl Gate<LIMITS, C, Permit = f64>,
        slot: u32,
        turn: f64,
    ) {
        let ticket = Ticket::from_raw((turn as u64) << 32 | u64::from(slot));
        self.other = self.other.filter(|other| *other != ticket);
        self.queue.cancel(now, gate, ticket);
    }

    pub fn changed(&mut self) {
        self.queue.changed();
    }

    pub fn is_empty(&self) -> bool {
        self.queue.waiting() == 0
    }

    /// The slot of the first waiting call; -1 if there is none.
    pub fn first(&self, gate: &impl Gate<LIMITS, C>) -> i32 {
        let first = self.queue.first(gate.is_failing());
        first.and_then(|slot| i32::try_from(slot).ok()).unwrap_or(-1)
    }
}

/// Details of the latest decision, for JavaScript.
pub struct Told {
    pub rejected: Option<Reason>,
    given: f64,
}

impl Told {
    pub const fn new() -> Self {
        Self { rejected: None, given: f64::NAN }
    }

    /// Stores a decision. Returns the number of its permit; NaN if it was rejected.
    pub fn decided(&mut self, turn: Turn<f64>) -> f64 {
        self.rejected = match turn {
            Turn::Admitted(permit) => return permit,
            Turn::Rejected(reason) => Some(reason),
            Turn::Waiting | Turn::Unknown => None,
        };
        f64::NAN
    }

    /// The number of the permit of the call that `next` decided, NaN if it was rejected; or the
    /// turn of the call that joined last.
    pub const fn given(&self) -> f64 {
        self.given
    }

    /// Why the latest call was rejected: 0 for a gate that does not exist, else the reason's
    /// number.
    pub const fn reason(&self) -> u32 {
        match self.rejected {
            None => 0,
            Some(Reason::Late(_)) => 1,
            Some(Reason::OverLimit) => 2,
            Some(Reason::RetryBudget) => 3,
            Some(Reason::TooBig) => 4,
            Some(Reason::QueueFull) => 6,
            Some(_) => 5,
        }
    }

    /// When a call that was rejected as late could have been sent; NaN for others.
    pub fn late(&self) -> f64 {
        let Some(Reason::Late(until)) = self.rejected else { return f64::NAN };
        millis(until - Instant::ZERO)
    }
}
