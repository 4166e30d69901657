//! Instructions per decision on microcontrollers. An image counts them on emulated boards.

use anyhow::Result;

use super::size::TARGETS;
use super::table::Row;
use crate::progress::step;
use crate::test::embedded;

/// The limit for `adaptive`'s admit and settle, each.
const BARS: [(&str, u64); 2] = [(TARGETS[0], 1_500), (TARGETS[1], 350)];
const STACK: u64 = 400;

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

impl Figures {
    pub fn bars(&self) -> impl Iterator<Item = (String, u64, u64)> {
        let bars = BARS.into_iter().flat_map(|(board, goal)| {
            ["admit", "settle"].map(|verb| {
                let worst = worst(&self.instructions, &format!(": {verb}"), board);
                (format!("adaptive, {board}: {verb}, the dearest"), goal, worst)
            })
        });
        let deepest = |(board, _)| {
            let name = format!("adaptive, {board}: deepest stack");
            (name, STACK, worst(&self.stack, "", board))
        };
        bars.chain(BARS.into_iter().map(deepest))
    }
}

/// The largest figure of `adaptive` whose name ends so.
fn worst(rows: &[Row], end: &str, board: &str) -> u64 {
    let of = rows.iter().filter(|row| row.target == board);
    let of = of.filter(|row| row.what.starts_with("adaptive") && row.what.ends_with(end));
    of.map(|row| row.figure).max().unwrap_or(0)
}
