//! `cargo xtask breaks`: who notices when a line of the core's arithmetic is broken.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use clap::Args;

use crate::workspace::root;
use crate::{setup, solver};

#[derive(Args)]
pub struct Breaks {
    /// Only those whose names hold this word; the table stays as it is
    #[arg(long, value_name = "WORD")]
    only: Option<String>,
    /// Print rows `{"name","file","caught","vectors","models","exhaustive"}`
    #[arg(long)]
    json: bool,
}

/// Each break is tried in a copy of this tree below the target folder; the script says how it went.
pub fn run(breaks: &Breaks) -> Result<ExitCode> {
    setup::missing_solver()?;
    let mut command = Command::new(solver::python());
    command.arg(root().join("tests/breaks/try.py"));
    command.args(breaks.only.iter().flat_map(|word| ["--only", word.as_str()]));
    command.args(breaks.json.then_some("--json"));
    let status = command.status().context("the solver's Python does not start")?;
    Ok(ExitCode::from(u8::from(!status.success())))
}
