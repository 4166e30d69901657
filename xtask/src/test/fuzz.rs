//! Replays the inputs that earlier searches have kept.

use std::process::Command;

use crate::setup;
use crate::tally::Tally;
use crate::workspace::{cargo, root};

/// tests/fuzz is a separate workspace, which other lint runs do not cover.
pub fn run(tally: &mut Tally) {
    let mut replay = here("test");
    replay.args(["--locked", "--release"]);
    tally.tests("replay", replay);

    if let Err(error) = setup::need(&["rustfmt", "clippy"]) {
        return tally.verdict("rustfmt and clippy", || Err(error));
    }
    let mut format = here("fmt");
    format.args(["--check", "--", "--color=never"]);
    tally.check("formatting", format);

    let mut clippy = here("clippy");
    clippy.args(["--locked", "--release", "--all-targets", "--", "-D", "warnings"]);
    tally.check("clippy", clippy);
}

/// `cargo VERB` for tests/fuzz, with a separate target folder.
fn here(verb: &str) -> Command {
    let mut command = cargo(verb);
    command.current_dir(root().join("tests/fuzz"));
    command.env("CARGO_TARGET_DIR", root().join("target/fuzz"));
    command
}
