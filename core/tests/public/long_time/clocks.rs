//! Clocks that step, slew, jump and stop, compared with an undisturbed one.

use tidegate::{Call, Hint, Outcome, Reply, Span, Verdict};

use super::every_policy;
use super::world::{Second, World, sent, served};
use crate::{HOUR, MILLIS, SECOND, at};

/// The clock at the start of a test.
const EPOCH: u64 = 100 * HOUR;
const TEN_MINUTES: usize = 600;

/// A client that has found its rate with a good clock, and its last five minutes.
fn settled(name: &str) -> (World, Vec<Second>) {
    let policy = every_policy().find(|(other, _)| *other == name).unwrap().1;
    let mut world = World::new(name, policy, EPOCH);
    let mut calm = world.live(TEN_MINUTES as u64, |now| EPOCH + now);
    (world, calm.split_off(TEN_MINUTES / 2))
}

/// The laws that oscillate around their rate even with a good clock, and recover slowly after a
/// throttled call.
const SWING: [&str; 3] = ["heroku-gradual", "heroku-proportional", "heroku-remaining"];

/// Checks that two periods of five minutes are similar.
fn alike(name: &str, after: &[Second], calm: &[Second]) {
    let (is, was) = (served(after), served(calm));
    let least = if SWING.contains(&name) { was / 10 } else { was * 9 / 10 };
    assert!(is >= least, "{name}: {is} calls served, and {was} under a good clock");
    if !SWING.contains(&name) {
        let (is, was) = (sent(after), sent(calm));
        assert!(is <= was * 13 / 10, "{name}: {is} calls sent, and {was} under a good clock");
    }
}

#[test]
fn a_clock_that_steps_an_hour_ahead_gains_at_most_a_burst() {
    for (name, _) in every_policy() {
        let ((mut world, calm), (mut twin, _)) = (settled(name), settled(name));
        let stepped = world.live(TEN_MINUTES as u64, |now| EPOCH + HOUR + now);
        let straight = twin.live(10, |now| EPOCH + now);
        let (first, usual) = (sent(&stepped[..10]), sent(&straight));
        assert!(
            first <= usual + usual / 2 + 10,
            "{name}: {first} calls at once instead of {usual}"
        );
        alike(name, &stepped[TEN_MINUTES / 2..], &calm);
    }
}

#[test]
fn a_clock_that_steps_an_hour_back_costs_at_most_an_hour_and_gains_nothing() {
    for (name, _) in every_policy() {
        let (mut world, calm) = settled(name);
        let stepped = world.live(3_600 + 2 * TEN_MINUTES as u64, |now| EPOCH - HOUR + now);
        let silence = stepped.iter().position(|second| second.sent > 0).unwrap();
        assert!(silence <= 3_610, "{name}: nothing was sent for {silence} s");
        let busiest = stepped.chunks(10).map(sent).max().unwrap();
        let usual = calm.chunks(10).map(sent).max().unwrap();
        assert!(busiest <= 2 * usual + 10, "{name}: {busiest} calls in ten seconds, not {usual}");
        alike(name, &stepped[stepped.len() - TEN_MINUTES / 2..], &calm);
    }
}

#[test]
fn a_clock_that_is_slewed_and_set_back_by_milliseconds_costs_almost_nothing() {
    // 500 ppm too fast for ten minutes, then too slow for ten; and set back by 5 ms and ahead
    // again.
    let slewed = |now: u64| {
        let turn = now % (1_200 * SECOND);
        let gained = turn.min(1_200 * SECOND - turn) / 2_000;
        let set_back = if now / SECOND % 34 >= 17 { 5 * MILLIS } else { 0 };
        EPOCH + now + gained - set_back
    };
    for (name, _) in every_policy() {
        let (mut world, calm) = settled(name);
        let slewed = world.live(2 * TEN_MINUTES as u64, slewed);
        for minutes in slewed.chunks(TEN_MINUTES / 2) {
            alike(name, minutes, &calm);
        }
    }
}

#[test]
fn a_laptop_that_sleeps_during_a_call_continues_as_before() {
    const NIGHT: u64 = 8 * HOUR;
    let asked = Hint::retry_after(Span::from_secs(30));
    let replies: [(Reply, u64); 5] = [
        (Outcome::Ok.into(), 0),
        (Outcome::Failed.into(), 0),
        (Outcome::Throttled.into(), 0),
        (Outcome::Throttled.with(asked), 30),
        (Outcome::Abandoned.into(), 0),
    ];
    for (name, _) in every_policy() {
        for (reply, request) in replies {
            let (mut world, calm) = settled(name);
            world.live_until_a_call(|now| EPOCH + now);
            let awake = EPOCH + world.now() + NIGHT;
            world.sleep(NIGHT, awake, reply);
            assert_eq!(world.gate.in_flight(), 0, "{name}");
            let wait = match world.gate.check(at(awake), &Call::new()) {
                Verdict::Wait(until) => (until - at(awake)).as_secs(),
                _ => 0,
            };
            assert!(wait <= request + request / 4 + 10, "{name}, {reply:?}: it waits {wait} s");
            let morning = world.live(TEN_MINUTES as u64, |now| EPOCH + now);
            alike(name, &morning[TEN_MINUTES / 2..], &calm);
        }
    }
}

#[test]
fn an_isolate_whose_clock_stops_and_jumps_neither_bursts_nor_starves() {
    for (name, policy) in every_policy().filter(|(name, _)| *name != "none") {
        // A law with a rate admits one call per jump, and a second one when it catches up.
        let rate_limited = ["adaptive", "fixed", "aimd"].contains(&name);
        let most = if rate_limited { 2 } else { 20 };
        for spell in [500 * MILLIS, 5 * SECOND, 60 * SECOND] {
            let mut world = World::new(name, policy, EPOCH);
            let seconds = world.live(1_200, |now| EPOCH + now / spell * spell);
            let within = spell.div_ceil(SECOND) as usize;
            // The delay of this law is longer than a second at times, whatever the clock.
            let longest = if name == "autosleeper" { within.max(5) } else { within };
            for sent in seconds[600..].chunks(longest).map(sent) {
                assert!(sent > 0, "{name}: nothing was sent in {spell} ns");
            }
            for sent in seconds[600..].chunks(within).map(sent) {
                assert!(sent <= most, "{name}: {sent} calls were sent within {spell} ns");
            }
        }
    }
}
