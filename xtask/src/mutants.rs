//! `cargo xtask mutants`: runs mutation tests on the core and lists the changes that no test
//! detects.
//!
//! cargo-mutants makes the changes; `.cargo/mutants.toml` names the tests that must detect them.
//! `tests/golden/mutants.md` lists the known survivors with their reasons.

use std::fs;
use std::io::ErrorKind;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::cargo_tool::CargoTool;
use crate::workspace::root;

const TOOL: CargoTool =
    CargoTool { name: "cargo-mutants", version: "27.1.0", takes: "some minutes" };
const KNOWN: &str = "tests/golden/mutants.md";
/// The code that every promise depends on.
const FILES: [&str; 6] = [
    "core/src/fixed.rs",
    "core/src/rate.rs",
    "core/src/rng.rs",
    "core/src/backoff.rs",
    "core/src/gate/*.rs",
    "core/src/law/**/*.rs",
];

#[derive(Args)]
pub struct Mutants {
    /// Change only these files [default: the numbers, the gates and the laws: some hours]
    #[arg(long = "file", value_name = "GLOB")]
    files: Vec<String>,
    /// Only the K-th of N parts, such as 0/8
    #[arg(long, value_name = "K/N")]
    shard: Option<String>,
    /// List the changes without testing them
    #[arg(long)]
    list: bool,
}

/// Fails if an unknown change survives.
pub fn run(mutants: &Mutants) -> Result<ExitCode> {
    TOOL.bring()?;
    let mut command = TOOL.command();
    command.args(["--package", "tidegate"]);
    match mutants.files.as_slice() {
        [] => FILES.iter().for_each(|file| _ = command.args(["--file", file])),
        files => files.iter().for_each(|file| _ = command.args(["--file", file])),
    }
    command.args(mutants.shard.iter().flat_map(|shard| ["--shard", shard.as_str()]));
    if mutants.list {
        let status = command.arg("--list").status().context("cargo-mutants does not start")?;
        return Ok(ExitCode::from(u8::from(!status.success())));
    }
    let folder = root().join("target/mutants");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    // Other parts test the unchanged tree; here, only one package would be tested.
    command.args(["--baseline", "skip", "--timeout", "20", "--build-timeout", "600", "--output"]);
    command.arg(&folder);
    let missed = folder.join("mutants.out/missed.txt");
    // Results of an earlier run would be taken for this one's.
    if let Err(error) = fs::remove_file(&missed)
        && error.kind() != ErrorKind::NotFound
    {
        return Err(error).with_context(|| missed.display().to_string());
    }
    let status = command.status().context("cargo-mutants does not start")?;
    // 0: all detected; 2: some survived; 3: some timed out.
    if !matches!(status.code(), Some(0 | 2 | 3)) {
        bail!("cargo-mutants failed: {status}");
    }
    let missed = fs::read_to_string(&missed)
        .with_context(|| format!("cargo-mutants did not write {}", missed.display()))?;
    let known = fs::read_to_string(root().join(KNOWN)).with_context(|| KNOWN.to_owned())?;
    let unknown = unknown(&missed, &known);
    println!(
        "{} survive, {} of them without a known reason",
        missed.lines().count(),
        unknown.len()
    );
    for survivor in &unknown {
        println!("  {survivor}");
    }
    if !unknown.is_empty() {
        println!(
            "Add a vector that detects it (`tests/oracle`), or a row with the reason to {KNOWN}."
        );
    }
    Ok(ExitCode::from(u8::from(!unknown.is_empty())))
}

/// The survivors that the page does not list, or not as often.
fn unknown<'a>(missed: &'a str, known: &str) -> Vec<&'a str> {
    let rows = known.lines().filter_map(|row| row.strip_prefix("- `")?.split_once('`'));
    let mut named: Vec<(&str, u32)> = rows.map(|(name, rest)| (name, places(rest))).collect();
    let mut is_named = |line: &str| {
        let row = named.iter_mut().find(|(row, left)| *row == name(line) && *left > 0);
        row.map(|(_, left)| *left -= 1).is_some()
    };
    missed.lines().filter(|line| !is_named(line)).collect()
}

/// How many places a row of the page covers: ` (2 places): …`, or one.
fn places(rest: &str) -> u32 {
    let told = rest.strip_prefix(" (").and_then(|rest| rest.split_once(" places)"));
    told.and_then(|(number, _)| number.parse().ok()).unwrap_or(1)
}

/// A mutant without its line and column, which change with every edit: `FILE: CHANGE`.
fn name(line: &str) -> String {
    let (file, rest) = line.split_once(':').unwrap_or((line, ""));
    let change = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':').trim_start();
    format!("{file}: {change}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_excuses_one_survivor_and_no_other_of_a_longer_name() {
        let known = "# Survivors\n- `a.rs: replace < with <= in div`: it is the same there.\n\
            - `a.rs: replace + with - in sum` (2 places): so is this.\n";
        let missed = "a.rs:1:2: replace < with <= in div\na.rs:2:2: replace + with - in sum\n\
            a.rs:3:2: replace + with - in sum\na.rs:4:2: replace + with - in sum\n\
            a.rs:5:2: replace < with <= in div\na.rs:9:2: replace < with <= in div_signed";
        let unknown = unknown(missed, known);
        assert_eq!(unknown, missed.lines().skip(3).collect::<Vec<_>>());
    }

    #[test]
    fn a_survivor_is_known_wherever_its_line_has_moved_to() {
        let line = "core/src/fixed.rs:147:10: replace < with <= in div_signed";
        assert_eq!(name(line), "core/src/fixed.rs: replace < with <= in div_signed");
    }
}
