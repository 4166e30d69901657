//! Measures the page in a real browser: size, loading, frame times.

use std::fs;

use anyhow::{Context, Result};

use super::publish;
use crate::progress::step;
use crate::test::web;
use crate::workspace::root;
use crate::{page, setup};

pub fn run(json: bool) -> Result<()> {
    page::build()?;
    setup::need(&["chromium"])?;
    let file = root().join("target/page/bench");
    let mut bench = web::program();
    bench.arg("bench.mjs").arg(&file).args(json.then_some("--json"));
    step("bench.mjs", bench)?;
    let figures = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    match json {
        true => print!("{figures}"),
        false => publish("page.md", &figures)?,
    }
    Ok(())
}
