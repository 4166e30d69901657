//! Instructions per decision on microcontrollers. An image counts them on emulated boards.

use std::fmt::Write;
use std::time::Duration;

use anyhow::{Context, Result};

use super::row::{Row, bar, figure};
use super::thousands;
use crate::firmware::{self, Board, Run, numbers, told};

/// The measurements, by their names in the image.
const SUBJECTS: [&str; 17] = [
    "adaptive, no throttled call yet: admit",
    "adaptive, no throttled call yet: settle",
    "adaptive, throttled calls are all that is known: admit",
    "adaptive, throttled calls are all that is known: wait",
    "adaptive, throttled calls are all that is known: settle",
    "adaptive, told what is left: admit",
    "adaptive, told what is left: wait",
    "adaptive, told what is left: settle",
    "adaptive, told what is left and until when: admit",
    "adaptive, told what is left and until when: wait",
    "adaptive, told what is left and until when: settle",
    "aimd, throttled calls are all that is known: admit",
    "aimd, throttled calls are all that is known: wait",
    "aimd, throttled calls are all that is known: settle",
    "fixed: admit",
    "fixed: wait",
    "fixed: settle",
];

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
        for what in SUBJECTS {
            let (instructions, stack) = read(&log, what)
                .with_context(|| format!("`cost` on {} does not report {what}", board.name()))?;
            let row = |figure| Row { what, target: board.target().into(), figure };
            figures.instructions.push(row(instructions));
            figures.stack.push(row(stack));
        }
    }
    Ok(figures)
}

/// Finds `cost WHAT 711 instructions, 348 bytes of stack, 2000 calls`.
fn read(log: &str, what: &str) -> Option<(u64, u64)> {
    let line = *told(log, &format!("cost {what} ")).first()?;
    match numbers(line).ok()?[..] {
        [instructions, stack, _] => Some((instructions, stack)),
        _ => None,
    }
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
    table(&mut page, "instructions", &figures.instructions);
    page.push_str("\nStack depth, with the arguments of the call:\n\n");
    table(&mut page, "bytes of stack", &figures.stack);

    page.push_str("\n| bar | goal | is |\n|---|---:|---|\n");
    for (board, goal) in BARS {
        for verb in ["admit", "settle"] {
            let worst = worst(&figures.instructions, &format!(": {verb}"), board);
            bar(
                &mut page,
                &format!("adaptive, {}: {verb}, the dearest", board.target()),
                goal,
                worst,
            );
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

fn table(page: &mut String, unit: &str, rows: &[Row]) {
    let targets = Board::ALL.map(Board::target);
    _ = writeln!(page, "| {unit} | {} |", targets.join(" | "));
    _ = writeln!(page, "|---|{}", "---:|".repeat(targets.len()));
    for what in SUBJECTS {
        let cells = targets.map(|target| figure(rows, what, target).map_or("-".into(), thousands));
        _ = writeln!(page, "| {what} | {} |", cells.join(" | "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_not_confused_with_one_with_a_longer_name() {
        let log = "INFO  cost fixed: wait 9 instructions, 8 bytes of stack, 7 calls\n\
                   INFO  cost fixed: admit 711 instructions, 348 bytes of stack, 2000 calls\n";
        assert_eq!(read(log, "fixed: admit"), Some((711, 348)));
        assert_eq!(read(log, "fixed"), None);
        assert_eq!(read(log, "fixed: settle"), None);
    }
}
