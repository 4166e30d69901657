//! A hostile server on loopback, and both clients: the Rust client of tools/live, and the npm
//! package's `fetch` in Node.

use std::process::Command;

use super::wasm;
use crate::npm::{self, step};
use crate::programs;
use crate::tally::Tally;

pub fn run(tally: &mut Tally) {
    let mut clients = Vec::new();
    tally.verdict("build", || {
        step("cargo build", programs::build())?;
        let mut rust = Command::new(programs::path(programs::HOSTILE));
        rust.arg("run").arg("--live").arg(programs::path(programs::LIVE));
        clients.push(("the Rust client".to_owned(), rust));
        Ok(())
    });
    tally.verdict("pack and install", || {
        let folder = npm::folder().join("test");
        npm::package()?;
        wasm::install(&folder)?;
        let mut node = Command::new("node");
        node.args(["--expose-gc", "--test", "--test-reporter=spec", "hostile.test.mjs"]);
        programs::tell(node.current_dir(folder));
        clients.push(("fetch in Node".to_owned(), node));
        Ok(())
    });
    tally.checks(2, clients);
}
