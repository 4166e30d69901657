//! Figures for scripts.

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
}
