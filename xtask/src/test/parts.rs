//! The small parts.

use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::progress::{step, step_within};
use crate::setup;
use crate::site;
use crate::tally::Tally;
use crate::workspace::cargo;

/// The documentation of the crates builds without warnings.
pub fn docs(tally: &mut Tally) {
    tally.check("cargo doc", site::documented());
}

/// The known vulnerabilities of what the host builds. Firmware uses a subset of it.
pub fn advisories(tally: &mut Tally) {
    match database() {
        Err(error) => tally.skip("known advisories", &format!("no database: {error:#}")),
        Ok(mut command) => {
            command.args(["check", "--disable-fetch", "advisories"]);
            tally.check("known advisories", command);
        }
    }
}

/// Downloads the advisories within a minute.
fn database() -> Result<Command> {
    let mut fetch = setup::tool("cargo-deny")?;
    fetch.args(["fetch", "db"]);
    step_within(Duration::from_secs(60), "cargo deny fetch", fetch)?;
    setup::tool("cargo-deny")
}

/// No float is in core. Core's lints forbid their types and arithmetic with them. Here clippy lists the literals whose
/// type nothing states.
pub fn lint(tally: &mut Tally) {
    tally.verdict("no float in core", || {
        let mut command = cargo("clippy");
        command.args(["--package", "tidegate", "--all-features", "--"]);
        command.args(["-W", "clippy::default_numeric_fallback"]);
        let output = step("clippy, floats", command)?;
        let warnings = output.split("\n\n");
        let floats: Vec<&str> = warnings.filter(|it| it.contains("_f64`")).collect();
        ensure!(floats.is_empty(), "{}", floats.join("\n\n"));
        Ok(())
    });
}
