//! Published figures of the systems that tidegate's laws come from, compared with core running the
//! same law in the same situation.
//!
//! Each module is one source. All its figures come from a [`tidegate::Controller`] that is polled
//! and settled like in a frontend. The published figures are in `published/`, and our results are
//! committed in `tests/golden/`.
//!
//! Build it with `--release`: some days have a hundred thousand calls, and there are many days.

pub mod agenda;
pub mod autosleeper;
pub mod aws;
pub mod emr;
pub mod go;
pub mod golden;
pub mod heroku;
pub mod published;
pub mod report;
pub mod statistics;
pub mod tchannel;
pub mod world;

use rayon::prelude::*;
use report::Report;
use tidegate::{Instant, Ratio, Span};

/// A source, by the name of its golden file.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// Its name.
    pub name: &'static str,
    /// Runs the core and reports the figures.
    pub report: fn() -> Report,
}

/// All sources.
pub const SOURCES: [Source; 6] = [
    Source { name: "autosleeper", report: autosleeper::report },
    Source { name: "emr", report: emr::report },
    Source { name: "heroku", report: heroku::report },
    Source { name: "go", report: go::report },
    Source { name: "tchannel", report: tchannel::report },
    Source { name: "aws", report: aws::report },
];

fn ratio(numerator: u32, denominator: u32) -> Ratio {
    Ratio::new(numerator, denominator).expect("a denominator above zero")
}

fn at_millis(millis: u64) -> Instant {
    Instant::ZERO.saturating_add(Span::from_millis(millis))
}

#[expect(clippy::cast_precision_loss, reason = "figures are printed with few digits")]
fn seconds(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e9
}

/// The results for the seeds from 0, computed on all cores, in the order of the seeds.
pub fn of_seeds<T: Send>(count: u64, of: impl Fn(u64) -> T + Send + Sync) -> Vec<T> {
    (0..count).into_par_iter().map(of).collect()
}
