//! Fleets with a shared budget: members, a coordinator, and the network between them.
//!
//! This simulator is separate from [`crate::world`] because messages also travel. It uses the state
//! machines of core and the same servers.

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
pub use world::run;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fleet {
    /// The file's name without its extension.
    #[serde(skip)]
    pub name: String,
    pub title: String,
    pub end: Time,
    pub members: u32,
    /// How many branches are between the members and the root.
    #[serde(default)]
    pub branches: u32,
    pub demand: Demand,
    /// The round-trip time between a member and the coordinator, drawn once per member. A message
    /// takes half of it on average, with a factor of 0.8 to 1.2.
    pub distance: Spread,
    /// The one-way travel time of a call to the server.
    pub latency: Spread,
    /// The largest amount by which a clock is ahead of the true time.
    #[serde(default)]
    pub skew: Time,
    /// How many messages of a thousand are lost, in each direction.
    #[serde(default)]
    pub lost_per_mille: u32,
    /// Whether the coordinator writes its record before each grant, like the process that holds the budgets of a
    /// machine: the next one continues from there at once. Otherwise it takes a snapshot every 5 s.
    #[serde(default)]
    pub recorded: bool,
    pub laws: Vec<String>,
    /// The quota of the law `fixed`.
    pub quota: Option<Rate>,
    /// The burst of that quota.
    #[serde(default = "crate::scenario::one")]
    pub burst: u32,
    pub server: ServerSpec,
    #[serde(default, rename = "fault")]
    pub faults: Vec<Fault>,
    #[serde(rename = "stretch")]
    pub stretches: Vec<Stretch>,
}

/// When a member makes calls.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Demand {
    /// This many callers. Each makes its next call when the previous one is served.
    Closed(u32),
    /// At random at this mean rate, regardless of earlier calls.
    Poisson(Rate),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    pub at: Time,
    pub what: What,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum What {
    /// This many members crash with their leases and calls, and others replace them.
    Crash(u32),
    /// The coordinator stops, and restores its latest snapshot after this time.
    Evict(Time),
    /// No message reaches or leaves the coordinator for this time.
    Outage(Time),
    /// No message passes between it and the first members for a minute.
    Partition(u32),
    /// The rate of calls is multiplied by this.
    Load(u32),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stretch {
    pub name: String,
    #[serde(default)]
    pub from: Time,
    /// Its end. The default is the end of the world.
    pub to: Option<Time>,
}

impl Fleet {
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
