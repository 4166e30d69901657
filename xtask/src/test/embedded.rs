//! The throttle for embassy: it builds for firmware, cannot panic, keeps its promises in virtual
//! time, and works on emulated boards.

use crate::bench::size;
use crate::tally::Tally;
use crate::workspace::cargo;

use super::firmware;
use super::no_panic::Image;

/// The tick rates of the tests: a slow one, one without a finite decimal, and embassy's default.
const RATES: [&str; 3] = ["1_000", "32_768", "1_000_000"];

/// The tests in virtual time.
const HOST: &str = "tidegate-embassy-host";
const IMAGE: Image = Image { package: "tidegate-embassy-no-panic", whose: "tidegate-embassy" };

pub fn run(tally: &mut Tally) {
    for rate in RATES {
        virtual_time(rate, tally);
    }
    IMAGE.prove(tally);
    tally.verdict("run panics only if it is polled after its end", || {
        IMAGE.only_ends_async(&["--features", "run"])
    });
    tally.verdict("the sizes of tests/golden/size.md", size::compare);
    firmware::run(tally);
}

/// Its promises at one tick rate.
pub fn quick(tally: &mut Tally) {
    virtual_time(RATES[2], tally);
}

/// One run per rate, because a program has one rate.
fn virtual_time(rate: &str, tally: &mut Tally) {
    let mut command = cargo("test");
    command.args(["--package", HOST, "--no-default-features", "--features"]);
    command.arg(format!("hz-{rate}"));
    tally.tests(&format!("virtual time, {} Hz", rate.replace('_', " ")), command);
}
