//! Every combination of features lints: one that is left out of a program takes nothing from it that
//! another one needs.

use crate::cargo_tool::HACK;
use crate::road::Roads;
use crate::setup;
use crate::tally::Tally;

/// The published crates, and what keeps their combinations within bounds.
const CRATES: [(&str, &[&str]); 4] = [
    ("tidegate", &[]),
    ("tidegate-wasm", &[]),
    ("tidegate-tower", &["--depth", "2"]),
    // Its features are about one dependency each: what clashes does so in pairs.
    ("tidegate-embassy", &["--depth", "2", "--mutually-exclusive-features", "defmt,log"]),
];

pub fn run(_: &mut Roads, tally: &mut Tally) {
    if let Err(error) = setup::missing_components().and_then(|()| HACK.bring()) {
        return tally.verdict("cargo-hack", || Err(error));
    }
    for (name, bounds) in CRATES {
        let mut command = HACK.command();
        command.args(["clippy", "--feature-powerset", "--package", name, "--lib"]).args(bounds);
        command.args(["--", "-D", "warnings"]);
        tally.check(name, command);
    }
}
