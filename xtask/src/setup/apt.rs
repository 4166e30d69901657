//! Debian packages, installed without removing any.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::progress;
use crate::workspace::on_path;

/// Installs `packages`. The error gives the reason.
pub fn install(packages: &[&str]) -> Result<()> {
    if !on_path("apt-get") {
        bail!("this machine has no apt-get");
    }
    let Some(root) = root() else {
        bail!("installing needs root or a `sudo` without a password");
    };
    let known = Command::new("apt-cache").arg("show").args(packages).stderr(Stdio::null()).output();
    let known = known.is_ok_and(|output| output.status.success());
    if !known {
        apt_get(root, &["update"])?;
    }
    // A package may conflict with an installed one: refuse to remove any.
    let mut install = vec!["install", "--yes", "--no-install-recommends", "--no-remove"];
    install.extend(packages);
    match apt_get(root, &install) {
        // The lists may be outdated.
        Err(_) if known => apt_get(root, &["update"]).and_then(|()| apt_get(root, &install)),
        result => result,
    }
}

/// Updates the package lists.
pub fn update() -> Result<()> {
    let Some(root) = root() else {
        bail!("`apt-get update` needs root or a `sudo` without a password");
    };
    apt_get(root, &["update"])
}

/// The prefix that runs a command as root: empty if we are root.
fn root() -> Option<&'static [&'static str]> {
    let id = Command::new("id").arg("-u").output().ok()?;
    if id.stdout.trim_ascii() == b"0" {
        return Some(&[]);
    }
    let sudo = Command::new("sudo").args(["-n", "true"]).stderr(Stdio::null()).status();
    sudo.is_ok_and(|status| status.success()).then_some(&["sudo", "-n"])
}

fn apt_get(root: &[&str], args: &[&str]) -> Result<()> {
    let line: Vec<&str> =
        [root, &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"], args].concat();
    let mut command = Command::new(line[0]);
    command.args(&line[1..]);
    let label = format!("apt-get {}", args[0]);
    let ended = progress::run(&label, command, None).context("apt-get does not start")?;
    ensure!(ended.success(), "`{label}` says: {}", ended.reason());
    Ok(())
}
