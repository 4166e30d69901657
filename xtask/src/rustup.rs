//! Adds targets and components to the active toolchain with rustup.

use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::progress;
use crate::workspace::{on_path, root};

/// A download that takes longer counts as refused; there is an alternative.
const LIMIT: Duration = Duration::from_secs(150);

/// `rustup target add TARGET` or `rustup component add COMPONENT`. The error gives the reason.
pub fn add(kind: &str, name: &str) -> Result<()> {
    if !on_path("rustup") {
        bail!("this machine has no rustup");
    }
    let mut command = Command::new("rustup");
    command.args([kind, "add", name]).current_dir(root());
    let ended = progress::run(&format!("rustup {kind} add"), command, Some(LIMIT))?;
    if !ended.success() {
        bail!("rustup says: {}", ended.reason());
    }
    Ok(())
}
