//! The size that each part of tidegate adds to a firmware image.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use super::image::Image;
use super::table::{self, Row};
use super::{compiler, publish};
use crate::progress::step;
use crate::setup::rustup;
use crate::test::written::lookup;
use crate::workspace::root;
use anyhow::{Context, Result, ensure};

pub const TARGETS: [&str; 3] =
    ["thumbv6m-none-eabi", "thumbv7em-none-eabihf", "riscv32imc-unknown-none-elf"];

/// The images of tools/bench/size. Each is compared with the empty one.
const FLASH: [(&str, &str); 16] = [
    ("adaptive", "controller with adaptive alone"),
    ("aimd", "controller with aimd alone"),
    ("fixed", "controller with fixed alone"),
    ("fixed_costs", "controller with fixed, for calls with costs"),
    ("adaptive_retry", "controller with adaptive that retries and sleeps"),
    ("fixed_retry", "controller with fixed that retries and sleeps"),
    ("any", "controller with every law"),
    ("http", "HTTP header parsers"),
    ("http_body", "HTTP header and body parsers"),
    ("http_common", "HTTP header parser of the common dialects"),
    ("http_common_body", "HTTP header parser of the common dialects, and body parser"),
    ("throttle_adaptive", "embassy throttle with adaptive and the common parser"),
    ("throttle_adaptive_outcome", "embassy throttle with adaptive, no parser"),
    ("throttle_aimd", "embassy throttle with aimd, no parser"),
    ("throttle_fixed", "embassy throttle with fixed, no parser"),
    ("by_hand", "delay, cooldown and backoff by hand"),
];

/// The image whose `static` has a first value in flash.
const INITIAL: (&str, &str) =
    ("throttle_adaptive", "first value of the `static` of an embassy throttle");

/// The constants of the image `state`. Each is as large as the type it represents.
const STATE: [(&str, &str); 8] = [
    ("ADAPTIVE_STATE", "state of adaptive"),
    ("ADAPTIVE_CONTROLLER", "controller with adaptive"),
    ("FIXED_CONTROLLER", "controller with fixed"),
    ("ADAPTIVE_THROTTLE", "embassy throttle with adaptive, for 4 calls and 4 tasks"),
    ("AIMD_THROTTLE", "embassy throttle with aimd, for 4 calls and 4 tasks"),
    ("ACQUIRE", "embassy task that waits, in its future"),
    ("LEAST_ADAPTIVE_THROTTLE", "embassy throttle with adaptive, for 1 call and 1 task"),
    ("LEAST_AIMD_THROTTLE", "embassy throttle with aimd, for 1 call and 1 task"),
];

const PAGE: &str = "size.md";
/// The relative error of a figure, with the page's compiler and with another.
const SAME: u64 = 50;
const OTHER: u64 = 10;

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
        for (name, what) in FLASH {
            let image = Image::read(&folder.join(name))?;
            weights.flash.push(row(what, image.flash().saturating_sub(empty)));
        }
        let (name, what) = INITIAL;
        weights.flash.push(row(what, Image::read(&folder.join(name))?.initial));
        let state = Image::read(&folder.join("state"))?;
        for (name, what) in STATE {
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
        let mut page = String::from(
            "# Size\n\n\
             Bytes of code and constants that each part adds to a firmware image: the size of a minimal \
             image with it, less the size of the same image without it. A controller here has one \
             limit, calls that cost one each (`Single`) and a policy in flash, without the feature `stats`, and the image holds its `new`, \
             `poll` and `settle`; one that retries and sleeps has `retry`, `next_at` and the law's own policy too. \
             What a policy leaves out (a retry budget, a backoff) is not linked. Operations that a target lacks (64-bit division, \
             copying memory) are included. A throttle is a `static` that is started and whose calls are made \
             with `run` or, with hints, `run_with`; the first value of the `static` is included. No image of a controller or the parsers contains a panic; otherwise this \
             page could not be written. That the throttle adds no panic is proved by \
             `cargo xtask test embedded`.\n\n",
        );
        table::table(&mut page, "flash", &TARGETS, &self.flash);
        page.push('\n');
        table::table(&mut page, "memory", &TARGETS, &self.memory);
        _ = writeln!(
            page,
            "\nCompiled with opt-level \"z\", fat LTO and panic = \"abort\" by {}.\n\n\
             Written by `cargo xtask bench size`, which keeps the images in target/size: `nm --size-sort \
             --print-size --demangle` lists what takes the space. `cargo xtask test embedded` measures everything again and compares it with this page: to a \
             {SAME}th with this compiler, and to a {OTHER}th with another.",
            self.compiler
        );
        page
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
