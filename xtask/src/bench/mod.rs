//! `cargo xtask bench`: how well it controls and shares, in scenarios and in worlds drawn at random, what it costs, how large it is, the page,
//! and how it does beside others in a Rust service and at servers that limit as providers do.

mod boards;
mod control;
mod cost;
mod image;
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

use crate::road::{Road, Roads};
use crate::workspace::root;

#[derive(Subcommand)]
pub enum Bench {
    /// Run every law in every scenario, and hold `adaptive` against its bars
    ///
    /// Everything after `control` is handed on; `cargo xtask bench control --help` lists it.
    #[command(disable_help_flag = true)]
    Control {
        /// Handed on as they stand
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Count the instructions of a decision, beside other limiters and on microcontrollers
    Cost {
        /// Print rows `{"what","target","instructions"}`, and write no page
        #[arg(long)]
        json: bool,
    },
    /// Weigh the web page, and see how soon it is there and how evenly it moves
    Page {
        /// Print JSON, and write no page
        #[arg(long)]
        json: bool,
    },
    /// Put the npm package and its rivals in front of servers that limit as real providers do
    ///
    /// Everything after `providers` is handed on; `cargo xtask bench providers --help` lists it.
    #[command(disable_help_flag = true)]
    Providers {
        /// Handed on as they stand
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Let fleets share one budget, through every fault: a quarter of an hour each
    Shared {
        /// Only this one
        fleet: Option<shared::Fleet>,
    },
    /// Weigh images of firmware: flash and state, on three targets
    Size {
        /// Print rows `{"what","target","bytes"}`, and write no page
        #[arg(long)]
        json: bool,
        /// Print the size of each symbol in this image, and write no page
        #[arg(long, value_name = "IMAGE", value_parser = size::images(), conflicts_with = "json")]
        symbols: Option<String>,
    },
    /// Put tidegate-tower, governor, reqwest-retry and tower's own limit in front of ten servers, on real sockets
    Tower {
        /// Print rows, and write no page
        #[arg(long)]
        json: bool,
    },
    /// Judge laws in worlds drawn at random, and write tests/golden/worlds.md and worlds.svg
    ///
    /// `tidegate-sim worlds` has more choices: laws, families, hints, worlds for development.
    Worlds {
        /// The number that the worlds are drawn from
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
        /// So many worlds instead of 200; they are only shown
        #[arg(long, value_name = "N")]
        worlds: Option<u32>,
        /// Print JSON, and write no page
        #[arg(long)]
        json: bool,
    },
}

pub fn run(roads: &mut Roads, bench: Bench) -> Result<ExitCode> {
    match bench {
        Bench::Control { args } => control::run(args)?,
        Bench::Cost { json } => cost::run(roads, json)?,
        Bench::Page { json } => page::run(roads, json)?,
        Bench::Providers { args } => providers::run(roads, args)?,
        Bench::Shared { fleet } => shared::run(roads, fleet)?,
        Bench::Size { json, symbols } => size::run(roads, json, symbols.as_deref())?,
        Bench::Tower { json } => tower::run(json)?,
        Bench::Worlds { seed, worlds, json } => worlds::run(seed, worlds, json)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a page of tests/golden and shows it.
fn publish(name: &str, page: &str) -> Result<()> {
    let path = root().join("tests/golden").join(name);
    fs::write(&path, page).with_context(|| format!("{} cannot be written", path.display()))?;
    print!("{page}");
    eprintln!("written to tests/golden/{name}");
    Ok(())
}

/// The compiler's name for itself; another one makes other images.
fn compiler(road: Road) -> String {
    let mut command = match road {
        Road::Active => Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())),
        Road::Debian => Command::new("/usr/bin/rustc"),
    };
    let output = command.arg("--version").current_dir(root()).output();
    let version = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    version.unwrap_or_else(|_| road.name().to_owned())
}

/// 12 345 as people write it.
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
