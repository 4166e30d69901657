//! Tables for people to read, files to keep and programs to take in: one form, three uses.

use std::fmt::Write;

use serde_json::{Map, Number, Value};

/// The figures of one source.
#[derive(Clone, Debug)]
pub struct Report {
    /// The name of its golden file.
    pub name: &'static str,
    /// What it is.
    pub title: &'static str,
    /// Where its published figures come from.
    pub source: &'static str,
    /// The figures.
    pub tables: Vec<Table>,
    /// What belongs into the golden file but is too long for a screen, line by line.
    pub listing: Vec<String>,
}

/// A table: the first column to the left, the others to the right.
#[derive(Clone, Debug)]
pub struct Table {
    /// What it shows.
    pub title: &'static str,
    /// The names of its columns.
    pub columns: &'static [&'static str],
    /// Its rows, each with a cell for every column.
    pub rows: Vec<Vec<String>>,
    /// What a reader has to know, line by line.
    pub notes: &'static [&'static str],
}

impl Report {
    /// What a person sees.
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

    /// What the golden file holds.
    #[must_use]
    pub fn golden(&self) -> String {
        let mut text = format!(
            "# {}.\n# Computed by the core that ships; published figures are marked as such.\n\
             # Source: {}\n\
             # Written by `cargo run --release -p tidegate-seeds -- --write`; a test compares.\n",
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

    /// A row for each row of each table; cells that are numbers become numbers.
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

/// Whole where it is written so.
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
