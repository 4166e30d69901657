//! The seam between the world and what throttles its clients.

use std::cell::RefCell;

use crate::peer::Telemetry;
use tidegate::{Hint, Instant, Outcome, Reason, Span};

/// What a client process asks before each call, and tells after it.
///
/// There is one for each process, shared by the process's threads; each thread has at most one
/// call outstanding. What a peer keeps for each thread or call lives in [`Call`], or in a list
/// indexed by [`Call::thread`].
pub trait Throttle {
    /// May this call leave now?
    fn poll(&mut self, now: Instant, call: &Call) -> Answer;

    /// The next call of those that [`Answer::Queued`] kept, or when to look again. The world asks after each event
    /// of the process until it is told to sleep.
    fn next(&mut self, _now: Instant) -> Next {
        Next::NOTHING
    }

    /// A thread leaves the world while its call is in the queue.
    fn withdraw(&mut self, _now: Instant, _thread: u32) {}

    /// Takes back a call that had left with `permit`. Exactly once for each permit.
    fn settle(&mut self, now: Instant, permit: u64, response: &Response);

    /// Plans the next attempt of a call that came back, by changing the call; `false` if there
    /// is none: the call was served, or is given up.
    fn retry(&mut self, now: Instant, call: &mut Call, response: &Response) -> bool;

    /// When to ask again after [`Answer::Full`], if nothing settles before; `None`: not before.
    fn next_at(&self, now: Instant) -> Option<Instant>;

    /// How many permits are out, where the throttle counts them. The world compares it with the
    /// calls that really are in flight.
    fn in_flight(&self) -> Option<u32> {
        None
    }
}

/// The answer to [`Throttle::poll`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Answer {
    /// The call is sent now. The number comes back when it settles.
    Admit(u64),
    /// Ask again at this instant, which lies after now.
    Wait(Instant),
    /// Ask again when a call of this process has settled, or at [`Throttle::next_at`].
    Full,
    /// The call is in the throttle's queue, and [`Throttle::next`] decides it.
    Queued,
    /// The call will not be sent; it is lost.
    Reject(Reason),
}

/// The answer to [`Throttle::next`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Next {
    /// The call of this thread, counted from 0 within its process, is decided.
    Decided(u32, Answer),
    /// Nothing to do until an event, or until this instant.
    Sleep {
        /// When to look again, where more than an event helps.
        until: Option<Instant>,
        /// The thread that is first in the queue, if any waits for its turn.
        first: Option<u32>,
    },
}

impl Next {
    /// Nothing waits.
    pub const NOTHING: Self = Self::Sleep { until: None, first: None };
}

/// One call of a client thread, from the first call until it is served or given up.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The thread that makes the call, counted from 0 within its process.
    pub thread: u32,
    /// The call that a controller is polled with.
    pub core: tidegate::Call,
    /// The same of a controller that keeps two laws.
    pub core_of_two: tidegate::Call<2>,
    /// How many attempts have come back already: 0 for a first attempt. The world counts.
    pub attempt: u32,
    /// When a peer that sleeps between attempts admits this one.
    pub not_before: Instant,
}

/// The call of a controller that keeps so many laws.
pub trait CallOf<const LAWS: usize> {
    /// The call.
    fn core(&self) -> &tidegate::Call<LAWS>;

    /// Replaces it by that of the next attempt.
    fn set_core(&mut self, next: tidegate::Call<LAWS>);
}

impl CallOf<1> for Call {
    fn core(&self) -> &tidegate::Call {
        &self.core
    }

    fn set_core(&mut self, next: tidegate::Call) {
        self.core = next;
    }
}

impl CallOf<2> for Call {
    fn core(&self) -> &tidegate::Call<2> {
        &self.core_of_two
    }

    fn set_core(&mut self, next: tidegate::Call<2>) {
        self.core_of_two = next;
    }
}

/// What a call came back with, as its client sees it.
#[derive(Clone, Copy, Debug)]
pub struct Response {
    /// What became of the call.
    pub outcome: Outcome,
    /// What the server said about its limit.
    pub hint: Hint,
    /// When the call was sent.
    pub sent: Instant,
    /// How long this attempt had waited for its throttle before it left.
    pub waited: Span,
}

/// What no real client can know: how much the server will give, and to how many. It is for the
/// peer that shows the best that could be done, and for nobody else.
#[derive(Debug)]
pub struct Outlook {
    /// The server's rate: so many calls a second from this instant on, in order of time. Outages
    /// are parts of rate 0.
    pub rate: Vec<(Instant, f64)>,
    /// How many calls the server lets through at once when it has been idle.
    pub burst: f64,
    /// How many it lets through at once at the start.
    pub start: f64,
    /// For a server that counts by fixed windows: calls in a window, its width, and when the first
    /// window after the start of the world begins.
    pub window: Option<(u32, Span, Instant)>,
    /// How long a call is on its way to the server at least, and how much longer it can take.
    pub way: (Span, Span),
    /// Calls a second by strangers that are no clients.
    pub strangers: f64,
    /// The client processes in order of their numbers.
    pub members: Vec<Member>,
    /// What those who know the outlook have promised each other so far.
    pub ledger: RefCell<Ledger>,
    /// What the clients of a telemetry server have reported to it: no outlook, but as common to all.
    pub telemetry: RefCell<Telemetry>,
}

/// A client process in an [`Outlook`].
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// How many threads call.
    pub threads: u32,
    /// When it joins.
    pub from: Instant,
    /// When it leaves.
    pub to: Instant,
    /// Whether it is a stranger, which keeps to no throttle under test, and how many calls a second
    /// it makes then.
    pub stranger: Option<f64>,
}

/// A common account of the processes that share an [`Outlook`]: all start with a blank one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ledger {
    /// Whether anybody has opened the account.
    pub open: bool,
    /// Calls that may be sent at once.
    pub tokens: f64,
    /// Up to when `tokens` has been counted.
    pub at: Instant,
    /// The earliest instant that has not been promised to anybody.
    pub next: Instant,
    /// Calls promised in the present window.
    pub used: u32,
}
