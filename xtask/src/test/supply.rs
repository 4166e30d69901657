//! What comes into the build from others: its licences, where it is from, what is known against it.
//! `deny.toml` has the rules.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::cargo_tool::DENY;
use crate::progress;
use crate::road::Roads;
use crate::tally::Tally;
use crate::workspace::root;

use super::tidy;

/// A database of advisories that has not come by then is taken for out of reach.
const LIMIT: Duration = Duration::from_secs(60);

pub fn run(_: &mut Roads, tally: &mut Tally) {
    if let Err(error) = DENY.bring() {
        return tally.verdict("cargo-deny", || Err(error));
    }
    match workspaces() {
        Ok(folders) => folders.iter().for_each(|folder| tally.check(label(folder), rules(folder))),
        Err(error) => tally.verdict("the workspaces", || Err(error)),
    }
    advisories(tally);
}

/// Of all that the host builds; firmware has the same crates and fewer.
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
            tally.skip(label, &format!("their database cannot be had: {}", ended.reason()))
        }
        Err(error) => tally.verdict(label, || Err(error.into())),
    }
}

/// The folders with a lock of their own.
fn workspaces() -> Result<Vec<String>> {
    let files = tidy::files(root())?;
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
