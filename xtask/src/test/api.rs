//! The crates' public API, compared line by line with the committed list. A removed or changed line
//! breaks programs, so the diff must be explained.
//!
//! It is read from rustdoc's JSON, whose format changes between versions, so the compiler's version
//! is fixed.

use std::env;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::cargo_tool::PUBLIC_API;
use crate::progress;
use crate::road::Roads;
use crate::tally::Tally;
use crate::toolchain;
use crate::workspace::root;

use super::package::PUBLISHED;

/// The compiler whose rustdoc [`PUBLIC_API`] reads.
const RUST: &str = "1.91.0";

/// If set, writes the lists.
const BLESS: &str = "BLESS";

pub fn run(_: &mut Roads, tally: &mut Tally) {
    if let Err(error) = toolchain::bring(RUST) {
        return tally.skip("the public API", &format!("{error:#}"));
    }
    if let Err(error) = PUBLIC_API.bring() {
        return tally.verdict("cargo-public-api", || Err(error));
    }
    for name in PUBLISHED {
        tally.verdict(name, || compare(name));
    }
}

fn compare(name: &str) -> Result<()> {
    let (now, file) = (listing(name)?, root().join(format!("tests/golden/api/{name}.txt")));
    if env::var_os(BLESS).is_some() {
        fs::create_dir_all(file.with_file_name(""))?;
        return fs::write(&file, now).with_context(|| file.display().to_string());
    }
    let committed = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let changes = changes(&committed, &now);
    if changes.is_empty() {
        return Ok(());
    }
    bail!(
        "tests/golden/api/{name}.txt differs from the crate's public API:\n{}\nIf that is meant, \
         `{BLESS}=1 cargo xtask test api` updates it; before 1.0, a removed line requires a higher \
         minor version.",
        changes.join("\n")
    )
}

/// One line for each item, and whole names in it.
fn listing(name: &str) -> Result<String> {
    let mut rustdoc = toolchain::cargo(RUST, "rustdoc");
    rustdoc.args(["--locked", "--package", name, "--lib", "--all-features", "--"]);
    // Makes a stable compiler write JSON.
    rustdoc.args(["-Zunstable-options", "--output-format", "json"]).env("RUSTC_BOOTSTRAP", "1");
    let made = output(&format!("rustdoc, {name}"), rustdoc).map(|_| json(name))?;
    let mut list = PUBLIC_API.command();
    list.arg("--rustdoc-json").arg(made);
    // Leaves out derived items, which change with the compiler.
    list.args(["--omit", "blanket-impls,auto-trait-impls,auto-derived-impls"]);
    output(&format!("cargo public-api, {name}"), list)
}

fn json(name: &str) -> PathBuf {
    toolchain::output(RUST).join(format!("doc/{}.json", name.replace('-', "_")))
}

fn output(label: &str, command: std::process::Command) -> Result<String> {
    let ended = progress::run(label, command, None).with_context(|| label.to_owned())?;
    if !ended.success() {
        bail!("{label} failed:\n{}", ended.output);
    }
    Ok(ended.output)
}

/// The lines that only one of them has.
fn changes(before: &str, after: &str) -> Vec<String> {
    let only = |mark: &str, these: &str, those: &str| {
        let those: Vec<&str> = those.lines().collect();
        let only = these.lines().filter(|line| !those.contains(line));
        only.map(|line| format!("{mark} {line}")).collect::<Vec<_>>()
    };
    [only("-", before, after), only("+", after, before)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_and_added_lines_are_reported() {
        assert_eq!(changes("a\nb\nc\n", "a\nc\nd\n"), ["- b", "+ d"]);
        assert!(changes("a\nb\n", "a\nb\n").is_empty());
    }
}
