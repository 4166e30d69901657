//! The figures of other systems, computed with core and compared with the published ones and the
//! committed tables.
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
