//! Figures for scripts.

use std::fmt::Write;

use super::thousands;

/// One figure of one subject on one machine.
#[derive(Debug)]
pub struct Row {
    pub what: &'static str,
    pub target: String,
    pub figure: u64,
}

/// The rows as JSON; `unit` names the figure. Our names are plain words, which JSON and Rust quote
/// alike.
pub fn json(rows: &[Row], unit: &str) -> String {
    let rows = rows.iter().map(|Row { what, target, figure }| {
        format!("{{\"what\":{what:?},\"target\":{target:?},{unit:?}:{figure}}}")
    });
    format!("[{}]", rows.collect::<Vec<_>>().join(",\n"))
}

/// The figure of a subject on a machine.
pub fn figure(rows: &[Row], what: &str, target: &str) -> Option<u64> {
    rows.iter().find(|row| row.what == what && row.target == target).map(|row| row.figure)
}

/// A line that says whether a figure meets its goal.
pub fn bar(page: &mut String, name: &str, goal: u64, is: u64) {
    let verdict = match is.checked_sub(goal) {
        None | Some(0) => "met".into(),
        Some(above) => format!("**{} above**", thousands(above)),
    };
    _ = writeln!(page, "| {name} | {} | {}: {verdict} |", thousands(goal), thousands(is));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_row_per_line_found_by_its_name() {
        let rows = [
            Row { what: "a law", target: "thumbv6m".into(), figure: 7 },
            Row { what: "a law", target: "riscv".into(), figure: 8 },
        ];
        assert_eq!(
            json(&rows, "bytes"),
            "[{\"what\":\"a law\",\"target\":\"thumbv6m\",\"bytes\":7},\n\
             {\"what\":\"a law\",\"target\":\"riscv\",\"bytes\":8}]"
        );
        assert_eq!(figure(&rows, "a law", "riscv"), Some(8));
        assert_eq!(figure(&rows, "no law", "riscv"), None);
    }

    #[test]
    fn a_bar_is_met_up_to_its_goal() {
        let mut page = String::new();
        bar(&mut page, "a", 400, 400);
        bar(&mut page, "b", 400, 1_401);
        assert_eq!(page, "| a | 400 | 400: met |\n| b | 400 | 1 401: **1 001 above** |\n");
    }
}
