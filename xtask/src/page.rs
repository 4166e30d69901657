//! The page: the simulator's modules, and the site that contains them.

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result};

use crate::npm::{self, TARGET};
use crate::progress::step;
use crate::workspace::{is_newer, root};

/// The modules of the page, their crates, and their optimisation by the compiler and by wasm-opt.
/// Visitors wait for the story's module. The laboratory's is ten times as large, and more passes
/// would make it only two percent smaller.
const MODULES: [(&str, &str, &str, &str); 2] = [
    ("story", "tidegate-sim-story", "profile.wasm.opt-level='s'", SMALL),
    ("lab", "tidegate-sim-wasm", "profile.wasm.opt-level=2", "-O1"),
];
const SMALL: &str = "--flatten --rereloop -Oz --converge --gufa-optimizing -Oz --converge";

/// How wasm-opt shrinks them. Every engine of recent years supports these features. The stack grows
/// down to address 0 and never uses its first kilobyte.
const SHRINK: [&str; 13] = [
    "--enable-bulk-memory",
    "--enable-nontrapping-float-to-int",
    "--enable-sign-ext",
    "--enable-mutable-globals",
    "--enable-multivalue",
    "--enable-reference-types",
    "--one-caller-inline-max-function-size=100",
    "--always-inline-max-function-size=5",
    "--zero-filled-memory",
    "--low-memory-unused",
    "--strip-debug",
    "--strip-producers",
    "--strip-target-features",
];

pub fn folder() -> PathBuf {
    root().join("web-demo")
}

fn out() -> PathBuf {
    root().join("target/page")
}

pub fn dist() -> PathBuf {
    folder().join("dist")
}

/// The sources of the page, without those of the npm package.
const SITE: [&str; 15] = [
    "tests/limits/src",
    "tools/sim/Cargo.toml",
    "tools/sim/scenarios",
    "tools/sim/src",
    "tools/sim/story",
    "tools/sim/wasm",
    "web-demo/index.html",
    "web-demo/lab.html",
    "web-demo/live.html",
    "web-demo/package.json",
    "web-demo/public",
    "web-demo/src",
    "web-demo/tsconfig.json",
    "web-demo/vite.config.ts",
    "xtask/src/page.rs",
];

/// Whether the page is newer than all its sources, and its modules are there.
pub fn is_fresh() -> bool {
    let index = dist().join("index.html");
    let modules = MODULES.iter().all(|(name, ..)| module(name).is_file());
    modules && is_newer(&index, &npm::SOURCES) && is_newer(&index, &SITE)
}

/// Builds the page, from the crates to the hosted files, unless it is newer than its sources.
pub fn build() -> Result<()> {
    if is_fresh() {
        return Ok(());
    }
    npm::install("tidegate-page")?;
    npm::package()?;
    modules()?;
    // Moved into place last, so that an interrupted build keeps the previous page.
    let unfinished = out().join("site");
    let mut site = Command::new("npm");
    site.args(["run", "build", "--", "--emptyOutDir", "--outDir"]).arg(&unfinished);
    site.current_dir(folder());
    {
        let _dist = npm::DIST.lock();
        step("vite build", site)?;
    }
    _ = fs::remove_dir_all(dist());
    fs::rename(&unfinished, dist()).with_context(|| dist().display().to_string())
}

/// Builds the simulator's modules as small WebAssembly. The page's npm tools must be installed.
fn modules() -> Result<()> {
    let out = out();
    let home = env::home_dir().context("there is no home directory")?;
    // The modules contain the names of source files.
    let private = format!("target.{TARGET}.rustflags=['--remap-path-prefix={}=~']", home.display());
    for (name, package, level, passes) in MODULES {
        let made = npm::module(package, "", &out, &[&private, level])?;
        let mut shrink = Command::new(npm::installed().join(".bin/wasm-opt"));
        shrink.arg(made).arg("-o").arg(module(name)).args(passes.split(' ')).args(SHRINK);
        step(&format!("wasm-opt, {name}"), shrink)?;
    }
    Ok(())
}

pub fn module(name: &str) -> PathBuf {
    out().join(format!("{name}.wasm"))
}
