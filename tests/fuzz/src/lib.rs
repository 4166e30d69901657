//! Fuzz targets: properties of tidegate that hold for any input.
//!
//! A *target* interprets arbitrary bytes (as response headers, or as a policy and events) and
//! panics if tidegate violates a promise. `cargo xtask test fuzz` replays every input that a search has
//! kept.
//!
//! cargo-fuzz searches for more, guided by code coverage. Without a sanitizer a stable compiler is enough,
//! and a C++ compiler for libFuzzer. For the target `http`, in this folder:
//!
//! ```text
//! cargo run --release --bin corpus -- unpack http
//! cargo fuzz run --fuzz-dir . -s none --features search http -- -dict=http.dict -max_len=512 -timeout=20
//! ```
//!
//! A finding is in `artifacts/http`. `cargo run --release --bin corpus -- try http FILE` shows the promise that it
//! breaks, with the events before it; `cargo fuzz tmin` shortens it. To keep what a search has found:
//!
//! ```text
//! cargo fuzz cmin --fuzz-dir . -s none --features search http
//! cargo run --release --bin corpus -- pack http
//! ```

mod body;
mod http;
pub mod pack;
mod signals;

#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of its program and its corpus.
    pub name: &'static str,
    /// Panics if a promise is violated.
    pub try_with: fn(&[u8]),
}

pub const TARGETS: [Target; 6] = [
    Target { name: "http", try_with: http::try_with },
    Target { name: "body", try_with: body::try_with },
    Target { name: "signals", try_with: signals::try_with },
    Target { name: "events", try_with: tidegate_promises::events },
    Target { name: "restore", try_with: tidegate_promises::records },
    Target { name: "shared", try_with: tidegate_promises::shared },
];

/// Tries an input with the target of this name.
///
/// # Panics
/// If a promise is violated, or if there is no such target.
pub fn try_with(name: &str, bytes: &[u8]) {
    let named = TARGETS.iter().find(|target| target.name == name);
    (named.expect("TARGETS lists every program").try_with)(bytes);
}

/// The target with this name.
///
/// # Errors
/// A sentence that lists the targets.
pub fn target(name: &str) -> Result<Target, String> {
    let names = TARGETS.map(|target| target.name).join(", ");
    let found = TARGETS.into_iter().find(|target| target.name == name);
    found.ok_or_else(|| format!("unknown target `{name}`; the targets are {names}"))
}
