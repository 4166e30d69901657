//! Instructions per decision on microcontrollers. An image counts them on emulated boards.

use std::time::Duration;

use anyhow::Result;

use super::table::{Row, bar, table};
use crate::firmware::{self, Board, Run, told};

/// The limit for `adaptive`'s admit and settle, each.
const BARS: [(Board, u64); 2] = [(Board::Microbit, 1_500), (Board::Mps2, 350)];
/// The limit for the stack depth.
const STACK: u64 = 400;

/// Each instruction takes a nanosecond of the board's clock.
const COUNTED: [&str; 2] = ["-icount", "shift=0"];
const LIMIT: Duration = Duration::from_secs(120);

/// All figures of all boards.
pub struct Figures {
    pub instructions: Vec<Row>,
    pub stack: Vec<Row>,
}

/// Builds and runs the image for every board.
pub fn count() -> Result<Figures> {
    firmware::bring_tools()?;
    let mut figures = Figures { instructions: Vec::new(), stack: Vec::new() };
    for board in Board::ALL {
        let folder = firmware::build(board, &["cost"])?;
        let options = COUNTED.map(str::to_owned).to_vec();
        let run =
            Run { name: "cost", board, folder: &folder, image: "cost", options, limit: LIMIT };
        let log = run.to_its_end(|_| ())?;
        for (what, instructions, stack) in told(&log, "cost ").into_iter().filter_map(read) {
            let row = |figure| Row { what: what.into(), target: board.target().into(), figure };
            figures.instructions.push(row(instructions));
            figures.stack.push(row(stack));
        }
    }
    Ok(figures)
}

/// Reads `cost WHAT 711 instructions, 348 bytes of stack, 2000 calls`.
fn read(line: &str) -> Option<(&str, u64, u64)> {
    let (head, tail) = line.strip_prefix("cost ")?.split_once(" instructions, ")?;
    let (what, instructions) = head.rsplit_once(' ')?;
    let (stack, _) = tail.split_once(' ')?;
    Some((what, instructions.parse().ok()?, stack.parse().ok()?))
}

/// The section of the page.
pub fn section(figures: &Figures) -> String {
    let mut page = String::from(
        "\n## On microcontrollers\n\n\
         Instructions of one call, as QEMU counts them (`-icount shift=0`): the mean of 2000 calls \
         after 300 that warm up, of a controller with four calls in flight, compiled with opt-level \
         \"s\" and fat LTO. These are not cycles: they do not include waits for memory. \
         Cortex-M reads them from a timer of 16 or 25 MHz, with an error of a few per \
         cent; RISC-V counts them itself. A \
         server allows ten calls a second; throttled calls of `adaptive` and `aimd` are \
         included as they occur.\n\n",
    );
    let targets = Board::ALL.map(Board::target);
    table(&mut page, "instructions", &targets, &figures.instructions);
    page.push_str("\nStack depth, with the arguments of the call:\n\n");
    table(&mut page, "bytes of stack", &targets, &figures.stack);

    page.push_str("\n| bar | goal | is |\n|---|---:|---|\n");
    for (board, goal) in BARS {
        for verb in ["admit", "settle"] {
            let worst = worst(&figures.instructions, &format!(": {verb}"), board);
            let name = format!("adaptive, {}: {verb}, the dearest", board.target());
            bar(&mut page, &name, goal, worst);
        }
    }
    for (board, _) in BARS {
        let deepest = worst(&figures.stack, "", board);
        bar(&mut page, &format!("adaptive, {}: deepest stack", board.target()), STACK, deepest);
    }
    page
}

/// The largest figure of `adaptive` whose name ends so.
fn worst(rows: &[Row], end: &str, board: Board) -> u64 {
    let of = rows.iter().filter(|row| row.target == board.target());
    let of = of.filter(|row| row.what.starts_with("adaptive") && row.what.ends_with(end));
    of.map(|row| row.figure).max().unwrap_or(0)
}
