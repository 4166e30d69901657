//! Fuzz targets: properties of tidegate that hold for any input.
//!
//! A *target* interprets arbitrary bytes (as response headers, or as a policy and events) and
//! panics if tidegate violates a promise. `cargo xtask fuzz` searches for such bytes, guided by
//! code coverage. `cargo xtask test fuzz` replays every input that a search has kept.

mod body;
mod http;
pub mod pack;
mod shared;
mod signals;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name on the command line, and the name of its corpus.
    pub name: &'static str,
    /// Panics if a promise is violated.
    pub try_with: fn(&[u8]),
}

/// All targets.
pub const TARGETS: [Target; 6] = [
    Target { name: "http", try_with: http::try_with },
    Target { name: "body", try_with: body::try_with },
    Target { name: "signals", try_with: signals::try_with },
    Target { name: "events", try_with: tidegate_promises::events },
    Target { name: "restore", try_with: tidegate_promises::records },
    Target { name: "shared", try_with: shared::try_with },
];

/// The target with this name.
///
/// # Errors
/// A sentence that lists the targets.
pub fn target(name: &str) -> Result<Target, String> {
    let names = TARGETS.map(|target| target.name).join(", ");
    let found = TARGETS.into_iter().find(|target| target.name == name);
    found.ok_or_else(|| format!("unknown target `{name}`; the targets are {names}"))
}
