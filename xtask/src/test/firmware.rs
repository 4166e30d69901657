//! The images of embedded/firmware on emulated boards. Each ends with an exit code, within a time
//! limit.

mod broker;
mod cable;
mod mosquitto;
mod mqtt;
mod uplink;

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::firmware::{self, Board, Run, told};
use crate::programs;
use crate::setup;
use crate::tally::Tally;

/// All images.
const IMAGES: [&str; 6] = ["conformance", "cost", "deep-sleep", "lock", "mqtt", "uplink"];
/// The image that counts instructions on the smallest board.
const LOCK: &str = "lock";
/// Images that need a clock or a network.
const NETWORKED: [&str; 3] = ["deep-sleep", "mqtt", "uplink"];

/// Every instruction takes a nanosecond of virtual time, independent of the host.
const EXACT: [&str; 2] = ["-icount", "shift=0"];
/// Every instruction takes 32 nanoseconds; while the machine sleeps, its clock jumps to the next alarm.
const JUMPING: [&str; 2] = ["-icount", "shift=5,sleep=off"];

/// A run without network takes some seconds.
const LIMIT: Duration = Duration::from_secs(120);

/// Builds all images, runs them, and checks their output.
pub fn run(tally: &mut Tally) {
    if !emulator(tally) {
        return;
    }
    for board in Board::NETWORKED {
        let label = format!("clippy, {}", board.name());
        match firmware::on(board, "clippy", &IMAGES) {
            Ok((mut command, _)) => {
                command.args(["--", "-D", "warnings"]);
                tally.check(&label, command);
            }
            Err(error) => tally.verdict(&label, || Err(error)),
        }
    }
    let mut built = Vec::new();
    for board in Board::NETWORKED {
        tally.verdict(&format!("images for {}", board.name()), || {
            built.push((board, firmware::build(board, &NETWORKED)?));
            Ok(())
        });
    }
    tally.verdict("the longest lock, microbit", || {
        let folder = firmware::build(Board::Microbit, &[LOCK])?;
        bare(Board::Microbit, &folder, LOCK, &EXACT).to_its_end(|_| ()).map(drop)
    });
    tally.verdict("the programs", programs::build);
    tally.verdict("mosquitto", || setup::need(&["mosquitto"]));
    at_once(&built, tally);
}

/// Installs QEMU and the reader of the images' logs. Returns whether they are available.
fn emulator(tally: &mut Tally) -> bool {
    let mut ready = false;
    tally.verdict("the emulator", || {
        firmware::bring_tools()?;
        ready = true;
        Ok(())
    });
    ready
}

fn bare<'a>(board: Board, folder: &'a PathBuf, image: &'a str, options: &[&str]) -> Run<'a> {
    let options = options.iter().map(ToString::to_string).collect();
    Run { name: image, board, folder, image, options, limit: LIMIT }
}

/// It checks itself: its exit code is the result.
fn deep_sleep(board: Board, folder: &PathBuf) -> Result<String> {
    let options: &[&str] = match board {
        Board::Microbit | Board::Mps2 => &JUMPING,
        // QEMU's clock may stop for good if the machine is reset while it jumps.
        Board::Virt => &[],
    };
    let log = bare(board, folder, "deep-sleep", options).to_its_end(|_| ())?;
    Ok(told(&log, "day ").last().map(ToString::to_string).unwrap_or_default())
}

/// An image with a clock or a network, whose figures are checked.
type Networked = (&'static str, fn(Board, &PathBuf) -> Result<String>);

const RUNS: [Networked; 5] = [
    ("deep-sleep", deep_sleep),
    ("uplink", uplink::told_more),
    ("uplink, Retry-After alone", uplink::told_least),
    ("mqtt, mosquitto", mqtt::mosquitto),
    ("mqtt, rare reason codes", mqtt::reasons),
];

/// They mostly wait, so they run in parallel.
fn at_once(built: &[(Board, PathBuf)], tally: &mut Tally) {
    let results = thread::scope(|scope| {
        let mut running = Vec::new();
        for (board, folder) in built {
            for (name, run) in RUNS {
                let label = format!("{name}, {}", board.name());
                running.push((label, scope.spawn(move || run(*board, folder))));
            }
        }
        let ended = running.into_iter().map(|(label, thread)| {
            (label, thread.join().unwrap_or_else(|_| bail!("the run has panicked")))
        });
        ended.collect::<Vec<_>>()
    });
    for (label, result) in results {
        let figures = result.as_ref().map_or_else(|_| String::new(), |told| format!(" ({told})"));
        tally.verdict(&(label + &figures), || result.map(drop));
    }
}
