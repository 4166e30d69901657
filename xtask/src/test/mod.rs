//! `cargo xtask test`: the test suite in parts. Without a name it runs the short suite.

mod checks;
pub mod embedded;
mod guides;
mod no_panic;
pub mod package;
mod parts;
pub mod wasm;
pub mod web;
mod wiring;
pub mod written;

use std::fmt::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::tally::{Tally, in_lanes};

type Check = fn(&mut Tally);

struct Part {
    name: &'static str,
    about: &'static str,
    /// What the part runs beside the checks of the table, except in the short suite.
    more: Check,
}

/// How many parts run beside each other. Some mostly wait for servers, browsers and clocks.
const LANES: usize = 4;

const fn part(name: &'static str, about: &'static str, more: Check) -> Part {
    Part { name, about, more }
}

fn no_more(_: &mut Tally) {}

/// In the order in which they start: those first that take longest.
const PARTS: [Part; 19] = [
    part("guides", "follow each guide in an empty folder", guides::run),
    part("wasm", "the npm package in every supported runtime", wasm::run),
    part("web", "the page in a real browser", web::run),
    part("host", "the tests of every crate on this machine", no_more),
    part(
        "embedded",
        "embassy's throttle in virtual time, and firmware on emulated boards",
        embedded::run,
    ),
    part("conformance", "the oracle's vectors on every runtime", embedded::vectors),
    part(
        "lint",
        "formatting, clippy, scripts and workflow files; the same as `cargo xtask lint`",
        parts::lint,
    ),
    part("features", "clippy for each feature", no_more),
    part("exhaustive", "every order of six events under small policies", no_more),
    part("proofs", "lemmas about core's arithmetic", no_more),
    part("fuzz", "the fuzz corpus", no_more),
    part("docs", "documentation builds without warnings or dead links", parts::docs),
    part("no-panic", "prove that core has no reachable panic", no_panic::run),
    part("package", "crates are complete and build from their packages", package::run),
    part("hints", "bursts against servers with each family of hints", wasm::alone),
    part("hostile", "clients against malicious servers", wasm::alone),
    part("msrv", "build with the minimum Rust version", no_more),
    part("supply", "licences, sources and advisories of dependencies", parts::advisories),
    part("wiring", "the wiring for four chips links to images that start", wiring::run),
];

/// Stands for all parts except those of `BY_NAME`.
const ALL: &str = "all";
/// Parts that run only by name: each builds for some minutes, and checks what rarely changes.
const BY_NAME: [&str; 4] = ["features", "msrv", "supply", "wiring"];

/// Parts that measure how clients behave in real time: they run after the others, one at a time.
const ALONE: [&str; 2] = ["hints", "hostile"];

/// The end of `--help`.
const MORE: &str = "
Run features, msrv, supply and wiring before a release, and after you change a dependency or a feature.
Without a network, the known advisories are skipped.

With BLESS=1, tests write the committed files instead of comparing them:
  BLESS=1 cargo xtask test wasm                              wasm/test/sizes.md
  BLESS=1 cargo test -p tidegate-sim --test control          tests/golden/control.md
  BLESS=1 cargo test -p tidegate --test registry             the names of the laws, in TypeScript and the guide
  BLESS=1 cargo test -p tidegate --test public providers     core/src/signal/providers.md
  BLESS=1 cargo test -p xtask written                        figures, install lines and badges in the pages";

/// The list of parts for `--help`, one per line.
pub fn help() -> String {
    let mut help = String::from("Parts (* = in the short suite):");
    for Part { name, about, .. } in &PARTS {
        let star = if checks::are_in_short_suite(name) { "*" } else { " " };
        _ = write!(help, "\n {star}{name:<11} {about}");
    }
    _ = write!(help, "\n  {ALL:<11} all of them except {}", BY_NAME.join(", "));
    help.push_str(MORE);
    help
}

/// What can be named.
pub fn names() -> Vec<&'static str> {
    PARTS.iter().map(|part| part.name).chain([ALL]).collect()
}

/// Runs the named parts, or the short suite, some beside each other. A failed part does not stop the
/// others.
pub fn run(asked: &[String]) -> Result<ExitCode> {
    let named = |part: &str, asked: &str| match asked {
        ALL => !BY_NAME.contains(&part),
        asked => asked == part,
    };
    let short = asked.is_empty();
    let is_wanted = |part: &&Part| match short {
        true => checks::are_in_short_suite(part.name),
        false => asked.iter().any(|asked| named(part.name, asked)),
    };
    let parts: Vec<_> = PARTS.iter().filter(is_wanted).collect();
    let (number, mut rows) = (parts.len(), Vec::new());
    let take = |part| take(part, short);
    let mut ended = |row| {
        rows.push(row);
        println!("{} of {number} parts have ended\n", rows.len());
    };
    let (alone, others) = parts.into_iter().partition(|part| ALONE.contains(&part.name));
    in_lanes(LANES, others, take, &mut ended);
    in_lanes(1, alone, take, &mut ended);
    rows.sort_by_key(|(tally, _)| PARTS.iter().position(|part| part.name == tally.part));
    Ok(report(&rows).exit_code())
}

/// Runs a part. Returns its result and duration.
fn take(part: &Part, short: bool) -> (Tally, Duration) {
    println!("{}: {}", part.name, part.about);
    let since = Instant::now();
    let mut tally = Tally { part: part.name, ..Tally::default() };
    checks::run(part.name, short, &mut tally);
    if !short {
        (part.more)(&mut tally);
    }
    let took = since.elapsed();
    println!("{}: {tally} ({} s)", part.name, took.as_secs());
    (tally, took)
}

/// Runs a whole part beside the checks of `tally`.
pub fn complete(name: &str, tally: &mut Tally) {
    let part = PARTS.iter().find(|part| part.name == name);
    tally.add(part.map(|part| take(part, false).0).unwrap_or_default());
}

/// Prints the table of parts, and the sums on the last line.
fn report(rows: &[(Tally, Duration)]) -> Tally {
    println!("{:<11} {:>7} {:>7} {:>7} {:>8}", "part", "passed", "failed", "skipped", "seconds");
    let mut sum = Tally::default();
    for (tally, took) in rows {
        let Tally { part, passed, failed, skipped } = tally;
        println!("{part:<11} {passed:>7} {failed:>7} {skipped:>7} {:>8}", took.as_secs());
        sum.add(*tally);
    }
    println!("{sum}");
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;

    #[test]
    fn a_workflow_runs_every_part() {
        let words = |file: &str, of: &str| -> Vec<String> {
            let file = root().join(".github/workflows").join(file);
            let text = std::fs::read_to_string(file).unwrap();
            let lines = text.lines().filter(|line| line.contains(of));
            lines.flat_map(str::split_whitespace).map(str::to_owned).collect()
        };
        let (all, weekly) = (words("test.yml", "parts:"), words("weekly.yml", "xtask test"));
        for Part { name, .. } in &PARTS {
            let words = if BY_NAME.contains(name) { &weekly } else { &all };
            assert!(words.iter().any(|word| word == name), "{name}");
        }
    }
}
