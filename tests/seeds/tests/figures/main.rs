//! The figures of other systems, computed with core and compared with the published ones.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics fails"
)]

mod autosleeper;
mod emr;
mod go;
mod heroku;
mod tchannel;

use tidegate::{Ratio, Span};

fn ratio(numerator: u32, denominator: u32) -> Ratio {
    Ratio::new(numerator, denominator).unwrap()
}

fn seconds(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e9
}
