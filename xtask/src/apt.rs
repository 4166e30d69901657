//! Debian packages: which are installed, and how to install more without removing any.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::progress;
use crate::workspace::on_path;

pub fn installed(packages: &[&str]) -> bool {
    let mut query = Command::new("dpkg-query");
    query.args(["--show", "--showformat=${db:Status-Status}\n"]).args(packages);
    query.output().is_ok_and(|output| {
        let states = String::from_utf8_lossy(&output.stdout);
        output.status.success()
            && states.lines().filter(|state| *state == "installed").count() >= packages.len()
    })
}

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
    // Some of these packages conflict with others (rustc-web with rustc): refuse to remove any.
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
    if ended.success() {
        return Ok(());
    }
    match removals(&ended.output) {
        Some(packages) => {
            bail!("`{label}` would remove {packages}: install it by hand if you agree")
        }
        None => bail!("`{label}` says: {}", ended.reason()),
    }
}

/// The packages that apt-get would remove, from its output.
fn removals(output: &str) -> Option<String> {
    let mut lines = output.lines().skip_while(|line| !line.ends_with("will be REMOVED:"));
    lines.next()?;
    let names = lines.take_while(|line| line.starts_with(' ')).flat_map(str::split_whitespace);
    Some(names.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_that_would_be_removed_are_listed() {
        let output = "\
Reading package lists...
The following packages will be REMOVED:
  rustc
  libstd-rust-dev rustfmt
The following NEW packages will be installed:
  rustc-web
E: Packages need to be removed but remove is disabled.
";
        assert_eq!(removals(output).as_deref(), Some("rustc libstd-rust-dev rustfmt"));
        assert_eq!(removals("E: Unable to locate package rustc-web\n"), None);
    }
}
