//! What comes into the build from others: its licences, where it is from, what is known against it.
//! `deny.toml` has the rules.

use std::path::Path;
use std::time::Duration;

use crate::cargo_tool::DENY;
use crate::progress;
use crate::road::Roads;
use crate::tally::Tally;

/// The workspaces, each with a lock of its own.
const WORKSPACES: [&str; 4] = [
    "Cargo.toml",
    "embedded/firmware/Cargo.toml",
    "embedded/host/Cargo.toml",
    "tests/bench/size/Cargo.toml",
];

/// A database of advisories that has not come by then is taken for out of reach.
const LIMIT: Duration = Duration::from_secs(60);

pub fn run(_: &mut Roads, tally: &mut Tally) {
    if let Err(error) = DENY.bring() {
        return tally.verdict("cargo-deny", || Err(error));
    }
    for workspace in WORKSPACES {
        let mut command = DENY.command();
        command.args(["--manifest-path", workspace, "--locked", "check"]);
        command.args(["bans", "licenses", "sources"]);
        tally.check(&folder(workspace), command);
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

fn folder(manifest: &str) -> String {
    match Path::new(manifest).parent().and_then(Path::to_str) {
        Some("") | None => "the workspace".to_owned(),
        Some(folder) => folder.to_owned(),
    }
}
