//! Scenarios: TOML files that describe a world, validated when they are read.
//!
//! The format is documented in `tools/sim/scenarios/README.md`.

mod check;
mod law;
mod measure;
mod plain;
pub mod units;

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tidegate::Policy;
use toml::Spanned;

use crate::chance::Spread;
use crate::server::{Refusal, ServerSpec, Step};
pub use check::ScenarioError;
pub use law::{JitterSpec, LawSpec};
pub use measure::{Convergence, Show, Stretch, Toward};
use units::{Rate, Time};

/// A scenario: a server, its clients, and what to measure.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The file's name without its extension.
    #[serde(skip)]
    pub name: String,
    #[serde(default, skip_serializing_if = "crate::scenario::is_usual")]
    pub title: String,
    pub end: Spanned<Time>,
    /// The width of the bins in which calls are counted. All later times are multiples of it.
    #[serde(default = "one_second")]
    pub bin: Spanned<Time>,
    /// From when calls count for the metrics of the whole run.
    #[serde(default, skip_serializing_if = "crate::scenario::is_usual")]
    pub measure_from: Time,
    /// From when the busiest second is searched. The default is `measure_from`.
    pub peak_from: Option<Time>,
    /// Whether the run ends when all clients with a fixed amount of work are done.
    #[serde(default, skip_serializing_if = "crate::scenario::is_usual")]
    pub stop_when_work_is_done: bool,
    /// Ends the run when the server has this many calls left.
    pub stop_at_remaining: Option<u64>,
    /// Ends the run when this many calls have arrived.
    pub stop_after_calls: Option<u64>,
    /// The most that the clients request together, if that is less than the server's supply. `util`
    /// is then relative to it.
    pub offered: Option<Rate>,
    /// The one-way travel time of a call, drawn separately for each direction.
    #[serde(default = "from_25_to_75_ms")]
    pub latency: Spanned<Spread>,
    #[serde(
        default,
        deserialize_with = "law::by_name",
        serialize_with = "law::as_table",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub laws: Vec<(String, Spanned<LawSpec>)>,
    pub server: Spanned<ServerSpec>,
    pub clients: Vec<Spanned<Clients>>,
    /// Stretches of the run with separate metrics.
    #[serde(default, rename = "stretch", skip_serializing_if = "Vec::is_empty")]
    pub stretches: Vec<Spanned<Stretch>>,
    /// Changes after which the clients have to settle.
    #[serde(default, rename = "convergence", skip_serializing_if = "Vec::is_empty")]
    pub convergences: Vec<Spanned<Convergence>>,
}

/// A group of equal client processes.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Clients {
    /// How many processes. Each has one throttle.
    #[serde(default = "one")]
    pub processes: u32,
    /// How many threads per process. A thread has one outstanding call at a time.
    #[serde(default = "one")]
    pub threads: u32,
    #[serde(default, skip_serializing_if = "crate::scenario::is_usual")]
    pub demand: Demand,
    #[serde(default, skip_serializing_if = "crate::scenario::is_usual")]
    pub from: Time,
    /// When they leave: calls in flight complete, others are withdrawn. Never if absent.
    pub to: Option<Time>,
    /// Whether the first call of each thread arises at random like later ones, instead of at once.
    #[serde(default, skip_serializing_if = "crate::scenario::is_usual")]
    pub steady: bool,
    /// The later rates of calls that arise at random.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// A law for this group instead of the law under test. Such clients are strangers.
    pub law: Option<String>,
    /// How long after its start a call may still be sent.
    pub deadline: Option<Time>,
    /// How long a client waits for a response. Then the attempt has failed for the client, but the
    /// server still processes it. Forever if absent.
    pub timeout: Option<Time>,
    /// How many attempts the program makes of a call at most, if the law has not given it up
    /// before. Unlimited if absent.
    pub tries: Option<u32>,
    pub bad: Option<Bad>,
    /// Whether call metrics cover only this group (and others with this key).
    #[serde(default, skip_serializing_if = "crate::scenario::is_usual")]
    pub counted: bool,
}

/// Calls that can never be served.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Bad {
    pub share: f64,
    pub reply: Refusal,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Demand {
    /// The next call starts when the previous one has ended.
    #[default]
    Closed,
    /// Like closed, until this many calls have been served.
    Work(u64),
    /// Calls arise at random at this mean rate, regardless of earlier calls, and queue at the
    /// client while one is outstanding.
    Poisson(Rate),
    /// Like closed, with a random pause of this mean after each call.
    Think(Time),
    /// This many calls at once, again and again, which queue at the client. The first arise at the
    /// start.
    Cron { calls: u32, every: Time },
    /// Like closed while on, silent while off, alternating from the start of the world.
    OnOff { on: Time, off: Time },
}

impl Scenario {
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| ScenarioError::unreadable(&file, &error))?;
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Self::parse(&text, &file, &name.unwrap_or_default())
    }

    /// Parses a scenario. Errors use `file` and reports use `name`.
    pub fn parse(text: &str, file: &str, name: &str) -> Result<Self, ScenarioError> {
        let mut scenario: Self =
            toml::from_str(text).map_err(|error| ScenarioError::syntax(text, file, &error))?;
        name.clone_into(&mut scenario.name);
        check::check(&scenario).map_err(|fault| fault.at(text, file))?;
        Ok(scenario)
    }

    /// The text of a file that [`parse`](Self::parse) reads as this scenario. Values that are the
    /// default are left out, except the most important.
    pub fn print(&self) -> String {
        toml::to_string(self).expect("a scenario is a table")
    }

    pub fn groups(&self) -> impl Iterator<Item = &Clients> {
        self.clients.iter().map(Spanned::get_ref)
    }

    pub fn own_law(&self, name: &str) -> Option<Policy> {
        self.laws.iter().find(|law| law.0 == name)?.1.get_ref().policy().ok()
    }

    /// The names of all laws and peers, followed by the custom laws.
    pub fn law_names(&self) -> Vec<&str> {
        let own = self.laws.iter().map(|law| law.0.as_str());
        crate::controllers::names().into_iter().chain(own).collect()
    }

    pub fn bins(&self) -> u64 {
        let bin = self.bin.get_ref().span().as_nanos();
        self.end.get_ref().span().as_nanos().div_ceil(bin)
    }
}

/// The scenario files of a folder, in the order of their names.
pub fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)?;
    let mut files: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort_by(|one, other| one.file_stem().cmp(&other.file_stem()));
    Ok(files)
}

impl Clients {
    /// Whether the group is present for the whole scenario.
    pub fn is_always_there(&self, scenario: &Scenario) -> bool {
        let stays = self.to.is_none_or(|to| to >= *scenario.end.get_ref());
        self.from == Time::default() && stays
    }

    /// The calls a second of a process of strangers, as far as they are known. `None` if these are no strangers.
    pub fn stranger_rate(&self) -> Option<f64> {
        self.are_strangers().then_some(match self.demand {
            Demand::Poisson(rate) => rate.as_per_second() * f64::from(self.threads),
            _ => 0.0,
        })
    }

    /// Whether the group has a different law.
    pub const fn are_strangers(&self) -> bool {
        self.law.is_some()
    }
}

pub(crate) const fn one() -> u32 {
    1
}

/// Whether a value need not be written.
pub(crate) fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn one_second() -> Spanned<Time> {
    Spanned::new(0..0, tidegate::Span::from_secs(1).into())
}

fn from_25_to_75_ms() -> Spanned<Spread> {
    let ms = |n| tidegate::Span::from_millis(n).into();
    Spanned::new(0..0, Spread::Uniform(ms(25), ms(75)))
}
