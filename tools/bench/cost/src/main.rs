//! Runs one subject many times, so that callgrind counts only the instructions inside
//! `meter::measured`. `cargo xtask bench cost` runs it and computes the mean.

mod limiters;
mod meter;
mod queue;
mod tiers;

use std::process::ExitCode;

/// The subjects by name. Each has the same number of calls, after the same warm-up.
const SUBJECTS: [(&str, fn()); 16] = [
    ("empty", limiters::empty),
    ("adaptive-open", tiers::open),
    ("adaptive-blind", tiers::blind),
    ("adaptive-blind-waits", tiers::blind_waits),
    ("adaptive-remaining", tiers::remaining),
    ("adaptive-period", tiers::period),
    ("fixed-pair-costs", limiters::fixed_pair_with_costs),
    ("fixed-poll", limiters::fixed_poll),
    ("fixed-pair", limiters::fixed_pair),
    ("queue-empty", queue::empty),
    ("queue-1000", queue::of_a_thousand),
    ("queue-100000", queue::of_a_hundred_thousand),
    ("queue-idle", queue::idle),
    ("pacing", limiters::pacing),
    ("governor", limiters::governor),
    ("governor-clock", limiters::governor_with_its_clock),
];

fn main() -> ExitCode {
    let asked = std::env::args().nth(1).unwrap_or_default();
    match SUBJECTS.iter().find(|(name, _)| *name == asked) {
        Some((_, run)) => {
            run();
            println!("{}", meter::MEASURED);
            ExitCode::SUCCESS
        }
        None => {
            let names = SUBJECTS.map(|(name, _)| name).join(", ");
            eprintln!("tidegate-cost: unknown subject `{asked}`; the subjects are {names}.");
            ExitCode::from(2)
        }
    }
}
