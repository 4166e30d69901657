//! The page: the simulator's modules, and the site made with them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result};

use crate::npm::{self, COMPACT, TARGET, step};
use crate::road::Roads;
use crate::workspace::root;

/// The modules of the page: features of the crate, each built alone.
const MODULES: [&str; 2] = ["story", "lab"];

/// Where the page's sources are.
pub fn folder() -> PathBuf {
    root().join("web-demo")
}

/// Where the modules are put.
fn out() -> PathBuf {
    root().join("target/page")
}

/// What a host serves.
pub fn dist() -> PathBuf {
    folder().join("dist")
}

/// What the page is made of, from the controllers to its text.
const SOURCES: [&str; 14] = [
    "Cargo.lock",
    "core/src",
    "tests/sim/src",
    "tests/sim/wasm",
    "wasm/bind/src",
    "wasm/build.mjs",
    "wasm/package-lock.json",
    "wasm/src",
    "wasm/ts",
    "web-demo/index.html",
    "web-demo/modules.mjs",
    "web-demo/package-lock.json",
    "web-demo/public",
    "web-demo/src",
];

/// Whether the page has been built since the last change of what it is made of.
pub fn is_fresh() -> bool {
    let Some(built) = changed(&dist().join("index.html")) else { return false };
    SOURCES.iter().all(|source| newest(&root().join(source)) < Some(built))
}

fn changed(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|data| data.modified()).ok()
}

/// When a file, or the last of those in a folder, was changed.
fn newest(path: &Path) -> Option<SystemTime> {
    let inside = fs::read_dir(path).into_iter().flatten().flatten();
    inside.map(|entry| newest(&entry.path())).fold(changed(path), Option::max)
}

/// Builds the page, from the crates to the files that a host serves.
pub fn build(roads: &mut Roads) -> Result<()> {
    npm::build(roads, &npm::out())?;
    npm::install(&folder())?;
    modules(roads)?;
    let mut site = Command::new("npm");
    site.args(["run", "build"]).current_dir(folder());
    step("vite build", site)
}

/// Builds the simulator's modules, small, and as plain JavaScript beside it. The tools that
/// make them so must be in the page's folder already.
pub fn modules(roads: &mut Roads) -> Result<()> {
    let (road, out) = (roads.to(TARGET)?, out());
    for module in MODULES {
        let mut build = road.cargo("build", TARGET, root());
        build.args([
            "--package",
            "tidegate-sim-wasm",
            "--profile",
            "wasm",
            "--no-default-features",
        ]);
        build.args(["--features", module, "--target-dir"]).arg(&out);
        build.args(["--config", COMPACT]);
        step(&format!("cargo build, {module}"), build)?;
        let made = out.join(TARGET).join("wasm/tidegate_sim_wasm.wasm");
        let named = out.join(format!("{module}.wasm"));
        fs::copy(&made, named).with_context(|| made.display().to_string())?;
    }
    let mut shrink = Command::new("node");
    shrink.arg("modules.mjs").arg(out).current_dir(folder());
    step("modules.mjs", shrink)
}
