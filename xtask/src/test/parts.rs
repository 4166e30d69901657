//! The small parts.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::progress::{self, step};
use crate::setup::{self, rustup};
use crate::tally::Tally;
use crate::workspace::{self, cargo};
use crate::{links, site};

/// The documentation builds without warnings, and has no dead links.
pub fn docs(tally: &mut Tally) {
    tally.check("cargo doc", site::documented());
    pages(tally);
}

pub fn pages(tally: &mut Tally) {
    tally.verdict("links between pages", links::in_repository);
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

/// What no command says: floats in core.
pub fn lint(tally: &mut Tally) {
    tally.verdict("no float in core", floats);
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
