//! Proves with the linker that no panic is reachable, in core and in firmware around it.
//!
//! On a panic, an image such as tests/no-panic calls a function that does not exist. It links only
//! if the optimiser could remove every such call.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use rustc_demangle::demangle;

use crate::progress::{self, step};
use crate::setup::rustup;
use crate::tally::Tally;
use crate::workspace::root;

const TARGET: &str = "thumbv6m-none-eabi";
const ABSENT: &str = "undefined symbol: a_panic_is_reachable";

pub fn run(tally: &mut Tally) {
    prove("tidegate-no-panic", tally);
}

/// The proof that an image has no reachable panic, and its control: with the feature `bad`, which adds one, it must
/// not link.
pub fn prove(image: &str, tally: &mut Tally) {
    tally.verdict("no panic is reachable", || {
        if panics(image, &[])? {
            let places = places(image, &[]);
            let places = places.unwrap_or_else(|error| vec![format!("(not found: {error:#})")]);
            bail!("a panic is reachable:\n{}", places.join("\n"));
        }
        Ok(())
    });
    tally.verdict("a reachable panic is found", || {
        let void = "an image with a division by zero has linked, so the proof is void";
        ensure!(panics(image, &["--features", "bad"])?, void);
        Ok(())
    });
}

/// Whether the linker misses the function. Another error is not about a panic.
fn panics(image: &str, more: &[&str]) -> Result<bool> {
    let mut command = build("build", image)?;
    command.args(more);
    let ended = progress::run("linking", command, Duration::MAX)?;
    let panics = ended.output.contains(ABSENT);
    ensure!(panics || ended.success, "{image} does not build:\n{}", ended.output);
    Ok(panics)
}

/// Whether all panics of the image with `more` are the compiler's own, in async functions that are polled after their
/// end; and whether there are some, because otherwise the search would be blind.
pub fn only_ends_async(image: &str, more: &[&str]) -> Result<()> {
    let mut places = places(image, more)?;
    ensure!(!places.is_empty(), "the image holds no panic at all: the search is blind");
    places.retain(|place| !place.contains("async_fn_resumed"));
    ensure!(places.is_empty(), "a panic is reachable:\n{}", places.join("\n"));
    Ok(())
}

/// Links without the check, and finds the panics in the assembly. The linker only reports that there is one.
fn places(image: &str, more: &[&str]) -> Result<Vec<String>> {
    let folder = root().join("target/no-panic");
    fs::create_dir_all(&folder)?;
    let assembly = folder.join(format!("{image}.s"));
    let mut command = build("rustc", image)?;
    command.args(more).args(["--", "-Clink-arg=--unresolved-symbols=ignore-all"]);
    command.arg(format!("--emit=asm={}", assembly.display()));
    step("looking where", command)?;
    Ok(calls(&fs::read_to_string(assembly)?))
}

fn build(verb: &str, image: &str) -> Result<Command> {
    let mut command = rustup::cargo(verb, TARGET, root())?;
    command.args(["--profile", "no-panic", "--locked", "--package", image]);
    Ok(command)
}

/// Each call into the panic machinery: its function and the nearest source line.
fn calls(assembly: &str) -> Vec<String> {
    let in_machinery = |symbol: &str| {
        symbol.contains("4core9panicking") || symbol.contains("4core6option13unwrap_failed")
    };
    let mut files = BTreeMap::new();
    let (mut function, mut file, mut row) = ("", "", "");
    let mut calls = Vec::new();
    for line in assembly.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            // `.file 4 "folder" "src/name.rs"`, or a single string.
            [".file", number, ..] if line.contains('"') => {
                files.insert(number, line.rsplit('"').nth(1).unwrap_or_default());
            }
            [".loc", number, line, ..] => {
                (file, row) = (files.get(number).copied().unwrap_or("?"), line);
            }
            [label] if !label.starts_with('.') && label.ends_with(':') => {
                function = label.trim_end_matches(':');
            }
            [jump, callee, ..]
                if jump.starts_with('b') && in_machinery(callee) && !in_machinery(function) =>
            {
                let (function, callee) = (demangle(function), demangle(callee));
                calls.push(format!("{function:#} calls {callee:#} at {file}:{row}"));
            }
            _ => (),
        }
    }
    calls
}
