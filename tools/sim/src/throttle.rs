//! The interface between the simulator and the throttles of its clients.

use std::cell::RefCell;

use tidegate::{Hint, Instant, Outcome, Reason, Span};

/// A client process polls it before each call, and reports the result afterwards.
///
/// Each process has one, shared by its threads. Each thread has at most one outstanding call. A
/// peer keeps the state of a thread or call in [`Call`], or in a list indexed by [`Call::thread`].
pub trait Throttle {
    /// Whether this call may be sent now.
    fn poll(&mut self, now: Instant, call: &Call) -> Answer;

    /// The next decided call of those that were [`Answer::Queued`], or when to look again. It is
    /// called after each event of the process until it returns [`Next::Sleep`].
    fn next(&mut self, _now: Instant) -> Next {
        Next::NOTHING
    }

    /// A thread leaves the world while its call is in the queue.
    fn withdraw(&mut self, _now: Instant, _thread: u32) {}

    /// Settles a call that was admitted with `permit`. Called once for each permit.
    fn settle(&mut self, now: Instant, permit: u64, response: &Response);

    /// Plans the next attempt of a completed call by changing `call`. `false` if there is none: the
    /// call was served or is given up.
    fn retry(&mut self, now: Instant, call: &mut Call, response: &Response) -> bool;

    /// When to poll again after [`Answer::Full`] if no call settles before. `None` means not
    /// before.
    fn next_at(&self, _now: Instant) -> Option<Instant> {
        None
    }

    /// The rate that its law allows at `now`, in calls a second, if it has one.
    fn rate(&self, _now: Instant) -> Option<f64> {
        None
    }

    /// How many permits have not settled, if the throttle counts them. It is compared with the
    /// calls in flight.
    fn in_flight(&self) -> Option<u32> {
        None
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Answer {
    /// The call is sent now. The number identifies it when it settles.
    Admit(u64),
    /// Poll again at this instant, which is later than now.
    Wait(Instant),
    /// Poll again when a call of this process has settled, or at [`Throttle::next_at`].
    Full,
    /// The call is in the throttle's queue, and [`Throttle::next`] will decide it.
    Queued,
    /// The call is not sent and is lost.
    Reject(Reason),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Next {
    /// The call of this thread, counted from 0 within its process, is decided.
    Decided(u32, Answer),
    /// Nothing to do until an event, or until this instant.
    Sleep {
        /// When to look again, if time alone can help.
        until: Option<Instant>,
        /// The first thread in the queue, if any waits.
        first: Option<u32>,
    },
}

impl Next {
    pub const NOTHING: Self = Self::Sleep { until: None, first: None };
}

/// A logical call of a client thread, until it is served or given up.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The thread that makes the call, counted from 0 within its process.
    pub thread: u32,
    /// Until when it may be sent.
    pub deadline: Instant,
    /// How many attempts have completed: 0 for a first attempt.
    pub attempt: u32,
    /// The earliest time of this attempt, for peers that sleep between attempts.
    pub not_before: Instant,
}

impl Call {
    /// A call of a thread, which may be sent until `deadline`.
    pub fn new(thread: u32, deadline: Instant) -> Self {
        Self { thread, deadline, attempt: 0, not_before: Instant::ZERO }
    }
}

/// The response of a call as its client sees it.
#[derive(Clone, Copy, Debug)]
pub struct Response {
    pub outcome: Outcome,
    pub hint: Hint,
    pub sent: Instant,
    /// How long this attempt had waited before it was sent.
    pub waited: Span,
}

/// What no real client can know: the server's supply, and its clients. Only for the oracle, which
/// shows the best possible result.
#[derive(Debug)]
pub struct Outlook {
    /// The server's rate: calls a second from this instant on, ordered by time, with rate 0 for
    /// outages.
    pub rate: Vec<(Instant, f64)>,
    /// How many calls an idle server admits at once.
    pub burst: f64,
    /// How many it admits at once at the start.
    pub start: f64,
    /// For a server with fixed windows: calls per window, its width, and the start of the first
    /// window after the start of the world.
    pub window: Option<(u32, Span, Instant)>,
    /// The shortest travel time to the server, and the longest excess.
    pub way: (Span, Span),
    /// The rate of background calls, in calls a second.
    pub strangers: f64,
    pub members: Vec<Member>,
    /// Reservations shared by all oracles of a world.
    pub ledger: RefCell<Ledger>,
}

/// A client process in an [`Outlook`].
#[derive(Clone, Copy, Debug)]
pub struct Member {
    pub from: Instant,
    pub to: Instant,
    /// Whether it is a stranger, which does not use the throttle under test, and its calls a
    /// second.
    pub stranger: Option<f64>,
}

/// Reservations shared by the processes of an [`Outlook`]. It starts blank.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ledger {
    pub open: bool,
    /// Calls that may be sent at once.
    pub tokens: f64,
    /// The time up to which `tokens` is computed.
    pub at: Instant,
    /// The earliest instant that is not reserved.
    pub next: Instant,
    pub used: u32,
}
