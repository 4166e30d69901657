//! Plays vectors: what a client asks and what comes back to it, line by line, held against the
//! answers that an oracle in exact numbers has worked out (`tests/vectors/README.md`).
//!
//! It needs no more than an allocator, so that every machine that the core runs on can play.
#![no_std]

extern crate alloc;

mod controller;
mod pace;
mod policy;
mod schedule;
mod signal;
mod value;

use alloc::string::String;

use serde_json::Value;
use value::{field, text};

/// How a vector went.
pub type Played = Result<usize, String>;

/// Plays the vector of one line. The answer is how many steps it had, or what differs and where.
///
/// # Errors
/// A sentence that names the vector, the step, and both answers.
pub fn play(line: &str) -> Played {
    let vector: Value =
        serde_json::from_str(line).map_err(|error| alloc::format!("not a vector: {error}"))?;
    let name = field(&vector, "name").and_then(text)?;
    let played = match field(&vector, "kind").and_then(text)? {
        "controller" => controller::play(&vector),
        "policy" => policy::play(&vector),
        "pace" => pace::play(&vector),
        "backoff" => schedule::backoff(&vector),
        "chance" => schedule::chance(&vector),
        "ticks" => schedule::ticks(&vector),
        "http" => signal::http(&vector),
        "grpc" => signal::grpc(&vector),
        "mqtt" => signal::mqtt(&vector),
        "coap" => signal::coap(&vector),
        "aws" => signal::aws(&vector),
        other => Err(alloc::format!("there is no kind `{other}`")),
    };
    played.map_err(|difference| alloc::format!("{name}: {difference}"))
}
