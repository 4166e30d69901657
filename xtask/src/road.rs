//! Two ways to build for a target: with the active toolchain, or with Debian's.
//!
//! The active toolchain builds for a target if it has its core library, which rustup can add.
//! Without rustup, Debian's compiler builds the core library from source.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, anyhow};

use crate::workspace::{self, libraries_of};
use crate::{apt, rustup, setup};

/// Every target of tidegate's core, besides the host.
pub const TARGETS: [&str; 5] = [
    "wasm32-unknown-unknown",
    "thumbv6m-none-eabi",
    "thumbv7em-none-eabihf",
    "riscv32imc-unknown-none-elf",
    "riscv32imac-unknown-none-elf",
];

/// Only rustup's toolchain contains the linkers.
const PACKAGES: [&str; 5] = ["rustc-web", "cargo-web", "rust-web-src", "rust-web-clippy", "lld-22"];

/// The compiler for one target.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Road {
    Active,
    Debian,
}

impl Road {
    /// `cargo VERB --target TARGET` with this compiler, to run in `folder`.
    pub fn cargo(self, verb: &str, target: &str, folder: &Path) -> Command {
        let mut command = match self {
            Self::Active => workspace::cargo(verb),
            Self::Debian => debian_cargo(verb, target, folder),
        };
        command.args(["--target", target]).current_dir(folder);
        command
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "the active toolchain",
            Self::Debian => "Debian's compiler",
        }
    }
}

fn debian_cargo(verb: &str, target: &str, folder: &Path) -> Command {
    // Cargo would look for `cargo-clippy` in the PATH and might find another toolchain's.
    let program = if verb == "clippy" { "/usr/bin/cargo-clippy" } else { "/usr/bin/cargo" };
    // Bare metal has no std; code for the browser may need it.
    let (linker, libraries) = if target.starts_with("wasm32") {
        ("wasm-ld-22", "-Zbuild-std=std,panic_abort")
    } else {
        ("ld.lld-22", "-Zbuild-std=core")
    };
    let mut command = Command::new(program);
    command
        .arg(verb)
        .arg(libraries)
        .env("CARGO", "/usr/bin/cargo")
        .env("RUSTC", "/usr/bin/rustc")
        // Makes a stable compiler accept `-Z`.
        .env("RUSTC_BOOTSTRAP", "1")
        // A separate folder, so that neither toolchain makes the other rebuild.
        .env("CARGO_TARGET_DIR", folder.join("target/debian"))
        .env(linker_variable(target), linker);
    // Variables that the active toolchain set for its children, such as this task.
    for variable in ["LD_LIBRARY_PATH", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTDOC"] {
        command.env_remove(variable);
    }
    command
}

/// The variable that names Cargo's linker for `target`.
fn linker_variable(target: &str) -> String {
    format!("CARGO_TARGET_{}_LINKER", target.to_uppercase().replace('-', "_"))
}

/// Chooses the compiler for each target, and installs what it needs.
#[derive(Clone, Default)]
pub struct Roads {
    /// Why rustup failed; it is not tried again.
    rustup_failed: Option<String>,
    /// Why Debian's packages could not be installed.
    debian_failed: Option<String>,
}

impl Roads {
    /// The compiler for `target`.
    pub fn to(&mut self, target: &str) -> Result<Road> {
        self.bring(target).map(|(road, _)| road)
    }

    /// The compiler for `target`, and whether anything was installed for it; if so, this was
    /// printed. Installed compilers come first, then rustup, then Debian.
    pub fn bring(&mut self, target: &str) -> Result<(Road, bool)> {
        let _alone = setup::alone();
        if let Some(road) = there(target) {
            return Ok((road, false));
        }
        let since = Instant::now();
        if self.rustup_failed.is_none() {
            eprintln!("  setup {target}: rustup target add {target}");
            self.rustup_failed = match rustup::add("target", target) {
                Err(error) => Some(error.to_string()),
                Ok(()) if there(target).is_none() => {
                    Some("rustup added it to another toolchain".into())
                }
                Ok(()) => None,
            };
        }
        if self.rustup_failed.is_some() && self.debian_failed.is_none() {
            eprintln!("  setup {target}: apt-get install {}", PACKAGES.join(" "));
            self.debian_failed = match apt::install(&PACKAGES) {
                Err(error) => Some(error.to_string()),
                Ok(()) if there(target).is_none() => Some("it had no effect".into()),
                Ok(()) => None,
            };
        }
        let road = there(target).ok_or_else(|| self.missing(target))?;
        eprintln!(
            "  done  {target}: {} builds for it ({} s)",
            road.name(),
            since.elapsed().as_secs()
        );
        Ok((road, true))
    }

    /// The error for a target without a compiler.
    fn missing(&self, target: &str) -> anyhow::Error {
        let reasons = [&self.rustup_failed, &self.debian_failed].into_iter().flatten();
        let reasons: Vec<&str> = reasons.map(String::as_str).collect();
        anyhow!(
            "the Rust target {target} is missing ({}): install it with `rustup target add {target}`",
            reasons.join("; ")
        )
    }
}

/// The installed compiler for `target`.
fn there(target: &str) -> Option<Road> {
    if libraries_of(target).is_some_and(|folder| holds_core(&folder)) {
        Some(Road::Active)
    } else {
        apt::installed(&PACKAGES).then_some(Road::Debian)
    }
}

/// A library folder may exist and be empty.
fn holds_core(folder: &Path) -> bool {
    let Ok(entries) = folder.read_dir() else { return false };
    entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libcore-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linker_variable_has_the_name_that_cargo_reads() {
        let variable = linker_variable("thumbv6m-none-eabi");
        assert_eq!(variable, "CARGO_TARGET_THUMBV6M_NONE_EABI_LINKER");
    }

    #[test]
    fn the_message_for_a_missing_target_says_why_and_what_to_do() {
        let roads = Roads {
            rustup_failed: Some("this machine has no rustup".into()),
            debian_failed: Some("this machine has no apt-get".into()),
        };
        assert_eq!(
            roads.missing("wasm32-unknown-unknown").to_string(),
            "the Rust target wasm32-unknown-unknown is missing (this machine has no rustup; this \
             machine has no apt-get): install it with `rustup target add wasm32-unknown-unknown`"
        );
    }
}
