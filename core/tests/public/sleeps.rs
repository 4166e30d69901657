//! A device that sleeps after each call, with a clock that continues or stops.

use tidegate::{Call, Controller, Decision, Hint, Instant, Outcome, Reply, Rng, SleepClock, Span};

use crate::client::{Gate, POLICY};
use crate::{DAY, MILLIS, SECOND, at};

/// The hints of the server.
#[derive(Clone, Copy, Debug)]
enum Says {
    All,
    RetryAfter,
    Nothing,
}

/// A server with this many calls a day: daily windows, or a bucket with a smaller burst.
#[derive(Clone, Copy, Debug)]
struct Server {
    daily: u64,
    burst: Option<u64>,
    says: Says,
    /// The remaining calls, in parts of a call.
    left: u64,
    latest: u64,
}

impl Server {
    fn new(daily: u64, burst: Option<u64>, says: Says) -> Self {
        Self { daily, burst, says, left: burst.unwrap_or(daily) * DAY, latest: 0 }
    }

    fn call(&mut self, now: u64) -> Reply {
        match self.burst {
            Some(burst) => {
                self.left = (self.left + (now - self.latest) * self.daily).min(burst * DAY);
            }
            None if now / DAY > self.latest / DAY => self.left = self.daily * DAY,
            None => {}
        }
        self.latest = now;
        let served = self.left >= DAY;
        self.left -= if served { DAY } else { 0 };
        let (reset, next) = match self.burst {
            Some(burst) => (burst * DAY - self.left, DAY - self.left % DAY),
            None => (DAY - now % DAY, DAY - now % DAY),
        };
        let seconds = |span: u64| match self.burst {
            Some(_) => Span::from_secs((span / self.daily).div_ceil(SECOND)),
            None => Span::from_secs(span.div_ceil(SECOND)),
        };
        let all = Hint::quota(self.daily, Span::from_secs(86_400))
            .and_remaining(self.left / DAY)
            .and_reset(seconds(reset));
        match (self.says, served) {
            (Says::All, true) => Outcome::Ok.with(all),
            (Says::All, false) => Outcome::Throttled.with(all.and_retry_after(seconds(next))),
            (Says::RetryAfter, false) => Outcome::Throttled.with(Hint::retry_after(seconds(next))),
            (_, true) => Outcome::Ok.into(),
            (_, false) => Outcome::Throttled.into(),
        }
    }
}

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
fn a_device_that_cannot_measure_its_sleeps_uses_its_quota_and_is_rarely_throttled() {
    let servers = [
        Server::new(1_000, None, Says::All),
        Server::new(100, None, Says::All),
        Server::new(100, None, Says::RetryAfter),
        Server::new(100, None, Says::Nothing),
        Server::new(100, Some(5), Says::RetryAfter),
        Server::new(100, Some(5), Says::All),
    ];
    for server in servers {
        for sleeps in [[60, 60], [300, 300], [240, 360], [900, 900], [3_600, 3_600]] {
            let mut sums = [[0; 2]; 2];
            for seed in 0..2 {
                for (sum, measures) in sums.iter_mut().zip([true, false]) {
                    let [served, throttled] = fortnight(server, seed, sleeps, measures);
                    *sum = [sum[0] + served, sum[1] + throttled];
                }
            }
            let [[measured, usual], [served, throttled]] = sums;
            // The throttled call that measures the first sleep also slows the law, which takes a week of such
            // calls to recover.
            let slow =
                sleeps[0] < 240 || matches!((server.says, server.burst), (Says::All, Some(_)));
            let part = if slow { 8 } else { 9 };
            assert!(served * 10 >= measured * part, "{server:?}, {sleeps:?}: {sums:?}");
            assert!(
                (throttled - usual.min(throttled)) * 25 <= served,
                "{server:?}, {sleeps:?}: {sums:?}"
            );
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
