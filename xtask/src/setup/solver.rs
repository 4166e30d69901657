//! The solver for the lemmas: Z3 for Python, in a virtual environment below the target folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow};

use super::apt;
use crate::npm::step;
use crate::workspace::root;

pub const NAME: &str = "solver";

/// The environment's Python.
pub fn python() -> PathBuf {
    folder().join("bin/python")
}

/// Whether the version that the lemmas require is installed.
pub fn is_there() -> bool {
    let named = fs::read_to_string(requirements());
    let there = fs::read_to_string(folder().join("requirements.txt"));
    matches!((named, there), (Ok(named), Ok(there)) if named == there)
}

pub fn bring() -> Result<()> {
    let venv = || {
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv", "--clear"]).arg(folder());
        venv
    };
    // Debian's Python lacks the module that creates an environment.
    if let Err(error) = step("python3 -m venv", venv()) {
        apt::install(&["python3-venv"]).with_context(|| error.to_string())?;
        step("python3 -m venv", venv())?;
    }
    let mut install = Command::new(python());
    install.args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(requirements());
    step("pip install", install).map_err(|error| {
        anyhow!(
            "the solver is missing: what {} names must come from PyPI ({error:#})",
            at().display()
        )
    })?;
    // Written last: a folder with it is complete.
    fs::copy(requirements(), folder().join("requirements.txt"))?;
    Ok(())
}

fn folder() -> PathBuf {
    root().join("target/proofs")
}

fn requirements() -> PathBuf {
    root().join(at())
}

fn at() -> &'static Path {
    Path::new("tests/proofs/requirements.txt")
}
