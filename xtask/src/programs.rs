//! The programs that tests and benches in JavaScript and on boards run, and how they learn of them.
//!
//! They are built in xtask's own profile, which shares dependencies with it. That is a minute faster than an optimised
//! build, and a fleet of a thousand calls a second uses only a quarter of a processor.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};

use crate::progress::step;
use crate::workspace::{cargo, installed};

/// The demo's server and fleet.
pub const LIVE: &str = "tidegate-live";
pub const HOSTILE: &str = "tidegate-hostile";
/// A process in Rust that shares a budget with others of its machine.
const MEMBER: &str = "tidegate-local-member";

/// How the names of test files end.
const TESTS: &str = ".test.mjs";

/// Builds all of them, once per run. They have the features of the part `host`, which then builds none of their
/// dependencies again; `--test` adds those of the tests.
pub fn build() -> Result<()> {
    static DONE: Mutex<bool> = Mutex::new(false);
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    if !*done {
        let mut build = cargo("build");
        build.args(["--all-features", "--test", "serve"]);
        build.args([LIVE, HOSTILE, MEMBER].iter().flat_map(|name| ["--bin", name]));
        step("cargo build, the programs", build)?;
        *done = true;
    }
    Ok(())
}

/// Builds the demo's alone.
pub fn live() -> Command {
    let mut build = cargo("build");
    build.args(["--package", LIVE]);
    build
}

/// The path of a program: beside this one.
pub fn path(name: &str) -> PathBuf {
    let here = env::current_exe().unwrap_or_default();
    here.with_file_name(name)
}

/// Passes the paths to a test: of these programs, the browser, and redis-server.
pub fn tell(test: &mut Command) {
    test.env("TIDEGATE_LIVE", path(LIVE)).env("TIDEGATE_HOSTILE", path(HOSTILE));
    test.env("TIDEGATE_LOCAL_MEMBER", path(MEMBER));
    test.env("TIDEGATE_REDIS", installed("redis-server").unwrap_or_default());
    // Unless the user names other browsers.
    for (name, program) in [
        ("CHROMIUM", installed("chromium")),
        ("FIREFOX", installed("firefox-esr").or_else(|| installed("firefox"))),
    ] {
        if let (None, Some(path)) = (env::var_os(name), program) {
            test.env(name, path);
        }
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
