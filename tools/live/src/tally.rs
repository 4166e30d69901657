//! The reports of a client to its parent: one JSON line several times a second.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tidegate::law::Basis;

/// Counts since the client's start, and the waits that ended since its last line.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Tally {
    /// Logical calls, regardless of their attempts.
    pub calls: u64,
    pub answered: u64,
    /// Calls that the controller gave up. With these laws there must be none.
    pub given_up: u64,
    /// How long a new call would wait now, in microseconds.
    pub wait_us: u64,
    /// Rate limit headers that could not be parsed. With this server there must be none.
    pub ignored: u64,
    /// The basis of `adaptive`'s rate. `None` for other laws.
    pub basis: Option<String>,
    /// The number of responses after which each basis was used.
    pub bases: BTreeMap<String, u64>,
    /// For each call answered since the last line, the microseconds from its start until its
    /// successful attempt was sent.
    pub waits_us: Vec<u64>,
}

impl Tally {
    /// Calls that are waiting or in flight.
    pub fn unfinished(&self) -> u64 {
        self.calls.saturating_sub(self.answered + self.given_up)
    }

    /// Records the basis of the law's rate after a response.
    pub fn steered_by(&mut self, basis: Option<Basis>) {
        let name = |basis| match basis {
            Basis::Nothing => "nothing",
            Basis::Rejections => "rejections",
            Basis::Quota => "quota",
            Basis::Remaining => "calls left",
        };
        self.basis = basis.map(name).map(str::to_owned);
        if let Some(basis) = &self.basis {
            *self.bases.entry(basis.clone()).or_default() += 1;
        }
    }

    /// The line to send. Each wait is sent once.
    pub fn line(&mut self) -> Tally {
        let line = self.clone();
        self.waits_us.clear();
        line
    }
}
