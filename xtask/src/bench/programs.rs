//! Benches that are separate programs: builds what they need, and runs them.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::publish;
use crate::progress::step;
use crate::test::{wasm, web};
use crate::workspace::{cargo, root};
use crate::{npm, page, programs, setup};

/// Runs a program that writes its figures to the file that it is given, and publishes them.
fn report(name: &str, label: &str, mut bench: Command) -> Result<()> {
    let file = root().join("target").join(name);
    bench.arg(&file);
    step(label, bench)?;
    let figures = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    publish(name, &figures)
}

/// The page in a real browser: size, loading, frame times.
pub fn page() -> Result<()> {
    page::build()?;
    setup::need(&["chromium"])?;
    let mut bench = web::program();
    bench.arg("bench.mjs");
    report("page.md", "bench.mjs", bench)
}

/// tidegate-tower beside other limiters and retries.
pub fn tower() -> Result<()> {
    let target = root().join("target");
    let mut build = cargo("build");
    build.args(["--release", "--package", "tidegate-tower-bench", "--target-dir"]).arg(&target);
    step("building tools/bench/tower", build)?;
    let bench = Command::new(target.join("release/tidegate-tower-bench"));
    report("tower.md", "ten servers, four clients, about four minutes", bench)
}

/// Fleets that share one budget, with faults. The program writes their tables.
pub fn shared(fleets: &[String]) -> Result<()> {
    npm::package()?;
    wasm::install()?;
    programs::build()?;
    // Tabs are local.
    for (fleet, tool) in [("local", "chromium"), ("redis", "redis")] {
        if fleets.is_empty() || fleets.iter().any(|asked| asked == fleet) {
            setup::need(&[tool])?;
        }
    }
    let mut tables = Command::new("node");
    tables.arg("fleet-table.mjs").arg(root().join("tests/golden")).args(fleets);
    programs::tell(tables.current_dir(npm::folder().join("test")));
    step("fleets, about eleven minutes", tables)?;
    Ok(())
}

/// The npm package beside other clients, on servers that limit as real providers do. Messages go to stderr: stdout is
/// for the rows or the page.
pub fn providers(args: Vec<OsString>) -> Result<()> {
    if !args.iter().any(|arg| arg == "--help" || arg == "-h") {
        npm::package()?;
        step("building tools/live", programs::live())?;
        npm::install(PROVIDERS)?;
    }
    let mut bench = Command::new("node");
    programs::tell(bench.arg(providers_folder().join("bench.mjs")).args(args));
    Err(bench.exec()).context("cannot start node")
}

/// Its package, which names the other clients.
pub const PROVIDERS: &str = "tidegate-providers-bench";

/// The folder of the providers' bench and its tests.
pub fn providers_folder() -> PathBuf {
    root().join("tools/bench/providers")
}

/// `adaptive` first, then its peers.
const LAWS: &str = "adaptive,aimd,heroku-proportional,aws-cubic,backoff,none,oracle";

/// Laws in random worlds, in the simulator. Messages go to stderr: stdout is for the tables.
pub fn worlds(seed: u64) -> Result<()> {
    const PROGRAM: [&str; 4] = ["--profile", "thorough", "--package", "tidegate-sim"];
    let mut build = cargo("build");
    build.args(PROGRAM);
    step("building tidegate-sim", build)?;
    eprintln!("worlds.md and worlds.svg go to tests/golden");
    // `exec` through `cargo run`, so that signals and the exit status are the program's own.
    let mut program = cargo("run");
    program.arg("--quiet").args(PROGRAM).args(["--", "worlds", "--law", LAWS]);
    program.args(["--seed", &seed.to_string(), "--out", "tests/golden"]);
    Err(program.exec()).context("cannot start tidegate-sim")
}
