//! `cargo xtask release`: builds and checks everything that is published, in one folder, and prints
//! the commands that publish it. It publishes nothing itself; the workflow `release` does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::npm;
use crate::progress::step;
use crate::site;
use crate::tally::Tally;
use crate::test::package::PUBLISHED;
use crate::test::{self, package, wasm, written};
use crate::workspace::{self, empty, metadata, root};

#[derive(clap::Args)]
pub struct Release {
    /// Check everything, and only warn about a missing changelog date, repository or clean tree
    #[arg(long)]
    dry_run: bool,
}

/// Builds, checks, and prints the commands if nothing failed.
pub fn run(release: &Release) -> Result<ExitCode> {
    let version = version()?;
    let folder = root().join("target/release-artifacts");
    let mut tally = Tally::default();
    for (label, check) in PREPARED {
        match check(&version) {
            Err(error) if release.dry_run => tally.skip(label, &format!("{error:#}")),
            result => _ = tally.verdict(label, || result),
        }
    }
    tally.verdict("one version everywhere", || same(&version));
    ["package", "supply", "docs"].iter().for_each(|part| test::complete(part, &mut tally));
    wasm::package(&mut tally);
    tally.verdict("the site", site::build);
    if tally.failed == 0 {
        tally.verdict("the artifacts", || collect(&folder, &version));
        tally.check("npm publish, dry run", npm_publish(&folder, &version));
    }
    println!("{tally}");
    if tally.failed == 0 {
        println!("\nThe artifacts are in {}.", folder.display());
        println!("Push the tag, and approve the workflow `release`, which publishes them:\n");
        println!("  git tag v{version} && git push origin v{version}\n");
        println!("Publish a package's first version by hand:\n");
        println!("  cargo publish --locked --package {}", PUBLISHED.join(" --package "));
        println!("  npm publish --access public {}", tarball(&folder, &version).display());
    }
    Ok(tally.exit_code())
}

type Check = fn(&str) -> Result<()>;

/// Required for a release, but not for a dry run.
const PREPARED: [(&str, Check); 4] = [
    ("the changelog", changelog),
    ("the repository", named),
    ("the install lines", installable),
    ("the tree", clean),
];

pub fn version() -> Result<String> {
    Ok(workspace::core()?["version"].as_str().context("core has no version")?.to_owned())
}

fn manifest() -> Result<Value> {
    let text =
        fs::read_to_string(npm::folder().join("package.json")).context("wasm/package.json")?;
    serde_json::from_str(&text).context("wasm/package.json")
}

/// The npm package has the version of the crates, which they inherit.
fn same(version: &str) -> Result<()> {
    let is = &manifest()?["version"];
    ensure!(is == version, "the npm package is {is}, and the crates are {version}");
    Ok(())
}

fn changelog(version: &str) -> Result<()> {
    let text = fs::read_to_string(root().join("CHANGELOG.md")).context("CHANGELOG.md")?;
    let begin = format!("## [{version}] - 20");
    ensure!(
        text.lines().any(|line| line.starts_with(&begin)),
        "CHANGELOG.md has no section that begins with `{begin}`: rename `[Unreleased]` and add the date"
    );
    Ok(())
}

/// The address of the public repository, from `[workspace.package]`.
pub fn repository() -> Result<Option<String>> {
    let core = workspace::core()?;
    let address = core["repository"].as_str().unwrap_or_default();
    Ok((!address.is_empty()).then(|| address.trim_end_matches('/').to_owned()))
}

/// The address of the site, from `[workspace.metadata.tidegate]`. Empty if it is not known yet.
pub fn site() -> Result<String> {
    let site = &metadata()?["metadata"]["tidegate"]["site"];
    Ok(site.as_str().unwrap_or_default().to_owned())
}

/// Whether the packages are published, from `[workspace.metadata.tidegate]`.
pub fn published() -> Result<bool> {
    let told = &metadata()?["metadata"]["tidegate"]["published"];
    told.as_bool().context("Cargo.toml has no [workspace.metadata.tidegate] with `published`")
}

/// The pages in the packages say how to install them.
fn installable(_: &str) -> Result<()> {
    let below = "below [workspace.metadata.tidegate] in Cargo.toml";
    ensure!(published()?, "set `published` {below}");
    ensure!(!site()?.is_empty(), "set `site` {below}");
    written::check()
}

/// The crates and the npm package name the repository.
fn named(_: &str) -> Result<()> {
    let address = repository()?
        .context("no repository: set `repository` in [workspace.package] in Cargo.toml")?;
    let url = format!("git+{address}.git");
    let is = &manifest()?["repository"]["url"];
    ensure!(*is == *url, "wasm/package.json: `repository.url` is {is}, and should be {url}");
    Ok(())
}

fn clean(_: &str) -> Result<()> {
    let mut git = Command::new("git");
    git.args(["status", "--porcelain"]).current_dir(root());
    let changed = step("git status", git)?;
    ensure!(changed.is_empty(), "there are uncommitted changes:\n{changed}");
    Ok(())
}

fn tarball(folder: &Path, version: &str) -> PathBuf {
    folder.join(format!("tidegate-{version}.tgz"))
}

fn collect(folder: &Path, version: &str) -> Result<()> {
    empty(folder.to_owned())?;
    let copy = |from: PathBuf, to: PathBuf| {
        fs::copy(&from, to).map(drop).with_context(|| from.display().to_string())
    };
    for name in PUBLISHED {
        let name = format!("{name}-{version}.crate");
        copy(package::folder().join("package").join(&name), folder.join(name))?;
    }
    copy(wasm::packed(), tarball(folder, version))
}

fn npm_publish(folder: &Path, version: &str) -> Command {
    let mut command = Command::new("npm");
    command.args(["publish", "--dry-run", "--access", "public"]);
    command.arg(tarball(folder, version)).current_dir(folder);
    command
}
