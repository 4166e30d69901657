//! Runs every law in every scenario, and writes tests/golden/control.md and its chart. `cargo xtask
//! bench control` runs this.

mod bars;
mod metric;
mod page;
mod picture;
mod reasons;
mod rows;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Parser;
use tidegate_sim::report::Row;
use tidegate_sim::runner::{self, Job};
use tidegate_sim::{Scenario, controllers};

use rows::Rows;

/// Run every law in every scenario, and write tests/golden/control.md and control.svg
///
/// A part of it (--law, --scenario, --seeds) is only shown, unless --update is given.
#[derive(Parser)]
#[command(name = "bench control", bin_name = "cargo xtask bench control")]
struct Cli {
    /// Laws, separated by commas [default: all laws and peers]
    #[arg(long = "law", value_name = "LAW,...", value_delimiter = ',', value_parser = known_law)]
    laws: Vec<String>,
    /// Scenarios, separated by commas; a name that ends in `*` stands for all that begin so
    #[arg(long = "scenario", value_name = "NAME,...", value_delimiter = ',')]
    scenarios: Vec<String>,
    /// Seeds: the first and the last
    #[arg(long, value_name = "FIRST..LAST", default_value = SEEDS)]
    seeds: String,
    /// Print the rows of `tidegate-sim run --json`, and write nothing
    #[arg(long)]
    json: bool,
    /// Take what is not run again from the latest run, and write the pages anew
    #[arg(long, conflicts_with = "json")]
    update: bool,
    /// Write the page and the picture to this folder, also those of a part
    #[arg(long, value_name = "FOLDER", conflicts_with = "json")]
    out: Option<PathBuf>,
}

/// Seeds that no law was tuned with.
const SEEDS: &str = "1001..1009";

fn known_law(name: &str) -> Result<String, String> {
    if controllers::is_known(name) {
        return Ok(name.to_owned());
    }
    Err(format!("there is no such law; there are {}", laws().join(", ")))
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS, // the reader closed the pipe
        Err(error) => {
            eprintln!("bench control: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe)
}

fn run(cli: &Cli) -> Result<()> {
    let seeds = seeds(&cli.seeds)?;
    let all = scenarios()?;
    let chosen = choose(&all, &cli.scenarios)?;
    let whole = cli.laws.is_empty() && cli.scenarios.is_empty() && cli.seeds == SEEDS;
    if cli.update && cli.seeds != SEEDS {
        bail!("--update goes with the seeds {SEEDS}, which are those of the pages");
    }
    let laws = laws();
    let asked = |law: &str| cli.laws.is_empty() || cli.laws.iter().any(|asked| asked == law);

    if let Some(out) = &cli.out {
        // Fails before minutes of work whose result could not be written.
        std::fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    }

    let kept = folder().join("../../../target/control/rows.json");
    let mut rows = if cli.update { Rows::kept_in(&kept)? } else { Rows::default() };
    for (number, scenario) in chosen.iter().enumerate() {
        let since = Instant::now();
        let laws = laws_for(scenario).into_iter().filter(|law| asked(law));
        take(scenario, laws.collect(), &seeds, &mut rows)?;
        let took = since.elapsed().as_secs();
        eprintln!("  {:>2}/{}  {} ({took} s)", number + 1, chosen.len(), scenario.name);
        if whole || cli.update {
            rows.keep_in(&kept)?; // keeps these results if a later step fails
        }
    }

    let mut out = io::stdout().lock();
    if cli.json {
        let names: Vec<String> = chosen.iter().map(|scenario| scenario.name.clone()).collect();
        writeln!(out, "{}", rows.json(&names, &laws))?;
        return Ok(());
    }
    let publish = whole || cli.update;
    if publish && let Some(missing) = missing(&rows, &all) {
        bail!(
            "the latest run does not contain {missing}: run that with --update too, or run everything"
        );
    }
    let shown: Vec<Scenario> = if publish { all } else { chosen };
    let page = page::page(&rows, &shown, &laws, &cli.seeds.replace("..", " to "));
    let golden = publish.then(|| folder().join("../../../tests/golden"));
    if let Some(folder) = cli.out.clone().or(golden) {
        write(&folder.join("control.md"), &page)?;
        write(&folder.join("control.svg"), &picture::draw(&rows, &shown, &laws))?;
    }
    write!(out, "{page}")?;
    Ok(())
}

/// Runs a scenario with some laws on all cores.
fn take(scenario: &Scenario, laws: Vec<&str>, seeds: &[u64], rows: &mut Rows) -> Result<()> {
    let jobs: Vec<Job> = laws
        .iter()
        .flat_map(|law| seeds.iter().map(move |seed| Job { scenario, law, seed: *seed }))
        .collect();
    let runs = runner::run_all(&jobs, &runner::progress_bar())?;
    for (law, runs) in laws.iter().zip(runs.chunks(seeds.len())) {
        let row = Row::new(&scenario.name, law, seeds, runs);
        rows.take(serde_json::to_value(row)?);
    }
    Ok(())
}

/// Every law and peer, and the combined law.
fn laws() -> Vec<&'static str> {
    let own = [bars::LAW, bars::WINDOWED];
    let others = controllers::names().into_iter().filter(|law| !own.contains(law));
    own.into_iter().chain(others).collect()
}

/// Scenarios that exist only for a target run only the laws with targets.
fn laws_for(scenario: &Scenario) -> Vec<&'static str> {
    let own = folder().join("scenarios").join(format!("{}.toml", scenario.name)).exists();
    if own { vec![bars::LAW] } else { laws() }
}

fn missing(rows: &Rows, scenarios: &[Scenario]) -> Option<String> {
    let pairs = scenarios.iter().flat_map(|s| laws_for(s).into_iter().map(move |law| (s, law)));
    let lacks = |(s, law): &(&Scenario, &str)| rows.get(&s.name, law).is_none();
    let found =
        pairs.filter(lacks).map(|(s, law)| format!("{law} in {}", s.name)).collect::<Vec<_>>();
    let first = found.first()?;
    Some(match found.len() {
        1 => first.clone(),
        more => format!("{first} and {} more", more - 1),
    })
}

/// The folder of this crate.
fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every scenario of the simulator and of the targets, by name.
fn scenarios() -> Result<Vec<Scenario>> {
    let mut files: BTreeSet<PathBuf> = BTreeSet::new();
    for folder in [folder().join("../../sim/scenarios"), folder().join("scenarios")] {
        let entries = folder.read_dir().with_context(|| folder.display().to_string())?;
        for entry in entries {
            let file = entry?.path();
            if file.extension().is_some_and(|extension| extension == "toml") {
                files.insert(file);
            }
        }
    }
    let mut all = files.iter().map(|file| Scenario::read(file)).collect::<Result<Vec<_>, _>>()?;
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

fn choose(all: &[Scenario], asked: &[String]) -> Result<Vec<Scenario>> {
    let fits = |asked: &str, name: &str| match asked.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == asked,
    };
    if let Some(unknown) = asked.iter().find(|a| !all.iter().any(|s| fits(a, &s.name))) {
        let names: Vec<&str> = all.iter().map(|scenario| scenario.name.as_str()).collect();
        bail!("there is no scenario \"{unknown}\"; there are {}", names.join(", "));
    }
    let chosen = |s: &&Scenario| asked.is_empty() || asked.iter().any(|a| fits(a, &s.name));
    Ok(all.iter().filter(chosen).cloned().collect())
}

fn seeds(text: &str) -> Result<Vec<u64>> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let (Ok(first), Ok(last)) = (first.parse::<u64>(), last.parse::<u64>()) else {
        bail!("\"{text}\" is not a range of seeds: write the first and the last, as in {SEEDS}");
    };
    if first > last || last - first >= 10_000 {
        bail!("the first seed must not be above the last, nor 10000 below it");
    }
    Ok((first..=last).collect())
}

fn write(file: &Path, text: &str) -> Result<()> {
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}
