//! The crates can be published: their manifests are complete, and they build from their packages.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::tally::Tally;
use crate::workspace::{cargo, metadata, root};

/// The crates on crates.io, in the order of their dependencies.
pub const PUBLISHED: [&str; 3] = ["tidegate", "tidegate-embassy", "tidegate-tower"];

/// The required fields of a manifest.
const FIELDS: [&str; 5] = ["description", "license", "readme", "documentation", "rust_version"];
pub fn run(tally: &mut Tally) {
    tally.verdict("the manifests", manifests);
    tally.verdict("no old packages", forget);
    tally.check("each crate, built from its package", package());
}

/// Where the crates are packed, and built from their packages.
pub fn folder() -> PathBuf {
    root().join("target/packages")
}

/// Removes cargo's unpacked copies. Cargo unpacks each version of a crate once, but packages of the
/// local registry change without a new version.
fn forget() -> Result<()> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo"))).context("no home folder")?;
    // The folder of crates.io has a name before the dash.
    let local = remove(&home.join("registry/src"), "-");
    local.and_then(|()| remove(&folder().join("debug/.fingerprint"), PUBLISHED[0]))
}

/// Removes the folders whose names begin so.
fn remove(folder: &Path, begin: &str) -> Result<()> {
    for entry in folder.read_dir().into_iter().flatten() {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(begin) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Everything that `cargo publish --dry-run` does except the registry's index, so it needs no
/// network. The crates find each other in a local registry of cargo.
fn package() -> Command {
    let mut command = cargo("package");
    // A test must not require a commit.
    command.args(["--locked", "--allow-dirty", "--target-dir"]).arg(folder());
    PUBLISHED.iter().for_each(|name| _ = command.args(["--package", name]));
    command
}

fn manifests() -> Result<()> {
    let told = metadata()?;
    let packages = told["packages"].as_array().context("cargo metadata names no packages")?;
    // `publish = false` is an empty list of registries.
    let mut published: Vec<_> = packages.iter().filter(|it| it["publish"].is_null()).collect();
    published.sort_by_key(|it| it["name"].as_str());
    let names: Vec<_> = published.iter().filter_map(|it| it["name"].as_str()).collect();
    ensure!(
        names == PUBLISHED,
        "{names:?} would be published: the others need `publish = false`, or a place in {PUBLISHED:?}"
    );
    for (manifest, field) in published.iter().flat_map(|it| FIELDS.map(|field| (it, field))) {
        ensure!(manifest[field].is_string(), "the manifest of {} has no {field}", manifest["name"]);
    }
    Ok(())
}
