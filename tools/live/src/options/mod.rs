//! The command line. Every value is validated when it is parsed.

mod api;
mod like;
mod page;
mod values;

pub use api::{Api, Hints, PolicyName};
pub use like::Like;
pub use page::PageOptions;

use clap::builder::{PossibleValuesParser, RangedU64ValueParser};
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};
use std::ops::RangeInclusive;
use std::time::Duration;
use tidegate::Policy;
use values::seconds;

/// Runs a real rate-limited API on loopback, and a fleet of clients that share it without knowing
/// its limit or each other.
#[derive(Debug, Parser)]
#[command(name = "tidegate-live", version, max_term_width = 100)]
pub struct Options {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start the API and a fleet, show them while they run, and print a report.
    Demo(Demo),
    /// Start only the API, to call it with other clients: curl -i http://127.0.0.1:PORT/
    Serve(Api),
    /// Start an API that limits like a real provider, with its headers, statuses and bodies.
    Like(Like),
    /// One process of the fleet; `demo` starts it.
    #[command(hide = true)]
    Client,
}

#[derive(Args, Clone, Debug)]
pub struct Demo {
    /// The laws to run in turn, each on a fresh server.
    #[arg(
        long = "law",
        visible_alias = "compare",
        value_name = "NAMES",
        value_delimiter = ',',
        value_parser = laws(),
        default_value = "none,adaptive"
    )]
    pub laws: Vec<String>,
    /// The number of processes.
    #[arg(long, value_name = "N", default_value = "4", value_parser = count(1..=64), allow_hyphen_values = true)]
    pub processes: usize,
    /// Workers per process. They share a controller.
    #[arg(long, value_name = "N", default_value = "6", value_parser = count(1..=1000), allow_hyphen_values = true)]
    pub workers: usize,
    /// Let the processes share one budget, through a socket.
    #[arg(long)]
    pub share: bool,
    /// How long to run each law.
    #[arg(long, value_name = "SECONDS", default_value = "12", value_parser = seconds, allow_hyphen_values = true)]
    pub seconds: Duration,
    /// The seed of the controllers' jitter [default: random].
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// Print the report as JSON. Progress goes to stderr.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub api: Api,
    #[command(flatten)]
    pub page: PageOptions,
}

fn laws() -> PossibleValuesParser {
    Policy::NAMES.into()
}

fn count(range: RangeInclusive<u64>) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(range)
}

/// Parses the command line. An error is one sentence.
pub fn parse() -> Result<Options, String> {
    let options = Options::try_parse().map_err(|error| {
        let lost = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
        if lost || !error.use_stderr() {
            error.exit();
        }
        let text = error.to_string();
        let first = text.split("\n\n").next().unwrap_or(&text);
        let words: Vec<&str> = first.split_whitespace().collect();
        words.join(" ").trim_start_matches("error: ").to_owned()
    })?;
    match &options.command {
        Command::Demo(demo) => demo.page.check().and_then(|()| demo.api.check())?,
        Command::Serve(api) => api.check()?,
        Command::Like(_) | Command::Client => {}
    }
    Ok(options)
}
