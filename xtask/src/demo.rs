//! `cargo xtask demo`: builds the live demo and its page, and becomes the demo.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::road::Roads;
use crate::workspace::{cargo, on_path, root};
use crate::{page, progress};

const PROGRAM: [&str; 5] = ["--release", "--package", "tidegate-live", "--bin", "tidegate-live"];

/// Options with which there is nothing to see in a browser.
const WITHOUT_PAGE: [&str; 4] = ["--no-page", "--json", "--help", "-h"];

/// Everything said here goes to stderr: stdout belongs to the demo.
pub fn run(roads: &mut Roads, args: Vec<OsString>) -> Result<ExitCode> {
    eprintln!("Building tests/live (the first time takes a minute or two) …");
    let mut build = cargo("build");
    build.args(PROGRAM);
    let ended = progress::run("building", build, None).context("cargo does not start")?;
    if !ended.success() {
        std::io::stderr().write_all(ended.output.as_bytes())?;
        bail!("tests/live does not build.");
    }
    let page = build_page(roads, &args)?;

    // `cargo run` becomes the program it runs, as we become `cargo run`: signals and the exit
    // status are the demo's own.
    let mut demo = cargo("run");
    demo.arg("--quiet").args(PROGRAM).arg("--manifest-path").arg(root().join("Cargo.toml"));
    demo.args(["--", "demo"]).args(args);
    if page {
        demo.arg("--page-folder").arg(page::dist());
    }
    // Relative paths among the arguments are meant from where the user stands.
    demo.current_dir(std::env::current_dir()?);
    Err(demo.exec()).context("the demo does not start")
}

/// Builds the page if somebody may look at it. A demo without one is still a demo, unless the page
/// is all that was asked for.
fn build_page(roads: &mut Roads, args: &[OsString]) -> Result<bool> {
    let has = |option: &str| args.iter().any(|arg| arg == option);
    if WITHOUT_PAGE.into_iter().any(has) {
        return Ok(false);
    }
    if page::is_fresh() {
        return Ok(true);
    }
    let (asked, node) = (has("--page"), on_path("node") && on_path("npm"));
    if !asked && !node {
        eprintln!("No page, for Node.js is missing: `cargo xtask setup node npm` brings it.");
        return Ok(false);
    }
    eprintln!("Building the page (the first time takes some minutes; --no-page goes without) …");
    match page::build(roads) {
        Ok(()) => Ok(true),
        Err(error) if asked => Err(error),
        Err(error) => {
            let error = format!("{error:#}");
            let reason = error.lines().next().unwrap_or_default();
            eprintln!("No page: {reason}; `cargo xtask build page` tells more.");
            Ok(false)
        }
    }
}
