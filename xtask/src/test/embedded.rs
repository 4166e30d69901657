//! The throttle for embassy: it builds for firmware, cannot panic, keeps its promises in virtual
//! time, and works on emulated boards.

use crate::bench::size;
use crate::road::Roads;
use crate::tally::Tally;
use crate::workspace::{cargo, root};

use super::firmware;
use super::no_panic::Image;

const TARGETS: [&str; 4] = [
    "thumbv6m-none-eabi",
    "thumbv7em-none-eabihf",
    "riscv32imc-unknown-none-elf",
    "riscv32imac-unknown-none-elf",
];

/// The tick rates of the tests: a slow one, one without a finite decimal, and embassy's default.
const RATES: [&str; 3] = ["1_000", "32_768", "1_000_000"];

/// The tests in virtual time.
const HOST: &str = "tidegate-embassy-host";
const IMAGE: Image = Image { package: "tidegate-embassy-no-panic", whose: "tidegate-embassy" };

pub fn run(roads: &mut Roads, tally: &mut Tally) {
    library(tally);
    for rate in RATES {
        virtual_time(rate, tally);
    }
    let mut clippy = cargo("clippy");
    clippy.args(["--package", HOST, "--all-targets", "--", "-D", "warnings"]);
    tally.check("clippy, virtual time", clippy);
    for target in TARGETS {
        builds(target, roads, tally);
    }
    IMAGE.prove(roads, tally);
    tally.verdict("run panics only if it is polled after its end", || {
        IMAGE.only_ends_async(roads, &["--features", "run"])
    });
    tally.verdict("the sizes of tests/golden/size.md", || size::compare(roads));
    firmware::run(roads, tally);
}

/// The crate, its promises at one tick rate, and one image on one board.
pub fn quick(roads: &mut Roads, tally: &mut Tally) {
    library(tally);
    virtual_time(RATES[2], tally);
    firmware::quick(roads, tally);
}

fn library(tally: &mut Tally) {
    let mut command = cargo("test");
    command.args(["--package", "tidegate-embassy", "--all-features"]);
    tally.tests("the crate and its examples", command);
}

/// One run per rate, because a program has one rate.
fn virtual_time(rate: &str, tally: &mut Tally) {
    let mut command = cargo("test");
    command.args(["--package", HOST, "--no-default-features", "--features"]);
    command.arg(format!("hz-{rate}"));
    tally.tests(&format!("virtual time, {} Hz", rate.replace('_', " ")), command);
}

/// Without and with optional features, because a feature may need something that a target lacks.
fn builds(target: &str, roads: &mut Roads, tally: &mut Tally) {
    let road = match roads.to(target) {
        Ok(road) => road,
        Err(error) => return tally.verdict(target, || Err(error)),
    };
    let mut command = road.cargo("build", target, root());
    command.args(["--release", "--package", "tidegate-embassy"]);
    tally.check(&format!("build, {target}"), command);
    let mut command = road.cargo("clippy", target, root());
    command.args(["--package", "tidegate-embassy", "--all-features", "--", "-D", "warnings"]);
    tally.check(&format!("clippy, {target}"), command);
}
