//! What to measure beyond the whole run: stretches of it, and how fast the clients settle.

use serde::Deserialize;

use super::units::{Rate, Time};

/// A stretch of the run with metrics of its own, called `NAME_util`, `NAME_jain` and so on. One
/// that repeats gives the mean over its repeats.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stretch {
    /// What its metrics' names begin with.
    pub name: String,
    /// When it begins.
    pub from: Time,
    /// When it ends.
    pub to: Time,
    /// What to show of it.
    pub show: Vec<Show>,
    /// The most that the clients ask for in it, where that is less than the server has to give.
    pub offered: Option<Rate>,
    /// Calls that the server has saved up for it, on top of its rate.
    #[serde(default)]
    pub credit: u64,
    /// How long after its beginning it repeats.
    pub every: Option<Time>,
    /// How often it takes place.
    #[serde(default = "once")]
    pub times: u32,
}

/// What to show of a stretch.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Show {
    /// Calls served, as a share of what could be.
    Util,
    /// Calls throttled or failed, as a share of all.
    Throttled,
    /// Calls throttled or failed.
    Throttles,
    /// Calls a second, whatever became of them.
    Load,
    /// Calls in the busiest bin, a second.
    Peak,
    /// Jain's index of the calls served, over the processes that are there all the time.
    Jain,
}

impl Show {
    /// The end of the metric's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Util => "util",
            Self::Throttled => "throttled",
            Self::Throttles => "throttles",
            Self::Load => "load",
            Self::Peak => "peak",
            Self::Jain => "jain",
        }
    }
}

/// A change, and what the clients are expected to come to: the metric is how many seconds it takes
/// until the first stretch of `width` that shows it. If it never comes, the metric is the time
/// that was observed. Several of one name give their median.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Convergence {
    /// The metric's name.
    pub name: String,
    /// What to come to.
    pub toward: Toward,
    /// When the change is.
    pub at: Time,
    /// Until when to look.
    pub until: Time,
    /// How long the stretch is.
    pub width: Time,
    /// The rate to come to; not for `fair`.
    pub rate: Option<Rate>,
}

/// What clients are expected to come to.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Toward {
    /// At least 90 % of the rate is served.
    Up,
    /// At most 5 % is throttled or fails, and at least 80 % of the rate is served.
    Down,
    /// Jain's index over the processes that are there at that time is at least 0.9.
    Fair,
}

const fn once() -> u32 {
    1
}
