//! The size that each part of tidegate adds to a firmware image.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use super::image::Image;
use super::table::{Row, table, thousands};
use super::{compiler, publish};
use crate::progress::step;
use crate::setup::rustup;
use crate::test::written::lookup;
use crate::workspace::root;
use anyhow::{Context, Result, ensure};

pub const TARGETS: [&str; 3] =
    ["thumbv6m-none-eabi", "thumbv7em-none-eabihf", "riscv32imc-unknown-none-elf"];

/// The rows and bars of the page: each line is of a kind.
const TABLE: &str = include_str!("sizes.txt");

const PAGE: &str = "size.md";
/// The relative error of a figure, with the page's compiler and with another.
const SAME: u64 = 50;
const OTHER: u64 = 10;

/// The lines of a kind, without it.
fn lines<const CELLS: usize>(kind: &str) -> impl Iterator<Item = [&'static str; CELLS]> {
    TABLE.lines().filter_map(move |line| {
        let mut cells = line.split('|').map(str::trim);
        let is_of_kind = cells.next()? == kind;
        is_of_kind.then(|| [(); CELLS].map(|()| cells.next().unwrap_or_default()))
    })
}

#[derive(Default)]
struct Weights {
    flash: Vec<Row>,
    memory: Vec<Row>,
    compiler: String,
}

pub fn run() -> Result<()> {
    publish(PAGE, &weigh()?.page())
}

pub fn compare() -> Result<()> {
    let weights = weigh()?;
    let page = root().join("tests/golden").join(PAGE);
    let page = fs::read_to_string(&page).with_context(|| page.display().to_string())?;
    let off = weights.off(&page);
    let update = "`cargo xtask bench size` updates tests/golden/";
    ensure!(off.is_empty(), "{update}{PAGE}:\n{}", off.join("\n"));
    Ok(())
}

fn weigh() -> Result<Weights> {
    let mut weights = Weights { compiler: compiler()?.0, ..Weights::default() };
    for target in TARGETS {
        let row = |what: &str, figure| Row { what: what.into(), target: target.into(), figure };
        let folder = build(target)?;
        let empty = Image::read(&folder.join("empty"))?.flash();
        for [name, what] in lines("flash") {
            let image = Image::read(&folder.join(name))?;
            weights.flash.push(row(what, image.flash().saturating_sub(empty)));
        }
        for [name, what] in lines("initial") {
            weights.flash.push(row(what, Image::read(&folder.join(name))?.initial));
        }
        let state = Image::read(&folder.join("state"))?;
        for [name, what] in lines("memory") {
            let bytes = state.size_of(name);
            let bytes = bytes.with_context(|| format!("`state` for {target} lacks `{name}`"))?;
            weights.memory.push(row(what, bytes));
        }
    }
    Ok(weights)
}

/// Links all images for `target` and returns their folder. An image with a reachable panic does not
/// link.
fn build(target: &str) -> Result<PathBuf> {
    let output = root().join("target/size");
    let mut command = rustup::cargo("build", target, root())?;
    command.args(["--profile", "size", "--locked", "--package", "tidegate-size", "--target-dir"]);
    command.arg(&output);
    step(&format!("linking tools/bench/size for {target}"), command)?;
    Ok(output.join(target).join("size"))
}

impl Weights {
    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.flash.iter().chain(&self.memory)
    }

    /// The figures that differ from the page by more than the compiler explains.
    fn off(&self, page: &str) -> Vec<String> {
        let same = page.contains(&format!(" by {}.\n", self.compiler));
        let mut off = Vec::new();
        for Row { what, target, figure } in self.rows() {
            let most = figure / if same { SAME } else { OTHER };
            let Ok(told) = lookup(page, &[what.clone(), target.clone()]) else {
                off.push(format!("{what}, {target}: not on the page"));
                continue;
            };
            if (told as u64).abs_diff(*figure) > most {
                off.push(format!("{what}, {target}: {figure} bytes, and {told} on the page"));
            }
        }
        off
    }

    fn page(&self) -> String {
        let mut bars = String::new();
        for [name, target, must, aim] in lines("bar") {
            let mut parts = lines("flash").chain(lines("memory"));
            let what = parts.find(|[part, _]| *part == name).map_or("", |[_, what]| what);
            let row = self.rows().find(|row| row.what == what && row.target == target);
            let Some(&Row { figure: bytes, .. }) = row else { continue };
            let [must, aim] = [must, aim].map(|limit| limit.parse().unwrap_or(0));
            let verdict = match bytes {
                _ if bytes <= aim => "aim met".into(),
                _ if bytes <= must => "must met".into(),
                _ => format!("**{} above must**", thousands(bytes - must)),
            };
            let [must, aim, bytes] = [must, aim, bytes].map(thousands);
            _ = writeln!(bars, "| {what} | {target} | {must} | {aim} | {bytes}: {verdict} |");
        }
        format!(
            include_str!("size.txt"),
            flash = table("flash", &TARGETS, &self.flash),
            memory = table("memory", &TARGETS, &self.memory),
            bars = bars,
            compiler = self.compiler,
            same = SAME,
            other = OTHER,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(figure: u64) -> Weights {
        let (what, target) = ("HTTP header parsers", TARGETS[1]);
        // The page names the first target on a separate line.
        let row = |target: &str, figure| Row { what: what.into(), target: target.into(), figure };
        let flash = vec![row(TARGETS[0], 7), row(target, figure)];
        Weights { flash, compiler: "rustc 1.95.0".into(), ..Weights::default() }
    }

    #[test]
    fn with_the_same_compiler_figures_are_compared_more_strictly() {
        let page = weights(10_000).page();
        for (figure, off) in [(10_000, 0), (10_200, 0), (10_210, 1), (9_700, 1)] {
            assert_eq!(weights(figure).off(&page).len(), off, "{figure}");
        }
        let other = page.replace("1.95.0", "1.85.0");
        for (figure, off) in [(10_900, 0), (11_200, 1)] {
            assert_eq!(weights(figure).off(&other).len(), off, "{figure}");
        }
        let lacking = page.replace("HTTP", "FTP");
        assert_eq!(weights(10_000).off(&lacking).len(), 2);
    }
}
