//! `cargo xtask fuzz`: searches for inputs that break a promise, guided by code coverage.
//!
//! The engine is libFuzzer. Its coverage counters come from a compiler pass that every rustc has,
//! so a stable compiler is enough, with a C++ compiler for the engine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::progress::{self, Ended};
use crate::workspace::{cargo, libraries_of, root};
use crate::{no_such, setup};

/// The targets of tests/fuzz and their dictionaries.
const TARGETS: [(&str, Option<&str>); 6] = [
    ("http", Some("http.dict")),
    ("body", Some("body.dict")),
    ("signals", Some("http.dict")),
    ("events", None),
    ("restore", None),
    ("shared", None),
];

/// Makes the compiler count branches and record comparisons.
const COUNTERS: [&str; 7] = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
];

/// The time limit for one input: a thousand times what any takes.
const TIMEOUT: &str = "-timeout=20";
/// Longer inputs are slower and reach nothing new.
const LONGEST: &str = "-max_len=512";

#[derive(Args)]
pub struct Fuzz {
    /// How long to search in each target
    #[arg(long, default_value_t = 60, value_name = "N")]
    seconds: u64,
    /// How many inputs to try in each target, instead
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    runs: Option<u64>,
    /// Add inputs that reach something new to the repository's corpus
    #[arg(long)]
    keep: bool,
    /// Print rows `{"target","runs","seconds","reached","inputs"}`
    #[arg(long)]
    json: bool,
    /// http, body, signals, events, restore, shared [default: all of them]
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
}

/// The result of a search.
#[derive(Debug, Eq, PartialEq)]
struct Found {
    runs: u64,
    /// Places in the code that the inputs reach.
    reached: u64,
    /// The number of inputs that together reach all of them.
    inputs: u64,
}

pub fn run(fuzz: &Fuzz) -> Result<ExitCode> {
    let names = TARGETS.map(|(name, _)| name);
    if let Some(unknown) = fuzz.targets.iter().find(|asked| !names.contains(&asked.as_str())) {
        return Ok(no_such("target", unknown, &names));
    }
    setup::missing_tool("c++")?;
    let programs = Programs::build()?;
    let mut whole = true;
    let asked = |name: &str| fuzz.targets.is_empty() || fuzz.targets.iter().any(|t| t == name);
    for (name, words) in TARGETS.into_iter().filter(|(name, _)| asked(name)) {
        let search = Search { name, words, programs: &programs };
        let since = Instant::now();
        match search.go(fuzz) {
            Ok(Found { runs, reached, inputs }) => {
                let seconds = since.elapsed().as_secs();
                if fuzz.json {
                    println!(
                        "{{\"target\":{name:?},\"runs\":{runs},\"seconds\":{seconds},\
                         \"reached\":{reached},\"inputs\":{inputs}}}"
                    );
                } else {
                    println!(
                        "{name:<8} {runs:>10} runs in {seconds} s, {reached} places reached by \
                         {inputs} inputs, no finding"
                    );
                }
            }
            Err(error) => {
                eprintln!("xtask: {name}: {error:#}");
                whole = false;
            }
        }
    }
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// `cargo VERB` for tests/fuzz, with a separate target folder.
pub fn cargo_here(verb: &str) -> Command {
    let mut command = cargo(verb);
    command.current_dir(root().join("tests/fuzz"));
    command.arg("--locked").arg("--target-dir").arg(folder());
    command
}

fn folder() -> PathBuf {
    root().join("target/fuzz")
}

struct Programs {
    search: PathBuf,
    corpus: PathBuf,
}

impl Programs {
    fn build() -> Result<Self> {
        let host = host()?;
        let build = |more: &[&str], counters: bool| {
            let mut command = cargo_here("build");
            command.arg("--release").args(more);
            if counters {
                command.env("CARGO_ENCODED_RUSTFLAGS", COUNTERS.join("\u{1F}"));
            }
            let ended = progress::run("building", command, None).context("cargo does not start")?;
            if !ended.success() {
                bail!("tests/fuzz does not build:\n{}", ended.output);
            }
            Ok(())
        };
        build(&["--bin", "corpus"], false)?;
        // With an explicit target, build scripts are built without the counters.
        build(&["--bin", "search", "--features", "search", "--target", &host], true)?;
        Ok(Self {
            search: folder().join(host).join("release/search"),
            corpus: folder().join("release/corpus"),
        })
    }
}

/// The active compiler's target: the name of the folder around its libraries.
fn host() -> Result<String> {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.args(["--print", "host-tuple"]).current_dir(root());
    let output = command.output().context("rustc does not start")?;
    let host = String::from_utf8(output.stdout)?.trim().to_owned();
    if libraries_of(&host).is_none() {
        bail!("rustc does not report its target");
    }
    Ok(host)
}

struct Search<'a> {
    name: &'static str,
    words: Option<&'static str>,
    programs: &'a Programs,
}

impl Search<'_> {
    fn go(&self, fuzz: &Fuzz) -> Result<Found> {
        let corpus = self.place("corpus")?;
        let pack = root().join(format!("tests/fuzz/corpus/{}.pack", self.name));
        if pack.exists() {
            self.corpus("unpacking", &["unpack".as_ref(), &pack, &corpus])?;
        }
        let found = self.search(&corpus, fuzz)?;
        if fuzz.keep {
            self.keep(&corpus, &pack)?;
        }
        Ok(found)
    }

    /// A folder for this target, which is kept after the search.
    fn place(&self, what: &str) -> Result<PathBuf> {
        let place = folder().join(what).join(self.name);
        fs::create_dir_all(&place)
            .with_context(|| format!("{} cannot be made", place.display()))?;
        Ok(place)
    }

    fn search(&self, corpus: &Path, fuzz: &Fuzz) -> Result<Found> {
        let findings = self.place("findings")?;
        let mut command = self.engine();
        command.arg(corpus).args([TIMEOUT, LONGEST, "-print_final_stats=1"]);
        command.arg(match fuzz.runs {
            Some(runs) => format!("-runs={runs}"),
            None => format!("-max_total_time={}", fuzz.seconds),
        });
        command.arg(format!("-artifact_prefix={}/", findings.display()));
        if let Some(words) = self.words {
            command.arg(format!("-dict={}", root().join("tests/fuzz").join(words).display()));
        }
        let ended = progress::run(&format!("searching {}", self.name), command, None)?;
        match (ended.success(), artifact(&ended.output)) {
            (true, _) => read(&ended.output).context("the engine reported no result"),
            (false, Some(finding)) => bail!("{}", self.finding(&ended, Path::new(finding))),
            (false, None) => bail!("the engine failed: {}", ended.output),
        }
    }

    /// The broken promise and how to reproduce it, with the input minimised for up to a minute.
    fn finding(&self, ended: &Ended, input: &Path) -> String {
        let shorter = input.with_extension("short");
        let mut command = self.engine();
        command.arg(input).args(["-minimize_crash=1", "-max_total_time=60", TIMEOUT]);
        command.arg(format!("-exact_artifact_path={}", shorter.display()));
        _ = progress::run("shortening", command, None);
        let input = if shorter.exists() { &shorter } else { input };
        let told = ended.output.lines().skip_while(|line| !line.contains("panicked at"));
        let told: Vec<&str> = told.take_while(|line| !line.contains("stack backtrace")).collect();
        format!(
            "a promise is broken.\n{}\nReproduce it with\n  cargo run --release --manifest-path \
             tests/fuzz/Cargo.toml --bin corpus -- try {} {}",
            told.join("\n"),
            self.name,
            input.display()
        )
    }

    /// The fewest inputs that reach everything, packed for the repository.
    fn keep(&self, corpus: &Path, pack: &Path) -> Result<()> {
        let merged = folder().join("merged").join(self.name);
        _ = fs::remove_dir_all(&merged);
        fs::create_dir_all(&merged)?;
        let mut command = self.engine();
        // Earlier findings, now fixed, are the most useful inputs.
        command.args(["-merge=1", TIMEOUT, LONGEST]);
        command.args([&merged, corpus, &self.place("findings")?]);
        command.arg(format!("-artifact_prefix={}/", self.place("unmerged")?.display()));
        let ended = progress::run(&format!("merging {}", self.name), command, None)?;
        if !ended.success() {
            bail!("the inputs cannot be merged: {}", ended.reason());
        }
        self.corpus("packing", &["pack".as_ref(), &merged, pack])
    }

    fn corpus(&self, label: &str, arguments: &[&Path]) -> Result<()> {
        let mut command = Command::new(&self.programs.corpus);
        command.args(arguments);
        let ended = progress::run(label, command, None)?;
        if !ended.success() {
            bail!("{}", ended.reason());
        }
        Ok(())
    }

    fn engine(&self) -> Command {
        let mut command = Command::new(&self.programs.search);
        command.env("TIDEGATE_FUZZ_TARGET", self.name);
        command
    }
}

/// The file with the input that the engine wrote.
fn artifact(output: &str) -> Option<&str> {
    output.lines().find_map(|line| line.split_once("Test unit written to ")).map(|(_, path)| path)
}

/// Reads `#123 DONE cov: 45 ft: 67 corp: 8/9Kb …` and the number of runs after it.
fn read(output: &str) -> Option<Found> {
    let runs = output.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    let last =
        output.lines().rev().find(|line| line.contains(" cov: ") && line.contains(" corp: "))?;
    let number = |name: &str| {
        let digits = last.split_once(name)?.1.trim_start();
        digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    Some(Found {
        runs: runs?.trim().parse().ok()?,
        reached: number(" cov: ")?,
        inputs: number(" corp: ")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_of_a_search_are_read_from_its_last_lines() {
        let output = "\
#2\tINITED cov: 11 ft: 12 corp: 1/1b exec/s: 0 rss: 28Mb
#524288\tpulse  cov: 1843 ft: 7699 corp: 1694/36Kb lim: 26 exec/s: 9698 rss: 32Mb
#900001\tDONE   cov: 1849 ft: 7702 corp: 1698/36Kb lim: 26 exec/s: 9698 rss: 32Mb
Done 900001 runs in 93 second(s)
stat::number_of_executed_units: 900001
stat::average_exec_per_sec:     9677
";
        assert_eq!(read(output), Some(Found { runs: 900_001, reached: 1_849, inputs: 1_698 }));
        assert_eq!(read("stat::number_of_executed_units: 5"), None);
        assert_eq!(artifact(output), None);
    }

    #[test]
    fn the_failing_input_is_found_in_the_output() {
        let output = "artifact_prefix='x/'; Test unit written to x/crash-07\nBase64: AA==\n";
        assert_eq!(artifact(output), Some("x/crash-07"));
    }
}
