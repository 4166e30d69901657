//! `cargo xtask bench`: measures cost, size and laws, and compares with other throttles. It writes tests/golden.

mod boards;
mod cost;
mod demo;
pub mod image;
pub mod programs;
pub mod size;
mod table;

use std::ffi::OsString;
use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Subcommand;

use crate::workspace::{root, rustc};

#[derive(Subcommand)]
pub enum Bench {
    /// Count the instructions per decision, of tidegate and other limiters, on the host and on microcontrollers
    Cost,
    /// Draw the README's picture of the demo, in real time
    Demo,
    /// Measure the size, load time and frame rate of the web page
    Page,
    /// Compare the npm package with other clients, on servers that limit like real providers, in real time
    ///
    /// `cargo xtask bench providers --help` lists the options.
    #[command(disable_help_flag = true)]
    Providers {
        /// Options of the program
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Measure fleets that share one budget, with every fault, in real time: about eleven minutes
    ///
    /// Run it on an idle machine.
    Shared {
        /// Measure only these fleets
        #[arg(value_parser = ["workerd", "redis", "local"])]
        fleets: Vec<String>,
    },
    /// Measure the flash and state of firmware images on three targets
    Size,
    /// Compare tidegate-tower with governor, reqwest-retry and tower's own limit, on local servers, in real time
    Tower,
    /// Compare laws on randomly drawn servers and clients, and write tests/golden/worlds.md and worlds.svg
    ///
    /// `tidegate-sim worlds` has more options: laws, families, hints, JSON.
    Worlds {
        /// The seed of the worlds
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
    },
}

pub fn run(bench: Bench) -> Result<ExitCode> {
    match bench {
        Bench::Cost => cost::run()?,
        Bench::Demo => demo::run()?,
        Bench::Page => programs::page()?,
        Bench::Providers { args } => programs::providers(args)?,
        Bench::Shared { fleets } => programs::shared(&fleets)?,
        Bench::Size => size::run()?,
        Bench::Tower => programs::tower()?,
        Bench::Worlds { seed } => programs::worlds(seed)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a table to tests/golden and prints it.
fn publish(name: &str, page: &str) -> Result<()> {
    let path = root().join("tests/golden").join(name);
    fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    print!("{page}");
    eprintln!("written to tests/golden/{name}");
    Ok(())
}

/// The compiler's version and its host. Another compiler builds different images.
fn compiler() -> Result<(String, String)> {
    let output = rustc().arg("-vV").output().context("cannot start rustc")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.context("rustc does not report its host")?;
    Ok((text.lines().next().unwrap_or_default().to_owned(), host.to_owned()))
}
