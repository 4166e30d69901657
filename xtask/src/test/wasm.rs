//! The npm package: the crate's tests, the build, and the installed package in every runtime.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::npm::{self, step};
use crate::road::Roads;
use crate::setup;
use crate::tally::Tally;
use crate::workspace::{cargo, root};

/// The files of `wasm/test`, one check each: the first with what must be seen first.
const FILES: [&str; 8] =
    ["queue", "fetch", "pace", "memory", "hints", "workerd", "runtimes", "bundles"];

pub fn run(roads: &mut Roads, tally: &mut Tally) {
    for features in ["gate", "laws", "pace"] {
        let mut command = cargo("test");
        command.args(["--package", "tidegate-wasm", "--no-default-features"]);
        command.args(["--features", features]);
        tally.tests(&format!("the crate, {features}"), command);
    }
    let mut built = false;
    tally.verdict("build", || {
        npm::build(roads)?;
        built = true;
        Ok(())
    });
    if !built {
        return;
    }
    let folder = npm::folder().join("test");
    let mut ready = false;
    tally.verdict("pack and install", || {
        install(&folder)?;
        ready = true;
        Ok(())
    });
    if !ready {
        return;
    }
    tally.verdict("the browser", || setup::missing_tool("chromium"));
    tally.check("the server", {
        let mut command = cargo("build");
        command.args(["--release", "--package", "tidegate-live"]);
        command
    });
    for file in FILES.into_iter().chain(["package"]) {
        let mut command = Command::new("node");
        // One test at a time: they measure the rates of real servers.
        command.args(["--expose-gc", "--test", "--test-concurrency=1", "--test-reporter=spec"]);
        command.arg(format!("{file}.test.mjs")).current_dir(&folder);
        command.env("TIDEGATE_LIVE", root().join("target/release/tidegate-live"));
        command.env("TIDEGATE_PACKED", packed());
        tally.check(file, command);
    }
}

/// The packed package.
fn packed() -> std::path::PathBuf {
    root().join("target/npm/tidegate-0.1.0.tgz")
}

/// Installs the packed package beside the tools of its tests, as its users do.
fn install(folder: &Path) -> Result<()> {
    let npm = |args: &[&str], folder: &Path| {
        let mut command = Command::new("npm");
        command.args(args).current_dir(folder);
        command
    };
    let out = root().join("target/npm");
    let mut pack = npm(&["pack", "--pack-destination"], &npm::folder());
    pack.arg(&out);
    step("npm pack", pack)?;
    step("npm ci", npm(&["ci"], folder))?;
    let mut add = npm(&["install", "--no-save", "--no-package-lock"], folder);
    add.arg(packed());
    step("npm install", add).context("the packed package cannot be installed")
}
