//! The solver for the lemmas: Z3 for Python, in a virtual environment below the target folder.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::progress::brief;
use crate::workspace::root;

pub const NAME: &str = "solver";

/// The environment's Python.
pub fn python() -> PathBuf {
    folder().join("bin/python")
}

/// Whether the version that the lemmas require is installed.
pub fn is_there() -> bool {
    let there = fs::read(folder().join("requirements.txt"));
    there.is_ok_and(|there| fs::read(requirements()).is_ok_and(|named| named == there))
}

pub fn bring() -> Result<()> {
    let venv = || {
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv", "--clear"]).arg(folder());
        venv
    };
    // Debian's Python lacks the module that creates an environment.
    if let Err(error) = brief("python3 -m venv", venv(), None) {
        super::install(&["python3-venv"]).with_context(|| error.to_string())?;
        brief("python3 -m venv", venv(), None)?;
    }
    let mut install = Command::new(python());
    install.args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(requirements());
    brief("pip install", install, None).context("the solver must come from PyPI")?;
    // Written last: a folder with it is complete.
    fs::copy(requirements(), folder().join("requirements.txt"))?;
    Ok(())
}

fn folder() -> PathBuf {
    root().join("target/proofs")
}

fn requirements() -> PathBuf {
    root().join("tests/proofs/requirements.txt")
}
