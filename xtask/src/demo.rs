//! `cargo xtask demo`: builds the live demo and runs it. If the page is not built yet, that takes
//! minutes, so the fleet runs first.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::children::Program;
use crate::progress::step;
use crate::workspace::on_path;
use crate::{page, programs};

/// Options that show nothing in a browser.
const WITHOUT_PAGE: [&str; 4] = ["--no-page", "--json", "--help", "-h"];
/// Options for the page, which is then built first.
const FOR_PAGE: [&str; 2] = [PAGE_ALONE, "--keep"];
const PAGE_ALONE: &str = "--page";

/// Messages go to stderr: stdout belongs to the demo.
pub fn run(args: Vec<OsString>) -> Result<ExitCode> {
    eprintln!("Building tools/live (this takes a minute the first time) …");
    step("building tools/live", programs::live())?;

    let has = |option: &str| args.iter().any(|arg| arg == option);
    let mut demo = Command::new(programs::path(programs::LIVE));
    demo.arg("demo").args(&args);
    if WITHOUT_PAGE.into_iter().any(has) {
        return become_it(demo);
    }
    if page::is_fresh() {
        return become_it(with_page(demo));
    }
    if FOR_PAGE.into_iter().any(has) {
        eprintln!("Building the page (this takes several minutes the first time) …");
        page::build()?;
        return become_it(with_page(demo));
    }
    if !(on_path("node") && on_path("npm")) {
        eprintln!("No page: Node.js is missing. `cargo xtask setup node npm` installs it.");
        return become_it(demo);
    }
    fleet_then_page(demo)
}

/// Runs the fleet, then builds the page. If the page cannot be built, this prints why and does not fail.
fn fleet_then_page(mut demo: Command) -> Result<ExitCode> {
    eprintln!("The page is not built yet. It is built after the fleet has run.");
    let mut again = Command::new(demo.get_program());
    again.args(demo.get_args());
    let ended = Program::in_front(&mut demo).context("cannot start the demo")?.0.wait()?;
    if !ended.success() {
        return Ok(ended.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1).into());
    }
    eprintln!("\nBuilding the page (this takes several minutes the first time; Ctrl-C skips it) …");
    if let Err(error) = page::build() {
        let error = format!("{error:#}");
        let reason = error.lines().next().unwrap_or_default();
        eprintln!("No page: {reason}; `cargo xtask build page` prints the whole error.");
    } else if std::io::stdout().is_terminal() {
        again.arg(PAGE_ALONE);
        return become_it(with_page(again));
    } else {
        // Without a terminal, Ctrl-C is not available.
        eprintln!("The page is built: the next `cargo xtask demo` serves it.");
    }
    Ok(ExitCode::SUCCESS)
}

fn with_page(mut demo: Command) -> Command {
    demo.arg("--page-folder").arg(page::dist());
    demo
}

/// Signals and the exit status are then the demo's own.
fn become_it(mut demo: Command) -> Result<ExitCode> {
    Err(demo.exec()).context("cannot start the demo")
}
