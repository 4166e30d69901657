//! Two ways to build for a target: with the active toolchain, or with Debian's.
//!
//! The active toolchain builds for a target if it has its core library, which rustup can add.
//! Without rustup, Debian's compiler builds the core library from source.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, anyhow};
use clap::ValueEnum;

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

/// The user's choice.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Choice {
    /// What is installed; else rustup; else Debian's packages
    Auto,
    /// The active toolchain, with targets that rustup adds
    Rustup,
    /// Debian's packaged compiler, which builds the core library from source
    Debian,
}

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
#[derive(Clone)]
pub struct Roads {
    choice: Choice,
    /// Why rustup failed; it is not tried again.
    rustup_failed: Option<String>,
    /// Why Debian's packages could not be installed.
    debian_failed: Option<String>,
}

impl Roads {
    pub fn new(choice: Choice) -> Self {
        Self { choice, rustup_failed: None, debian_failed: None }
    }

    /// The compiler for `target`.
    pub fn to(&mut self, target: &str) -> Result<Road> {
        self.bring(target).map(|(road, _)| road)
    }

    /// The compiler for `target`, and whether anything was installed for it; if so, this was
    /// printed.
    pub fn bring(&mut self, target: &str) -> Result<(Road, bool)> {
        let _alone = setup::alone();
        let since = Instant::now();
        let mut brought = false;
        loop {
            let step = next(
                self.choice,
                Facts {
                    here: libraries_of(target).is_some_and(|folder| holds_core(&folder)),
                    debian: apt::installed(&PACKAGES),
                    rustup_failed: self.rustup_failed.is_some(),
                    debian_failed: self.debian_failed.is_some(),
                },
            );
            match step {
                Step::Take(road) => {
                    if brought {
                        let took = since.elapsed().as_secs();
                        eprintln!("  done  {target}: {} builds for it ({took} s)", road.name());
                    }
                    return Ok((road, brought));
                }
                Step::AskRustup => {
                    eprintln!("  setup {target}: rustup target add {target}");
                    brought = true;
                    let result = rustup::add("target", target);
                    let here = libraries_of(target).is_some_and(|folder| holds_core(&folder));
                    self.rustup_failed = match result {
                        Err(error) => Some(error.to_string()),
                        Ok(()) if !here => Some("rustup added it to another toolchain".into()),
                        Ok(()) => None,
                    };
                }
                Step::InstallDebian => {
                    eprintln!("  setup {target}: apt-get install {}", PACKAGES.join(" "));
                    brought = true;
                    let result = apt::install(&PACKAGES);
                    self.debian_failed = match result {
                        Err(error) => Some(error.to_string()),
                        Ok(()) if !apt::installed(&PACKAGES) => Some("it had no effect".into()),
                        Ok(()) => None,
                    };
                }
                Step::GiveUp => return Err(self.missing(target)),
            }
        }
    }

    /// The error for a target without a compiler.
    fn missing(&self, target: &str) -> anyhow::Error {
        let reasons: Vec<&str> = [&self.rustup_failed, &self.debian_failed]
            .into_iter()
            .flatten()
            .map(|r| &**r)
            .collect();
        let way_out = match self.choice {
            Choice::Debian => format!("install the Debian packages {}", PACKAGES.join(" ")),
            _ => format!("install it with `rustup target add {target}`"),
        };
        anyhow!("the Rust target {target} is missing ({}): {way_out}", reasons.join("; "))
    }
}

/// A library folder may exist and be empty.
fn holds_core(folder: &Path) -> bool {
    let Ok(entries) = folder.read_dir() else { return false };
    entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libcore-"))
}

/// The state of one target when the next step is chosen.
#[derive(Clone, Copy, Debug, Default)]
struct Facts {
    /// The active toolchain has the target's core library.
    here: bool,
    /// Debian's packages are installed.
    debian: bool,
    rustup_failed: bool,
    debian_failed: bool,
}

#[derive(Debug, Eq, PartialEq)]
enum Step {
    Take(Road),
    AskRustup,
    InstallDebian,
    GiveUp,
}

/// Installed compilers come first, then rustup, then Debian.
fn next(choice: Choice, facts: Facts) -> Step {
    let active = choice != Choice::Debian;
    let debian = choice != Choice::Rustup;
    if active && facts.here {
        Step::Take(Road::Active)
    } else if debian && facts.debian {
        Step::Take(Road::Debian)
    } else if active && !facts.rustup_failed {
        Step::AskRustup
    } else if debian && !facts.debian_failed {
        Step::InstallDebian
    } else {
        Step::GiveUp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_from_an_empty_machine_are_rustup_then_debian_then_none() {
        let mut facts = Facts::default();
        assert_eq!(next(Choice::Auto, facts), Step::AskRustup);
        facts.rustup_failed = true;
        assert_eq!(next(Choice::Auto, facts), Step::InstallDebian);
        facts.debian_failed = true;
        assert_eq!(next(Choice::Auto, facts), Step::GiveUp);
    }

    #[test]
    fn an_existing_toolchain_is_used_before_installing_one() {
        let here = Facts { here: true, ..Facts::default() };
        let debian = Facts { debian: true, ..Facts::default() };
        let both = Facts { here: true, debian: true, ..Facts::default() };
        assert_eq!(next(Choice::Auto, here), Step::Take(Road::Active));
        assert_eq!(next(Choice::Auto, debian), Step::Take(Road::Debian));
        assert_eq!(next(Choice::Auto, both), Step::Take(Road::Active));
    }

    #[test]
    fn a_forced_way_is_the_only_one_used() {
        for bits in 0..16_u8 {
            let [here, debian, rustup_failed, debian_failed] = [1, 2, 4, 8].map(|b| bits & b != 0);
            let facts = Facts { here, debian, rustup_failed, debian_failed };
            let step = next(Choice::Rustup, facts);
            assert!(!matches!(step, Step::Take(Road::Debian) | Step::InstallDebian), "{facts:?}");
            let step = next(Choice::Debian, facts);
            assert!(!matches!(step, Step::Take(Road::Active) | Step::AskRustup), "{facts:?}");
        }
    }

    #[test]
    fn every_failure_ends() {
        for choice in [Choice::Auto, Choice::Rustup, Choice::Debian] {
            let facts = Facts { rustup_failed: true, debian_failed: true, ..Facts::default() };
            assert_eq!(next(choice, facts), Step::GiveUp);
        }
    }

    #[test]
    fn the_linker_variable_has_the_name_that_cargo_reads() {
        let variable = linker_variable("thumbv6m-none-eabi");
        assert_eq!(variable, "CARGO_TARGET_THUMBV6M_NONE_EABI_LINKER");
    }

    #[test]
    fn the_message_for_a_missing_target_says_why_and_what_to_do() {
        let mut roads = Roads::new(Choice::Auto);
        roads.rustup_failed = Some("this machine has no rustup".into());
        roads.debian_failed = Some("this machine has no apt-get".into());
        assert_eq!(
            roads.missing("wasm32-unknown-unknown").to_string(),
            "the Rust target wasm32-unknown-unknown is missing (this machine has no rustup; this \
             machine has no apt-get): install it with `rustup target add wasm32-unknown-unknown`"
        );
    }
}
