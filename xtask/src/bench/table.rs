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
pub fn table(page: &mut String, head: &str, targets: &[&str], rows: &[Row]) {
    _ = writeln!(page, "| {head} | {} |", targets.join(" | "));
    _ = writeln!(page, "|---|{}", "---:|".repeat(targets.len()));
    for Row { what, .. } in rows.iter().filter(|row| row.target == targets[0]) {
        let of = |target: &&str| rows.iter().find(|row| row.what == *what && row.target == *target);
        let cells = targets.iter().map(of);
        let cells = cells.map(|row| row.map_or("-".into(), |row| thousands(row.figure)));
        _ = writeln!(page, "| {what} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
}

/// Writes 12345 as `12 345`.
fn thousands(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{} {:03}", thousands(number / 1_000), number % 1_000),
    }
}
