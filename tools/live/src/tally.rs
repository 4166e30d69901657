//! The reports of a client to its parent: one JSON line several times a second.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
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
    /// Attempts that received any response.
    pub responses: u64,
    pub told: u64,
    /// Rate limit headers that could not be parsed. With this server there must be none.
    pub ignored: u64,
    /// The basis of `adaptive`'s rate, the best of its limits. `None` for other laws.
    pub tier: Option<Tier>,
    /// The number of responses after which each basis was used.
    pub tiers: BTreeMap<Tier, u64>,
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
        self.tier = basis.map(Tier::from);
        if let Some(tier) = self.tier {
            *self.tiers.entry(tier).or_default() += 1;
        }
    }

    /// The line to send. Each wait is sent once.
    pub fn line(&mut self) -> Tally {
        let line = self.clone();
        self.waits_us.clear();
        line
    }
}

/// The basis of `adaptive`'s rate, from the least knowledge to the most.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// No rate: no call waits.
    Open,
    /// Throttled calls, and their Retry-After.
    Blind,
    /// Also the limit and its period.
    Quota,
    /// Also the number of remaining calls.
    Remaining,
}

impl From<Basis> for Tier {
    fn from(basis: Basis) -> Self {
        match basis {
            Basis::Nothing => Tier::Open,
            Basis::Rejections => Tier::Blind,
            Basis::Quota => Tier::Quota,
            Basis::Remaining => Tier::Remaining,
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Tier::Open => "nothing",
            Tier::Blind => "rejections",
            Tier::Quota => "quota",
            Tier::Remaining => "calls left",
        })
    }
}
