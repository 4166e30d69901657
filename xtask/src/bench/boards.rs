//! Instructions per decision on microcontrollers. An image counts them on emulated boards.

use anyhow::Result;

use super::size::TARGETS;
use super::table::{Row, table};
use crate::progress::step;
use crate::test::embedded;

pub struct Figures {
    pub instructions: Vec<Row>,
    pub stack: Vec<Row>,
}

pub fn count() -> Result<Figures> {
    let mut command = embedded::boards("run")?;
    command.args(["--quiet", "--bin", "tidegate-boards"]);
    let mut figures = Figures { instructions: Vec::new(), stack: Vec::new() };
    for line in step("the image `cost` on emulated boards", command)?.lines() {
        let Some((target, line)) = line.split_once(' ') else { continue };
        let Some((what, instructions, stack)) = read(line) else { continue };
        let row = |figure| Row { what: what.into(), target: target.into(), figure };
        figures.instructions.push(row(instructions));
        figures.stack.push(row(stack));
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
    table(&mut page, "instructions", &TARGETS, &figures.instructions);
    page.push_str("\nStack depth, with the arguments of the call:\n\n");
    table(&mut page, "bytes of stack", &TARGETS, &figures.stack);
    page
}
