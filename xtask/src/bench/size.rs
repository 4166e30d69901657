//! What each part of tidegate adds to an image of firmware.

use std::fmt::Write;
use std::path::PathBuf;

use super::image::Image;
use super::row::{self, Row};
use super::{compiler, publish, thousands};
use crate::progress;
use crate::road::{Road, Roads};
use crate::workspace::root;
use anyhow::{Result, bail};

const TARGETS: [&str; 3] =
    ["thumbv6m-none-eabi", "thumbv7em-none-eabihf", "riscv32imc-unknown-none-elf"];

/// The images of tests/bench/size, each weighed against the empty one.
const FLASH: [(&str, &str); 7] = [
    ("adaptive", "controller with adaptive alone"),
    ("aimd", "controller with aimd alone"),
    ("fixed", "controller with fixed alone"),
    ("any", "controller with every law"),
    ("http", "HTTP header parsers"),
    ("throttle_adaptive", "embassy throttle with adaptive and the HTTP parsers"),
    ("throttle_aimd", "embassy throttle with aimd, no parser"),
];

/// The constants of the image `state`, which are as large as the types they stand for.
const STATE: [(&str, &str); 8] = [
    ("ADAPTIVE_STATE", "state of adaptive"),
    ("ADAPTIVE_CONTROLLER", "controller with adaptive and its policy"),
    ("FIXED_CONTROLLER", "controller with fixed and its policy"),
    ("ADAPTIVE_THROTTLE", "embassy throttle with adaptive, for 4 calls and 4 tasks"),
    ("AIMD_THROTTLE", "embassy throttle with aimd, for 4 calls and 4 tasks"),
    ("ACQUIRE", "embassy task that waits, in its future"),
    ("LEAST_ADAPTIVE_THROTTLE", "embassy throttle with adaptive, for 1 call and 1 task"),
    ("LEAST_AIMD_THROTTLE", "embassy throttle with aimd, for 1 call and 1 task"),
];

/// What may take how much on which target, and what it aims at.
const BARS: [(&str, &str, u64, u64); 7] = [
    ("adaptive", "thumbv6m-none-eabi", 10_240, 6_144),
    ("adaptive", "thumbv7em-none-eabihf", 8_192, 5_120),
    ("throttle_adaptive", "thumbv6m-none-eabi", 16_384, 9_216),
    ("throttle_adaptive", "thumbv7em-none-eabihf", 13_312, 7_168),
    ("throttle_aimd", "thumbv6m-none-eabi", 4_096, 4_096),
    ("LEAST_ADAPTIVE_THROTTLE", "thumbv6m-none-eabi", 160, 160),
    ("LEAST_AIMD_THROTTLE", "thumbv6m-none-eabi", 160, 160),
];

/// All that is on the page.
struct Weights {
    rows: Vec<Row>,
    compilers: Vec<(&'static str, String)>,
}

pub fn run(roads: &mut Roads, json: bool, symbols: bool) -> Result<()> {
    let mut weights = Weights { rows: Vec::new(), compilers: Vec::new() };
    for target in TARGETS {
        let road = roads.to(target)?;
        let folder = build(target, road)?;
        let empty = Image::read(&folder.join("empty"))?.flash();
        for (name, what) in FLASH {
            let image = Image::read(&folder.join(name))?;
            if let [float, ..] = image.floats()[..] {
                bail!(
                    "{float} is in the image `{name}` for {target}: something there computes with floats"
                );
            }
            if symbols && name == "adaptive" {
                list(target, &image);
            }
            weights.rows.push(Row {
                what,
                target: target.into(),
                figure: image.flash().saturating_sub(empty),
            });
        }
        let state = Image::read(&folder.join("state"))?;
        for (name, what) in STATE {
            let Some(bytes) = state.size_of(name) else {
                bail!("the image `state` for {target} lacks `{name}`");
            };
            weights.rows.push(Row { what, target: target.into(), figure: bytes });
        }
        weights.compilers.push((target, compiler(road)));
    }
    match (json, symbols) {
        (true, _) => println!("{}", row::json(&weights.rows, "bytes")),
        (false, true) => (),
        (false, false) => publish("size.md", &weights.page())?,
    }
    Ok(())
}

/// Links all images for `target`, and says where they are. One with a reachable panic does not link.
fn build(target: &str, road: Road) -> Result<PathBuf> {
    let output = root().join("target/size").join(match road {
        Road::Active => "active",
        Road::Debian => "debian",
    });
    let mut command = road.cargo("build", target, &root().join("tests/bench/size"));
    command.args(["--release", "--locked", "--target-dir"]).arg(&output);
    let ended = progress::run(&format!("linking for {target}"), command, None)?;
    if !ended.success() {
        bail!("tests/bench/size does not link for {target}:\n{}", ended.output);
    }
    Ok(output.join(target).join("release"))
}

fn list(target: &str, image: &Image) {
    println!("{target}: {} code, {} data", thousands(image.code), thousands(image.data));
    for (name, bytes) in &image.symbols {
        println!("{bytes:>8}  {name}");
    }
    println!();
}

impl Weights {
    fn page(&self) -> String {
        let mut page = String::from(
            "# Size\n\n\
             Bytes of code and constants that each part adds to an image of firmware: what a minimal \
             image weighs with it, less what the same frame weighs empty. A controller here has one \
             limit and four calls in flight, and the image holds its `new`, `poll`, `settle`, \
             `retry` and `next_at` for any policy. What a target lacks in hardware (64-bit division, \
             copying memory) is counted too. A throttle is a `static` whose calls are made with `run`, \
             and what the `static` begins with is in flash as well. None of the images holds a \
             function of floating point, and none of a controller or the parsers a panic, or this \
             page would not have been written; that the throttle has none of its own is proved by \
             `cargo xtask test embedded`.\n\n",
        );
        _ = writeln!(page, "| flash | {} |", TARGETS.join(" | "));
        _ = writeln!(page, "|---|{}", "---:|".repeat(TARGETS.len()));
        self.table(&mut page, &FLASH);
        _ = writeln!(page, "\n| memory | {} |", TARGETS.join(" | "));
        _ = writeln!(page, "|---|{}", "---:|".repeat(TARGETS.len()));
        self.table(&mut page, &STATE);
        page.push_str("\n| bar | target | must | aim | is |\n|---|---|---:|---:|---|\n");
        for (name, target, must, aim) in BARS {
            let Some((_, what)) = FLASH.iter().chain(&STATE).find(|part| part.0 == name) else {
                continue;
            };
            let Some(bytes) = row::figure(&self.rows, what, target) else { continue };
            let verdict = match bytes {
                _ if bytes <= aim => "aim met".into(),
                _ if bytes <= must => "must met".into(),
                _ => format!("**{} above must**", thousands(bytes - must)),
            };
            let [must, aim, bytes] = [must, aim, bytes].map(thousands);
            _ = writeln!(page, "| {what} | {target} | {must} | {aim} | {bytes}: {verdict} |");
        }
        page.push_str("\nCompiled with opt-level \"z\", fat LTO and panic = \"abort\" by:\n\n");
        for (target, compiler) in &self.compilers {
            _ = writeln!(page, "- {target}: {compiler}");
        }
        page.push_str(
            "\nWritten by `cargo xtask bench size`; `--symbols` lists what takes the space.\n",
        );
        page
    }

    fn table(&self, page: &mut String, parts: &[(&str, &'static str)]) {
        for (_, what) in parts {
            let cells = TARGETS
                .map(|target| row::figure(&self.rows, what, target).map_or("-".into(), thousands));
            _ = writeln!(page, "| {what} | {} |", cells.join(" | "));
        }
    }
}
