//! The programs that tests and benches in JavaScript and on boards run, and how they learn of them.
//!
//! They are built in xtask's own profile, which shares dependencies with it. That is a minute faster than an optimised
//! build, and a fleet of a thousand calls a second uses only a quarter of a processor.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::progress::step;
use crate::setup::{self, aside};
use crate::workspace::cargo;

/// The demo's server and fleet.
pub const LIVE: &str = "tidegate-live";
/// The hostile servers.
pub const HOSTILE: &str = "tidegate-hostile";
/// A process in Rust that shares a budget with others of its machine.
const MEMBER: &str = "tidegate-local-member";

/// How the names of test files end.
const TESTS: &str = ".test.mjs";

/// Builds all of them. The demo's is built alone, as the demo and the guides build it: with other features, it would be
/// replaced while it runs.
pub fn build() -> Result<()> {
    step("cargo build, tidegate-live", live())?;
    let mut others = cargo("build");
    others.args(["--package", HOSTILE, "--package", MEMBER]);
    step("cargo build, the other programs", others)?;
    Ok(())
}

/// Builds the demo's.
pub fn live() -> Command {
    let mut build = cargo("build");
    build.args(["--package", LIVE]);
    build
}

/// The path of a program: beside this one.
pub fn path(name: &str) -> PathBuf {
    let here = std::env::current_exe().unwrap_or_default();
    here.with_file_name(name)
}

/// Passes the paths to a test: of these programs, the browser, and redis-server with its libraries.
pub fn tell(test: &mut Command) {
    test.env("TIDEGATE_LIVE", path(LIVE)).env("TIDEGATE_HOSTILE", path(HOSTILE));
    test.env("TIDEGATE_LOCAL_MEMBER", path(MEMBER));
    setup::browser(test);
    let redis = aside::command("redis-server");
    test.env("TIDEGATE_REDIS", redis.get_program());
    if let Some((_, Some(libraries))) = redis.get_envs().next() {
        test.env("TIDEGATE_REDIS_LIBRARIES", libraries);
    }
}

/// Tests in Node, in a file `NAME.test.mjs` of a folder. One test runs at a time, because tests render pages and measure
/// the rates of real servers.
pub fn node_test(folder: &Path, name: &str, options: &[&str]) -> Command {
    let mut command = Command::new("node");
    command.args(["--expose-gc", "--test", "--test-concurrency=1", "--test-reporter=spec"]);
    command.args(options).arg("--test-timeout=1800000").arg(format!("{name}{TESTS}"));
    tell(command.current_dir(folder));
    command
}

/// The names of the test files of a folder. Those of `first` take longest.
pub fn node_tests(folder: &Path, first: &[&str]) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in folder.read_dir().with_context(|| folder.display().to_string())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(TESTS).map(str::to_owned));
    }
    names.sort();
    names.sort_by_key(|name| first.iter().position(|first| first == name).unwrap_or(first.len()));
    Ok(names)
}
