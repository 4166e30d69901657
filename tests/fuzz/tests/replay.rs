//! Replays every input that a search has kept.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that panics fails")]

use std::path::Path;

use tidegate_fuzz::{pack, target};

/// A corpus has thousands of inputs. Fewer than this mean that it was lost.
const LEAST: usize = 500;

fn replay(name: &str) {
    let target = target(name).unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("corpus/{name}.pack"));
    let inputs = pack::read(&file).unwrap();
    assert!(inputs.len() >= LEAST, "{} holds only {} inputs", file.display(), inputs.len());
    for (number, input) in inputs.iter().enumerate() {
        let told = std::panic::catch_unwind(|| target(input));
        assert!(told.is_ok(), "input {number} of {} violates a promise: {input:?}", file.display());
    }
}

#[test]
fn every_kept_response_is_read_consistently() {
    replay("http");
}

#[test]
fn every_kept_body_is_read_alike_in_any_chunks() {
    replay("body");
}

#[test]
fn every_kept_sequence_of_events_satisfies_every_contract() {
    replay("events");
}

#[test]
fn every_kept_record_is_rejected_or_restored() {
    replay("restore");
}

#[test]
fn every_kept_message_stays_within_the_budget() {
    replay("shared");
}
