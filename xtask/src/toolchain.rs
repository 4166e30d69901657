//! Other versions of the compiler than the active one, where rustup can bring them.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::progress;
use crate::workspace::{on_path, root};

/// A download that has not come by then is taken for refused.
const LIMIT: Duration = Duration::from_secs(150);

/// Brings the toolchain of this version, unless it is there. The error says why it cannot be had.
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

/// `cargo VERB` of this version, which must have been brought, in the workspace's folder.
pub fn cargo(version: &str, verb: &str) -> Command {
    let mut command = Command::new("rustup");
    // Without `--install`, what is not there is an error and no download.
    command.args(["run", version, "cargo", verb]).current_dir(root());
    // What the active toolchain set for its own children, this task among them.
    for variable in ["CARGO", "RUSTC", "RUSTDOC", "LD_LIBRARY_PATH", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(variable);
    }
    command.env("CARGO_TARGET_DIR", output(version));
    command
}

/// Where that cargo puts what it builds: apart, or two versions would make each other build again.
pub fn output(version: &str) -> PathBuf {
    root().join("target/rust").join(version)
}
