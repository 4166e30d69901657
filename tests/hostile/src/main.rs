//! `tidegate-hostile`: the server alone, or all tests of a client.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use clap::{Parser, Subcommand};
use tidegate::Policy;
use tidegate_hostile::ordeal::{Ordeal, Plan};
use tidegate_hostile::{MOODS, Mood, Server, corpus};
use tokio::task::JoinSet;

/// A hostile server on loopback, and tests of clients against it.
#[derive(Parser)]
#[command(name = "tidegate-hostile")]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve every mood at its name, every response of the fuzz corpus at /corpus/NUMBER, and the
    /// counts at /counts, until standard input closes
    Serve,
    /// Run a client of tools/live against every mood
    Run {
        /// The program of tools/live
        #[arg(long, value_name = "PATH")]
        live: PathBuf,
        /// How long each mood lasts; they run twelve at a time
        #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u64).range(6..))]
        seconds: u64,
        /// The client's law
        #[arg(long, value_name = "NAME", default_value = "adaptive")]
        law: String,
        /// One mood, by its name [default: all of them]
        #[arg(value_name = "MOOD")]
        moods: Vec<String>,
    },
}

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let done = match Options::parse().command {
        Command::Serve => serve().await,
        Command::Run { live, seconds, law, moods } => {
            let time = Duration::from_secs(seconds);
            run(Plan { program: live, law, time }, &moods).await
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tidegate-hostile: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> Result<()> {
    let corpus = corpus::responses()?;
    let count = corpus.len();
    let server = Server::open(MOODS[0], corpus).await?;
    let moods = MOODS.map(|mood| mood.name);
    let serves: Vec<_> = MOODS.iter().filter(|mood| mood.serves()).map(|mood| mood.name).collect();
    let told = serde_json::json!({
        "url": format!("http://{}/", server.address()),
        "corpus": count,
        "moods": moods,
        "serves": serves,
    });
    writeln!(io::stdout(), "{told}")?;
    // If the parent process ends for any reason, its end of the pipe closes.
    tokio::task::spawn_blocking(|| io::copy(&mut io::stdin(), &mut io::sink())).await??;
    Ok(())
}

/// How many clients run at once. Each has four workers, which mostly wait.
const AT_ONCE: usize = 12;

async fn run(plan: Plan, asked: &[String]) -> Result<()> {
    ensure!(Policy::named(&plan.law).is_some(), "unknown law {}", plan.law);
    let moods: Vec<Mood> = match asked {
        [] => MOODS.to_vec(),
        asked => asked.iter().map(|name| mood(name)).collect::<Result<_>>()?,
    };
    let (mut ordeals, mut broken): (Vec<Ordeal>, Vec<String>) = Default::default();
    let mut waiting = moods.iter().copied();
    let mut running = JoinSet::new();
    loop {
        while running.len() < AT_ONCE
            && let Some(mood) = waiting.next()
        {
            let plan = plan.clone();
            running.spawn(async move { plan.undergo(mood).await });
        }
        let Some(done) = running.join_next().await else { break };
        match done? {
            Ok(ordeal) => ordeals.push(ordeal),
            Err(error) => broken.push(format!("{error:#}")),
        }
        eprintln!("{} of {} moods", ordeals.len() + broken.len(), moods.len());
    }
    ordeals.sort_by_key(|ordeal| moods.iter().position(|mood| mood.name == ordeal.mood));
    print!("{}", table(&ordeals));
    match broken.as_slice() {
        [] => Ok(()),
        broken => bail!("{}", broken.join("\n")),
    }
}

fn mood(name: &str) -> Result<Mood> {
    match Mood::named(name) {
        Some(mood) => Ok(mood),
        None => {
            bail!("unknown mood {name}; the moods are {}", MOODS.map(|mood| mood.name).join(", "))
        }
    }
}

fn table(ordeals: &[Ordeal]) -> String {
    let mut text = format!(
        "{:<22}{:>9}{:>9}{:>7}{:>9}{:>9}{:>11}{:>6}{:>8}\n",
        "mood", "attempts", "busiest", "calls", "answered", "given up", "unfinished", "cpu", "MiB"
    );
    for ordeal in ordeals {
        let cpu = ordeal.processor.map_or("-".into(), |part| format!("{:.0} %", 100.0 * part));
        let memory =
            ordeal.memory_kib.map_or("-".into(), |kib| format!("{:.1}", kib as f64 / 1024.0));
        text += &format!(
            "{:<22}{:>9}{:>9}{:>7}{:>9}{:>9}{:>11}{:>6}{:>8}\n",
            ordeal.mood,
            ordeal.attempts,
            ordeal.busiest,
            ordeal.calls,
            ordeal.answered,
            ordeal.given_up,
            ordeal.unfinished,
            cpu,
            memory
        );
    }
    text
}
