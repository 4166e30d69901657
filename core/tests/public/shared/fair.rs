//! Two members share a budget evenly, for any numbers of waiting calls and message times.

use proptest::prelude::*;
use tidegate::shared::{GRANT_BYTES, Leases, Member, REQUEST_BYTES};
use tidegate::{Call, Controller, Decision, Outcome, Quota, Rng, Span};

use super::{Desk, policy};
use crate::{MILLIS, SECOND, at};

const STEP: u64 = 5 * MILLIS;
const MINUTE: u64 = 60 * SECOND;

/// A member that always has waiting calls.
struct Process {
    member: Member<256>,
    /// How many calls wait, and until when.
    waiting: u16,
    until: u64,
    /// The longest time with the same number of waiting calls.
    calm: u64,
    /// The longest time of a message, and of a call.
    way: u64,
    call: u64,
    /// The completion time of each call in flight.
    away: Vec<(u64, u64)>,
}

struct Message {
    arrives: u64,
    process: usize,
    is_request: bool,
    bytes: Vec<u8>,
}

fn between(chance: &mut Rng, least: u64, most: u64) -> u64 {
    chance.between(Span::from_nanos(least), Span::from_nanos(most)).as_nanos()
}

fn process(number: u64, chance: &mut Rng) -> Process {
    Process {
        member: Member::new(number, Quota::per_second(1).unwrap(), at(0)),
        waiting: 1,
        until: 0,
        // From a millisecond to 17 s.
        calm: 1 << between(chance, 20, 34),
        way: between(chance, 0, 60 * MILLIS),
        call: between(chance, 5 * MILLIS, 500 * MILLIS),
        away: Vec::new(),
    }
}

/// The calls that each of two members sends per minute, with a limit of this many calls a second.
fn left(rate: u64, seed: u64, minutes: u64) -> Vec<[u64; 2]> {
    let chance = &mut Rng::new(seed);
    let quota = Quota::per_second(rate).unwrap();
    let mut desk = Desk::new(Leases::new(Controller::new(policy(quota), seed, at(0))), at(0));
    let mut processes = [1, 2].map(|number| process(number, chance));
    let mut messages: Vec<Message> = Vec::new();
    let mut left = vec![[0; 2]; minutes as usize];
    for now in (0..minutes * MINUTE).step_by(STEP as usize) {
        let due: Vec<Message> = messages.extract_if(.., |m| m.arrives <= now).collect();
        for Message { process, is_request, bytes, .. } in due {
            if !is_request {
                processes[process].member.hear(at(now), &bytes).unwrap();
                continue;
            }
            let mut grant = vec![0; GRANT_BYTES];
            let length = desk.answer(at(now), &bytes, &mut grant).unwrap();
            grant.truncate(length);
            let arrives = now + between(chance, 0, processes[process].way);
            messages.push(Message { arrives, process, is_request: false, bytes: grant });
        }
        for (index, process) in processes.iter_mut().enumerate() {
            if process.until <= now {
                process.waiting = 1 << between(chance, 0, 6);
                process.until = now + between(chance, 0, process.calm);
            }
            for (_, permit) in process.away.extract_if(.., |(back, _)| *back <= now) {
                process.member.settle(at(now), permit, Outcome::Ok);
            }
            while let Decision::Admit(permit) = process.member.poll(at(now), &Call::new()) {
                process.away.push((now + process.call, permit));
                left[(now / MINUTE) as usize][index] += 1;
            }
            let mut request = [0; REQUEST_BYTES];
            let length = process.member.request(at(now), process.waiting, &mut request);
            if let Some(length) = length {
                let arrives = now + between(chance, 0, process.way);
                let bytes = request[..length].to_vec();
                messages.push(Message { arrives, process: index, is_request: true, bytes });
            }
        }
    }
    left
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn two_members_that_always_have_calls_share_every_minute_evenly(
        rate in prop_oneof![1..10u64, 10..200u64], seed: u64,
    ) {
        // The first minute is for convergence.
        for [one, other] in left(rate, seed, 4).split_off(1) {
            let all = one + other;
            prop_assert!(all >= 59 * rate, "{all} calls at {rate} a second");
            // Exact to a call, because a slow limit has few per minute.
            prop_assert!((one.min(other) + 1) * 100 >= all * 45, "{one} and {other} at {rate} a second");
        }
    }
}
