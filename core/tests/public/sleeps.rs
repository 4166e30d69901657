//! A device that sleeps after each call, with a clock that continues or stops.

use tidegate::{
    Call, Controller, Decision, Hint, Instant, Outcome, Rng, Span, firmware::SleepClock,
};

use crate::client::{Gate, POLICY};
use crate::server::{Says, Server};
use crate::{DAY, MILLIS, SECOND, at};

/// The device's clock when it wakes up. The time before it must have room for the instants in a
/// record.
const WAKE: u64 = 1 << 62;

/// A fortnight of a device that makes a reading each time it wakes up, within ten seconds, and
/// sleeps between `least` and `most` seconds. Returns how many were served, and how many calls were
/// throttled.
fn fortnight(mut server: Server, seed: u64, [least, most]: [u64; 2], measures: bool) -> [u64; 2] {
    let (mut gate, mut clock) = (Gate::new(POLICY, seed, at(WAKE)), SleepClock::new());
    let mut rng = Rng::new(seed);
    let (mut records, mut counts) =
        (([0; Gate::SNAPSHOT_BYTES], [0; SleepClock::SNAPSHOT_BYTES]), [0; 2]);
    // The real clock. The device's clock restarts each time it wakes up.
    let mut real = 7 * 3_600 * SECOND;
    while real < 14 * DAY {
        let mut now = WAKE;
        let mut call = Call::new().deadline(at(WAKE + 10 * SECOND));
        while now <= WAKE + 10 * SECOND {
            match gate.poll(at(now), &call) {
                Decision::Admit(permit) => {
                    let reply = server.call(real + now - WAKE);
                    counts[usize::from(reply.outcome != Outcome::Ok)] += 1;
                    now += 200 * MILLIS;
                    gate.settle(at(now), permit, reply);
                    clock.heard(at(now), reply);
                    match gate.retry(at(now), &call, reply) {
                        Ok(next) => call = next,
                        Err(_) => break,
                    }
                }
                Decision::Wait(until) => now = until.as_nanos(),
                Decision::Full | Decision::Reject(_) => break,
            }
        }
        gate.snapshot(at(now), &mut records.0).unwrap();
        clock.snapshot(at(now), &mut records.1).unwrap();
        let asleep = SECOND * (least + u64::from(rng.next_u32()) % (most - least + 1));
        real += now - WAKE + asleep;
        let away = Span::from_nanos(asleep);
        let (read, away) =
            SleepClock::restore(&records.1, at(WAKE), measures.then_some(away)).unwrap();
        clock = read;
        gate = Controller::restore(POLICY, real, &records.0, at(WAKE), away).unwrap();
    }
    counts
}

#[test]
fn a_device_uses_its_quota_and_is_rarely_throttled_whether_or_not_it_can_measure_its_sleeps() {
    let readings = (14 * DAY - 7 * 3_600 * SECOND) / (300 * SECOND);
    let refill = 5 + 100 * readings / 288;
    // What a reading every five minutes can use, and how many calls may be throttled at most. With few hints, the law
    // checks about every hour whether the quota is available again.
    for (daily, burst, says, possible, most) in [
        (1_000, None, Says::Ietf, readings, 0),
        (100, None, Says::Ietf, 1_400, 28),
        (100, None, Says::RetryAfter, 1_400, 42),
        (100, None, Says::Nothing, 1_400, 56),
        (100, Some(5), Says::RetryAfter, refill, 28),
        (100, Some(5), Says::Ietf, refill, 28),
        (100, Some(5), Says::Nothing, refill, 56),
    ] {
        let server = Server::new(daily, DAY, burst, says);
        for sleeps in [[60, 60], [300, 300], [240, 360], [900, 900], [3_600, 3_600]] {
            let mut sums = [[0; 2]; 2];
            for seed in 0..2 {
                for (sum, measures) in sums.iter_mut().zip([true, false]) {
                    let [served, throttled] = fortnight(server.clone(), seed, sleeps, measures);
                    assert!(!measures || sleeps != [300, 300] || throttled <= most, "{throttled}");
                    *sum = [sum[0] + served, sum[1] + throttled];
                }
            }
            let what = format!("{server:?}, {sleeps:?}: {sums:?}");
            let [[measured, usual], [served, throttled]] = sums;
            if sleeps == [300, 300] {
                assert!(measured * 100 >= 2 * possible * 98, "{what}");
            }
            // The throttled call that measures the first sleep also slows the law, which takes a week of such
            // calls to recover.
            let slow = sleeps[0] < 240 || (says == Says::Ietf && burst.is_some());
            let part = if slow { 8 } else { 9 };
            assert!(served * 10 >= measured * part, "{what}");
            assert!((throttled - usual.min(throttled)) * 25 <= served, "{what}");
        }
    }
}

#[test]
fn a_server_that_lies_about_its_time_stops_no_device_for_good() {
    let (mut clock, now) = (SleepClock::new(), Instant::ZERO);
    let mut record = [0; SleepClock::SNAPSHOT_BYTES];
    for asks in [u64::MAX, u64::MAX - 1, 0, u64::MAX, 1, 0] {
        clock.heard(now, Outcome::Throttled.with::<1>(Hint::retry_after(Span::from_nanos(asks))));
        let mut longest = Span::ZERO;
        for _ in 0..1_024 {
            clock.snapshot(now, &mut record).unwrap();
            let (read, away) = SleepClock::restore(&record, now, None).unwrap();
            (clock, longest) = (read, longest.max(away));
        }
        assert!(longest >= Span::from_secs(30 * 86_400));
    }
}

#[test]
fn a_call_without_a_response_does_not_change_a_cooldown() {
    for lost in [Outcome::Failed, Outcome::Abandoned] {
        let (mut clock, now) = (SleepClock::new(), Instant::ZERO);
        let mut record = [0; SleepClock::SNAPSHOT_BYTES];
        let asked = Span::from_secs(900);
        clock.heard(now, Outcome::Throttled.with::<1>(Hint::retry_after(asked)));
        clock.heard::<1>(now, lost);
        clock.snapshot(now, &mut record).unwrap();
        assert_eq!(SleepClock::restore(&record, now, None).unwrap().1, asked, "{lost:?}");
    }
}
