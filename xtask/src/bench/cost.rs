//! Instructions per decision, counted by callgrind, which is deterministic.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::table::{self, Row};
use super::{boards, compiler, publish};
use crate::progress::step;
use crate::setup;
use crate::workspace::{cargo, root};

/// The subjects of tools/bench/cost and their descriptions.
const SUBJECTS: [(&str, &str); 15] = [
    ("adaptive-open", "adaptive, no throttled call yet: poll + settle"),
    ("adaptive-blind", "adaptive, throttled calls are all that is known: poll + settle"),
    ("adaptive-blind-waits", "adaptive, a poll that must wait"),
    ("adaptive-remaining", "adaptive, told what is left: poll + settle"),
    ("adaptive-period", "adaptive, told what is left and until when: poll + settle"),
    ("fixed-pair", "fixed: poll + settle"),
    ("fixed-poll", "fixed: poll"),
    ("fixed-pair-costs", "fixed, where calls state their costs: poll + settle"),
    ("queue-empty", "queue before `fixed` in which no call waits: join + settle"),
    ("queue-1000", "queue of 1000 before `fixed`: join + poll + take + settle"),
    ("queue-100000", "queue of 100 000 before `fixed`: join + poll + take + settle"),
    ("queue-idle", "queue of 1000 before `fixed`: a poll before its time"),
    ("pacing", "plain GCRA (gate::Pacing): take"),
    ("governor", "governor: check, with a clock that costs nothing"),
    ("governor-clock", "governor: check, with its own clock"),
];

const EMPTY: &str = "empty";

/// The limit for `adaptive`: a poll that admits and its settle.
const PAIR: u64 = 200;

pub fn run(json: bool) -> Result<()> {
    setup::need(&["valgrind"])?;
    let folder = root().join("target/cost");
    build(&folder)?;
    let (compiler, target) = compiler()?;
    let empty = count(&folder, EMPTY)?;
    let rows = SUBJECTS.map(|(subject, what)| {
        let figure = count(&folder, subject)?.saturating_sub(empty);
        Ok(Row { what: what.into(), target: target.clone(), figure })
    });
    let rows = rows.into_iter().collect::<Result<Vec<Row>>>()?;
    let counted = boards::count()?;
    if json {
        println!("{}", table::json(rows.iter().chain(&counted.instructions), "instructions"));
        return Ok(());
    }
    publish("cost.md", &(page(&rows, &target, &compiler) + &boards::section(&counted)))
}

fn build(folder: &Path) -> Result<()> {
    let mut command = cargo("build");
    command.args(["--release", "--package", "tidegate-cost", "--target-dir"]).arg(folder);
    // Compiled as users compile the crates, without overflow checks. Line tables change no
    // instruction and let callgrind_annotate name the source.
    command.args(["--config", "profile.release.overflow-checks=false"]);
    // With the options of a program that is optimised for speed.
    command.args(["--config", "profile.release.codegen-units=1"]);
    command.args(["--config", "profile.release.lto=\"thin\""]);
    command.args(["--config", "profile.release.debug=\"line-tables-only\""]);
    step("building tools/bench/cost", command)?;
    Ok(())
}

fn count(folder: &Path, subject: &str) -> Result<u64> {
    let mut command = Command::new("valgrind");
    let kept = folder.join(format!("{subject}.callgrind"));
    command.args(["--tool=callgrind", "--toggle-collect=*meter::measured*"]);
    command.arg(format!("--callgrind-out-file={}", kept.display()));
    command.arg(folder.join("release/tidegate-cost")).arg(subject);
    let output = step(&format!("counting {subject}"), command)?;
    per_call(&output).with_context(|| format!("callgrind did not count {subject}:\n{output}"))
}

/// Reads callgrind's sum, and the program's number of measured calls.
fn per_call(output: &str) -> Option<u64> {
    let collected = output.lines().find_map(|line| line.split_once("Collected : "))?.1;
    let collected: u64 = collected.trim().parse().ok()?;
    let calls: u64 = output.lines().find_map(|line| line.trim().parse().ok())?;
    (collected > 0).then(|| (collected + calls / 2).checked_div(calls))?
}

fn page(rows: &[Row], target: &str, compiler: &str) -> String {
    let mut page = String::from(
        "# Cost\n\n\
         Instructions of one decision, as callgrind counts them: the mean of 10 000 calls after 2000 \
         that warm up, less the overhead of measuring. All subjects run in the same frame, with the time \
         as an argument (unless stated otherwise), and compiled as users compile them. `adaptive` \
         meets a server of ten calls a second; throttled calls are included as they occur.\n\n",
    );
    table::table(&mut page, "instructions", &[target], rows);
    page.push_str("\n| bar | goal | is |\n|---|---:|---|\n");
    let of = |subject: &str| {
        let named = SUBJECTS.iter().zip(rows).find(|((name, _), _)| *name == subject);
        named.map_or(0, |(_, row)| row.figure)
    };
    for tier in ["open", "blind", "remaining", "period"] {
        let name = format!("adaptive, {tier}: poll + settle");
        table::bar(&mut page, &name, PAIR, of(&format!("adaptive-{tier}")));
    }
    let check = "plain GCRA against governor's check";
    table::bar(&mut page, check, of("governor"), of("pacing"));
    let clock = "`poll` of `fixed` against governor's check with its clock";
    table::bar(&mut page, clock, of("governor-clock"), of("fixed-poll"));
    _ = write!(
        page,
        "\nCompiled by {compiler}. Written by `cargo xtask bench cost`, which keeps callgrind's data in \
         target/cost: `callgrind_annotate target/cost/adaptive-blind.callgrind` shows the cost \
         of each line.\n"
    );
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_of_one_call_is_rounded_and_a_missing_count_is_an_error() {
        let output = |sum: &str| {
            format!("==7== Callgrind\n10000\n==7== Events    : Ir\n==7== Collected : {sum}\n")
        };
        assert_eq!(per_call(&output("5044375")), Some(504));
        assert_eq!(per_call(&output("5045000")), Some(505));
        assert_eq!(per_call(&output("0")), None);
        assert_eq!(per_call("10000\n"), None);
    }
}
