//! Text that other files decide: figures from committed tables, and how to install what may not be published yet.
//!
//! A figure in prose is followed by a comment that names its place in a table:
//!
//! `0.51 %<!-- worlds.md | saturated | none | adaptive | rejected % -->`
//!
//! The file is in one of `TABLES`. The last name is the column, or text before the figure outside of a table. Each of
//! the others is a cell of the row, or the heading above it. The prose decides the number of digits,
//! and ` kB` divides bytes by 1000.
//!
//! The text between `<!-- install NAME -->` and `<!-- install end -->` depends on `published` in the root Cargo.toml.

use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, ensure};

use crate::progress::step;
use crate::release;
use crate::workspace::root;

const TABLES: [&str; 2] = ["tests/golden", "wasm/test"];
const WRITE: &str = "BLESS=1 cargo test -p xtask written";
/// Between comments, the lines for a clone, and those for what is published.
const LINES: &str = include_str!("installs.txt");

/// Compares all pages with what decides them. With `BLESS` set, writes them.
pub fn check() -> Result<()> {
    let names = [
        ("VERSION", release::version()?),
        ("REPOSITORY", release::repository()?.unwrap_or_default()),
        ("SITE", release::site()?),
    ];
    let lines = lines(release::published()?, names);
    let mut wrong = Vec::new();
    let mut pages = Command::new("git");
    pages.args(["ls-files", "--cached", "--others", "--exclude-standard", "*.md", "*.html"]);
    pages.current_dir(root());
    for name in step("git ls-files", pages)?.lines() {
        // A deleted file may still be listed.
        let Ok(text) = fs::read_to_string(root().join(name)) else { continue };
        let written = write(&text, table, &lines).with_context(|| name.to_owned())?;
        if env::var_os("BLESS").is_some() {
            fs::write(root().join(name), written)?;
        } else if text != written {
            let stale = written.lines().filter(|line| !text.lines().any(|it| it == *line));
            wrong.push(format!("{name}:\n{}", stale.collect::<Vec<_>>().join("\n")));
        }
    }
    ensure!(wrong.is_empty(), "{WRITE} writes instead:\n{}", wrong.join("\n"));
    Ok(())
}

fn table(file: &str) -> Result<String> {
    let mut paths = TABLES.iter().map(|folder| root().join(folder).join(file));
    let text = paths.find_map(|path| fs::read_to_string(path).ok());
    text.with_context(|| format!("no table {file}"))
}

/// The lines to install what has this name. Each of `names` is replaced.
fn lines(published: bool, names: [(&str, String); 3]) -> impl Fn(&str) -> Result<String> {
    move |name| {
        let begin = format!("<!-- {name}: {} -->", if published { "published" } else { "clone" });
        let (_, lines) = LINES.split_once(&begin).with_context(|| format!("no {begin}"))?;
        let lines = lines.split("<!-- ").next().unwrap_or_default();
        Ok(names.iter().fold(lines.to_owned(), |lines, (name, is)| lines.replace(name, is)))
    }
}

/// The text with the figures of the tables and the lines to install.
fn write(
    text: &str,
    table: impl Fn(&str) -> Result<String>,
    lines: impl Fn(&str) -> Result<String>,
) -> Result<String> {
    let mut written = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<!-- ") {
        let (comment, next) = after.split_once("-->").context("a comment does not end")?;
        let names = comment.split('|');
        let names = names.map(|name| name.split_whitespace().collect::<Vec<_>>().join(" "));
        let names: Vec<String> = names.collect();
        let before = match &names[..] {
            [file, names @ ..] if file.ends_with(".md") && !names.is_empty() => {
                let value = table(file).and_then(|table| lookup(&table, names));
                value.and_then(|value| with(before, value)).with_context(|| comment.to_owned())?
            }
            _ => before.to_owned(),
        };
        written += &format!("{before}<!-- {comment}-->");
        rest = next;
        if let Some(name) = names[0].strip_prefix("install ").filter(|name| *name != "end") {
            written += &lines(name)?;
            let end = rest.find("<!-- install end -->");
            rest = &rest[end.with_context(|| format!("install {name} has no end"))?..];
        }
    }
    Ok(written + rest)
}

/// The text with its last number replaced.
fn with(text: &str, value: f64) -> Result<String> {
    let head = text.trim_end_matches(|c: char| c.is_alphabetic() || " %".contains(c));
    let unit = &text[head.len()..];
    let start = head.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = &head[start.len()..];
    ensure!(!number.is_empty(), "no figure before the comment");
    let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let value = if unit.trim_start().starts_with("kB") { value / 1e3 } else { value };
    Ok(format!("{start}{value:.decimals$}{unit}"))
}

/// The figure at this place of a table.
pub fn lookup(text: &str, names: &[String]) -> Result<f64> {
    let (column, keys) = names.split_last().context("no column")?;
    let (mut heading, mut head, mut found) = ("", Vec::new(), Vec::new());
    for line in text.lines() {
        let cells: Vec<&str> =
            line.split('|').map(|cell| cell.trim().trim_matches(['*', '`'])).collect();
        if let Some(text) = line.strip_prefix("## ") {
            heading = text;
        } else if cells.len() == 1 {
            head.clear();
            if let Some((_, after)) =
                line.split_once(column).filter(|_| keys.iter().all(|key| key == heading))
            {
                found.push(after.trim_start());
            }
        } else if head.is_empty() {
            head = cells;
        } else if keys.iter().all(|key| key == heading || cells.contains(&key.as_str()))
            && let Some(index) = head.iter().position(|cell| cell == column)
        {
            found.extend(cells.get(index).copied());
        }
    }
    ensure!(found.len() == 1, "the table has {} such figures", found.len());
    number(found[0])
}

/// The number at the start, such as `12 345`, `0.51 / 1.56` or `92.1 %`.
fn number(text: &str) -> Result<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && !" .".contains(c)).unwrap_or(text.len());
    let digits = text[..end].trim().trim_end_matches('.').replace(' ', "");
    digits.parse().with_context(|| format!("no figure: {text:.40}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "In the median it took 1.12 times the ideal.\n\n## cold\n\n| hints | law | rejected % |\n|---|---|---:|\n| none | `adaptive` | 18.6 / 67.3 |\n\n## saturated\n\n| hints | law | rejected % |\n|---|---|---:|\n| none | adaptive | **0.51** / 1.56 |\n\n| flash | m0 |\n|---|---:|\n| all | 12 345 |\n";

    fn names() -> [(&'static str, String); 3] {
        [("VERSION", "1.2.3"), ("REPOSITORY", "https://a.org/b"), ("SITE", "https://b.org")]
            .map(|(name, is)| (name, is.to_owned()))
    }

    fn written(text: &str) -> Result<String> {
        write(text, |_| Ok(TABLE.into()), lines(true, names()))
    }

    #[test]
    fn every_page_agrees_with_what_decides_its_text() {
        check().unwrap();
    }

    #[test]
    fn a_figure_is_that_of_its_table_with_the_digits_of_the_prose() {
        for (figure, place, expected) in [
            ("9 %", "saturated | none | adaptive | rejected %", "1 %"),
            ("0.9 %", "saturated | adaptive | rejected %", "0.5 %"),
            ("1.00", "cold | none |\n adaptive | rejected %", "18.60"),
            ("9.9 kB", "all | m0", "12.3 kB"),
            ("9", "all | m0", "12345"),
            ("9.99", "In the median it took", "1.12"),
        ] {
            let text = |figure| format!("about {figure}<!-- t.md | {place} --> and more");
            assert_eq!(written(&text(figure)).unwrap(), text(expected));
        }
    }

    #[test]
    fn a_figure_without_one_place_is_an_error() {
        for text in [
            "9<!-- t.md | none | adaptive | rejected % -->",
            "9<!-- t.md | none | backoff | rejected % -->",
            "9<!-- t.md | cold | adaptive | unused % -->",
            "9<!-- t.md | In the mean it took -->",
            "few<!-- t.md | all | m0 -->",
            "<!-- install none --><!-- install end -->",
            "<!-- install npm -->",
        ] {
            assert!(written(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_lines_to_install_follow_the_setting_and_nothing_else_changes() {
        let page = |lines: &str| {
            format!(
                "a <!-- b --> <!-- c | d -->\n<!-- install npm -->{lines}<!-- install end -->\ne\n"
            )
        };
        let npm = "\n```sh\nnpm install tidegate\n```\n";
        assert_eq!(written(&page("old")).unwrap(), page(npm));
        let clone = lines(false, names())("npm").unwrap();
        assert!(clone.contains("/tidegate-1.2.3.tgz"), "{clone}");
        let picture = lines(true, names())("og").unwrap();
        assert!(picture.contains("\"https://b.org/demo/og.png\""), "{picture}");
    }
}
