//! `cargo xtask setup`: installs what is missing, step by step.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anyhow::{Result, anyhow};

use crate::road::{Roads, TARGETS};
use crate::tools::{TOOLS, Tool};
use crate::{apt, no_such, rustup, solver, workspace};

/// The steps that `demo` and `test` need.
const NEEDED: [&str; 4] = ["components", "targets", "node", "npm"];

/// A cargo subcommand that a minimal toolchain lacks.
struct Component {
    verb: &'static str,
    name: &'static str,
    /// The Debian package, used if cargo comes from Debian.
    package: &'static str,
}

const COMPONENTS: [Component; 2] = [
    Component { verb: "fmt", name: "rustfmt", package: "rustfmt-web" },
    Component { verb: "clippy", name: "clippy", package: "rust-web-clippy" },
];

/// The steps for `--help`, one per line.
pub fn help() -> String {
    let mut help = String::from("Steps:\n");
    _ = writeln!(help, "  components   rustfmt and clippy");
    _ = writeln!(help, "  targets      {}", TARGETS.join(", "));
    for tool in TOOLS {
        _ = writeln!(help, "  {:<12} {} (Debian: {})", tool.name, tool.why, tool.packages());
    }
    _ = writeln!(help, "  {:<12} {} ({})", solver::NAME, solver::WHY, solver::how());
    _ = write!(help, "Without a step: {}.", NEEDED.join(", "));
    help
}

/// Runs the named steps. A failure does not stop the others.
pub fn run(roads: &mut Roads, asked: &[String]) -> Result<ExitCode> {
    let all: Vec<&str> = ["components", "targets", solver::NAME]
        .into_iter()
        .chain(TOOLS.map(|tool| tool.name))
        .collect();
    if let Some(unknown) = asked.iter().find(|step| *step != "all" && !all.contains(&&***step)) {
        return Ok(no_such("step", unknown, &[&["all"], &*all].concat()));
    }
    let wanted = |step: &str| {
        let by_default = asked.is_empty() && NEEDED.contains(&step);
        by_default || asked.iter().any(|asked| asked == step || asked == "all")
    };

    let mut whole = true;
    for step in all.into_iter().filter(|step| wanted(step)) {
        if let Err(error) = take(step, roads) {
            eprintln!("xtask: {error:#}.");
            whole = false;
        }
    }
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn take(step: &str, roads: &mut Roads) -> Result<()> {
    match step {
        "components" => components(),
        "targets" => targets(roads),
        solver::NAME => bring(step, solver::is_there, &solver::how(), solver::bring),
        _ => TOOLS.iter().filter(|tool| tool.name == step).try_for_each(bring_tool),
    }
}

fn bring_tool(tool: &Tool) -> Result<()> {
    bring(tool.name, || tool.is_there(), &tool.how(), || tool.bring())
}

/// Installs a tool if it is missing, silently if it is not.
pub fn missing_tool(name: &str) -> Result<()> {
    TOOLS.iter().filter(|tool| tool.name == name && !tool.is_there()).try_for_each(bring_tool)
}

/// Installs the solver if it is missing.
pub fn missing_solver() -> Result<()> {
    if solver::is_there() {
        Ok(())
    } else {
        bring(solver::NAME, solver::is_there, &solver::how(), solver::bring)
    }
}

impl Component {
    fn is_there(&self) -> bool {
        let output = workspace::cargo(self.verb).arg("--version").output();
        output.is_ok_and(|output| output.status.success())
    }

    fn how(&self) -> String {
        format!("rustup component add {}, or Debian's {}", self.name, self.package)
    }

    fn bring(&self) -> Result<()> {
        let by_rustup = rustup::add("component", self.name);
        if by_rustup.is_err() && Path::new("/usr/bin/cargo") == Path::new(&workspace::program()) {
            _ = apt::install(&[self.package]);
        }
        if self.is_there() {
            return Ok(());
        }
        let why = by_rustup.err().map_or("rustup had no effect".into(), |error| error.to_string());
        Err(anyhow!("{} is missing ({why}): install it for your cargo", self.name))
    }
}

fn components() -> Result<()> {
    COMPONENTS.iter().try_for_each(|component| {
        bring(component.name, || component.is_there(), &component.how(), || component.bring())
    })
}

/// Installs missing components, silently if there are none.
pub fn missing_components() -> Result<()> {
    COMPONENTS.iter().filter(|component| !component.is_there()).try_for_each(|component| {
        bring(component.name, || component.is_there(), &component.how(), || component.bring())
    })
}

/// Tries every target, and returns the first error.
fn targets(roads: &mut Roads) -> Result<()> {
    let mut result = Ok(());
    for target in TARGETS {
        match roads.bring(target) {
            Ok((road, false)) => eprintln!("  there {target}: {} builds for it", road.name()),
            Ok((_, true)) => (),
            Err(error) => result = result.and(Err(error)),
        }
    }
    result
}

/// Installs run one at a time: installers conflict with each other.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints each step, and skips those that are done.
fn bring(
    name: &str,
    there: impl FnOnce() -> bool,
    how: &str,
    act: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let _alone = alone();
    if there() {
        eprintln!("  there {name}");
        return Ok(());
    }
    eprintln!("  setup {name}: {how}");
    let since = Instant::now();
    act()?;
    eprintln!("  done  {name} ({} s)", since.elapsed().as_secs());
    Ok(())
}
