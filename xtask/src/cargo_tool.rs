//! Programs that crates.io has: built once, in the version that is named here, below `target`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use crate::progress;
use crate::workspace::{cargo, program, root};

/// A subcommand of cargo.
pub struct CargoTool {
    /// As in `cargo NAME`.
    pub verb: &'static str,
    pub version: &'static str,
    /// How long it takes to build on two cores.
    pub takes: &'static str,
}

/// Every combination of a crate's features.
pub const HACK: CargoTool = CargoTool { verb: "hack", version: "0.6.46", takes: "half a minute" };
/// Licences, sources, advisories.
pub const DENY: CargoTool = CargoTool { verb: "deny", version: "0.20.2", takes: "some minutes" };
/// What a crate gives to others, line by line. It reads what rustdoc 1.91 writes.
pub const PUBLIC_API: CargoTool =
    CargoTool { verb: "public-api", version: "0.51.0", takes: "some minutes" };

impl CargoTool {
    fn name(&self) -> String {
        format!("cargo-{}", self.verb)
    }

    /// A folder for each version, so that what is there is the one that is asked for.
    fn folder(&self) -> PathBuf {
        root().join("target/tools").join(format!("{}-{}", self.name(), self.version))
    }

    fn binary(&self) -> PathBuf {
        self.folder().join("bin").join(self.name())
    }

    /// Builds it, unless it is there.
    pub fn bring(&self) -> Result<()> {
        if self.binary().is_file() {
            return Ok(());
        }
        let (name, version) = (self.name(), self.version);
        let how = format!("cargo install {name} --version {version}");
        eprintln!("  setup {name}: {how} ({}, once)", self.takes);
        let mut install = cargo("install");
        // Unoptimised: to build it takes longer than all that it ever does here.
        install.args([&name, "--version", version, "--debug", "--locked", "--root"]);
        install.arg(self.folder());
        let ended = progress::run(&format!("building {name}"), install, None)?;
        if !ended.success() {
            bail!("`{how}` says: {}", ended.reason());
        }
        Ok(())
    }

    /// The program, which must have been brought, in the workspace's folder.
    pub fn command(&self) -> Command {
        let mut command = Command::new(self.binary());
        // It calls the same cargo that called this task.
        command.arg(self.verb).env("CARGO", program()).current_dir(root());
        command
    }
}
