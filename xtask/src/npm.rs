//! The npm package: from the crate to `wasm/dist`.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::page;
use crate::progress::step;
use crate::setup::{self, rustup};
use crate::workspace::{cargo, is_newer, root};

pub const TARGET: &str = "wasm32-unknown-unknown";
/// The modules that the package ships: features of the crate, each built alone.
const MODULES: [&str; 5] = ["lite", "gate", "full", "pacing", "shared"];

/// The linker's own stack is a megabyte, which every page would pay for.
const STACK: &str = "target.wasm32-unknown-unknown.rustflags=['-Clink-arg=-zstack-size=65536']";

pub const SOURCES: [&str; 14] = [
    ".cargo/config.toml",
    "Cargo.lock",
    "Cargo.toml",
    "core/Cargo.toml",
    "core/src",
    "package-lock.json",
    "wasm/Cargo.toml",
    "wasm/bind/Cargo.toml",
    "wasm/bind/src",
    "wasm/build.mjs",
    "wasm/package.json",
    "wasm/src",
    "wasm/ts",
    "xtask/src/npm.rs",
];

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Product {
    /// The npm package, into wasm/dist
    Wasm,
    /// The web page, into web-demo/dist: a folder for any host
    Page,
}

/// Builds a product. What has not changed is not built again.
pub fn run(what: Product) -> Result<ExitCode> {
    let made = match what {
        Product::Wasm => package().map(|()| folder())?,
        Product::Page => page::build().map(|()| page::folder())?,
    };
    println!("  done  {}", made.join("dist").display());
    Ok(ExitCode::SUCCESS)
}

pub fn folder() -> PathBuf {
    root().join("wasm")
}

pub fn out() -> PathBuf {
    root().join("target/npm")
}

/// Held while wasm/dist is replaced, or read as a whole.
pub static DIST: Mutex<()> = Mutex::new(());

/// Builds the package, from the crate to the files for `npm pack`, unless it is newer than its sources.
pub fn package() -> Result<()> {
    let _one = DIST.lock();
    if is_newer(&folder().join("dist/index.js"), &SOURCES) {
        return Ok(());
    }
    let out = &out();
    install("tidegate")?;
    for module in MODULES {
        let made = self::module("tidegate-wasm", module, out, &[STACK])?;
        let named = out.join(format!("{module}.wasm"));
        std::fs::copy(&made, &named).with_context(|| made.display().to_string())?;
        bind(&named, &out.join(module))?;
    }
    let mut pack = Command::new("node");
    pack.arg("build.mjs").arg(out).current_dir(folder());
    step("build.mjs", pack)?;
    Ok(())
}

pub fn bind(module: &Path, folder: &Path) -> Result<()> {
    let mut bind = cargo("run");
    bind.args(["--package", "tidegate-wasm-bind", "--target-dir"]).arg(out());
    bind.arg("--").args([module, folder]);
    step("wasm-bindgen", bind).map(drop)
}

/// Builds a crate with one feature as a module, and returns its file.
pub fn module(package: &str, feature: &str, out: &Path, config: &[&str]) -> Result<PathBuf> {
    let mut build = rustup::cargo("build", TARGET, root())?;
    build.args(["--package", package, "--profile", "wasm", "--no-default-features"]);
    build.args(["--features", feature, "--target-dir"]).arg(out);
    for config in config {
        build.args(["--config", config]);
    }
    step(&format!("cargo build, {package} {feature}"), build)?;
    let file = package.replace('-', "_");
    Ok(out.join(TARGET).join("wasm").join(file).with_extension("wasm"))
}

/// Where packages are installed. All npm packages of the repository are one workspace.
pub fn installed() -> PathBuf {
    root().join("node_modules")
}

/// Installs what one package of the workspace needs, in the versions of the lock file, unless it is installed.
pub fn install(package: &str) -> Result<()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock();
    setup::need(&["node", "npm"])?;
    // npm removes it together with the packages.
    let done = installed().join(format!(".installed-{package}"));
    if is_newer(&done, &["package.json", "package-lock.json"]) {
        return Ok(());
    }
    // Not `npm ci`: it removes what the other packages need.
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-save", "--no-audit", "--no-fund", "--workspace", package]);
    npm.current_dir(root());
    step(&format!("npm install, {package}"), npm)?;
    std::fs::write(&done, "").with_context(|| done.display().to_string())
}
