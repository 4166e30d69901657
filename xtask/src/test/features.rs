//! Clippy for combinations of features: omitting one must not break another.

use crate::setup;
use crate::setup::HACK;
use crate::tally::Tally;

/// The crates and their combinations. All features together are what the tests are built with.
const CRATES: [(&str, &[&str]); 4] = [
    ("tidegate", &["--each-feature"]),
    ("tidegate-wasm", &["--each-feature"]),
    ("tidegate-tower", &["--each-feature"]),
    ("tidegate-embassy", &["--each-feature", "--exclude-all-features"]),
];

pub fn run(tally: &mut Tally) {
    if let Err(error) = setup::need(&["rustfmt", "clippy"]).and_then(|()| HACK.bring()) {
        return tally.verdict("cargo-hack", || Err(error));
    }
    for (name, combinations) in CRATES {
        let mut command = HACK.command();
        command.arg("clippy").args(combinations).args(["--package", name, "--lib"]);
        command.args(["--", "-D", "warnings"]);
        tally.check(name, command);
    }
}
