//! The committed tables.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::report::Report;

/// The path of this golden file.
#[must_use]
pub fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../golden").join(format!("{name}.txt"))
}

/// Writes a report's golden file, and returns whether it has changed.
///
/// # Errors
/// The file cannot be written.
pub fn write(report: &Report) -> Result<bool> {
    let (path, text) = (path(report.name), report.golden());
    let changed = fs::read_to_string(&path).ok().as_deref() != Some(text.as_str());
    if changed {
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(changed)
}

/// Reads a golden file.
///
/// # Errors
/// The file cannot be read.
pub fn read(name: &str) -> Result<String> {
    let path = path(name);
    fs::read_to_string(&path).with_context(|| {
        format!(
            "cannot read {}; `cargo run --release -p tidegate-seeds -- --write` creates it",
            path.display()
        )
    })
}
