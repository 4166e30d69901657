//! The trace: every step of a run as a line of text, and a digest of all steps.

use std::fmt;

use tidegate::{Instant, Outcome, Reason, Span};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Step {
    pub at: Instant,
    pub process: u32,
    /// In which thread, numbered across all processes.
    pub thread: u32,
    pub what: What,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum What {
    /// Admitted and sent after this wait.
    Sent(Span),
    /// Has to poll again at this time.
    Waits(Instant),
    Full,
    /// Added to the queue of its process.
    Queued,
    Rejected(Reason),
    Decided(Outcome),
    Back {
        outcome: Outcome,
        sent: Instant,
        /// How long it waited for its throttle.
        waited: Span,
    },
    /// Returned, without another attempt.
    GivenUp,
    /// Withdrawn because its client left.
    Withdrawn,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} p{} t{} ", Point(self.at.as_nanos()), self.process, self.thread)?;
        match self.what {
            What::Sent(waited) => write!(f, "is sent after {} s", Point(waited.as_nanos())),
            What::Waits(until) => write!(f, "waits until {}", Point(until.as_nanos())),
            What::Full => f.write_str("finds no room"),
            What::Queued => f.write_str("joins the queue"),
            What::Rejected(reason) => write!(f, "is rejected: {reason}"),
            What::Decided(outcome) => write!(f, "arrives: {}", word(outcome)),
            What::Back { outcome, .. } => write!(f, "is back: {}", word(outcome)),
            What::GivenUp => f.write_str("is given up"),
            What::Withdrawn => f.write_str("is withdrawn"),
        }
    }
}

/// Nanoseconds, formatted as seconds.
struct Point(u64);

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

fn word(outcome: Outcome) -> String {
    format!("{outcome:?}").to_lowercase()
}

/// The digest of a trace. Equal traces have equal digests on every machine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Digest(u64);

impl Digest {
    pub fn add(&mut self, step: &Step) {
        let (code, value) = match step.what {
            What::Sent(waited) => (0, waited.as_nanos()),
            What::Waits(until) => (1, until.as_nanos()),
            What::Full => (2, 0),
            What::Rejected(Reason::Late(leaves)) => (3, leaves.as_nanos()),
            What::Rejected(_) => (3, 0),
            What::Decided(outcome) => (4, outcome as u64),
            What::Back { outcome, .. } => (5, outcome as u64),
            What::GivenUp => (6, 0),
            What::Withdrawn => (7, 0),
            What::Queued => (8, 0),
        };
        self.mix(step.at.as_nanos());
        self.mix((u64::from(step.thread) << 8 | code).rotate_right(24) ^ value);
    }

    /// One round of MurmurHash3's finalizer.
    const fn mix(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        self.0 = mixed ^ (mixed >> 33);
    }

    pub const fn value(self) -> u64 {
        self.0
    }
}

/// That of an empty trace.
impl Default for Digest {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
