//! Every input that a search has kept is tried again.
#![allow(missing_docs, clippy::panic, clippy::unwrap_used, reason = "a test that panics fails")]

use std::path::Path;

use tidegate_fuzz::{pack, target};

/// A search keeps thousands of inputs. So few mean that the corpus was lost, and the test with it.
const LEAST: usize = 500;

fn replay(name: &str) {
    let target = target(name).unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("corpus/{name}.pack"));
    let inputs = pack::read(&file).unwrap();
    assert!(inputs.len() >= LEAST, "{} holds only {} inputs", file.display(), inputs.len());
    for (number, input) in inputs.iter().enumerate() {
        let told = std::panic::catch_unwind(|| (target.try_with)(input));
        assert!(told.is_ok(), "input {number} of {} breaks a promise: {input:?}", file.display());
    }
}

#[test]
fn every_response_that_was_kept_is_read_consistently() {
    replay("http");
}

#[test]
fn every_body_that_was_kept_is_read_alike_in_any_chunks() {
    replay("body");
}

#[test]
fn every_signal_that_was_kept_is_read_as_its_oracle_reads_it() {
    replay("signals");
}

#[test]
fn every_sequence_of_events_that_was_kept_finds_every_contract_held() {
    replay("events");
}

#[test]
fn every_record_that_was_kept_is_rejected_or_gone_on_from() {
    replay("restore");
}

#[test]
fn every_message_that_was_kept_grants_and_uses_no_more_than_there_is() {
    replay("shared");
}
