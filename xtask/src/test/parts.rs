//! The parts that only run commands.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::wasm;
use crate::progress::{self, step};
use crate::setup::{self, rustup, solver};
use crate::tally::Tally;
use crate::workspace::{self, cargo, root};
use crate::{links, npm, programs, site};

/// The documentation builds without warnings, and has no dead links.
pub fn docs(tally: &mut Tally) {
    tally.check("cargo doc", site::documented());
    pages(tally);
}

/// Checks the links between the Markdown pages.
pub fn pages(tally: &mut Tally) {
    tally.verdict("links between pages", links::in_repository);
}

/// The crates and their combinations. All features together are what the tests are built with.
const CRATES: [(&str, &[&str]); 4] = [
    ("tidegate", &["--each-feature"]),
    ("tidegate-wasm", &["--each-feature"]),
    ("tidegate-tower", &["--each-feature"]),
    ("tidegate-embassy", &["--each-feature", "--exclude-all-features"]),
];

/// Clippy for combinations of features: omitting one must not break another.
pub fn features(tally: &mut Tally) {
    for (name, combinations) in CRATES {
        tally.verdict(name, || {
            setup::need(&["rustfmt", "clippy"])?;
            let mut command = setup::tool("cargo-hack")?;
            command.arg("clippy").args(combinations).args(["--package", name, "--lib"]);
            command.args(["--", "-D", "warnings"]);
            step(name, command)
        });
    }
}

/// Replays the inputs that earlier searches have kept. tests/fuzz is a separate workspace, which other lint runs do not
/// cover.
pub fn fuzz(tally: &mut Tally) {
    let here = |verb: &str, args: &[&str]| {
        let mut command = cargo(verb);
        command.args(args).current_dir(root().join("tests/fuzz"));
        command.env("CARGO_TARGET_DIR", root().join("target/fuzz"));
        command
    };
    tally.tests("replay", here("test", &["--locked", "--release"]));
    if tally.verdict("rustfmt and clippy", || setup::need(&["rustfmt", "clippy"])).is_some() {
        tally.check("formatting", here("fmt", &["--check", "--", "--color=never"]));
        let strict = ["--locked", "--release", "--all-targets", "--", "-D", "warnings"];
        tally.check("clippy", here("clippy", &strict));
    }
}

/// A hostile server on loopback, and the npm package's `fetch` in Node. The tests of the server's crate are those of
/// tower's layers.
pub fn hostile(tally: &mut Tally) {
    let built = tally.verdict("build, pack and install", || {
        programs::build()?;
        npm::package()?;
        wasm::install()
    });
    if built.is_some() {
        let mut node = Command::new("node");
        node.args(["--expose-gc", "--test", "--test-reporter=spec", "hostile.test.mjs"]);
        programs::tell(node.current_dir(npm::folder().join("test")));
        tally.check("fetch in Node", node);
    }
}

/// Every order of events up to a depth with small policies, and random events with any policy.
pub fn exhaustive(tally: &mut Tally) {
    let mut random = cargo("test");
    random.args(["--package", "tidegate-promises", "--release"]);
    tally.tests("random events", random);
    let mut every = cargo("run");
    every.args(["--quiet", "--release", "--package", "tidegate-promises"]);
    tally.figures("every order of events", || last_line("every order of events", every));
}

/// Lemmas about core's arithmetic, for all numbers. The same run compares their models with core, and checks that each
/// lemma can fail.
pub fn proofs(tally: &mut Tally) {
    if tally.verdict("the solver", || setup::need(&[solver::NAME])).is_none() {
        return;
    }
    for (label, argument) in [
        ("the models agree with core", "--models"),
        ("the lemmas", "--lemmas"),
        ("wrong variants are refuted", "--mutate"),
    ] {
        let mut command = Command::new(solver::python());
        command.arg(root().join("tests/proofs/prove.py")).arg(argument);
        tally.figures(label, || last_line(label, command));
    }
}

/// The last line of output says how much was checked.
fn last_line(label: &str, command: Command) -> Result<String> {
    Ok(step(label, command)?.lines().last().unwrap_or_default().to_owned())
}

/// What the minimum Rust version builds. The embassy throttle's `reqwless` needs a newer Rust.
const OLDEST: [(&str, &str); 2] = [
    ("core and tower", "--package tidegate --package tidegate-tower --all-features"),
    (
        "embassy's throttle",
        "--package tidegate-embassy --features coap-message,defmt,keyed,rust-mqtt,sleep,stats",
    ),
];

/// Builds the published crates with their minimum Rust version. Clippy's `incompatible_msrv` finds uses of a later std
/// with any compiler; only the old compiler finds the rest.
pub fn msrv(tally: &mut Tally) {
    let version = tally.verdict("the oldest Rust", || {
        let core = workspace::core()?;
        let version = core["rust_version"].as_str().context("core has no `rust-version`")?;
        // Its first release.
        let patch = if version.matches('.').count() == 1 { ".0" } else { "" };
        Ok(format!("{version}{patch}"))
    });
    let Some(version) = version else { return };
    if let Err(error) = rustup::version(&version) {
        return tally.skip(&format!("build with Rust {version}"), &format!("{error:#}"));
    }
    for (what, args) in OLDEST {
        let mut check = rustup::version_of_cargo(&version, "check");
        check.arg("--locked").args(args.split(' '));
        tally.check(&format!("Rust {version}, {what}"), check);
    }
}

/// The licences, sources and known vulnerabilities of dependencies. `deny.toml` contains the rules.
pub fn supply(tally: &mut Tally) {
    // Whatever has a `Cargo.lock`.
    let workspaces = tally.verdict("cargo-deny", || {
        setup::tool("cargo-deny")?;
        let files = workspace::files()?.into_iter();
        Ok(files.filter(|file| file.ends_with("Cargo.lock")).collect::<Vec<_>>())
    });
    let Some(workspaces) = workspaces else { return };
    for lock in workspaces {
        tally.verdict(&lock, || {
            let mut command = setup::tool("cargo-deny")?;
            let manifest = lock.replace(".lock", ".toml");
            command.args(["--manifest-path", &manifest, "--locked", "check"]);
            command.args(["bans", "licenses", "sources"]);
            step(&lock, command)
        });
    }
    // The crates that the host builds. Firmware uses a subset of them.
    let label = "known advisories";
    match database() {
        Err(error) => tally.skip(label, &format!("the database is not available: {error:#}")),
        Ok(mut command) => {
            command.args(["check", "--disable-fetch", "advisories"]);
            tally.check(label, command);
        }
    }
}

/// Downloads the advisories within a minute.
fn database() -> Result<Command> {
    let mut fetch = setup::tool("cargo-deny")?;
    fetch.args(["fetch", "db"]);
    progress::brief("cargo deny fetch", fetch, Some(Duration::from_secs(60)))?;
    setup::tool("cargo-deny")
}
