//! The page: one section per part. Each run replaces its own sections.

use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result};

use crate::workspace::root;

/// The results of a part.
#[derive(Debug, Default)]
pub struct Section {
    /// What was done, in one or two sentences.
    pub about: String,
    pub rows: Vec<(String, String)>,
}

impl Section {
    pub fn new(about: impl Into<String>) -> Self {
        Self { about: about.into(), rows: Vec::new() }
    }

    pub fn row(&mut self, what: impl Into<String>, figure: impl ToString) {
        self.rows.push((what.into(), figure.to_string()));
    }
}

const HEAD: &str = "# Soak\n\n\
    Long-running checks, written by `cargo xtask soak` or, for one part, `cargo xtask soak PART`. Each \
    section shows the latest run of its part, on the machine that it names.\n";

/// One JSON row per line.
pub fn json(made: &[(&str, Section)]) -> String {
    let rows = made.iter().flat_map(|(part, section)| {
        section.rows.iter().map(move |(what, figure)| {
            serde_json::json!({ "part": part, "what": what, "figure": figure }).to_string() + "\n"
        })
    });
    rows.collect()
}

/// Writes the page with the new sections, and prints it.
pub fn publish(order: &[&str], made: &[(&str, Section)]) -> Result<()> {
    let path = root().join("tests/golden/soak.md");
    let before = fs::read_to_string(&path).unwrap_or_default();
    let page = page(order, made, &before, &machine());
    fs::write(&path, &page).with_context(|| format!("{} cannot be written", path.display()))?;
    print!("{page}");
    eprintln!("written to tests/golden/soak.md");
    Ok(())
}

fn page(order: &[&str], made: &[(&str, Section)], before: &str, machine: &str) -> String {
    let mut page = HEAD.to_owned();
    for part in order {
        match made.iter().find(|(name, _)| name == part) {
            Some((_, section)) => {
                _ = write!(
                    page,
                    "\n## {part}\n\n{}\n\n| {machine} | |\n|---|---:|\n",
                    section.about
                );
                for (what, figure) in &section.rows {
                    _ = writeln!(page, "| {what} | {figure} |");
                }
            }
            None => page.push_str(&kept(before, part)),
        }
    }
    page
}

/// A part's section of a page; empty if there is none.
fn kept(page: &str, part: &str) -> String {
    let heading = format!("\n## {part}\n");
    let Some(from) = page.find(&heading) else { return String::new() };
    let rest = &page[from + 1..];
    let end = rest.find("\n## ").map_or(rest.len(), |end| end);
    format!("\n{}", &rest[..end])
}

/// The number and model of the processors.
fn machine() -> String {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let told = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = told.lines().find_map(|line| line.strip_prefix("model name"));
    let name =
        name.and_then(|name| name.split_once(": ")).map_or(std::env::consts::ARCH, |name| name.1);
    format!("{count} processors, {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(figure: u64) -> Section {
        let mut section = Section::new("So it was.");
        section.row("figure", figure);
        section
    }

    #[test]
    fn a_repeated_part_replaces_only_its_section() {
        let order = ["one", "two", "three"];
        let made = |figures: &[(&'static str, u64)]| -> Vec<(&'static str, Section)> {
            figures.iter().map(|(name, figure)| (*name, section(*figure))).collect()
        };
        let all = page(&order, &made(&[("one", 1), ("two", 2), ("three", 3)]), "", "m");
        assert_eq!(page(&order, &made(&[("two", 2)]), &all, "m"), all);
        let again = page(&order, &made(&[("three", 9)]), &all, "m");
        assert_eq!(again, all.replace("| figure | 3 |", "| figure | 9 |"));
        assert_eq!(page(&order, &made(&[("one", 1)]), "", "m").matches("## ").count(), 1);
    }
}
