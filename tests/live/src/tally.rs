//! What a client tells the process that watches it: one JSON line several times a second.

use serde::{Deserialize, Serialize};

/// Counts from the client's beginning, and the waits that ended since its last line.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Tally {
    /// Logical calls asked for, however many attempts each took.
    pub calls: u64,
    /// Those that came back with success.
    pub answered: u64,
    /// Those that the controller gave up; with these laws there must be none.
    pub given_up: u64,
    /// The wait last handed out, in microseconds; nothing once a call has left without one.
    pub wait_us: u64,
    /// For each call answered since the last line, the microseconds from first asking for it to
    /// the sending of the attempt that succeeded.
    pub waits_us: Vec<u64>,
}

impl Tally {
    /// Calls still waiting or in flight: neither served nor lost.
    pub fn unfinished(&self) -> u64 {
        self.calls.saturating_sub(self.answered + self.given_up)
    }

    /// The line to send; the waits in it are told once.
    pub fn line(&mut self) -> Tally {
        let line = self.clone();
        self.waits_us.clear();
        line
    }
}
