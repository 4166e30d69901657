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
pub mod http;
pub mod pack;

/// Panics if a promise is violated.
pub type Target = fn(&[u8]);

/// By the names of their programs and corpora.
const TARGETS: [(&str, Target); 5] = [
    ("http", http::try_with),
    ("body", body::try_with),
    ("events", tidegate_promises::events),
    ("restore", tidegate_promises::records),
    ("shared", tidegate_promises::shared),
];

/// Tries an input with the target of this name.
///
/// # Panics
/// If a promise is violated, or if there is no such target.
pub fn try_with(name: &str, bytes: &[u8]) {
    target(name).expect("TARGETS lists every program")(bytes);
}

/// The target with this name.
///
/// # Errors
/// A sentence that lists the targets.
pub fn target(name: &str) -> Result<Target, String> {
    let found = TARGETS.into_iter().find(|target| target.0 == name);
    let names = TARGETS.map(|target| target.0).join(", ");
    found
        .map(|target| target.1)
        .ok_or_else(|| format!("unknown target `{name}`; the targets are {names}"))
}
