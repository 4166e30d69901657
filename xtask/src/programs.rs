//! The programs that tests and benches in JavaScript and on boards run, and how they learn of them.
//!
//! They are built in xtask's own profile, which shares dependencies with it. That is a minute faster than an optimised
//! build, and a fleet of a thousand calls a second uses only a quarter of a processor.

use std::path::PathBuf;
use std::process::Command;

use crate::setup::{self, aside};
use crate::workspace::cargo;

/// The demo's server and fleet.
pub const LIVE: &str = "tidegate-live";
/// The servers that lie.
pub const HOSTILE: &str = "tidegate-hostile";
/// A process in Rust that shares a budget with others of its machine.
const MEMBER: &str = "tidegate-local-member";

/// Builds all of them at once, so that each dependency is compiled once.
pub fn build() -> Command {
    build_only(&[LIVE, HOSTILE, MEMBER])
}

/// Builds some of them.
pub fn build_only(names: &[&str]) -> Command {
    let mut build = cargo("build");
    names.iter().for_each(|name| _ = build.args(["--package", name]));
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
