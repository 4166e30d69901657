//! Random bytes for a few seconds. tests/fuzz searches more thoroughly.

use tidegate::Rng;

const TRIES: u64 = 20_000;
/// Each is minutes of four clients.
const FLEETS: u64 = 96;

fn try_at_random(tries: u64, target: fn(&[u8])) {
    for seed in 0..tries {
        let mut chance = Rng::new(seed);
        let length = chance.next_u32() % 500;
        let mut bytes: Vec<u8> = (0..length).map(|_| (chance.next_u32() >> 24) as u8).collect();
        // Half of the seeds use mostly small numbers, which make common lengths of time.
        if seed % 2 == 0 {
            bytes.iter_mut().for_each(|byte| *byte >>= chance.next_u32() % 8);
        }
        let told = std::panic::catch_unwind(|| target(&bytes));
        assert!(told.is_ok(), "the bytes of seed {seed} violate a promise: {bytes:?}");
    }
}

#[test]
fn every_promise_holds_in_any_order_of_events() {
    try_at_random(TRIES, tidegate_promises::events);
}

#[test]
fn every_promise_holds_after_any_record() {
    try_at_random(TRIES, tidegate_promises::records);
}

#[test]
fn every_promise_holds_after_any_messages() {
    try_at_random(TRIES, tidegate_promises::shared);
}

#[test]
fn a_fleet_loses_no_call_and_keeps_to_its_quota() {
    try_at_random(FLEETS, tidegate_promises::fleet);
}
