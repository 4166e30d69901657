//! Clippy for combinations of features: omitting one must not break another.

use crate::cargo_tool::HACK;
use crate::road::Roads;
use crate::setup;
use crate::tally::Tally;

/// The crates and their combinations. Conflicts occur between pairs. Crates whose features each add
/// one dependency or module need fewer.
const CRATES: [(&str, &[&str]); 4] = [
    ("tidegate", &["--feature-powerset", "--depth", "2"]),
    ("tidegate-wasm", &["--each-feature"]),
    ("tidegate-tower", &["--each-feature"]),
    ("tidegate-embassy", &["--each-feature", "--exclude-all-features"]),
];

pub fn run(_: &mut Roads, tally: &mut Tally) {
    if let Err(error) = setup::missing_components().and_then(|()| HACK.bring()) {
        return tally.verdict("cargo-hack", || Err(error));
    }
    for (name, combinations) in CRATES {
        let mut command = HACK.command();
        command.arg("clippy").args(combinations).args(["--package", name, "--lib"]);
        command.args(["--", "-D", "warnings"]);
        tally.check(name, command);
    }
}
