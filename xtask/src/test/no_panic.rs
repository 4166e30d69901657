//! Proof by the linker that no panic can be reached in core.
//!
//! The image in tests/no-panic calls a function that does not exist when it panics. It links only
//! if the optimiser could remove every such call.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use super::culprit;
use crate::progress;
use crate::road::{Road, Roads};
use crate::tally::Tally;
use crate::workspace::root;

const TARGET: &str = "thumbv6m-none-eabi";
/// The function that does not exist.
const ABSENT: &str = "a_panic_is_reachable";

/// The proof, and its control: an image with one reachable panic must not link.
pub fn run(roads: &mut Roads, tally: &mut Tally) {
    let road = match roads.to(TARGET) {
        Ok(road) => road,
        Err(error) => return tally.verdict(TARGET, || Err(error)),
    };
    tally.verdict("no panic is reachable", || proof(road));
    tally.verdict("a panic that is reachable would be found", || control(road));
}

fn proof(road: Road) -> Result<()> {
    let ended = progress::run("linking", build("build", road), None)?;
    if ended.success() {
        return Ok(());
    }
    if !misses_the_function(&ended.output) {
        bail!("tests/no-panic does not build:\n{}", ended.output);
    }
    let places = search(road).unwrap_or_else(|error| vec![format!("(not found: {error:#})")]);
    bail!("a panic is reachable in core:\n{}", places.join("\n"))
}

/// Links all the same, and reads in the assembly where the panics are.
fn search(road: Road) -> Result<Vec<String>> {
    let assembly = folder().join("target/assembly.s");
    let mut command = build("rustc", road);
    command.env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only");
    command.args(["--", "-Clink-arg=--unresolved-symbols=ignore-all"]);
    command.arg(format!("--emit=asm={}", assembly.display()));
    let ended = progress::run("looking where", command, None)?;
    if !ended.success() {
        bail!("{}", ended.reason());
    }
    Ok(culprit::places(&fs::read_to_string(assembly)?))
}

fn control(road: Road) -> Result<()> {
    let mut command = build("build", road);
    command.args(["--features", "bad"]);
    let ended = progress::run("linking", command, None)?;
    if ended.success() {
        bail!("an image with a division by zero has linked: the proof above proves nothing");
    }
    if !misses_the_function(&ended.output) {
        bail!("the control failed for another reason than `{ABSENT}`:\n{}", ended.output);
    }
    Ok(())
}

fn build(verb: &str, road: Road) -> Command {
    let mut command = road.cargo(verb, TARGET, &folder());
    // The lock file in the repository is the one the proof was made with.
    command.args(["--release", "--locked"]);
    command
}

fn folder() -> PathBuf {
    root().join("tests/no-panic")
}

/// Whether the linker's complaint is the one the proof rests on.
fn misses_the_function(output: &str) -> bool {
    output.lines().any(|line| line.contains("undefined symbol") && line.contains(ABSENT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_complaint_about_the_function_counts() {
        assert!(misses_the_function(
            "x\n  = note: ld.lld-22: error: undefined symbol: a_panic_is_reachable\n"
        ));
        assert!(!misses_the_function("error: undefined symbol: memcpy\na_panic_is_reachable"));
        assert!(!misses_the_function("error: no such feature: bad"));
    }
}
