//! Figures by subject and machine, as a table.

use std::fmt::Write;

/// One figure of one subject on one machine.
#[derive(Debug)]
pub struct Row {
    pub what: String,
    pub target: String,
    pub figure: u64,
}

/// A table with a line for each subject of the first target, and a column for each target.
pub fn table(head: &str, targets: &[&str], rows: &[Row]) -> String {
    let lines = "---:|".repeat(targets.len());
    let mut table = format!("| {head} | {} |\n|---|{lines}\n", targets.join(" | "));
    for Row { what, .. } in rows.iter().filter(|row| row.target == targets[0]) {
        let of = |target: &&str| rows.iter().find(|row| row.what == *what && row.target == *target);
        let cells = targets.iter().map(of);
        let cells = cells.map(|row| row.map_or("-".into(), |row| thousands(row.figure)));
        _ = writeln!(table, "| {what} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    table
}

/// A table of figures that have a goal: of each its name, the goal, and what it is.
pub fn bars(bars: impl Iterator<Item = (String, u64, u64)>) -> String {
    let mut table = String::from("| bar | goal | is |\n|---|---:|---|\n");
    for (name, goal, is) in bars {
        let verdict = match is.checked_sub(goal) {
            None | Some(0) => "met".into(),
            Some(above) => format!("**{} above**", thousands(above)),
        };
        _ = writeln!(table, "| {name} | {} | {}: {verdict} |", thousands(goal), thousands(is));
    }
    table
}

/// Writes 12345 as `12 345`.
pub fn thousands(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{} {:03}", thousands(number / 1_000), number % 1_000),
    }
}
