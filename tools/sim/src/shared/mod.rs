//! Fleets that share one budget: members, a coordinator, and the way between them.
//!
//! A world of its own beside [`crate::world`], because here messages travel too. The machines are the
//! product's, and the servers those of all other worlds.

mod desk;
mod figures;
pub mod page;
mod world;

use std::path::Path;

use serde::Deserialize;

use crate::chance::Spread;
use crate::scenario::ScenarioError;
use crate::scenario::units::{Rate, Time};
use crate::server::ServerSpec;
pub use figures::{Figures, Outcome};
pub use world::{Broken, run};

/// A fleet to be.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fleet {
    /// The file's name without its extension.
    #[serde(skip)]
    pub name: String,
    /// What it shows, in one line.
    pub title: String,
    /// When the world ends.
    pub end: Time,
    /// How many members there are.
    pub members: u32,
    /// How many coordinators stand between the members and the one that holds the budget.
    #[serde(default)]
    pub branches: u32,
    /// How each comes to make calls.
    pub demand: Demand,
    /// How far a member is from the coordinator: drawn once for each. A message takes half of that
    /// on average, and from 0.8 to 1.2 times as long.
    pub distance: Spread,
    /// How long a call takes to the server, each way.
    pub latency: Spread,
    /// Each clock is up to so much ahead of the true time.
    #[serde(default)]
    pub skew: Time,
    /// How many messages of a thousand are lost, each way.
    #[serde(default)]
    pub lost_per_mille: u32,
    /// What the coordinator follows.
    pub laws: Vec<String>,
    /// The quota that the law `fixed` is told.
    pub quota: Option<Rate>,
    /// How many calls it admits at once.
    #[serde(default = "one")]
    pub burst: u32,
    /// The server.
    pub server: ServerSpec,
    /// What goes wrong, and when.
    #[serde(default, rename = "fault")]
    pub faults: Vec<Fault>,
    /// When to look, and what must be seen.
    #[serde(rename = "stretch")]
    pub stretches: Vec<Stretch>,
}

/// How calls arise in a member.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Demand {
    /// So many callers, each of which makes its next call as soon as the one before is served.
    Closed(u32),
    /// At random at this mean rate, whatever becomes of those before.
    Poisson(Rate),
}

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// When.
    pub at: Time,
    /// What.
    pub what: What,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum What {
    /// So many members are gone, with their leases and their calls; others come in their place.
    Crash(u32),
    /// The coordinator is gone, and comes back from its latest snapshot after so long.
    Evict(Time),
    /// Nothing reaches the coordinator or comes from it for so long.
    Outage(Time),
    /// Nothing reaches it from the first so many members for a minute, or back to them.
    Partition(u32),
    /// Calls arise so many times as often.
    Load(u32),
}

/// A part of the run with figures of its own, and what these must be.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stretch {
    /// What it is called.
    pub name: String,
    /// When it begins.
    #[serde(default)]
    pub from: Time,
    /// When it ends: with the world if absent.
    pub to: Option<Time>,
    /// The share of what the server has to give, or of what is asked for where that is less.
    pub util_least: Option<f64>,
    /// The share of calls that are throttled.
    pub throttled_most: Option<f64>,
    /// Jain's index over what each member got.
    pub jain_least: Option<f64>,
    /// The share of calls that no message kept back.
    pub local_least: Option<f64>,
    /// The laws for which all of this must be so; all of them if absent.
    #[serde(default)]
    pub holds_for: Vec<String>,
}

const fn one() -> u32 {
    1
}

impl Fleet {
    /// Reads a fleet from a file.
    ///
    /// # Errors
    /// [`ScenarioError`] names the file and the line.
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| ScenarioError::unreadable(&file, &error))?;
        let mut fleet: Self =
            toml::from_str(&text).map_err(|error| ScenarioError::syntax(&text, &file, &error))?;
        fleet.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(fleet)
    }
}
