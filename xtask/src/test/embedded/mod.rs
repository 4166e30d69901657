//! The throttle for embassy: it builds for firmware, cannot panic, keeps its promises in virtual
//! time, and works on emulated boards: the images of embedded/firmware.

mod broker;
mod cable;
mod mosquitto;
mod mqtt;
mod uplink;

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::no_panic;
use crate::bench::size;
use crate::firmware::{self, Board, Run, told};
use crate::programs;
use crate::progress::step;
use crate::setup;
use crate::tally::{Outcome, Tally};

const PROOF: &str = "tidegate-embassy-no-panic";

/// All images.
const IMAGES: [&str; 6] = ["conformance", "cost", "deep-sleep", "lock", "mqtt", "uplink"];
/// Images that need a clock or a network.
const NETWORKED: [&str; 3] = ["deep-sleep", "mqtt", "uplink"];

/// Every instruction takes a nanosecond of virtual time, independent of the host.
const EXACT: [&str; 2] = ["-icount", "shift=0"];
/// Every instruction takes 32 nanoseconds; while the machine sleeps, its clock jumps to the next alarm.
const JUMPING: [&str; 2] = ["-icount", "shift=5,sleep=off"];

/// A run without network takes some seconds.
const LIMIT: Duration = Duration::from_secs(120);

pub fn run(tally: &mut Tally) {
    no_panic::prove(PROOF, tally);
    tally.verdict("run panics only if it is polled after its end", || {
        no_panic::only_ends_async(PROOF, &["--features", "run"])
    });
    tally.verdict("the sizes of tests/golden/size.md", size::compare);
    if tally.verdict("the emulator", firmware::bring_tools).is_some() {
        on_boards(tally);
    }
}

/// Builds all images, runs them, and checks their output. Each ends with an exit code, within a time limit.
fn on_boards(tally: &mut Tally) {
    for board in Board::NETWORKED {
        let label = format!("clippy, {}", board.name());
        tally.verdict(&label, || {
            let (mut clippy, _) = firmware::on(board, "clippy", &IMAGES)?;
            clippy.args(["--", "-D", "warnings"]);
            step(&label, clippy)
        });
    }
    let mut built = Vec::new();
    for board in Board::NETWORKED {
        let build = || Ok((board, firmware::build(board, &NETWORKED)?));
        built.extend(tally.verdict(&format!("images for {}", board.name()), build));
    }
    // On the smallest board.
    tally.verdict("the longest lock, microbit", || {
        let folder = firmware::build(Board::Microbit, &["lock"])?;
        bare(Board::Microbit, &folder, "lock", &EXACT)
    });
    tally.verdict("the programs", programs::build);
    tally.verdict("mosquitto", || setup::need(&["mosquitto"]));
    let runs = built.iter().flat_map(|(board, folder)| {
        RUNS.map(|(name, run)| {
            let label = format!("{name}, {}", board.name());
            (label, move |_: &str| Outcome::figures(run(*board, folder)))
        })
    });
    // They mostly wait.
    tally.at_once(RUNS.len() * built.len(), runs.collect());
}

/// An image without network. Returns its log.
fn bare(board: Board, folder: &Path, image: &str, options: &[&str]) -> Result<String> {
    let options = options.iter().map(ToString::to_string).collect();
    Run { name: image, board, folder, image, options, limit: LIMIT }.to_its_end(|_| ())
}

/// An image with a clock or a network, whose figures are checked.
type Networked = (&'static str, fn(Board, &Path) -> Result<String>);

const RUNS: [Networked; 5] = [
    ("deep-sleep", deep_sleep),
    ("uplink", uplink::told_more),
    ("uplink, Retry-After alone", uplink::told_least),
    ("mqtt, mosquitto", mqtt::mosquitto),
    ("mqtt, rare reason codes", mqtt::reasons),
];

/// It checks itself: its exit code is the result.
fn deep_sleep(board: Board, folder: &Path) -> Result<String> {
    let options: &[&str] = match board {
        Board::Microbit | Board::Mps2 => &JUMPING,
        // QEMU's clock may stop for good if the machine is reset while it jumps.
        Board::Virt => &[],
    };
    let log = bare(board, folder, "deep-sleep", options)?;
    Ok(told(&log, "day ").last().map(ToString::to_string).unwrap_or_default())
}
