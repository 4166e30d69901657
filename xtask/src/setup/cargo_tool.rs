//! Programs from crates.io. Each is built once, in the version given here, below `target`.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;

use anyhow::{Result, bail};

use crate::progress;
use crate::workspace::{cargo, program, root};

/// A program, often a subcommand of cargo.
pub struct CargoTool {
    /// The name of the package and of its program.
    pub name: &'static str,
    pub version: &'static str,
    /// How long the build takes on two cores.
    pub takes: &'static str,
}

/// Every combination of a crate's features.
pub const HACK: CargoTool =
    CargoTool { name: "cargo-hack", version: "0.6.46", takes: "half a minute" };
/// Licences, sources, advisories.
pub const DENY: CargoTool =
    CargoTool { name: "cargo-deny", version: "0.20.2", takes: "some minutes" };
/// Renders the guides.
pub const MDBOOK: CargoTool = CargoTool { name: "mdbook", version: "0.5.4", takes: "some minutes" };
/// Decodes the logs of firmware.
pub const DEFMT_PRINT: CargoTool =
    CargoTool { name: "defmt-print", version: "1.2.0", takes: "a minute" };

impl CargoTool {
    /// Each version has its own folder.
    fn folder(&self) -> PathBuf {
        root().join("target/tools").join(format!("{}-{}", self.name, self.version))
    }

    fn binary(&self) -> PathBuf {
        self.folder().join("bin").join(self.name)
    }

    /// Builds the program if it is missing.
    pub fn bring(&self) -> Result<()> {
        static ALONE: Mutex<()> = Mutex::new(());
        let _alone = ALONE.lock();
        if self.binary().is_file() {
            return Ok(());
        }
        let (name, version) = (self.name, self.version);
        let how = format!("cargo install {name} --version {version}");
        eprintln!("  setup {name}: {how} ({}, once)", self.takes);
        let mut install = cargo("install");
        // Without optimisation: building takes longer than running.
        install.args([name, "--version", version, "--debug", "--locked", "--root"]);
        install.arg(self.folder()).env("CARGO_PROFILE_DEV_DEBUG", "0");
        let ended = progress::run(&format!("building {name}"), install, None)?;
        if !ended.success() {
            bail!("`{how}` failed: {}", ended.reason());
        }
        Ok(())
    }

    /// Runs the program in the workspace's folder. Call [`bring`](Self::bring) first.
    pub fn command(&self) -> Command {
        let mut command = Command::new(self.binary());
        // The program calls the cargo that runs this task.
        command.args(self.name.strip_prefix("cargo-")).env("CARGO", program()).current_dir(root());
        command
    }
}
