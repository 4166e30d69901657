//! The licences, sources and known vulnerabilities of dependencies. `deny.toml` contains the rules.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::progress;
use crate::setup::DENY;
use crate::tally::Tally;
use crate::workspace;

/// The time limit for downloading the advisory database. After it, the check is skipped.
const LIMIT: Duration = Duration::from_secs(60);

pub fn run(tally: &mut Tally) {
    if let Err(error) = DENY.bring() {
        return tally.verdict("cargo-deny", || Err(error));
    }
    match workspaces() {
        Ok(folders) => folders.iter().for_each(|folder| tally.check(label(folder), rules(folder))),
        Err(error) => tally.verdict("the workspaces", || Err(error)),
    }
    advisories(tally);
}

/// Checks the crates that the host builds. Firmware uses a subset of them.
fn advisories(tally: &mut Tally) {
    let label = "known advisories";
    let mut fetch = DENY.command();
    fetch.args(["fetch", "db"]);
    match progress::run(label, fetch, Some(LIMIT)) {
        Ok(ended) if ended.success() => {
            let mut command = DENY.command();
            command.args(["check", "--disable-fetch", "advisories"]);
            tally.check(label, command);
        }
        Ok(ended) => {
            tally.skip(label, &format!("the database is not available: {}", ended.reason()))
        }
        Err(error) => tally.verdict(label, || Err(error.into())),
    }
}

/// The folders that have a `Cargo.lock`.
fn workspaces() -> Result<Vec<String>> {
    let files = workspace::files()?;
    Ok(files.iter().filter_map(|file| file.strip_suffix("Cargo.lock")).map(str::to_owned).collect())
}

fn rules(folder: &str) -> Command {
    let mut command = DENY.command();
    command.args(["--manifest-path", &format!("{folder}Cargo.toml"), "--locked", "check"]);
    command.args(["bans", "licenses", "sources"]);
    command
}

fn label(folder: &str) -> &str {
    if folder.is_empty() { "the workspace" } else { folder.trim_end_matches('/') }
}
