//! The page: the simulator's modules, and the site that contains them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::newer::{changed, is_newer};
use crate::npm::{self, COMPACT, TARGET, step};
use crate::setup::rustup;
use crate::workspace::root;

/// The modules of the page: features of the crate, each built separately, and their optimisation.
/// Visitors wait for the story's module.
const MODULES: [(&str, &str); 2] =
    [("story", "profile.wasm.opt-level='s'"), ("lab", "profile.wasm.opt-level=2")];

/// Keeps every constant in its own segment, so that `modules.mjs` can distinguish them.
const APART: &str =
    "target.wasm32-unknown-unknown.rustflags=['-Clink-arg=--no-merge-data-segments']";

/// Where the page's sources are.
pub fn folder() -> PathBuf {
    root().join("web-demo")
}

/// Where the modules are put.
fn out() -> PathBuf {
    root().join("target/page")
}

/// The folder to host.
pub fn dist() -> PathBuf {
    folder().join("dist")
}

/// The sources of the page, without those of the npm package.
const SITE: [&str; 12] = [
    "tools/sim/Cargo.toml",
    "tools/sim/scenarios",
    "tools/sim/src",
    "tools/sim/wasm",
    "web-demo/index.html",
    "web-demo/modules.mjs",
    "web-demo/package-lock.json",
    "web-demo/package.json",
    "web-demo/public",
    "web-demo/src",
    "web-demo/tsconfig.json",
    "web-demo/vite.config.ts",
];

/// Whether the page is newer than all its sources.
pub fn is_fresh() -> bool {
    let index = dist().join("index.html");
    is_newer(&index, &npm::SOURCES) && is_newer(&index, &SITE)
}

/// Builds the page, from the crates to the hosted files. What has not changed is not built again.
pub fn build() -> Result<()> {
    npm::install(&folder())?;
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
    let mut raw = Vec::new();
    for (module, level) in MODULES {
        let mut build = rustup::cargo("build", TARGET, root())?;
        build.args([
            "--package",
            "tidegate-sim-wasm",
            "--profile",
            "wasm",
            "--no-default-features",
        ]);
        build.args(["--features", module, "--target-dir"]).arg(&out);
        build.args(["--config", COMPACT, "--config", APART, "--config", level]);
        step(&format!("cargo build, {module}"), build)?;
        let made = out.join(TARGET).join("wasm/tidegate_sim_wasm.wasm");
        raw.push((module, fs::read(&made).with_context(|| made.display().to_string())?));
    }
    // Shrinking them takes far longer than comparing them.
    let script = folder().join("modules.mjs");
    let done = |(module, bytes): &(&str, Vec<u8>)| {
        let (small, kept) = (changed(&out.join(format!("{module}.wasm"))), kept(module));
        small > changed(&script).max(changed(&kept))
            && fs::read(kept).is_ok_and(|kept| kept == *bytes)
    };
    if raw.iter().all(done) {
        return Ok(());
    }
    for (module, bytes) in &raw {
        fs::write(kept(module), bytes).context("the module")?;
    }
    let mut shrink = Command::new("node");
    shrink.arg(script).arg(&out).current_dir(folder());
    step("modules.mjs", shrink)
}

/// Where a module is kept as cargo built it.
fn kept(module: &str) -> PathBuf {
    out().join(format!("{module}.raw"))
}
