//! The command: lists scenarios and laws, runs simulations, and reports the results.

#[path = "worlds/verb.rs"]
mod verb;

use std::io::{self, BufWriter, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};
use tidegate::Instant;
use tidegate_sim::report::{self, Row};
use tidegate_sim::runner::each;
use tidegate_sim::shared::{Fleet, page};
use tidegate_sim::{Run, Scenario, ScenarioError, World, controllers, scenario};

/// Simulates clients and rate-limited servers in virtual time
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List the scenarios and the laws
    List,
    /// Run scenarios
    Run(RunArgs),
    /// Simulate fleets that share one budget, and print a report
    Shared(SharedArgs),
    /// Run laws in random worlds, each with every set of hints
    Worlds(verb::Worlds),
}

#[derive(Args)]
struct SharedArgs {
    /// Fleet files [default: all]
    files: Vec<PathBuf>,
    /// The seed, or the first and last seed
    #[arg(long, value_name = "FIRST..LAST", default_value = "1..3", value_parser = seeds)]
    seeds: RangeInclusive<u64>,
    /// Write the report to a file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Args)]
struct RunArgs {
    /// Scenario files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Laws, separated by commas [default: all laws and peers]
    #[arg(long = "law", value_name = "LAW,...", value_delimiter = ',')]
    laws: Vec<String>,
    /// The seed, or the first and last seed
    #[arg(long, value_name = "FIRST..LAST", default_value = "1..3", value_parser = seeds)]
    seeds: RangeInclusive<u64>,
    /// Print JSON rows, with the spread over the seeds
    #[arg(long)]
    json: bool,
    /// Print every event, and a digest of all events
    #[arg(long, conflicts_with = "json")]
    trace: bool,
}

/// The folder of the scenarios. That of the fleets is in it.
const SCENARIOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios");

fn seeds(text: &str) -> Result<RangeInclusive<u64>, String> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("\"{text}\" is not a seed"));
    let (first, last) = (number(first)?, number(last.trim_start_matches('='))?);
    if first > last || last - first >= 100_000 {
        return Err("the first seed must be at most the last, and less than 100000 below it".into());
    }
    Ok(first..=last)
}

fn main() -> ExitCode {
    let done = match Cli::parse().verb {
        Verb::List => list(),
        Verb::Run(args) => run(&args),
        Verb::Shared(args) => share(&args),
        Verb::Worlds(args) => args.run(),
    };
    let Err(error) = done else { return ExitCode::SUCCESS };
    if let Some(io) = error.downcast_ref::<io::Error>()
        && io.kind() == io::ErrorKind::BrokenPipe
    {
        return ExitCode::SUCCESS; // the reader closed the pipe
    }
    eprintln!("tidegate-sim: {error:#}");
    ExitCode::from(if error.is::<ScenarioError>() { 2 } else { 1 })
}

fn share(args: &SharedArgs) -> anyhow::Result<()> {
    let files = match &args.files[..] {
        [] => &scenario::files(&Path::new(SCENARIOS).join("shared"))?,
        files => files,
    };
    let fleets: Vec<Fleet> =
        files.iter().map(|file| Fleet::read(file)).collect::<Result<_, _>>()?;
    let seeds: Vec<u64> = args.seeds.clone().collect();
    let page = page::page(&fleets, &seeds)?;
    match &args.out {
        Some(file) => {
            std::fs::write(file, page).with_context(|| format!("cannot write {}", file.display()))
        }
        None => Ok(io::stdout().write_all(page.as_bytes())?),
    }
}

fn list() -> anyhow::Result<()> {
    let files = scenario::files(SCENARIOS.as_ref())
        .with_context(|| format!("cannot list the scenarios in {SCENARIOS}"))?;
    let mut out = BufWriter::new(io::stdout().lock());
    writeln!(out, "scenarios in {SCENARIOS}:")?;
    for file in files {
        let scenario = Scenario::read(&file)?;
        writeln!(out, "  {:20} {}", scenario.name, scenario.title)?;
    }
    writeln!(out, "laws:")?;
    for law in controllers::names() {
        writeln!(out, "  {law}{}", if controllers::is_law(law) { "" } else { " (peer)" })?;
    }
    out.flush()?;
    Ok(())
}

fn run(args: &RunArgs) -> anyhow::Result<()> {
    let scenarios: Vec<Scenario> =
        args.files.iter().map(|file| Scenario::read(file)).collect::<Result<_, _>>()?;
    let pairs: Vec<Pair> =
        scenarios.iter().flat_map(|scenario| pairs(scenario, &args.laws)).collect();
    if args.trace {
        trace(&pairs, args.seeds.clone())
    } else {
        tell(&pairs, args.seeds.clone(), args.json)
    }
}

/// A scenario, and a law to run it with.
type Pair<'a> = (&'a Scenario, &'a str);

/// A scenario with each requested law, or with all laws.
fn pairs<'a>(scenario: &'a Scenario, asked: &'a [String]) -> Vec<Pair<'a>> {
    let all = scenario.law_names();
    let laws = if asked.is_empty() { all } else { asked.iter().map(String::as_str).collect() };
    let unknown = |law: &&&str| !controllers::is_known(law) && scenario.own_law(law).is_none();
    if let Some(law) = laws.iter().find(unknown) {
        let there_are = scenario.law_names().join(", ");
        let why = format!("there is no law \"{law}\"; the laws are {there_are}");
        Cli::command().error(ErrorKind::ValueValidation, why).exit();
    }
    laws.into_iter().map(|law| (scenario, law)).collect()
}

fn tell(pairs: &[Pair], seeds: RangeInclusive<u64>, json: bool) -> anyhow::Result<()> {
    let seeds: Vec<u64> = seeds.collect();
    let jobs: Vec<(&Pair, u64)> =
        pairs.iter().flat_map(|pair| seeds.iter().map(move |&seed| (pair, seed))).collect();
    let runs = each(&jobs, |&(&(scenario, law), seed)| {
        let world = World::new(scenario, law, seed);
        let run = world.with_context(|| format!("there is no law \"{law}\""))?.run();
        run.with_context(|| format!("scenario {} with law {law} and seed {seed}", scenario.name))
    });
    let runs: Vec<Run> = runs.into_iter().collect::<anyhow::Result<_>>()?;
    let pairs = pairs.iter().zip(runs.chunks(seeds.len()));
    let rows: Vec<Row> =
        pairs.map(|((scenario, law), runs)| Row::new(&scenario.name, law, &seeds, runs)).collect();
    let mut out = BufWriter::new(io::stdout().lock());
    if json {
        // One row per line, which is easy to read and to compare.
        for (index, row) in rows.iter().enumerate() {
            let before = if index == 0 { "[" } else { ",\n" };
            write!(out, "{before}{}", serde_json::to_string(row)?)?;
        }
        writeln!(out, "]")?;
    } else {
        write!(out, "{}", report::tables(&rows))?;
        let (first, last) = (seeds.first().unwrap_or(&0), seeds.last().unwrap_or(&0));
        writeln!(
            out,
            "medians over seeds {first} to {last}; --json has all metrics and the spread"
        )?;
    }
    out.flush()?;
    Ok(())
}

fn trace(pairs: &[Pair], seeds: RangeInclusive<u64>) -> anyhow::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    for &(scenario, law) in pairs {
        for seed in seeds.clone() {
            writeln!(out, "# {} · {law} · seed {seed}", scenario.name)?;
            let mut world = World::new(scenario, law, seed)
                .with_context(|| format!("there is no law \"{law}\""))?;
            let mut failed = Ok(());
            let broken = world.advance(Instant::MAX, &mut |step| {
                if failed.is_ok() {
                    failed = writeln!(out, "{step}");
                }
            });
            failed?;
            broken?;
            writeln!(out, "# digest {}", world.digest())?;
        }
    }
    out.flush()?;
    Ok(())
}
