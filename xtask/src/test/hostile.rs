//! A hostile server on loopback, and both clients: the Rust client of tools/live, and the npm
//! package's `fetch` in Node.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::{cargo_test, wasm};
use crate::npm::{self, step};
use crate::road::Roads;
use crate::tally::Tally;
use crate::workspace::{cargo, root};

pub fn run(roads: &mut Roads, tally: &mut Tally) {
    tally.tests("the server's own", cargo_test("tidegate-hostile", &[]));
    let mut programs = None;
    tally.verdict("build", || {
        programs = Some(Programs::build()?);
        Ok(())
    });
    let Some(programs) = programs else { return };
    let mut rust = Command::new(&programs.hostile);
    rust.arg("run").arg("--live").arg(&programs.live);
    let mut clients = vec![("the Rust client".to_owned(), rust)];
    tally.verdict("pack and install", || {
        clients.push(("fetch in Node".to_owned(), programs.in_node(roads)?));
        Ok(())
    });
    tally.checks(2, clients);
}

/// The programs of tools/live and tests/hostile.
struct Programs {
    live: PathBuf,
    hostile: PathBuf,
}

impl Programs {
    fn build() -> Result<Self> {
        let built = |package: &str| -> Result<PathBuf> {
            // Separate builds, or their dependencies would have other features than elsewhere.
            let mut command = cargo("build");
            command.args(["--package", package]);
            // A fixed folder, regardless of cargo's configuration.
            command.arg("--target-dir").arg(root().join("target"));
            step("cargo build", command)?;
            Ok(root().join("target/debug").join(package))
        };
        Ok(Self { live: built("tidegate-live")?, hostile: built("tidegate-hostile")? })
    }

    /// The test of `fetch`, with the package built and installed.
    fn in_node(&self, roads: &mut Roads) -> Result<Command> {
        let folder = npm::folder().join("test");
        npm::package(roads)?;
        wasm::install(&folder)?;
        let mut node = Command::new("node");
        node.args(["--expose-gc", "--test", "--test-reporter=spec", "hostile.test.mjs"]);
        node.env("TIDEGATE_HOSTILE", &self.hostile).current_dir(folder);
        Ok(node)
    }
}
