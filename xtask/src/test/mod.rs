//! `cargo xtask test`: the test suite in parts. Without a name it runs the short suite.

mod conformance;
mod culprit;
pub mod docs;
mod embedded;
mod features;
mod firmware;
mod fuzz;
mod guides;
mod host;
mod hostile;
mod msrv;
mod no_panic;
pub mod package;
pub mod supply;
mod trust;
pub mod wasm;
pub mod web;
mod wiring;
pub mod written;

use std::collections::VecDeque;
use std::fmt::Write;
use std::process::{Command, ExitCode};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::tally::Tally;
use crate::workspace::cargo;
use crate::{lint, no_such};

/// Runs the checks of a part.
type Check = fn(&mut Tally);

struct Part {
    name: &'static str,
    about: &'static str,
    /// The complete part.
    all: Check,
    /// What the short suite runs of it.
    quick: Option<Check>,
    lane: Lane,
}

/// The parts of a lane run one after the other, beside those of the other lanes.
#[derive(Clone, Copy)]
enum Lane {
    /// Computes. A lane that has no part left helps with these.
    Computing,
    /// Builds in the npm package's folders.
    Package,
    /// Mostly waits for servers, browsers and clocks.
    Waiting,
}

const LANES: usize = 3;

/// A part that runs only by name or with `all`.
const fn part(name: &'static str, about: &'static str, all: Check) -> Part {
    Part { name, about, all, quick: None, lane: Lane::Computing }
}

impl Part {
    const fn quick(self, quick: Check) -> Self {
        Self { quick: Some(quick), ..self }
    }

    const fn within(self, lane: Lane) -> Self {
        Self { lane, ..self }
    }
}

const PARTS: [Part; 18] = [
    part(
        "lint",
        "formatting, clippy, scripts and workflow files; the same as `cargo xtask lint`",
        lint::run,
    )
    .quick(lint::format),
    part("host", "the tests of every crate on this machine", host::run).quick(host::quick),
    part("no-panic", "prove that core has no reachable panic", no_panic::run),
    part("docs", "documentation builds without warnings or dead links", docs::run)
        .quick(docs::pages),
    part("features", "clippy for combinations of features", features::run),
    part("msrv", "build with the minimum Rust version", msrv::run),
    part("package", "crates are complete and build from their packages", package::run),
    part("supply", "licences, sources and advisories of dependencies", supply::run),
    part("conformance", "the oracle's vectors on every runtime", conformance::run)
        .quick(conformance::quick),
    part("proofs", "lemmas about core's arithmetic", trust::proofs),
    part("exhaustive", "every order of six events under small policies", trust::exhaustive),
    part("fuzz", "the fuzz corpus", fuzz::run),
    part("hostile", "clients against malicious servers", hostile::run).within(Lane::Waiting),
    part(
        "embedded",
        "embassy's throttle in virtual time, and firmware on emulated boards",
        embedded::run,
    )
    .quick(embedded::quick),
    part("wiring", "the wiring for four chips links to images that start", wiring::run),
    part("wasm", "the npm package in every supported runtime", wasm::run)
        .quick(wasm::quick)
        .within(Lane::Package),
    part("web", "the page in a real browser", web::run).within(Lane::Waiting),
    part("guides", "follow each guide in an empty folder", guides::run).within(Lane::Package),
];

/// Stands for all parts except those of `BY_NAME`.
const ALL: &str = "all";
/// Parts that run only by name: each builds for some minutes, and checks what rarely changes.
const BY_NAME: [&str; 3] = ["msrv", "supply", "wiring"];

/// The end of `--help`.
const MORE: &str = "
Run msrv, supply and wiring after a change of a dependency, and before a release.
A check that is not possible on this machine, for example without a network, is skipped with a reason.

With BLESS=1, tests write the committed files that they otherwise compare:
  BLESS=1 cargo xtask test wasm                              wasm/test/sizes.md
  BLESS=1 cargo test -p tidegate-sim --test control          tests/golden/control.md
  BLESS=1 cargo test -p tidegate --test registry             the names of the laws, in TypeScript and the README
  BLESS=1 cargo test -p tidegate --test public providers     core/src/signal/providers.md
  BLESS=1 cargo test -p xtask written                        figures, install lines and badges in the pages";

/// The list of parts for `--help`, one per line.
pub fn help() -> String {
    let mut help = String::from("Parts, in order. The short suite runs those with a star:");
    for Part { name, about, quick, .. } in &PARTS {
        let star = if quick.is_some() { "*" } else { " " };
        _ = write!(help, "\n {star}{name:<11} {about}");
    }
    let by_name = BY_NAME.join(", ");
    let together = trust::PARTS.join(", ");
    _ = write!(help, "\nGroups:\n  {ALL:<11} all parts except {by_name}");
    _ = write!(help, "\n  {:<11} {together}", trust::NAME);
    help.push_str(MORE);
    help
}

/// Runs the named parts, or the short suite, in lanes beside each other. A failed part does not stop
/// the others.
pub fn run(asked: &[String]) -> Result<ExitCode> {
    let names = PARTS.map(|part| part.name);
    let together = [ALL, trust::NAME];
    let known = |asked: &str| together.contains(&asked) || names.contains(&asked);
    if let Some(unknown) = asked.iter().find(|asked| !known(asked)) {
        return Ok(no_such("part", unknown, &[&names[..], &together].concat()));
    }
    let named = |part: &str, asked: &str| match asked {
        ALL => !BY_NAME.contains(&part),
        trust::NAME => trust::PARTS.contains(&part),
        asked => asked == part,
    };
    let wanted = |part: &Part| match asked {
        [] => part.quick,
        asked => asked.iter().any(|asked| named(part.name, asked)).then_some(part.all),
    };
    let mut lanes = [const { VecDeque::new() }; LANES];
    for part in &PARTS {
        if let Some(check) = wanted(part) {
            lanes[part.lane as usize].push_back((part, check));
        }
    }
    let run = Run {
        parts: lanes.iter().map(VecDeque::len).sum(),
        lanes: Mutex::new(lanes),
        rows: Mutex::default(),
    };
    thread::scope(|scope| {
        for lane in 0..LANES {
            let run = &run;
            scope.spawn(move || {
                while let Some((part, check)) = run.next(lane) {
                    run.check(part, check);
                }
            });
        }
    });
    let mut rows = run.rows.into_inner().unwrap_or_else(PoisonError::into_inner);
    rows.sort_by_key(|(name, ..)| names.iter().position(|known| known == name));
    Ok(report(&rows).exit_code())
}

/// The result and duration of a part.
type Row = (&'static str, Tally, Duration);

/// A run of parts, one per lane at a time.
struct Run {
    /// How many there are.
    parts: usize,
    /// Parts that have not started.
    lanes: Mutex<[VecDeque<(&'static Part, Check)>; LANES]>,
    rows: Mutex<Vec<Row>>,
}

impl Run {
    /// The next part of a lane, or else the last of those that compute.
    fn next(&self, lane: usize) -> Option<(&'static Part, Check)> {
        let mut lanes = lock(&self.lanes);
        lanes[lane].pop_front().or_else(|| lanes[Lane::Computing as usize].pop_back())
    }

    fn check(&self, part: &Part, check: Check) {
        println!("{}: {}", part.name, part.about);
        let since = Instant::now();
        let mut tally = Tally { part: part.name, ..Tally::default() };
        check(&mut tally);
        let took = since.elapsed();
        let mut rows = lock(&self.rows);
        rows.push((part.name, tally, took));
        let (ended, of) = (rows.len(), self.parts);
        println!("{}: {tally} ({} s), {ended} of {of} parts\n", part.name, took.as_secs());
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints the table of parts, and the sums on the last line.
fn report(rows: &[Row]) -> Tally {
    println!("{:<11} {:>7} {:>7} {:>7} {:>8}", "part", "passed", "failed", "skipped", "seconds");
    let mut sum = Tally::default();
    for (name, tally, took) in rows {
        let Tally { passed, failed, skipped, .. } = tally;
        println!("{name:<11} {passed:>7} {failed:>7} {skipped:>7} {:>8}", took.as_secs());
        sum.add(*tally);
    }
    println!("{sum}");
    sum
}

fn cargo_test(package: &str, more: &[&str]) -> Command {
    let mut command = cargo("test");
    command.args(["--package", package]).args(more);
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;

    #[test]
    fn every_group_consists_of_parts() {
        for part in trust::PARTS {
            assert!(PARTS.iter().any(|known| known.name == part), "{part}");
        }
    }

    #[test]
    fn a_workflow_runs_every_part() {
        let run = |file: &str| {
            let file = root().join(".github/workflows").join(file);
            std::fs::read_to_string(file).unwrap().split_whitespace().map(str::to_owned).collect()
        };
        let (all, weekly): (Vec<_>, Vec<_>) = (run("test.yml"), run("weekly.yml"));
        for Part { name, .. } in &PARTS {
            let words = if BY_NAME.contains(name) { &weekly } else { &all };
            assert!(words.iter().any(|word| word == name), "{name}");
        }
    }
}
