//! `tidegate-seeds`: prints published figures beside those of core.

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use tidegate_seeds::{SOURCES, Source, golden};

/// Runs the laws of other systems, and shows their published figures beside the results of core.
#[derive(Debug, Parser)]
#[command(name = "tidegate-seeds", version, max_term_width = 100)]
struct Options {
    /// Which sources [default: all]: autosleeper, emr, heroku, go, tchannel, aws.
    #[arg(value_name = "SOURCE", value_parser = source)]
    sources: Vec<Source>,
    /// Write the tables to tests/golden/ instead of the screen.
    #[arg(long, conflicts_with = "json")]
    write: bool,
    /// Print a list of rows instead of tables.
    #[arg(long)]
    json: bool,
}

fn source(name: &str) -> Result<Source, String> {
    let found = SOURCES.into_iter().find(|source| source.name == name);
    found.ok_or_else(|| {
        format!("unknown source; the sources are {}", SOURCES.map(|source| source.name).join(", "))
    })
}

fn main() -> Result<ExitCode> {
    let options = Options::parse();
    let sources = if options.sources.is_empty() { SOURCES.to_vec() } else { options.sources };
    let bar = ProgressBar::new(sources.len() as u64)
        .with_style(ProgressStyle::with_template("{bar:20} {pos}/{len} {msg} ({elapsed})")?);
    bar.enable_steady_tick(std::time::Duration::from_millis(100));
    let mut rows = Vec::new();
    for source in sources {
        bar.set_message(source.name);
        let report = (source.report)();
        bar.inc(1);
        if options.write {
            let changed = golden::write(&report)?;
            let word = if changed { "written" } else { "unchanged" };
            bar.suspend(|| println!("tests/golden/{}.txt: {word}", report.name));
        } else if options.json {
            rows.extend(report.rows());
        } else {
            bar.suspend(|| println!("{}", report.screen()));
        }
    }
    bar.finish_and_clear();
    if options.json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
    }
    Ok(ExitCode::SUCCESS)
}
