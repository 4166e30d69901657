//! Metrics beyond the whole run: of stretches of it, and of how fast the clients settle.

use serde::{Deserialize, Serialize};

use super::units::{Rate, Time};

/// A stretch of the run with separate metrics, called `NAME_util`, `NAME_jain` and so on. A
/// repeated stretch gives the mean over its repeats.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Stretch {
    /// The prefix of its metrics' names.
    pub name: String,
    pub from: Time,
    pub to: Time,
    pub show: Vec<Show>,
    /// The most that the clients request in it, if that is less than the server's supply.
    pub offered: Option<Rate>,
    /// Calls that the server has accumulated before it, in addition to its rate.
    #[serde(default, skip_serializing_if = "crate::scenario::is_usual")]
    pub credit: u64,
    /// The interval between repeats, from start to start.
    pub every: Option<Time>,
    #[serde(default = "super::one")]
    pub times: u32,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Show {
    /// Calls served, as a share of the possible.
    Util,
    /// Calls throttled or failed, as a share of all.
    Throttled,
    /// Calls throttled or failed.
    Throttles,
    /// Calls a second, regardless of their outcome.
    Load,
    /// The rate of calls in the busiest bin.
    Peak,
    /// Jain's index of the calls served, over the processes that are present throughout.
    Jain,
    /// Calls served of the process with the fewest, as a share of an even split of the possible.
    Least,
}

/// A change, and the state that clients are expected to reach. The metric is the number of seconds
/// until the first stretch of `width` that shows it, or the observed time if none does. Several
/// with the same name give their median.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Convergence {
    pub name: String,
    pub toward: Toward,
    pub at: Time,
    pub until: Time,
    pub width: Time,
    /// The expected rate. Not used with `fair`.
    pub rate: Option<Rate>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Toward {
    /// At least 90 % of the rate is served.
    Up,
    /// At most 5 % is throttled or fails, and at least 80 % of the rate is served.
    Down,
    /// Jain's index over the processes present at that time is at least 0.9.
    Fair,
}
