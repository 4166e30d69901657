//! The figures of tidegate's ancestors, from the core that ships: against what was published, and
//! against the committed tables.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics fails"
)]

mod autosleeper;
mod aws;
mod emr;
mod go;
mod golden;
mod heroku;
mod tchannel;
