//! The solver for the lemmas: Z3 for Python, below the target folder, where `prove.py` finds it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::progress::step;
use crate::workspace::root;

/// Whether the version that the lemmas require is installed.
pub fn is_there() -> bool {
    let there = fs::read(installed());
    there.is_ok_and(|there| fs::read(required()).is_ok_and(|named| named == there))
}

pub fn bring() -> Result<()> {
    let mut install = Command::new("python3");
    install.args(["-m", "pip", "install", "--quiet", "--upgrade", "--requirement"]);
    install.arg(required()).arg("--target").arg(root().join("target/proofs"));
    step("pip install", install).context("the solver must come from PyPI")?;
    // Written last: a folder with it is complete.
    fs::copy(required(), installed())?;
    Ok(())
}

fn installed() -> PathBuf {
    root().join("target/proofs/requirements.txt")
}

fn required() -> PathBuf {
    root().join("tests/proofs/requirements.txt")
}
