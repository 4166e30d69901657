//! `cargo xtask soak`: long-running checks, with figures in tests/golden/soak.md.

mod page;
mod parts;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::Args;

use crate::no_such;
use crate::road::Roads;
use page::Section;

#[derive(Args)]
pub struct Soak {
    /// Number of polls
    #[arg(long, default_value_t = 1_000_000_000, value_name = "N")]
    polls: u64,
    /// How long the fleet runs
    #[arg(long, default_value_t = 60, value_name = "N", value_parser = clap::value_parser!(u64).range(6..))]
    seconds: u64,
    /// How long to search for inputs that break a promise
    #[arg(long, default_value_t = 10, value_name = "N")]
    minutes: u64,
    /// Print rows `{"part","what","figure"}`, and write no page
    #[arg(long)]
    json: bool,
    /// polls, load, keys, fuzz, hostile [default: all of them]
    #[arg(value_name = "PART")]
    parts: Vec<String>,
}

struct Part {
    name: &'static str,
    about: &'static str,
    run: fn(&mut Roads, &Soak) -> Result<Section>,
}

const PARTS: [Part; 5] = [
    Part { name: "polls", about: "polls that admit nothing", run: parts::polls },
    Part { name: "load", about: "a fleet at 20 000 calls a second", run: parts::load },
    Part { name: "keys", about: "a hundred thousand keys in Node", run: parts::keys },
    Part { name: "fuzz", about: "a search for inputs that break a promise", run: parts::fuzz },
    Part { name: "hostile", about: "hostile servers", run: parts::hostile },
];

/// Runs the named parts, or all, in order. A failure does not stop the others. Ctrl-C also ends all
/// programs that were started: they end with their standard input or terminal.
pub fn run(roads: &mut Roads, soak: &Soak) -> Result<ExitCode> {
    let names = PARTS.map(|part| part.name);
    if let Some(unknown) = soak.parts.iter().find(|asked| !names.contains(&asked.as_str())) {
        return Ok(no_such("part", unknown, &names));
    }
    let asked = |name: &str| soak.parts.is_empty() || soak.parts.iter().any(|part| part == name);
    let (mut made, mut whole) = (Vec::new(), true);
    for part in PARTS.iter().filter(|part| asked(part.name)) {
        eprintln!("{}: {}", part.name, part.about);
        let since = Instant::now();
        match (part.run)(roads, soak) {
            Ok(section) => {
                eprintln!("  ok    {} ({} s)", part.name, since.elapsed().as_secs());
                made.push((part.name, section));
            }
            Err(error) => {
                eprintln!("  FAIL  {}: {error:#}", part.name);
                whole = false;
            }
        }
    }
    if soak.json {
        print!("{}", page::json(&made));
    } else if !made.is_empty() {
        page::publish(&names, &made)?;
    }
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
