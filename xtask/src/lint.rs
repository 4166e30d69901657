//! Formatting and clippy, with warnings as errors.

use crate::road::{Roads, TARGETS};
use crate::setup;
use crate::tally::Tally;
use crate::workspace::{cargo, root};

/// What makes every warning an error, after `cargo clippy`'s own arguments.
const STRICT: [&str; 3] = ["--", "-D", "warnings"];

/// The host first, where everything is linted; then core alone on each target.
pub fn run(roads: &mut Roads, tally: &mut Tally) {
    if let Err(error) = setup::missing_components() {
        return tally.verdict("rustfmt and clippy", || Err(error));
    }
    let mut format = cargo("fmt");
    format.args(["--all", "--check", "--", "--color=never"]);
    tally.check("formatting", format);

    let mut host = cargo("clippy");
    host.args(["--workspace", "--all-targets", "--all-features"]).args(STRICT);
    tally.check("clippy, host", host);

    on_targets(roads, tally);
}

/// clippy of core on every target besides the host.
pub fn on_targets(roads: &mut Roads, tally: &mut Tally) {
    for target in TARGETS {
        let label = format!("clippy, {target}");
        match roads.to(target) {
            Ok(road) => {
                let mut command = road.cargo("clippy", target, root());
                command.args(["--package", "tidegate", "--all-features"]).args(STRICT);
                tally.check(&label, command);
            }
            Err(error) => tally.verdict(&label, || Err(error)),
        }
    }
}
