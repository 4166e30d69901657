//! The inputs that a search has kept, tried again.

use crate::fuzz::cargo_here;
use crate::road::Roads;
use crate::setup;
use crate::tally::Tally;
use crate::workspace::{cargo, root};

/// tests/fuzz is a workspace of its own, which the linting of the others does not reach.
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
