//! Repeats the inputs that earlier searches have kept.

use crate::fuzz::cargo_here;
use crate::road::Roads;
use crate::setup;
use crate::tally::Tally;
use crate::workspace::{cargo, root};

/// tests/fuzz is a separate workspace, which other lint runs do not cover.
pub fn run(_: &mut Roads, tally: &mut Tally) {
    let mut replay = cargo_here("test");
    replay.arg("--release");
    tally.tests("replay", replay);

    if let Err(error) = setup::missing_components() {
        return tally.verdict("rustfmt and clippy", || Err(error));
    }
    let mut format = cargo("fmt");
    format.args(["--check", "--", "--color=never"]).current_dir(root().join("tests/fuzz"));
    tally.check("formatting", format);

    let mut clippy = cargo_here("clippy");
    clippy.args(["--release", "--all-targets", "--", "-D", "warnings"]);
    tally.check("clippy", clippy);
}
