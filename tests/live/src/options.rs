//! The command line, with every value checked where it is read.

use crate::server::{Nanos, Timeline, nanos};
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::fmt;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;
use tidegate::Policy;

/// A real rate-limited API on loopback, and a fleet of clients that share it without knowing its
/// limit or each other.
#[derive(Debug, Parser)]
#[command(name = "tidegate-live", version, max_term_width = 100)]
pub struct Options {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start the API and a fleet, watch them, and report how they fared.
    Demo(Demo),
    /// Start the API alone, to be called by hand: curl -i http://127.0.0.1:PORT/
    Serve(Api),
    /// One process of the fleet; `demo` starts it.
    #[command(hide = true)]
    Client(Client),
}

#[derive(Args, Clone, Debug)]
pub struct Demo {
    /// Run one law [default: see --compare].
    #[arg(long, value_name = "NAME", value_parser = law, conflicts_with = "compare")]
    law: Option<String>,
    /// Run several laws one after the other, each on a fresh server [default: none,aimd].
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = law)]
    compare: Vec<String>,
    /// How many processes the fleet has.
    #[arg(long, value_name = "N", default_value = "4", value_parser = count(1..=64), allow_hyphen_values = true)]
    pub processes: usize,
    /// How many workers a process has; they share one controller.
    #[arg(long, value_name = "N", default_value = "6", value_parser = count(1..=1000), allow_hyphen_values = true)]
    pub workers: usize,
    /// How long each law runs.
    #[arg(long, value_name = "SECONDS", default_value = "12", value_parser = seconds, allow_hyphen_values = true)]
    pub seconds: Duration,
    /// Seed the controllers, to draw the same jitter again [default: from the system].
    #[arg(long, value_name = "NUMBER", value_parser = seed, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// Print one JSON document and nothing else; progress goes to stderr.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub api: Api,
}

impl Demo {
    /// The laws to run, in order.
    pub fn laws(&self) -> Vec<String> {
        match &self.law {
            Some(law) => vec![law.clone()],
            None if self.compare.is_empty() => vec!["none".into(), "aimd".into()],
            None => self.compare.clone(),
        }
    }
}

/// What the API allows and how it answers.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "The API")]
pub struct Api {
    /// How the API limits its callers.
    #[arg(long, value_enum, default_value_t = PolicyName::Gcra)]
    pub policy: PolicyName,
    /// Calls a period, or calls at once for `concurrency` [default: 60, at once 6].
    #[arg(long, value_name = "CALLS", value_parser = limit, allow_hyphen_values = true)]
    limit: Option<u64>,
    /// The period of `gcra` and `window`.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration, allow_hyphen_values = true)]
    period: Duration,
    /// How many calls the bucket of `gcra` holds.
    #[arg(long, value_name = "CALLS", default_value = "10", value_parser = limit, allow_hyphen_values = true)]
    pub burst: u64,
    /// How long every answer is under way, give or take a fifth.
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = short, allow_hyphen_values = true)]
    pub latency: Duration,
    /// How long a served call is worked on before that [default: 0s, 100ms for `concurrency`].
    #[arg(long, value_name = "TIME", value_parser = short, allow_hyphen_values = true)]
    service: Option<Duration>,
    /// Tell callers where they stand: RateLimit-Remaining (gcra), X-RateLimit-* (window).
    #[arg(long)]
    pub headers: bool,
    /// Send Retry-After with every refusal.
    #[arg(long)]
    pub retry_after: bool,
    /// Answer every call with 503 in this span, such as 4s..6s.
    #[arg(long, value_name = "FROM..TO", value_parser = outage, allow_hyphen_values = true)]
    outage: Option<Outage>,
    /// Change the limit at a moment, such as 5s=30.
    #[arg(long, value_name = "AT=CALLS", value_parser = step, allow_hyphen_values = true)]
    step: Option<Step>,
    /// The port on 127.0.0.1 [default: any free one].
    #[arg(long, default_value = "0", hide_default_value = true, allow_hyphen_values = true)]
    pub port: u16,
}

impl Api {
    pub fn limit(&self) -> u64 {
        self.limit.unwrap_or(match self.policy {
            PolicyName::Gcra | PolicyName::Window => 60,
            PolicyName::Concurrency => 6,
        })
    }

    pub fn period(&self) -> Nanos {
        nanos(self.period)
    }

    pub fn service(&self) -> Duration {
        self.service.unwrap_or(Duration::from_millis(match self.policy {
            PolicyName::Gcra | PolicyName::Window => 0,
            PolicyName::Concurrency => 100,
        }))
    }

    pub fn timeline(&self) -> Timeline {
        Timeline {
            limit: self.limit(),
            step: self.step.map(|step| (nanos(step.at), step.limit)),
            outage: self.outage.map(|outage| nanos(outage.from)..nanos(outage.to)),
        }
    }

    /// How many calls a second can be served at this moment of a run.
    pub fn rate_at(&self, elapsed: Duration) -> f64 {
        let (timeline, now) = (self.timeline(), nanos(elapsed));
        let limit = if timeline.is_out(now) { 0.0 } else { timeline.limit_at(now) as f64 };
        match self.policy {
            PolicyName::Gcra | PolicyName::Window => limit / self.period.as_secs_f64(),
            PolicyName::Concurrency => limit / self.service().as_secs_f64().max(0.001),
        }
    }
}

impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (limit, period) = (self.limit(), humantime::format_duration(self.period));
        match self.policy {
            PolicyName::Gcra => {
                write!(f, "gcra, {limit} calls per {period}, burst {}", self.burst)?
            }
            PolicyName::Window => write!(f, "window, {limit} calls per {period}")?,
            PolicyName::Concurrency => {
                let service = humantime::format_duration(self.service());
                write!(f, "concurrency, {limit} calls at once of {service} each")?;
            }
        }
        if let Some(Step { at, limit }) = self.step {
            write!(f, ", {limit} from {}", humantime::format_duration(at))?;
        }
        if let Some(Outage { from, to }) = self.outage {
            let (from, to) = (humantime::format_duration(from), humantime::format_duration(to));
            write!(f, ", down {from} to {to}")?;
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum PolicyName {
    /// A bucket that refills evenly (429 when empty).
    Gcra,
    /// So many calls in each period (429 past them).
    Window,
    /// So many calls at once (503 past them).
    Concurrency,
}

#[derive(Clone, Copy, Debug)]
struct Outage {
    from: Duration,
    to: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    at: Duration,
    limit: u64,
}

/// What a client is told, and all it is told: where the API is, and its own law and number.
#[derive(Args, Clone, Debug)]
pub struct Client {
    #[arg(long)]
    pub address: SocketAddr,
    #[arg(long)]
    pub number: usize,
    #[arg(long)]
    pub workers: usize,
    #[arg(long, value_parser = law)]
    pub law: String,
    #[arg(long)]
    pub seed: u64,
    /// How long calls in flight may still take once the run is over.
    #[arg(long, value_parser = duration)]
    pub grace: Duration,
}

/// Reads the command line; anything wrong with it is one sentence, and help is help.
pub fn parse() -> Result<Options, String> {
    Options::try_parse().map_err(|error| {
        let lost = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
        if lost || !error.use_stderr() {
            error.exit();
        }
        let text = error.to_string();
        let first = text.split("\n\n").next().unwrap_or(&text);
        let words: Vec<&str> = first.split_whitespace().collect();
        words.join(" ").trim_start_matches("error: ").to_owned()
    })
}

fn law(name: &str) -> Result<String, String> {
    match Policy::named(name) {
        Some(_) => Ok(name.to_owned()),
        None => Err(format!("there is no such law; the laws are {}", Policy::NAMES.join(", "))),
    }
}

fn count(range: RangeInclusive<usize>) -> impl Fn(&str) -> Result<usize, String> + Clone {
    move |text| match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!("it is a whole number from {} to {}", range.start(), range.end())),
    }
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("it is a whole number from 0 to {}", u64::MAX))
}

fn limit(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err("it must let at least 1 call through".into()),
        Ok(calls) => Ok(calls),
        Err(_) => Err("it is a whole number of calls, such as 60".into()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    const YEAR: f64 = 366.0 * 86_400.0;
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= YEAR => Ok(Duration::from_secs_f64(value)),
        Ok(value) if value > YEAR => Err("it is at most a year".into()),
        Ok(_) => Err("it must be longer than zero".into()),
        Err(_) => Err("it is a number of seconds, such as 10 or 2.5".into()),
    }
}

fn moment(text: &str) -> Result<Duration, String> {
    if text.starts_with('-') {
        return Err("a time cannot be negative".into());
    }
    match humantime::parse_duration(text) {
        Ok(time) if u64::try_from(time.as_nanos()).is_ok() => Ok(time),
        Ok(_) => Err("it is more than five hundred years".into()),
        Err(_) => Err("write a number and its unit, such as 500ms, 20s or 1h".into()),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    match moment(text)? {
        Duration::ZERO => Err("it must be longer than zero".into()),
        time => Ok(time),
    }
}

fn short(text: &str) -> Result<Duration, String> {
    match moment(text)? {
        time if time > Duration::from_secs(60) => Err("it is at most 60s".into()),
        time => Ok(time),
    }
}

fn outage(text: &str) -> Result<Outage, String> {
    let (from, to) = text.split_once("..").ok_or("write a span of time, such as 4s..6s")?;
    let (from, to) = (moment(from)?, moment(to)?);
    if from < to { Ok(Outage { from, to }) } else { Err("it must end after it begins".into()) }
}

fn step(text: &str) -> Result<Step, String> {
    let (at, calls) = text.split_once('=').ok_or("write a time and a limit, such as 5s=30")?;
    Ok(Step { at: moment(at)?, limit: limit(calls)? })
}
