//! Scenarios: what a TOML file says about a world, checked where it is read.
//!
//! The format is documented in `tools/sim/scenarios/README.md`.

mod check;
mod law;
mod measure;
mod plain;
pub mod units;

use std::path::Path;

use serde::Deserialize;
use tidegate::Policy;
use toml::Spanned;

use crate::chance::Spread;
use crate::server::ServerSpec;
pub use check::ScenarioError;
pub use law::{
    AutosleeperSpec, BackoffSpec, FixedSpec, JitterSpec, LawSpec, OverSpec, RecoverySpec,
    TchannelSpec,
};
pub use measure::{Convergence, Show, Stretch, Toward};
use units::{Rate, Time};

/// A world to be: a server, its clients, and what to measure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The file's name without its extension.
    #[serde(skip)]
    pub name: String,
    /// What it shows, in one line.
    pub title: String,
    /// When the world ends.
    pub end: Spanned<Time>,
    /// The width of the bins that calls are counted in; all later times are multiples of it.
    #[serde(default = "one_second")]
    pub bin: Spanned<Time>,
    /// From when on calls count towards the metrics of the whole run.
    #[serde(default)]
    pub measure_from: Time,
    /// From when on the busiest second is looked for; from `measure_from` on if absent.
    pub peak_from: Option<Time>,
    /// Whether the world ends as soon as all clients with a fixed amount of work are done.
    #[serde(default)]
    pub stop_when_work_is_done: bool,
    /// Ends the world as soon as the server has so few calls left.
    pub stop_at_remaining: Option<u64>,
    /// Ends the world as soon as so many calls have arrived.
    pub stop_after_calls: Option<u64>,
    /// The most that the clients together ask for, where that is less than the server has to give:
    /// then `util` is the share of this.
    pub offered: Option<Rate>,
    /// How long a call takes each way: drawn anew for the way there and for the way back.
    #[serde(default = "from_25_to_75_ms")]
    pub latency: Spanned<Spread>,
    /// Laws with parameters of their own, by name.
    #[serde(default, deserialize_with = "law::by_name")]
    pub laws: Vec<(String, Spanned<LawSpec>)>,
    /// The server.
    pub server: Spanned<ServerSpec>,
    /// The clients.
    pub clients: Vec<Spanned<Clients>>,
    /// Stretches of the run with metrics of their own.
    #[serde(default, rename = "stretch")]
    pub stretches: Vec<Spanned<Stretch>>,
    /// Changes that the clients have to settle after.
    #[serde(default, rename = "convergence")]
    pub convergences: Vec<Spanned<Convergence>>,
}

/// A group of equal client processes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clients {
    /// How many processes; each has one throttle.
    #[serde(default = "one")]
    pub processes: u32,
    /// How many threads each has; a thread has one call outstanding at a time.
    #[serde(default = "one")]
    pub threads: u32,
    /// How the threads come to make calls.
    #[serde(default)]
    pub demand: Demand,
    /// When they join.
    #[serde(default)]
    pub from: Time,
    /// When they leave: calls in flight come back, the others are withdrawn. Not at all if absent.
    pub to: Option<Time>,
    /// Whether the first call of each thread arises at random as the later ones do, and not at once.
    #[serde(default)]
    pub steady: bool,
    /// A law of their own, whatever law is under test: they are strangers then.
    pub law: Option<String>,
    /// How long after its beginning a call may still be sent.
    pub deadline: Option<Time>,
    /// How long after it left a client waits for a call's answer. Then the attempt has failed for the
    /// client, while the server still works on it. For ever if absent.
    pub timeout: Option<Time>,
    /// Whether the metrics of calls are about this group alone (and others that say so).
    #[serde(default)]
    pub counted: bool,
}

/// How a thread comes to make calls.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Demand {
    /// The next call as soon as the one before has ended.
    #[default]
    Closed,
    /// As closed, until so many calls have been served.
    Work(u64),
    /// Calls arise at random at this mean rate, whatever becomes of those before, and queue at the
    /// client while one is outstanding.
    Poisson(Rate),
    /// As closed, with a pause of random length and this mean after each call.
    Think(Time),
    /// As closed while on, silent while off, in turn from the start of the world.
    OnOff {
        /// How long it is on.
        on: Time,
        /// How long it is silent then.
        off: Time,
    },
}

impl Scenario {
    /// Reads a scenario from a file.
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| ScenarioError::unreadable(&file, &error))?;
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Self::parse(&text, &file, &name.unwrap_or_default())
    }

    /// Reads a scenario from a file's text; `file` is what errors call it, `name` what reports do.
    pub fn parse(text: &str, file: &str, name: &str) -> Result<Self, ScenarioError> {
        let mut scenario: Self =
            toml::from_str(text).map_err(|error| ScenarioError::syntax(text, file, &error))?;
        name.clone_into(&mut scenario.name);
        for group in &mut scenario.clients {
            let law = &mut group.get_mut().law;
            let stranger =
                law.as_deref().filter(|law| scenario.laws.iter().all(|own| own.0 != *law));
            if let Some(present) = stranger.map(|law| law::present(law).into()) {
                *law = Some(present);
            }
        }
        check::check(&scenario).map_err(|fault| fault.at(&scenario, text, file))?;
        Ok(scenario)
    }

    /// The client groups.
    pub fn groups(&self) -> impl Iterator<Item = &Clients> {
        self.clients.iter().map(Spanned::get_ref)
    }

    /// The policy of a law that has parameters of its own here.
    pub fn own_law(&self, name: &str) -> Option<Policy> {
        self.laws.iter().find(|law| law.0 == name)?.1.get_ref().policy().ok()
    }

    /// The names of all laws and peers, and of its own laws after them.
    pub fn law_names(&self) -> Vec<&str> {
        let own = self.laws.iter().map(|law| law.0.as_str());
        crate::controllers::names().into_iter().chain(own).collect()
    }

    /// How many bins the run has.
    pub fn bins(&self) -> u64 {
        let bin = self.bin.get_ref().span().as_nanos();
        self.end.get_ref().span().as_nanos().div_ceil(bin)
    }
}

impl Clients {
    /// Whether the group is there from the start of a scenario to its end.
    pub fn is_always_there(&self, scenario: &Scenario) -> bool {
        let stays = self.to.is_none_or(|to| to >= *scenario.end.get_ref());
        self.from == Time::default() && stays
    }

    /// Whether the group keeps to a law of its own.
    pub const fn are_strangers(&self) -> bool {
        self.law.is_some()
    }
}

const fn one() -> u32 {
    1
}

fn one_second() -> Spanned<Time> {
    Spanned::new(0..0, tidegate::Span::from_secs(1).into())
}

fn from_25_to_75_ms() -> Spanned<Spread> {
    let ms = |n| tidegate::Span::from_millis(n).into();
    Spanned::new(0..0, Spread::Uniform(ms(25), ms(75)))
}
