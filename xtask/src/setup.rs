//! `cargo xtask setup`: brings what is missing, step by step.

use std::fmt::Write;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, anyhow};

use crate::road::{Roads, TARGETS};
use crate::tools::TOOLS;
use crate::{no_such, rustup, workspace};

/// What `demo` and `test` need today.
const NEEDED: [&str; 2] = ["components", "targets"];

/// Cargo's verbs that are components of a toolchain, and the components.
const COMPONENTS: [(&str, &str); 2] = [("fmt", "rustfmt"), ("clippy", "clippy")];

/// The steps, one a line, below the verb's help.
pub fn help() -> String {
    let mut help = String::from("Steps:\n");
    _ = writeln!(help, "  components   rustfmt and clippy");
    _ = writeln!(help, "  targets      {}", TARGETS.join(", "));
    for tool in TOOLS {
        _ = writeln!(help, "  {:<12} {} (Debian: {})", tool.name, tool.why, tool.packages());
    }
    _ = write!(help, "Without a step: {}.", NEEDED.join(" and "));
    help
}

/// Takes the named steps. One that fails does not stop the others.
pub fn run(roads: &mut Roads, asked: &[String]) -> Result<ExitCode> {
    let all: Vec<&str> = NEEDED.into_iter().chain(TOOLS.map(|tool| tool.name)).collect();
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
        _ => TOOLS.iter().filter(|tool| tool.name == step).try_for_each(|tool| {
            let how = format!("apt-get install {}", tool.packages());
            bring(tool.name, tool.is_there(), &how, || tool.bring())
        }),
    }
}

/// rustfmt and clippy, which a minimal toolchain lacks.
fn components() -> Result<()> {
    for (verb, component) in COMPONENTS {
        let how = format!("rustup component add {component}");
        bring(component, has_verb(verb), &how, || add(component))?;
    }
    Ok(())
}

/// The same, without a word about what is there.
pub fn missing_components() -> Result<()> {
    for (_, component) in COMPONENTS.into_iter().filter(|(verb, _)| !has_verb(verb)) {
        bring(component, false, &format!("rustup component add {component}"), || add(component))?;
    }
    Ok(())
}

fn has_verb(verb: &str) -> bool {
    let output = workspace::cargo(verb).arg("--version").output();
    output.is_ok_and(|output| output.status.success())
}

fn add(component: &str) -> Result<()> {
    rustup::add("component", component)
        .map_err(|error| anyhow!("{component} is missing ({error}): install it beside your cargo"))
}

/// Every target is tried; the first that cannot be brought is the one that is told.
fn targets(roads: &mut Roads) -> Result<()> {
    let mut result = Ok(());
    for target in TARGETS {
        match roads.bring(target) {
            Ok((road, false)) => println!("  there {target}: {} builds for it", road.name()),
            Ok((_, true)) => (),
            Err(error) => result = result.and(Err(error)),
        }
    }
    result
}

/// Says what it does, and skips what is done.
fn bring(name: &str, there: bool, how: &str, act: impl FnOnce() -> Result<()>) -> Result<()> {
    if there {
        println!("  there {name}");
        return Ok(());
    }
    println!("  setup {name}: {how}");
    let since = Instant::now();
    act()?;
    println!("  done  {name} ({} s)", since.elapsed().as_secs());
    Ok(())
}
