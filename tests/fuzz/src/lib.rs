//! What holds for tidegate whatever comes in.
//!
//! A *target* makes something of any bytes (the headers of a response, a policy and what happens
//! under it) and panics where tidegate does not keep what it promises. `cargo xtask fuzz` searches
//! for bytes that break one, led by what they reach in the code; `cargo xtask test fuzz` tries
//! again all that a search has kept.

mod body;
mod http;
pub mod pack;
mod shared;
mod signals;

/// One thing to try with any bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// What it is called on the command line, and what its corpus is called.
    pub name: &'static str,
    /// Panics where a promise is broken.
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

/// The target of this name.
///
/// # Errors
/// A sentence that names those that there are.
pub fn target(name: &str) -> Result<Target, String> {
    let names = TARGETS.map(|target| target.name).join(", ");
    let found = TARGETS.into_iter().find(|target| target.name == name);
    found.ok_or_else(|| format!("there is no target `{name}`; there are {names}"))
}
