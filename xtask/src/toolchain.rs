//! Compiler versions other than the active one, if rustup can install them.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::progress;
use crate::workspace::{on_path, root};

/// A download that takes longer counts as failed.
const LIMIT: Duration = Duration::from_secs(150);

/// Installs the toolchain of this version if it is missing. The error gives the reason.
pub fn bring(version: &str) -> Result<()> {
    if !on_path("rustup") {
        bail!("this machine has no rustup to bring Rust {version}");
    }
    if cargo(version, "--version").output().is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    eprintln!("  setup Rust {version}: rustup toolchain install {version}");
    let mut install = Command::new("rustup");
    install.args(["toolchain", "install", version, "--profile", "minimal", "--no-self-update"]);
    let ended = progress::run(&format!("rustup, Rust {version}"), install, Some(LIMIT))?;
    if !ended.success() {
        bail!("rustup cannot bring Rust {version}: {}", ended.reason());
    }
    Ok(())
}

/// `cargo VERB` of this version, which must be installed, in the workspace's folder.
pub fn cargo(version: &str, verb: &str) -> Command {
    let mut command = Command::new("rustup");
    // Without `--install`, a missing toolchain is an error and is not downloaded.
    command.args(["run", version, "cargo", verb]).current_dir(root());
    // Variables that the active toolchain set for its children, such as this task.
    for variable in ["CARGO", "RUSTC", "RUSTDOC", "LD_LIBRARY_PATH", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(variable);
    }
    command.env("CARGO_TARGET_DIR", output(version));
    command
}

/// That cargo's target folder: a separate one, so that neither version makes the other rebuild.
pub fn output(version: &str) -> PathBuf {
    root().join("target/rust").join(version)
}
