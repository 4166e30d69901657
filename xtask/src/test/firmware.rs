//! The images of embedded/firmware on emulated boards: each ends by its exit code, within a limit.

mod uplink;

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use crate::firmware::{self, Board, Run, told};
use crate::road::Roads;
use crate::tally::Tally;

/// What needs nothing but a processor.
const BARE: [&str; 1] = ["trace"];
/// What needs a clock or a network.
const NETWORKED: [&str; 2] = ["deep-sleep", "uplink"];

/// Every instruction takes its time of the machine's clock, and none of the host's.
const COUNTED: [&str; 2] = ["-icount", "shift=5"];
/// The same, and where the machine sleeps, its clock jumps to the next alarm.
const JUMPING: [&str; 2] = ["-icount", "shift=5,sleep=off"];

/// A run without network takes some seconds.
const LIMIT: Duration = Duration::from_secs(120);

/// Builds all images, runs them, and looks at what they tell.
pub fn run(roads: &mut Roads, tally: &mut Tally) {
    let mut ready = false;
    tally.verdict("the emulator", || {
        firmware::bring_tools()?;
        ready = true;
        Ok(())
    });
    if !ready {
        return;
    }
    let mut built = Vec::new();
    for board in Board::ALL {
        tally.verdict(&format!("images for {}", board.name()), || {
            built.push((board, build(roads, board)?));
            Ok(())
        });
    }
    traces(&built, tally);
    let networked = || built.iter().filter(|(board, _)| Board::NETWORKED.contains(board));
    for (board, folder) in networked() {
        tally.verdict(&format!("deep-sleep, {}", board.name()), || {
            let run = bare(*board, folder, "deep-sleep", &JUMPING);
            run.to_its_end(|_| ()).map(drop)
        });
    }
    tally.verdict("the server", uplink::build_server);
    at_once(networked(), "uplink", uplink::run, tally);
}

fn build(roads: &mut Roads, board: Board) -> Result<PathBuf> {
    // Apart, so that what needs no clock has none.
    let folder = firmware::build(roads, board, &BARE)?;
    if Board::NETWORKED.contains(&board) {
        firmware::build(roads, board, &NETWORKED)?;
    }
    Ok(folder)
}

fn bare<'a>(board: Board, folder: &'a PathBuf, image: &'a str, options: &[&str]) -> Run<'a> {
    let options = options.iter().map(ToString::to_string).collect();
    Run { board, folder, image, options, limit: LIMIT }
}

/// The same decisions fall on every board as on this machine.
fn traces(built: &[(Board, PathBuf)], tally: &mut Tally) {
    let mut here = String::new();
    tally.verdict("trace, this machine", || {
        here = firmware::on_the_host("trace")?;
        ensure!(!told(&here, "trace ").is_empty(), "it tells nothing:\n{here}");
        Ok(())
    });
    for (board, folder) in built {
        tally.verdict(&format!("trace, {}", board.name()), || {
            let log = bare(*board, folder, "trace", &COUNTED).to_its_end(|_| ())?;
            let (ours, theirs) = (told(&here, "trace "), told(&log, "trace "));
            for (one, other) in ours.iter().zip(&theirs) {
                if one != other {
                    bail!("here: {one}\n{}: {other}", board.name());
                }
            }
            ensure!(ours.len() == theirs.len(), "its log is not whole:\n{log}");
            Ok(())
        });
    }
}

/// Runs that wait more than they compute go side by side.
fn at_once<'a>(
    built: impl Iterator<Item = &'a (Board, PathBuf)>,
    image: &str,
    run: fn(Board, &PathBuf) -> Result<()>,
    tally: &mut Tally,
) {
    let results: Vec<(Board, Result<()>)> = thread::scope(|scope| {
        let running: Vec<_> = built
            .map(|(board, folder)| (*board, scope.spawn(move || run(*board, folder))))
            .collect();
        let ended = running.into_iter().map(|(board, thread)| {
            let result = thread.join().unwrap_or_else(|_| bail!("the run has panicked"));
            (board, result)
        });
        ended.collect()
    });
    for (board, result) in results {
        tally.verdict(&format!("{image}, {}", board.name()), || result);
    }
}
