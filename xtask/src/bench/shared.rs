//! How well a fleet of edge workers shares one budget, in their own runtime and in real time.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use super::publish;
use crate::npm;
use crate::road::Roads;
use crate::test::wasm;
use crate::workspace::root;

pub fn run(roads: &mut Roads) -> Result<()> {
    npm::build(roads, &npm::out())?;
    let folder = npm::folder().join("test");
    wasm::install(&folder)?;
    npm::step("the server", wasm::server())?;
    let file = root().join("target/npm/shared.md");
    let mut table = Command::new("node");
    table.arg("fleet-table.mjs").arg(&file).current_dir(folder);
    table.env("TIDEGATE_LIVE", wasm::served());
    npm::step("fleet-table.mjs, a quarter of an hour", table)?;
    publish(
        "shared-workerd.md",
        &fs::read_to_string(&file).with_context(|| file.display().to_string())?,
    )
}
