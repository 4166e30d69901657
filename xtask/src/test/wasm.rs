//! The npm package: the crate's tests, the build, and the installed package in every runtime.

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;

use super::ALONE;
use crate::bench::programs::{PROVIDERS, providers_folder};
use crate::programs::{node_test, node_tests};
use crate::progress::step;
use crate::setup::{self, rustup};
use crate::tally::Tally;
use crate::workspace::{empty, root};
use crate::{npm, programs};

/// The longest of the test files in `wasm/test`. They start first.
const LONGEST: [&str; 8] =
    ["fleets", "tabs", "contexts", "queue", "redis", "local", "fetch", "bodies"];
/// How many files are tested at a time. They wait for timers, servers and runtimes most of the time.
const LANES: usize = 3;

pub fn run(tally: &mut Tally) {
    if is_installed(tally) {
        tally.verdict("browsers and Redis", || {
            setup::need(&["chromium", "firefox", "webkit", "redis"])
        });
        tally.verdict("the programs", programs::build);
        tally.verdict("a worker in Rust", worker);
        let files = tally.verdict("the tests", || node_tests(&folder(), &LONGEST));
        let files = files.into_iter().flatten().filter(|name| !ALONE.contains(&&**name));
        tally.at_once(LANES, files.collect(), node);
    }
    // A short run of the bench with limits of real providers.
    tally.verdict("install, providers", || npm::install(PROVIDERS));
    tally.check("providers", node_test(&providers_folder(), "providers", &[]));
}

/// The test file of a part that is measured alone.
pub fn alone(tally: &mut Tally) {
    tally.verdict("the programs", programs::build);
    if is_installed(tally) {
        tally.check("fetch in Node", node_test(&folder(), tally.part, &[]));
    }
}

/// The package as published: its source map, types, licences and size.
pub fn package(tally: &mut Tally) {
    if is_installed(tally) {
        tally.check("package", node("package"));
    }
}

fn is_installed(tally: &mut Tally) -> bool {
    tally.verdict("build, pack and install", || npm::package().and_then(|()| install())).is_some()
}

fn folder() -> PathBuf {
    npm::folder().join("test")
}

/// Builds the worker that calls an API through a gate of tidegate-tower.
fn worker() -> Result<()> {
    let out = npm::out();
    let mut build = rustup::cargo("build", npm::TARGET, root())?;
    build.args(["--package", "tidegate-tower-worker", "--profile", "wasm", "--target-dir"]);
    build.arg(&out);
    step("cargo build, tidegate-tower-worker", build)?;
    let built = out.join(npm::TARGET).join("wasm/tidegate_tower_worker.wasm");
    npm::bind(&built, &out.join("worker"))
}

fn node(name: &str) -> Command {
    // Miniflare sometimes leaves a handle open, and then Node would not exit.
    let mut command = node_test(&folder(), name, &["--test-force-exit"]);
    command.env("TIDEGATE_WORKER", npm::out().join("worker/tidegate_tower_worker_bg"));
    command
}

/// The package as it is published. A guide has its own copy.
pub fn packed() -> PathBuf {
    npm::out().join("packed").join("tidegate-0.1.0.tgz")
}

/// Installs the test tools, and the packed package as a user would: not as the workspace's folder. Once per run, so
/// that no test reads what another part replaces.
pub fn install() -> Result<()> {
    static DONE: Mutex<bool> = Mutex::new(false);
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    if *done {
        return Ok(());
    }
    npm::install("tidegate-test")?;
    let packed_into = empty(npm::out().join("packed"))?;
    let mut pack = Command::new("npm");
    pack.args(["pack", "--pack-destination"]).arg(packed_into).current_dir(npm::folder());
    {
        let _dist = npm::DIST.lock();
        step("npm pack", pack)?;
    }
    // It has no dependencies, so npm would also only unpack it.
    let installed = empty(folder().join("node_modules/tidegate"))?;
    let mut unpack = Command::new("tar");
    unpack.arg("-xzf").arg(packed()).arg("--strip-components=1").arg("-C").arg(installed);
    step("tar", unpack)?;
    *done = true;
    Ok(())
}
