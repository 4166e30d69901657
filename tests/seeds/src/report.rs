//! Tables for people, for files and for programs.

use std::fmt::Write;

use serde_json::{Map, Number, Value};

/// The figures of one source.
#[derive(Clone, Debug)]
pub struct Report {
    /// The name of its golden file.
    pub name: &'static str,
    /// A description.
    pub title: &'static str,
    /// Where its published figures come from.
    pub source: &'static str,
    /// The figures.
    pub tables: Vec<Table>,
    /// Lines that belong into the golden file but are too long for a screen.
    pub listing: Vec<String>,
}

/// A table: the first column is aligned left, others right.
#[derive(Clone, Debug)]
pub struct Table {
    /// What it shows.
    pub title: &'static str,
    /// The names of its columns.
    pub columns: &'static [&'static str],
    /// Its rows, with one cell per column.
    pub rows: Vec<Vec<String>>,
    /// Notes, line by line.
    pub notes: &'static [&'static str],
}

impl Report {
    /// The text for a person.
    #[must_use]
    pub fn screen(&self) -> String {
        let mut text =
            format!("{}\n{}\n{}\n", self.title, "=".repeat(self.title.len()), self.source);
        for table in &self.tables {
            text.push('\n');
            table.write(&mut text);
        }
        text
    }

    /// The content of the golden file.
    #[must_use]
    pub fn golden(&self) -> String {
        let mut text = format!(
            "# {}.\n# Computed with core; published figures are marked as such.\n\
             # Source: {}\n\
             # Written by `cargo run --release -p tidegate-seeds -- --write`; a test compares it.\n",
            self.title, self.source,
        );
        for table in &self.tables {
            text.push('\n');
            table.write(&mut text);
        }
        if !self.listing.is_empty() {
            text.push('\n');
        }
        for line in &self.listing {
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    /// One JSON row for each row of each table. Numeric cells become numbers.
    #[must_use]
    pub fn rows(&self) -> Vec<Value> {
        let mut rows = Vec::new();
        for table in &self.tables {
            for cells in &table.rows {
                let mut row = Map::new();
                row.insert("source".into(), self.name.into());
                row.insert("table".into(), table.title.into());
                for (column, cell) in table.columns.iter().zip(cells) {
                    let value = number(cell).map_or_else(|| cell.as_str().into(), Value::Number);
                    row.insert((*column).into(), value);
                }
                rows.push(Value::Object(row));
            }
        }
        rows
    }
}

/// An integer if it is written as one.
fn number(cell: &str) -> Option<Number> {
    let float = || cell.parse().ok().and_then(Number::from_f64);
    cell.parse::<u64>().ok().map(Number::from).or_else(float)
}

impl Table {
    fn write(&self, text: &mut String) {
        let head: Vec<String> = self.columns.iter().map(ToString::to_string).collect();
        let width = |column: usize| {
            let cells = std::iter::once(&head).chain(&self.rows).filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..head.len()).map(width).collect();
        let _ = writeln!(text, "{}", self.title);
        for row in std::iter::once(&head).chain(&self.rows) {
            let mut line = String::from(" ");
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let _ = match column {
                    0 => write!(line, " {cell:<width$}"),
                    _ => write!(line, "  {cell:>width$}"),
                };
            }
            let _ = writeln!(text, "{}", line.trim_end());
        }
        for note in self.notes {
            let _ = writeln!(text, "  | {note}");
        }
    }
}
