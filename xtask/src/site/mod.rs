//! `cargo xtask site`: the documentation as a folder that any host serves, `target/site`.
//!
//! mdBook renders the repository's Markdown pages, rustdoc the crates, and TypeDoc the npm package. The demo page is
//! beside them.

mod pages;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::npm;
use crate::progress::step;
use crate::setup;
use crate::test::package::PUBLISHED;
use crate::workspace::{cargo, copy, empty, root};
use crate::{links, page, release};

/// Builds the site and prints its place.
pub fn run() -> Result<ExitCode> {
    build()?;
    println!("  done  {}", folder().join("index.html").display());
    Ok(ExitCode::SUCCESS)
}

fn folder() -> PathBuf {
    root().join("target/site")
}

/// Builds the site and checks its links. An interrupted build leaves the previous site as it was.
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
    complete(&rust)?;
    copy(&rust, &site.join("rust"))?;

    npm::install("tidegate")?;
    npm::install(npm::TOOLS)?;
    // Beside the version of TypeScript that it supports.
    let mut typedoc = Command::new("node_modules/.bin/typedoc");
    typedoc.arg("--out").arg(site.join("npm")).current_dir(npm::tools());
    step("typedoc", typedoc)?;

    page::build()?;
    copy(&page::dist(), &site.join("demo"))?;

    links::in_site(&site)?;
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

/// Adds the overview that rustdoc's own pages link to. The documentation of `tracing`, which rustdoc copies for blanket
/// implementations, gets a link that works outside that crate.
fn complete(rust: &Path) -> Result<()> {
    const RELATIVE: &str = "href=\"dispatcher#";
    const ABSOLUTE: &str = "href=\"https://docs.rs/tracing/latest/tracing/dispatcher/index.html#";
    const OVERVIEW: &str = "<!doctype html>\n<html lang=\"en\"><head><title>tidegate</title>\
        <meta http-equiv=\"refresh\" content=\"0; url=../reference.html\"></head>\
        <body><a href=\"../reference.html\">API reference</a></body></html>\n";
    fs::write(rust.join("index.html"), OVERVIEW)?;
    for folder in [rust.join("tidegate_tower"), rust.join("tidegate_tower/local")] {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_file() {
                let text = fs::read_to_string(&path)?;
                fs::write(&path, text.replace(RELATIVE, ABSOLUTE))?;
            }
        }
    }
    Ok(())
}
