//! `cargo xtask bench`: measures cost, size and laws, and compares with other throttles. It writes tests/golden.

mod boards;
mod cost;
mod demo;
pub mod image;
mod page;
pub mod providers;
mod row;
mod shared;
pub mod size;
pub mod tower;
mod worlds;

use std::ffi::OsString;
use std::fs;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use clap::Subcommand;

use crate::workspace::root;

#[derive(Subcommand)]
pub enum Bench {
    /// Count the instructions per decision, beside other limiters and on microcontrollers
    Cost {
        /// Print rows `{"what","target","instructions"}` and write no table
        #[arg(long)]
        json: bool,
    },
    /// Draw the README's picture of the demo, in real time
    Demo,
    /// Measure the size, load time and frame rate of the web page
    Page {
        /// Print JSON and write no table
        #[arg(long)]
        json: bool,
    },
    /// Compare the npm package with other clients, on servers that limit as real providers do, in real time
    ///
    /// `cargo xtask bench providers --help` lists the options of the program that runs.
    #[command(disable_help_flag = true)]
    Providers {
        /// Options of the program
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Measure fleets that share one budget, with every fault, in real time: 10 to 20 minutes each
    ///
    /// Run it on an idle machine.
    Shared {
        /// Only this fleet
        fleet: Option<shared::Fleet>,
    },
    /// Measure flash and state of firmware images on three targets
    Size {
        /// Print rows `{"what","target","bytes"}` and write no table
        #[arg(long)]
        json: bool,
        /// Print the size of each symbol in this image and write no table
        #[arg(long, value_name = "IMAGE", value_parser = size::images(), conflicts_with = "json")]
        symbols: Option<String>,
    },
    /// Compare tidegate-tower with governor, reqwest-retry and tower's own limit, on local servers, in real time
    Tower {
        /// Print rows and write no table
        #[arg(long)]
        json: bool,
    },
    /// Compare laws on servers and clients drawn at random, and write tests/golden/worlds.md and worlds.svg
    ///
    /// `tidegate-sim worlds` has more options: laws, families, hints, development worlds.
    Worlds {
        /// The seed of the worlds
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
        /// Draw this many worlds instead of 200, and only show the result
        #[arg(long, value_name = "N")]
        worlds: Option<u32>,
        /// Print JSON and write no table
        #[arg(long)]
        json: bool,
    },
}

pub fn run(bench: Bench) -> Result<ExitCode> {
    match bench {
        Bench::Cost { json } => cost::run(json)?,
        Bench::Demo => demo::run()?,
        Bench::Page { json } => page::run(json)?,
        Bench::Providers { args } => providers::run(args)?,
        Bench::Shared { fleet } => shared::run(fleet)?,
        Bench::Size { json, symbols } => size::run(json, symbols.as_deref())?,
        Bench::Tower { json } => tower::run(json)?,
        Bench::Worlds { seed, worlds, json } => worlds::run(seed, worlds, json)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a table to tests/golden and prints it.
fn publish(name: &str, page: &str) -> Result<()> {
    let path = root().join("tests/golden").join(name);
    fs::write(&path, page).with_context(|| format!("{} cannot be written", path.display()))?;
    print!("{page}");
    eprintln!("written to tests/golden/{name}");
    Ok(())
}

/// The compiler's version. Another compiler builds different images.
fn compiler() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").current_dir(root()).output();
    output.map_or_else(
        |error| error.to_string(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

/// Writes 12345 as `12 345`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .filter_map(|group| std::str::from_utf8(group).ok())
        .collect();
    groups.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_groups_of_three() {
        for (number, written) in
            [(0, "0"), (999, "999"), (1_000, "1 000"), (12_345_678, "12 345 678")]
        {
            assert_eq!(thousands(number), written);
        }
    }
}
