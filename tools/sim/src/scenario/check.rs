//! Validates a scenario beyond its types.

use std::ops::Range;
use std::slice::from_ref;

use toml::Spanned;

use super::units::Time;
use super::{Bad, Clients, Convergence, Demand, Scenario, Stretch, Toward};
use crate::chance::Spread;
use crate::controllers;
use crate::server::{BucketSpec, ServerSpec, schedule};

/// An error in a scenario file: where it is, what is wrong, and what would be valid, in one
/// sentence.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct ScenarioError {
    /// The file, and the line if it is known.
    place: String,
    reason: String,
}

impl ScenarioError {
    pub(crate) fn unreadable(file: &str, error: &std::io::Error) -> Self {
        Self { place: file.into(), reason: format!("cannot be read: {error}") }
    }

    pub(crate) fn syntax(text: &str, file: &str, error: &toml::de::Error) -> Self {
        let offset = error.span().map(|span| span.start);
        Self::at(text, file, offset, error.message().replace('\n', ", "))
    }

    fn at(text: &str, file: &str, offset: Option<usize>, reason: String) -> Self {
        let line = |offset| 1 + text.bytes().take(offset).filter(|&byte| byte == b'\n').count();
        let place = offset.map_or(file.into(), |offset| format!("{file}, line {}", line(offset)));
        Self { place, reason }
    }
}

/// An error and the part of the file that it is in.
pub(super) struct Fault(Range<usize>, String);

impl Fault {
    pub(super) fn at(self, text: &str, file: &str) -> ScenarioError {
        let offset = Some(self.0.start).filter(|_| !self.0.is_empty());
        ScenarioError::at(text, file, offset, self.1)
    }
}

/// The maximum number of threads and of counters, so that a run fits in the memory of a small
/// machine.
const MOST_THREADS: u64 = 1 << 20;
const MOST_COUNTERS: u64 = 1 << 26;

pub(super) fn check(scenario: &Scenario) -> Result<(), Fault> {
    let end = *scenario.end.get_ref();
    if end == Time::default() {
        return fault(&scenario.end, "the end of the world must be after its start");
    }
    if *scenario.bin.get_ref() == Time::default() {
        return fault(&scenario.bin, "bin must be longer than zero");
    }
    let processes: u64 = scenario.groups().map(|group| u64::from(group.processes)).sum();
    if scenario.bins().saturating_mul(processes.max(1)) > MOST_COUNTERS {
        let why = "bin is so short that there are too many counters; choose a longer one";
        return fault(&scenario.bin, why);
    }
    each(from_ref(&scenario.latency), Spread::fault)?;
    each(from_ref(&scenario.server), ServerSpec::fault)?;
    let bucket = scenario.server.get_ref().bucket.as_ref();
    if scenario.stop_at_remaining.is_none() && bucket.is_some_and(BucketSpec::is_dry) {
        let why = "the rate must be above 0, or `stop_at_remaining` end the run: the bucket never \
                   refills";
        return fault(&scenario.server, why);
    }
    if scenario.clients.is_empty() {
        return fault(&scenario.server, "there must be at least one [[clients]]");
    }
    let threads = |group: &Clients| u64::from(group.processes) * u64::from(group.threads);
    if scenario.groups().map(threads).sum::<u64>() > MOST_THREADS {
        return fault(&scenario.server, "there must be at most 1048576 client threads in total");
    }
    laws(scenario)?;
    each(&scenario.clients, |group| clients(group, scenario))?;
    each(&scenario.stretches, |stretch| check_stretch(stretch, scenario))?;
    each(&scenario.convergences, |convergence| check_convergence(convergence, scenario))
}

fn each<T>(parts: &[Spanned<T>], why: impl Fn(&T) -> Option<&'static str>) -> Result<(), Fault> {
    let wrong = parts.iter().find_map(|part| Some((part, why(part.get_ref())?)));
    wrong.map_or(Ok(()), |(part, why)| fault(part, why))
}

fn fault<T>(part: &Spanned<T>, why: impl Into<String>) -> Result<(), Fault> {
    Err(Fault(part.span(), why.into()))
}

fn laws(scenario: &Scenario) -> Result<(), Fault> {
    for (name, law) in &scenario.laws {
        if controllers::is_known(name) {
            return fault(law, "there is already a law with this name; choose another one");
        }
        if let Err(why) = law.get_ref().policy() {
            return fault(law, why.to_string());
        }
    }
    for group in &scenario.clients {
        let unknown = |law: &&str| !controllers::is_known(law) && scenario.own_law(law).is_none();
        if let Some(law) = group.get_ref().law.as_deref().filter(unknown) {
            let names = scenario.law_names().join(", ");
            return fault(group, format!("there is no law \"{law}\"; the laws are {names}"));
        }
    }
    Ok(())
}

fn clients(group: &Clients, scenario: &Scenario) -> Option<&'static str> {
    let end = *scenario.end.get_ref();
    if group.processes == 0 || group.threads == 0 {
        return Some("a group of clients needs at least 1 process and 1 thread");
    }
    if group.to.is_some_and(|to| to <= group.from) || group.from >= end {
        return Some("clients must join before they leave, and before the world ends");
    }
    let random = matches!(group.demand, Demand::Poisson(_));
    if (group.steady || !group.steps.is_empty()) && !random {
        return Some("only clients that call at random (`poisson`) can be steady, or have steps");
    }
    if group.timeout == Some(Time::default()) {
        return Some("a timeout must be longer than zero");
    }
    if group.tries == Some(0) {
        return Some("`tries` must be at least 1");
    }
    let no_share = |bad: Bad| !(bad.share > 0.0 && bad.share <= 1.0);
    if group.bad.is_some_and(|bad| no_share(bad) || group.tries.is_none()) {
        return Some("the share of bad calls must be above 0 and at most 1, and needs `tries`");
    }
    match group.demand {
        Demand::Work(0) => return Some("work must be at least 1 call"),
        Demand::Poisson(rate) if rate.is_zero() => {
            return Some("clients that call at random need a rate above 0");
        }
        Demand::Cron { calls, every } if calls == 0 || every == Time::default() => {
            return Some("clients that call by cron need at least 1 call, and a time between runs");
        }
        Demand::OnOff { on, .. } if on == Time::default() => {
            return Some("clients must be on for longer than zero");
        }
        _ => {}
    }
    schedule::fault(group.steps.iter().map(|step| step.at))
}

fn check_stretch(stretch: &Stretch, scenario: &Scenario) -> Option<&'static str> {
    if stretch.to <= stretch.from || stretch.to > *scenario.end.get_ref() {
        return Some("a stretch must end after it begins, and no later than the world");
    }
    if stretch.times == 0 || (stretch.times > 1 && stretch.every.is_none()) {
        return Some("a stretch must take place at least once, and needs `every` to repeat");
    }
    let last = stretch.every.unwrap_or_default().span() * (u64::from(stretch.times) - 1);
    if stretch.to.span() + last > scenario.end.get_ref().span() {
        return Some("a stretch must not repeat after the end of the world");
    }
    whole_bins([stretch.from, stretch.to, stretch.every.unwrap_or_default()], scenario)
}

fn check_convergence(convergence: &Convergence, scenario: &Scenario) -> Option<&'static str> {
    let Convergence { at, until, width, toward, rate, .. } = *convergence;
    if until <= at || until > *scenario.end.get_ref() || width == Time::default() {
        return Some(
            "a convergence needs a width, and to be looked for after its change and until the \
             world ends at the latest",
        );
    }
    if (toward == Toward::Fair) == rate.is_some() {
        return Some(
            "a convergence up or down needs a rate, and one toward fair must not have one",
        );
    }
    whole_bins([at, until, width], scenario)
}

fn whole_bins(times: [Time; 3], scenario: &Scenario) -> Option<&'static str> {
    let bin = scenario.bin.get_ref().span().as_nanos();
    let odd = times.iter().any(|time| time.span().as_nanos() % bin != 0);
    odd.then_some("all times of a measure must be multiples of `bin` (default 1s)")
}
