//! A hostile server on loopback, and the npm package's `fetch` in Node. The tests of the server's crate are those of
//! tower's layers.

use std::process::Command;

use super::wasm;
use crate::npm;
use crate::programs;
use crate::tally::Tally;

pub fn run(tally: &mut Tally) {
    let mut client = None;
    tally.verdict("build, pack and install", || {
        programs::build()?;
        let folder = npm::folder().join("test");
        npm::package()?;
        wasm::install()?;
        let mut node = Command::new("node");
        node.args(["--expose-gc", "--test", "--test-reporter=spec", "hostile.test.mjs"]);
        programs::tell(node.current_dir(folder));
        client = Some(node);
        Ok(())
    });
    if let Some(client) = client {
        tally.check("fetch in Node", client);
    }
}
