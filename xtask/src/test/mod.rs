//! `cargo xtask test`: everything that must pass, part by part.

mod api;
mod conformance;
mod culprit;
mod docs;
mod embedded;
mod features;
mod firmware;
mod fuzz;
pub mod hostile;
mod links;
mod msrv;
mod no_panic;
mod purity;
mod supply;
mod tidy;
mod trust;
pub mod wasm;
pub mod web;

use std::fmt::Write;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::road::{Roads, TARGETS};
use crate::tally::Tally;
use crate::workspace::{cargo, root};
use crate::{lint, no_such, setup};

struct Part {
    name: &'static str,
    about: &'static str,
    run: fn(&mut Roads, &mut Tally),
}

const PARTS: [Part; 23] = [
    Part { name: "lint", about: "formatting and clippy; the same as the verb", run: lint::run },
    Part { name: "core", about: "core's tests, with debug assertions and without", run: core },
    Part { name: "purity", about: "no float, unsafe or std in core; a tidy tree", run: purity },
    Part { name: "targets", about: "core builds and lints on every target", run: targets },
    Part { name: "no-panic", about: "no panic is reachable in core", run: no_panic::run },
    Part {
        name: "docs",
        about: "the documentation builds, and its links lead somewhere",
        run: docs::run,
    },
    Part { name: "features", about: "each combination of features lints", run: features::run },
    Part { name: "msrv", about: "the oldest Rust that is named builds it", run: msrv::run },
    Part {
        name: "api",
        about: "what the crates give to others is what is committed",
        run: api::run,
    },
    Part {
        name: "supply",
        about: "licences and sources of all that is built upon",
        run: supply::run,
    },
    Part { name: "conformance", about: "the oracle's answers, everywhere", run: conformance::run },
    Part { name: "proofs", about: "lemmas about the core's arithmetic", run: trust::proofs },
    Part {
        name: "exhaustive",
        about: "all that small policies can come to",
        run: trust::exhaustive,
    },
    Part { name: "fuzz", about: "what a search has kept breaks no promise", run: fuzz::run },
    Part { name: "hostile", about: "servers that do what none should", run: hostile::run },
    Part { name: "seeds", about: "the figures that the laws' sources published", run: seeds },
    Part { name: "sim", about: "the world in virtual time, native and in wasm", run: sim },
    Part { name: "live", about: "the real server and fleet", run: live },
    Part { name: "embedded", about: "the throttle for embassy, and firmware", run: embedded::run },
    Part { name: "wiring", about: "the throttle on four chips", run: embedded::wiring },
    Part { name: "wasm", about: "the npm package, in every runtime it names", run: wasm::run },
    Part { name: "web", about: "the page, in a real browser", run: web::run },
    Part { name: "xtask", about: "this tool's own tests", run: xtask },
];

/// What runs only by its name: each builds a tool for some minutes, for what seldom changes.
const BY_NAME: [&str; 2] = ["api", "supply"];

/// The parts, one a line, below the verb's help.
pub fn help() -> String {
    let parts = PARTS.iter().fold("Parts, in order:".into(), |mut help: String, part| {
        _ = write!(help, "\n  {:<11} {}", part.name, part.about);
        help
    });
    let by_name = BY_NAME.join(", ");
    let together = trust::PARTS.join(", ");
    format!("{parts}\nOnly by name: {by_name}\nTogether:\n  {:<11} {together}", trust::NAME)
}

/// Runs the named parts, or all, in their order. One that fails does not stop the others.
pub fn run(roads: &mut Roads, asked: &[String]) -> Result<ExitCode> {
    let names = PARTS.map(|part| part.name);
    let known = |asked: &str| asked == trust::NAME || names.contains(&asked);
    if let Some(unknown) = asked.iter().find(|asked| !known(asked)) {
        return Ok(no_such("part", unknown, &[&names[..], &[trust::NAME]].concat()));
    }
    let named = |part: &str, asked: &str| {
        asked == part || (asked == trust::NAME && trust::PARTS.contains(&part))
    };
    let wanted = PARTS.iter().filter(|part| match asked {
        [] => !BY_NAME.contains(&part.name),
        asked => asked.iter().any(|asked| named(part.name, asked)),
    });

    let mut rows = Vec::new();
    for part in wanted {
        println!("{}: {}", part.name, part.about);
        let since = Instant::now();
        let mut tally = Tally::default();
        (part.run)(roads, &mut tally);
        let took = since.elapsed();
        println!("{}: {tally} ({} s)\n", part.name, took.as_secs());
        rows.push((part.name, tally, took));
    }
    Ok(report(&rows).exit_code())
}

/// The table of the parts, and the sums alone on the last line.
fn report(rows: &[(&str, Tally, Duration)]) -> Tally {
    println!("{:<11} {:>7} {:>7} {:>7} {:>8}", "part", "passed", "failed", "skipped", "seconds");
    let mut sum = Tally::default();
    for (name, tally, took) in rows {
        let Tally { passed, failed, skipped } = tally;
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

/// Debug assertions are on in the first profile and off in the second. What is there without a feature
/// is in the first, and what only a feature brings in the second; no feature changes what is there without.
fn core(_: &mut Roads, tally: &mut Tally) {
    tally.tests("debug", cargo_test("tidegate", &[]));
    tally.tests("release, all features", cargo_test("tidegate", &["--release", "--all-features"]));
}

fn purity(_: &mut Roads, tally: &mut Tally) {
    tally.verdict("core/src is pure", || purity::check(&root().join("core/src")));
    tally.verdict("the tree is tidy", || tidy::check(root()));
}

fn targets(roads: &mut Roads, tally: &mut Tally) {
    for target in TARGETS {
        let label = format!("build, {target}");
        match roads.to(target) {
            Ok(road) => {
                let mut command = road.cargo("build", target, root());
                command.args(["--release", "--package", "tidegate", "--all-features"]);
                tally.check(&label, command);
            }
            Err(error) => tally.verdict(&label, || Err(error)),
        }
    }
    lint::on_targets(roads, tally);
}

/// One line for each source, because who has changed a law wants to know whose figures it moved.
fn seeds(_: &mut Roads, tally: &mut Tally) {
    for source in ["tchannel", "autosleeper", "heroku", "emr", "go", "aws", "golden"] {
        let module = format!("{source}::");
        let mut command = cargo_test("tidegate-seeds", &["--release", "--test", "figures"]);
        command.arg(&module);
        tally.tests(source, command);
    }
}

fn sim(roads: &mut Roads, tally: &mut Tally) {
    const WASM: &str = "wasm32-unknown-unknown";
    if let Err(error) = setup::missing_tool("node") {
        tally.verdict("Node", || Err(error));
    }
    let folder = root().join("target/sim-wasm");
    match roads.to(WASM) {
        Ok(road) => {
            let mut command = road.cargo("build", WASM, root());
            command.args(["--release", "--package", "tidegate-sim-wasm", "--target-dir"]);
            command.arg(&folder);
            tally.check("build for wasm", command);
        }
        Err(error) => tally.verdict("build for wasm", || Err(error)),
    }
    let mut command = cargo_test("tidegate-sim", &["--release"]);
    let module = folder.join(WASM).join("release/tidegate_sim_wasm.wasm");
    command.env("TIDEGATE_SIM_WASM", module);
    tally.tests("native, and in wasm", command);
    tally.tests("the page of bars", cargo_test("tidegate-control", &["--release"]));
}

fn live(_: &mut Roads, tally: &mut Tally) {
    tally.tests("release", cargo_test("tidegate-live", &["--release"]));
}

fn xtask(_: &mut Roads, tally: &mut Tally) {
    tally.tests("debug", cargo_test("xtask", &[]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_name_stands_for_are_parts() {
        for part in trust::PARTS {
            assert!(PARTS.iter().any(|known| known.name == part), "{part}");
        }
    }
}
