//! The waiting calls of a gate: core's queue, with immediate decisions.

use tidegate::gate::Permit;
use tidegate::queue::{Gate, Growing, Node, Place, Queue, Step, Ticket, Turn};
use tidegate::{Call, Instant, Reason};

use crate::list::List;
use crate::number::millis;

/// See the module's documentation.
pub struct Line<const LIMITS: usize> {
    queue: Queue<Growing<List<Node<LIMITS>>, LIMITS>, LIMITS>,
    /// How many calls may wait; a retry may exceed this.
    most: u32,
    /// A call that was decided when another joined.
    other: Option<Ticket>,
}

impl<const LIMITS: usize> Line<LIMITS> {
    /// Creates a queue with room for `most` calls.
    pub const fn new(most: u32) -> Self {
        Self { queue: Queue::new(Growing::new(List::new(), u32::MAX)), most, other: None }
    }

    /// Adds a call. Returns the number of its permit (0 or more) if it may be sent now, `-1 - slot`
    /// if it waits (`given` is then its turn), or NaN if it is rejected.
    ///
    /// A call with several keys may be in the queue `AGAIN`, with the same place. It then finds room, and is not
    /// rejected because of later calls.
    pub fn join<const AGAIN: bool, G: Gate<LIMITS>>(
        &mut self,
        now: Instant,
        gate: &mut G,
        (call, place): (&Call<LIMITS>, Place),
        told: &mut Told,
        number: impl FnOnce(&mut G, Permit<LIMITS>) -> f64,
    ) -> f64 {
        match self.enter::<AGAIN>(now, gate, call, place) {
            Ok((ticket, Some(turn))) => {
                told.given = millis(turn.saturating_since(Instant::ZERO));
                -1.0 - ticket.slot() as f64
            }
            Ok((ticket, None)) => {
                told.decided(self.queue.take(ticket), |permit| number(gate, permit))
            }
            Err(reason) => told.decided(Turn::Rejected(reason), |permit| number(gate, permit)),
        }
    }

    /// Adds a call, and decides it if it is the first. Returns its turn, or `None` if it can be
    /// taken now.
    fn enter<const AGAIN: bool>(
        &mut self,
        now: Instant,
        gate: &mut impl Gate<LIMITS>,
        call: &Call<LIMITS>,
        place: Place,
    ) -> Result<(Ticket, Option<Instant>), Reason> {
        let ticket = match AGAIN {
            true => self.queue.enter_again(call, place),
            false => self.queue.enter(call, place),
        };
        let ticket = ticket.ok_or(Reason::QueueFull)?;
        if self.queue.first(now, gate.is_failing()) == Some(ticket.slot())
            && let Step::Wake(decided) = self.queue.poll(now, gate)
        {
            if decided == ticket {
                return Ok((ticket, None));
            }
            self.other = Some(decided);
        }
        if AGAIN {
            return Ok((ticket, Some(gate.due_first(now, call))));
        }
        let turn = self.queue.turn(now, gate, ticket).unwrap_or(now);
        let is_late = turn > call.not_after();
        // A retry was already granted.
        if call.attempt() > 0 || !(is_late || self.queue.waiting() > self.most as usize) {
            return Ok((ticket, Some(turn)));
        }
        self.withdraw(ticket);
        gate.count_rejection();
        Err(if is_late { Reason::Late(turn) } else { Reason::QueueFull })
    }

    /// The turn of a call that joins now.
    pub fn peek(&self, now: Instant, gate: &impl Gate<LIMITS>, call: &Call<LIMITS>) -> Instant {
        self.queue.turn_of_new(now, gate, call, 0)
    }

    /// The slot of the next decided call (`given` is the number of its permit); or, less than 0, in
    /// how many milliseconds to call this again if nothing happens before.
    pub fn next<G: Gate<LIMITS>>(
        &mut self,
        now: Instant,
        gate: &mut G,
        told: &mut Told,
        number: impl FnOnce(&mut G, Permit<LIMITS>) -> f64,
    ) -> f64 {
        let step = match self.other.take() {
            Some(other) => Step::Wake(other),
            None => self.queue.poll(now, gate),
        };
        match step {
            Step::Wake(ticket) => {
                told.given = told.decided(self.queue.take(ticket), |permit| number(gate, permit));
                ticket.slot() as f64
            }
            Step::Sleep(until) => {
                until.map_or(f64::NEG_INFINITY, |until| -millis(until.saturating_since(now)))
            }
        }
    }

    /// Ends the waiting call in a slot, if its place has this turn.
    pub fn cancel(&mut self, slot: u32, turn: f64) {
        self.withdraw(Ticket::from_raw((turn as u64) << 32 | u64::from(slot)));
    }

    fn withdraw(&mut self, ticket: Ticket) {
        _ = self.queue.withdraw(ticket);
    }

    /// The gate has changed.
    pub fn changed(&mut self) {
        self.queue.changed();
    }

    /// Whether no call waits.
    pub fn is_empty(&self) -> bool {
        self.queue.waiting() == 0
    }

    /// The slot of the first waiting call; -1 if there is none.
    pub fn first(&mut self, now: Instant, gate: &impl Gate<LIMITS>) -> i32 {
        let first = self.queue.first(now, gate.is_failing());
        first.and_then(|slot| i32::try_from(slot).ok()).unwrap_or(-1)
    }
}

/// Details of the latest decision, for JavaScript.
pub struct Told {
    rejected: Option<Reason>,
    given: f64,
}

impl Told {
    /// Starts without a decision.
    pub const fn new() -> Self {
        Self { rejected: None, given: f64::NAN }
    }

    /// Stores a decision. Returns the number of its permit; NaN if it was rejected.
    pub fn decided<const LIMITS: usize>(
        &mut self,
        turn: Turn<LIMITS>,
        number: impl FnOnce(Permit<LIMITS>) -> f64,
    ) -> f64 {
        self.rejected = match turn {
            Turn::Admitted(permit) => return number(permit),
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
        millis(until.saturating_since(Instant::ZERO))
    }
}
