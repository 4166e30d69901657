//! Programs and libraries from PyPI, below the target folder: the solver of the lemmas, which `prove.py` finds there,
//! and the checker of links.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::progress::step;
use crate::workspace::{on_path, root};

/// Whether the required versions are installed.
pub fn is_there() -> bool {
    let there = fs::read(installed());
    there.is_ok_and(|there| fs::read(required()).is_ok_and(|named| named == there))
}

pub fn bring() -> Result<()> {
    // Debian's Python lacks it.
    if !on_path("pip3") {
        super::install(&["python3-pip"])?;
    }
    let mut install = Command::new("python3");
    install.args(["-m", "pip", "install", "--quiet", "--upgrade", "--requirement"]);
    install.arg(required()).arg("--target").arg(root().join("target/pip"));
    step("pip install", install)?;
    // Written last: a folder with it is complete.
    fs::copy(required(), installed()).map(drop).context("target/pip")
}

fn installed() -> PathBuf {
    root().join("target/pip/requirements.txt")
}

fn required() -> PathBuf {
    root().join("xtask/requirements.txt")
}
