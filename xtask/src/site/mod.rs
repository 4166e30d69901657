//! `cargo xtask site`: the documentation as a folder that any host serves, `target/site`.
//!
//! mdBook renders the repository's Markdown pages, rustdoc the crates, and TypeDoc the npm package. The demo page is
//! beside them.

mod pages;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::npm;
use crate::progress::step;
use crate::setup;
use crate::test::package::PUBLISHED;
use crate::workspace::{cargo, copy, empty, root};
use crate::{page, release};

/// Builds the site and prints its place.
pub fn run() -> Result<ExitCode> {
    build()?;
    println!("  done  {}", folder().join("index.html").display());
    Ok(ExitCode::SUCCESS)
}

fn folder() -> PathBuf {
    root().join("target/site")
}

/// Builds the site and checks that its parts are where its pages link to them. An interrupted build leaves the previous site as it was.
pub fn build() -> Result<()> {
    let work = empty(root().join("target/site-build"))?;
    let (staged, site) = (work.join("pages"), work.join("site"));
    let repository = release::repository()?;
    pages::stage(&staged, repository.as_deref())?;
    let mut book = setup::tool("mdbook")?;
    book.arg("build").arg(&staged).arg("--dest-dir").arg(&site);
    if let Some(repository) = repository {
        book.env("MDBOOK_OUTPUT__HTML__GIT_REPOSITORY_URL", repository);
    }
    step("mdbook build", book)?;

    // Other commands document private items in the same folder.
    let rust = empty(root().join("target/doc"))?;
    step("cargo doc", documented())?;
    copy(&rust, &site.join("rust"))?;

    npm::install("tidegate")?;
    npm::install("tidegate-xtask")?;
    // Beside the version of TypeScript that it supports.
    let mut typedoc = Command::new("node_modules/.bin/typedoc");
    typedoc.arg("--out").arg(site.join("npm")).current_dir(root().join("xtask/npm"));
    step("typedoc", typedoc)?;

    page::build()?;
    copy(&page::dist(), &site.join("demo"))?;

    pages::check(&site)?;
    _ = fs::remove_dir_all(folder());
    fs::rename(&site, folder()).with_context(|| folder().display().to_string())
}

/// `cargo doc` of the published crates, with warnings as errors.
pub fn documented() -> Command {
    let mut command = cargo("doc");
    command.args(["--no-deps", "--all-features"]).env("RUSTDOCFLAGS", "-D warnings");
    PUBLISHED.iter().for_each(|name| _ = command.args(["--package", name]));
    command
}
