//! Formatting and clippy, with warnings as errors.

use std::process::Command;

use crate::road::{Roads, TARGETS};
use crate::setup;
use crate::tally::Tally;
use crate::workspace::{cargo, root};

/// What makes every warning an error, after `cargo clippy`'s own arguments.
const STRICT: [&str; 3] = ["--", "-D", "warnings"];

/// It is made of the core's own files, and without what their features would bring.
pub const FEATURELESS: &str = "tidegate-steps";

fn strict(mut command: Command) -> Command {
    command.args(STRICT);
    command
}

/// The host first, where everything is linted; then core alone on each target.
pub fn run(roads: &mut Roads, tally: &mut Tally) {
    if let Err(error) = setup::missing_components() {
        return tally.verdict("rustfmt and clippy", || Err(error));
    }
    format(roads, tally);
    let mut host = cargo("clippy");
    host.args(["--workspace", "--exclude", FEATURELESS, "--all-targets", "--all-features"]);
    tally.check("clippy, host", strict(host));
    let mut apart = cargo("clippy");
    apart.args(["--package", FEATURELESS, "--all-targets"]);
    tally.check("clippy, the steps of the proofs", strict(apart));

    on_targets(roads, tally);
}

/// Formatting alone.
pub fn format(_: &mut Roads, tally: &mut Tally) {
    if let Err(error) = setup::missing_components() {
        return tally.verdict("rustfmt", || Err(error));
    }
    let mut format = cargo("fmt");
    format.args(["--all", "--check", "--", "--color=never"]);
    tally.check("formatting", format);
}

/// clippy of core on every target besides the host.
pub fn on_targets(roads: &mut Roads, tally: &mut Tally) {
    for target in TARGETS {
        let label = format!("clippy, {target}");
        match roads.to(target) {
            Ok(road) => {
                let mut command = road.cargo("clippy", target, root());
                command.args(["--package", "tidegate", "--all-features"]);
                tally.check(&label, strict(command));
            }
            Err(error) => tally.verdict(&label, || Err(error)),
        }
    }
}
