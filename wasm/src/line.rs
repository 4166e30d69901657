//! The calls that wait before one gate: core's queue, whose answers are taken at once.

use tidegate::queue::{Gate, Growing, Node, Place, Queue, Step, Ticket, Turn};
use tidegate::{Call, Instant, Reason};

use crate::list::List;

/// See the module.
pub struct Line<const LIMITS: usize> {
    queue: Queue<Growing<List<Node<LIMITS>>, LIMITS>, LIMITS>,
    /// How many calls may wait; a retry may exceed it.
    most: u32,
    /// A call that was decided when another joined.
    other: Option<Ticket>,
}

impl<const LIMITS: usize> Line<LIMITS> {
    /// A line in which so many calls may wait.
    pub const fn new(most: u32) -> Self {
        Self { queue: Queue::new(Growing::new(List::new(), u32::MAX)), most, other: None }
    }

    /// Adds a call, and decides about it where it is the first: when its turn comes, or `None` where it is to be
    /// taken now. Ask for what is next then.
    pub fn join(
        &mut self,
        now: Instant,
        gate: &mut impl Gate<LIMITS>,
        call: &Call<LIMITS>,
        place: Place,
    ) -> Result<(Ticket, Option<Instant>), Reason> {
        let ticket = self.queue.enter(call, place).ok_or(Reason::QueueFull)?;
        if self.first(now) == Some(ticket.slot())
            && let Step::Wake(decided) = self.queue.poll(now, gate)
        {
            if decided == ticket {
                return Ok((ticket, None));
            }
            self.other = Some(decided);
        }
        let turn = self.queue.turn(now, gate, ticket).unwrap_or(now);
        let is_late = turn > call.not_after();
        // A retry was granted before.
        if call.attempt() > 0 || !(is_late || self.queue.waiting() > self.most as usize) {
            return Ok((ticket, Some(turn)));
        }
        self.cancel(ticket);
        gate.count_rejection();
        Err(if is_late { Reason::Late(turn) } else { Reason::QueueFull })
    }

    /// The turn of a call that joined now.
    pub fn peek(&mut self, now: Instant, gate: &impl Gate<LIMITS>) -> Instant {
        let Some(ticket) = self.queue.enter(&Call::new(), Place::new(0, u64::MAX)) else {
            return Instant::MAX;
        };
        let turn = self.queue.turn(now, gate, ticket).unwrap_or(now);
        self.cancel(ticket);
        turn
    }

    /// The next call that is decided, which is to be taken at once.
    pub fn next(&mut self, now: Instant, gate: &mut impl Gate<LIMITS>) -> Step {
        match self.other.take() {
            Some(other) => Step::Wake(other),
            None => self.queue.poll(now, gate),
        }
    }

    /// What was decided of a call.
    pub fn take(&mut self, ticket: Ticket) -> Turn<LIMITS> {
        self.queue.take(ticket)
    }

    /// Ends a call that waits.
    pub fn cancel(&mut self, ticket: Ticket) {
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

    /// The slot of the first call.
    pub fn first(&mut self, now: Instant) -> Option<usize> {
        self.queue.first(now)
    }
}

/// The ticket of a slot, and of the count that the call's place has.
pub fn ticket(slot: u32, turn: f64) -> Ticket {
    Ticket::from_raw((turn as u64) << 32 | u64::from(slot))
}
