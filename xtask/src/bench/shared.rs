//! Measures fleets that share one budget, in real time: edge workers in their own runtime, Node
//! processes with Redis, and processes of one machine.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use clap::ValueEnum;

use super::publish;
use crate::progress::step;
use crate::test::wasm;
use crate::workspace::root;
use crate::{npm, programs, setup};

/// The kinds of fleets.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Fleet {
    /// Edge workers, by a Durable Object
    Workerd,
    /// Node processes, by a Redis server
    Redis,
    /// Processes of Node and in Rust by a socket, and tabs of a browser
    Local,
}

impl Fleet {
    /// Its name, and how long its table takes.
    const fn table(self) -> (&'static str, &'static str) {
        match self {
            Self::Workerd => ("workerd", "a quarter of an hour"),
            Self::Redis => ("redis", "twelve minutes"),
            Self::Local => ("local", "twenty minutes"),
        }
    }
}

pub fn run(fleet: Option<Fleet>) -> Result<()> {
    npm::package()?;
    let folder = npm::folder().join("test");
    wasm::install()?;
    programs::build()?;
    for fleet in Fleet::value_variants().iter().filter(|it| fleet.is_none_or(|one| one == **it)) {
        let (kind, time) = fleet.table();
        let name = format!("shared-{kind}.md");
        if matches!(fleet, Fleet::Redis) {
            setup::need(&["redis"])?;
        }
        if matches!(fleet, Fleet::Local) {
            setup::need(&["chromium"])?;
        }
        let file = root().join("target/npm").join(&name);
        let mut table = Command::new("node");
        table.arg("fleet-table.mjs").arg(kind).arg(&file).current_dir(&folder);
        programs::tell(&mut table);
        step(&format!("{kind}, {time}"), table)?;
        publish(&name, &fs::read_to_string(&file).with_context(|| file.display().to_string())?)?;
    }
    Ok(())
}
