//! Tests of core's public API in one program, which links once and shares helpers.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that overflows or panics fails, which is right"
)]

mod bad_calls;
mod cases;
mod client;
mod costs;
mod days;
mod growth;
mod long_time;
mod modules;
mod noise;
mod permits;
mod promises;
mod queue;
mod recovery;
mod server;
#[cfg(feature = "shared")]
mod shared;
mod signal_bodies;
mod signal_captures;
mod signal_common;
mod signal_dates;
mod signal_hostile;
mod signal_providers;
mod single;
mod sleeps;
mod snapshots;
mod waits;

use tidegate::Instant;

const MILLIS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLIS;
const HOUR: u64 = 3_600 * SECOND;
const DAY: u64 = 24 * HOUR;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}
