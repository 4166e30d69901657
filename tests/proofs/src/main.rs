//! Runs single steps of core's arithmetic. An input line names a step and its numbers, and the
//! output line contains the resulting numbers.
//!
//! The lemmas are about models of these steps, and comparing both shows that the models match the
//! code. Users of core cannot call single steps, so this program includes core's source files.
#![cfg(not(test))] // The tests in these files belong to core.
#![allow(dead_code, unreachable_pub, unused_imports, reason = "most of core is not used")]
#![allow(clippy::all, unfulfilled_lint_expectations, reason = "core is linted as its own crate")]

#[path = "../../../core/src/backoff.rs"]
mod backoff;
#[path = "../../../core/src/config_error.rs"]
mod config_error;
#[path = "../../../core/src/costs.rs"]
mod costs;
#[path = "../../../core/src/digest.rs"]
mod digest;
#[path = "../../../core/src/fixed.rs"]
mod fixed;
#[path = "../../../core/src/gate/mod.rs"]
mod gate;
#[path = "../../../core/src/hint.rs"]
mod hint;
#[path = "../../../core/src/law/mod.rs"]
mod law;
#[path = "../../../core/src/linked.rs"]
mod linked;
#[path = "../../../core/src/mean_cost.rs"]
mod mean_cost;
#[path = "../../../core/src/outcome.rs"]
mod outcome;
#[path = "../../../core/src/permit.rs"]
mod permit;
#[path = "../../../core/src/policy/mod.rs"]
mod policy;
#[path = "../../../core/src/rate.rs"]
mod rate;
#[path = "../../../core/src/rng.rs"]
mod rng;
#[path = "../../../core/src/snapshot.rs"]
mod snapshot;
#[path = "../../../core/src/time.rs"]
mod time;
#[path = "../../../core/src/verdict.rs"]
mod verdict;

mod adaptive;
mod numbers;
mod plain;
mod states;

pub use config_error::ConfigError;
pub use fixed::Ratio;
pub use hint::Hint;
pub use outcome::{Outcome, Reply};
pub use permit::Permit;
pub use policy::Policy;
pub use rate::Quota;
pub use rng::Rng;
pub use time::{Instant, Span};
pub use verdict::{Call, Decision, Reason, Verdict};

use std::io::{BufRead, Write, stdin, stdout};
use std::process::ExitCode;

use numbers::Numbers;

fn main() -> ExitCode {
    let mut out = stdout().lock();
    for line in stdin().lock().lines().map_while(Result::ok) {
        let mut words = line.split_whitespace();
        let Some(step) = words.next() else { continue };
        let Some(mut numbers) = Numbers::of(words) else {
            eprintln!("`{line}`: expected a step's name and whole numbers below 2^64.");
            return ExitCode::FAILURE;
        };
        let taken = plain::take(step, &mut numbers)
            .or_else(|| states::take(step, &mut numbers))
            .or_else(|| adaptive::take(step, &mut numbers));
        let Some(answer) = taken.filter(|_| numbers.fit()) else {
            eprintln!("`{line}`: unknown step, or wrong numbers.");
            return ExitCode::FAILURE;
        };
        let answer: Vec<String> = answer.iter().map(u64::to_string).collect();
        if writeln!(out, "{}", answer.join(" ")).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
