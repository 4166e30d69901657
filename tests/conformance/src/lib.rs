//! Replays vectors: a client's actions line by line, compared with the answers that an exact oracle
//! computed (`tests/vectors/README.md`).
//!
//! It requires only an allocator, so it runs on every target of core.
#![no_std]

extern crate alloc;

mod controller;
mod policy;
mod signal;
mod value;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::Value;
use serde_json::value::RawValue;
use value::{field, text};

/// The result of a vector: its number of steps, or the difference.
pub type Played = Result<usize, String>;

/// A vector whose events are read one by one, so that a long one fits a small machine.
struct Vector<'a> {
    fields: Value,
    events: Vec<&'a RawValue>,
}

impl<'a> Vector<'a> {
    fn read(line: &'a str) -> serde_json::Result<Self> {
        let mut raw: BTreeMap<&str, &RawValue> = serde_json::from_str(line)?;
        let events =
            raw.remove("events").map_or(Ok(Vec::new()), |raw| serde_json::from_str(raw.get()))?;
        let read =
            |(name, raw): (&str, &RawValue)| Ok((name.into(), serde_json::from_str(raw.get())?));
        let fields = raw.into_iter().map(read).collect::<serde_json::Result<_>>()?;
        Ok(Self { fields: Value::Object(fields), events })
    }

    fn each(&self, mut play: impl FnMut(&Value) -> Result<(), String>) -> Played {
        for (step, raw) in self.events.iter().enumerate() {
            let event = serde_json::from_str(raw.get()).map_err(|error| format!("{error}"))?;
            play(&event).map_err(|error| format!("step {step}, {event}: {error}"))?;
        }
        Ok(self.events.len())
    }
}

/// Replays the vector in one line. Returns its number of steps, or the first difference.
///
/// # Errors
/// A sentence with the vector, the step, and both answers.
pub fn play(line: &str) -> Played {
    let vector = Vector::read(line).map_err(|error| format!("not a vector: {error}"))?;
    let fields = &vector.fields;
    let name = field(fields, "name").and_then(text)?;
    let played = match field(fields, "kind").and_then(text)? {
        "controller" => controller::play(&vector),
        "policy" => policy::play(fields),
        "http" => signal::http(fields),
        "grpc" => signal::grpc(fields),
        "mqtt" => signal::mqtt(fields),
        "coap" => signal::coap(fields),
        "aws" => signal::aws(fields),
        "body" => signal::body(fields),
        other => Err(format!("unknown kind `{other}`")),
    };
    played.map_err(|difference| format!("{name}: {difference}"))
}
