//! The throttle for embassy: it cannot panic, has the sizes of the table, and works on emulated boards: the images of
//! embedded/firmware.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::no_panic;
use crate::bench::size;
use crate::programs;
use crate::setup;
use crate::tally::Tally;
use crate::workspace::{cargo, find_in};

const PROOF: &str = "tidegate-embassy-no-panic";

pub fn run(tally: &mut Tally) {
    no_panic::prove(PROOF, tally);
    tally.verdict("run panics only if it is polled after its end", || {
        no_panic::only_ends_async(PROOF, &["--features", "run"])
    });
    tally.verdict("the sizes of tests/golden/size.md", size::compare);
    tally.verdict("the programs", programs::build);
    tally.verdict("mosquitto", || setup::need(&["mosquitto"]));
    // They mostly wait.
    on_boards(&["--skip", "the_vectors", "--test-threads=8"], tally);
}

/// The oracle's vectors on emulated boards.
pub fn vectors(tally: &mut Tally) {
    on_boards(&["the_vectors", "--test-threads=1"], tally);
}

/// Runs tests of the firmware on emulated boards.
fn on_boards(args: &[&str], tally: &mut Tally) {
    let command = tally.verdict("the emulator", || boards("test"));
    if let Some(mut command) = command {
        programs::tell(command.args(["--test", "images", "--"]).args(args));
        tally.tests("emulated boards", command);
    }
}

/// `cargo VERB` of the crate that runs firmware on emulated boards.
pub fn boards(verb: &str) -> Result<Command> {
    setup::need(&size::TARGETS)?;
    setup::need(&["qemu"])?;
    let print = setup::tool("defmt-print")?;
    let print = Path::new(print.get_program()).parent().unwrap_or(Path::new(""));
    let mut command = cargo(verb);
    find_in(print.to_owned(), command.args(["--package", "tidegate-boards"]))?;
    Ok(command)
}
