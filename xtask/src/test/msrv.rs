//! Builds the published crates with their minimum Rust version.
//!
//! Clippy's `incompatible_msrv` finds uses of a later std with any compiler; only the old compiler
//! finds the rest.

use std::fs;

use anyhow::{Context, Result};

use crate::setup::rustup;
use crate::tally::Tally;
use crate::workspace::root;

/// The features of the embassy throttle without `reqwless`, which needs a newer Rust.
const EMBASSY: &str = "coap-message,defmt,keyed,rust-mqtt,sleep,stats";

pub fn run(tally: &mut Tally) {
    let version = match oldest() {
        Ok(version) => version,
        Err(error) => return tally.verdict("the oldest Rust", || Err(error)),
    };
    if let Err(error) = rustup::version(&version) {
        return tally.skip(&format!("build with Rust {version}"), &format!("{error:#}"));
    }
    let check = |more: &[&str]| {
        let mut command = rustup::version_of_cargo(&version, "check");
        command.args(["--locked"]).args(more);
        command
    };
    tally.check(
        &format!("Rust {version}, core and tower"),
        check(&["--package", "tidegate", "--package", "tidegate-tower", "--all-features"]),
    );
    tally.check(
        &format!("Rust {version}, embassy's throttle"),
        check(&["--package", "tidegate-embassy", "--features", EMBASSY]),
    );
}

/// The first release of the version in the workspace's `Cargo.toml`.
fn oldest() -> Result<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).context("Cargo.toml")?;
    named(&manifest).context("Cargo.toml has no line `rust-version = \"…\"`")
}

fn named(manifest: &str) -> Option<String> {
    let value = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \""))?;
    let version = value.strip_suffix('"')?;
    let parts = version.split('.').count();
    Some(if parts == 2 { format!("{version}.0") } else { version.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_release_of_the_named_version_is_tested() {
        assert_eq!(named("a\nrust-version = \"1.89\"\n").as_deref(), Some("1.89.0"));
        assert_eq!(named("rust-version = \"1.89.1\"").as_deref(), Some("1.89.1"));
        assert_eq!(named("version = \"1.89\""), None);
        assert!(oldest().unwrap().starts_with("1."));
    }
}
