//! What a client tells the process that watches it: one JSON line several times a second.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use tidegate::law::Basis;

/// Counts from the client's beginning, and the waits that ended since its last line.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Tally {
    /// Logical calls asked for, however many attempts each took.
    pub calls: u64,
    /// Those that came back with success.
    pub answered: u64,
    /// Those that the controller gave up; with these laws there must be none.
    pub given_up: u64,
    /// How long a call would wait that comes now, in microseconds.
    pub wait_us: u64,
    /// Attempts that came back with a response of whatever kind.
    pub responses: u64,
    /// Those of them that told something of the limit.
    pub told: u64,
    /// Headers about limits that made no sense; from this server there must be none.
    pub ignored: u64,
    /// What `adaptive` steers by at present, the best of its limits; nothing for other laws.
    pub tier: Option<Tier>,
    /// What it steered by after each response.
    pub tiers: BTreeMap<Tier, u64>,
    /// What the process holds in memory, where the system tells.
    pub memory_kib: Option<u64>,
    /// For each call answered since the last line, the microseconds from first asking for it to
    /// the sending of the attempt that succeeded.
    pub waits_us: Vec<u64>,
}

impl Tally {
    /// Calls still waiting or in flight: neither served nor lost.
    pub fn unfinished(&self) -> u64 {
        self.calls.saturating_sub(self.answered + self.given_up)
    }

    /// Notes what the law steers by after a response.
    pub fn steered_by(&mut self, basis: Option<Basis>) {
        self.tier = basis.map(Tier::from);
        if let Some(tier) = self.tier {
            *self.tiers.entry(tier).or_default() += 1;
        }
    }

    /// The line to send; the waits in it are told once.
    pub fn line(&mut self) -> Tally {
        let line = self.clone();
        self.waits_us.clear();
        line
    }
}

/// What `adaptive` steers by, from knowing nothing to knowing all.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Nothing yet: no call waits for a rate.
    Open,
    /// Rejections, and when they ask it to come back.
    Blind,
    /// The limit and its period as well.
    Quota,
    /// The number of calls that are left as well.
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
