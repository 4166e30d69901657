//! Proves with the linker that no panic is reachable, in core and in firmware around it.
//!
//! On a panic, an image such as tests/no-panic calls a function that does not exist. It links only
//! if the optimiser could remove every such call.

use std::fs;
use std::process::Command;

use anyhow::{Result, bail};

use super::culprit;
use crate::progress;
use crate::setup::rustup;
use crate::tally::Tally;
use crate::workspace::root;

const TARGET: &str = "thumbv6m-none-eabi";
/// The function that does not exist.
const ABSENT: &str = "a_panic_is_reachable";

pub fn run(tally: &mut Tally) {
    Image { package: "tidegate-no-panic", whose: "core" }.prove(tally);
}

/// An image that links only if no panic is reachable.
pub struct Image {
    /// Its package. The feature `bad` is the control.
    pub package: &'static str,
    /// The code whose methods it calls.
    pub whose: &'static str,
}

impl Image {
    /// The proof, and its control: an image with one reachable panic must not link.
    pub fn prove(&self, tally: &mut Tally) {
        tally.verdict("no panic is reachable", || self.proof());
        tally.verdict("a reachable panic is found", || self.control());
    }

    fn proof(&self) -> Result<()> {
        let ended = progress::run("linking", self.build("build")?, None)?;
        if ended.success() {
            return Ok(());
        }
        if !misses_the_function(&ended.output) {
            bail!("{} does not build:\n{}", self.package, ended.output);
        }
        let places =
            self.places(&[]).unwrap_or_else(|error| vec![format!("(not found: {error:#})")]);
        bail!("a panic is reachable in {}:\n{}", self.whose, places.join("\n"))
    }

    /// Links without the check, and finds the panics in the assembly.
    fn places(&self, more: &[&str]) -> Result<Vec<String>> {
        let target = root().join("target/no-panic");
        fs::create_dir_all(&target)?;
        let assembly = target.join(format!("{}.s", self.whose));
        let mut command = self.build("rustc")?;
        command.args(more);
        command.args(["--", "-Clink-arg=--unresolved-symbols=ignore-all"]);
        command.arg(format!("--emit=asm={}", assembly.display()));
        let ended = progress::run("looking where", command, None)?;
        if !ended.success() {
            bail!("{}", ended.reason());
        }
        Ok(culprit::places(&fs::read_to_string(assembly)?))
    }

    /// Whether all panics of the image with `more` are the compiler's own, in async functions that
    /// are polled after their end; and whether there are some, because otherwise the search would
    /// be blind.
    pub fn only_ends_async(&self, more: &[&str]) -> Result<()> {
        let places = self.places(more)?;
        if places.is_empty() {
            bail!("the image with {} holds no panic at all: the search is blind", more.join(" "));
        }
        let others: Vec<String> =
            places.into_iter().filter(|place| !place.contains("async_fn_resumed")).collect();
        if !others.is_empty() {
            bail!("a panic is reachable in {}:\n{}", self.whose, others.join("\n"));
        }
        Ok(())
    }

    fn control(&self) -> Result<()> {
        let mut command = self.build("build")?;
        command.args(["--features", "bad"]);
        let ended = progress::run("linking", command, None)?;
        if ended.success() {
            bail!("an image with a division by zero has linked, so the proof is void");
        }
        if !misses_the_function(&ended.output) {
            bail!("the control failed for another reason than `{ABSENT}`:\n{}", ended.output);
        }
        Ok(())
    }

    fn build(&self, verb: &str) -> Result<Command> {
        let mut command = rustup::cargo(verb, TARGET, root())?;
        command.args(["--profile", "no-panic", "--locked", "--package", self.package]);
        Ok(command)
    }
}

/// Whether the linker's error is the one that the proof relies on.
fn misses_the_function(output: &str) -> bool {
    output.lines().any(|line| line.contains("undefined symbol") && line.contains(ABSENT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_error_about_the_panic_function_counts() {
        assert!(misses_the_function(
            "x\n  = note: ld.lld-22: error: undefined symbol: a_panic_is_reachable\n"
        ));
        assert!(!misses_the_function("error: undefined symbol: memcpy\na_panic_is_reachable"));
        assert!(!misses_the_function("error: no such feature: bad"));
    }
}
