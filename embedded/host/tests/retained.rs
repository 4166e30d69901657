//! Deep sleep: the throttle continues with what it has learned, without a burst.

use tidegate::Rng;
use tidegate::snapshot::SnapshotError;
use tidegate_embassy_host::*;

type Uplink = Throttle<NoopRawMutex, Fixed>;

/// One a minute, with an initial burst of three.
fn policy() -> &'static Policy<Fixed> {
    leak(Policy::new(Fixed::new(Quota::per_minute(1).unwrap().with_burst(3).unwrap())))
}

/// Uses all available calls, and goes to sleep at this second.
fn fall_asleep(at: u64) -> [u8; Uplink::SNAPSHOT_BYTES] {
    let time = Time::begin();
    let uplink = Uplink::seeded(policy(), 7);
    for _ in 0..3 {
        uplink.try_acquire().unwrap().settle(Outcome::Ok);
    }
    time.pass(Duration::from_secs(at));
    let mut record = [0; Uplink::SNAPSHOT_BYTES];
    assert_eq!(uplink.snapshot(&mut record), Ok(record.len()));
    record
}

#[test]
fn a_record_that_is_damaged_changes_nothing() {
    let _time = Time::begin();
    let uplink = Uplink::seeded(policy(), 7);
    let mut record = [0; Uplink::RECORD_BYTES];
    assert_eq!(uplink.record(&mut record[1..]), Err(SnapshotError::Length));
    assert_eq!(uplink.snapshot(&mut record[..9]), Err(SnapshotError::Length));
    uplink.record(&mut record).unwrap();
    uplink.try_acquire().unwrap().settle(Outcome::Ok);
    let wake_up = |record: &[u8]| uplink.wake_up(policy(), 8, record, None).unwrap_err();
    assert_eq!(wake_up(&record[..9]), SnapshotError::Length);
    // In what the throttle has learned, and in what is known about sleeps.
    for byte in [9, Uplink::RECORD_BYTES - 9] {
        record[byte] ^= 1;
        assert_eq!(wake_up(&record), SnapshotError::Damaged);
        record[byte] ^= 1;
    }
    let restored = uplink.restore(policy(), 8, &record[1..], Duration::MIN);
    assert_eq!((restored, uplink.stats().ok), (Err(SnapshotError::Length), 1));
    assert!(uplink.try_acquire().is_some());
}

#[test]
fn after_another_start_calls_in_flight_keep_their_places_and_waiting_calls_their_order() {
    let record = fall_asleep(20);
    // It sleeps for so many seconds, or starts afresh. The call is sent after the remaining time.
    for (away, sent_at) in [(Some(0), 50), (Some(15), 35), (Some(3_600), 10), (None, 10)] {
        let time = Time::begin();
        let uplink = Uplink::seeded(policy(), 7);
        let permits = [(); 3].map(|()| uplink.try_acquire().unwrap());
        let mut tasks = Tasks::new();
        tasks.spawn(served(uplink.acquire()));
        tasks.run(&time, Instant::from_secs(10));
        match away.map(Duration::from_secs) {
            Some(away) => uplink.restore(policy(), 8, &record, away).unwrap(),
            None => uplink.start(policy(), 8),
        }
        tasks.run(&time, far());
        assert_eq!((tasks.left(), Instant::now()), (0, Instant::from_secs(sent_at)));
        assert_eq!((uplink.stats().ok, uplink.in_flight()), (1, 3));
        for permit in permits {
            permit.settle(Outcome::Ok);
        }
        assert_eq!((uplink.stats().ok, uplink.in_flight()), (4, 0));
    }
}

type Sleeper = Throttle<NoopRawMutex, Adaptive>;

/// A device that takes one reading each time it wakes up, within ten seconds. Its clock restarts with each boot.
struct Life {
    asleep: u64,
    days: u64,
    /// It knows how long it slept.
    knows: bool,
    /// It writes a record before each attempt, not only before the sleep.
    before_each: bool,
    /// One reading in so many ends in a brown-out, so that no record is written before the sleep.
    brown_outs: u32,
}

impl Life {
    /// How many readings were served and how many throttled, by a server that says when the next one fits.
    fn readings(&self, server: &mut impl Limit) -> (u64, u64) {
        const SECOND: u64 = 1_000_000_000;
        let policy = leak(Policy::new(Adaptive::DEFAULT));
        let (mut kept, mut real) = (None::<([u8; Sleeper::RECORD_BYTES], u64)>, 7 * 3_600);
        let (mut served, mut throttled, mut chance) = (0, 0, Rng::new(9));
        while real < self.days * 86_400 {
            let time = Time::begin();
            let uplink = Sleeper::new();
            match &kept {
                Some((record, at)) => {
                    let away = self.knows.then_some(Duration::from_secs(real - at));
                    uplink.wake_up(policy, real, record, away).unwrap();
                }
                None => uplink.start(policy, real),
            }
            let mut keep = || {
                let mut record = [0; Sleeper::RECORD_BYTES];
                assert_eq!(uplink.record(&mut record), Ok(record.len()));
                kept = Some((record, real + Instant::now().as_secs()));
            };
            let reading = async || {
                if self.before_each {
                    keep();
                }
                if server.take((real + Instant::now().as_secs()) * SECOND, 1) {
                    served += 1;
                    return Outcome::Ok.into();
                }
                throttled += 1;
                let wait = server.retry_after(1).div_ceil(SECOND);
                Outcome::Throttled.with(Hint::retry_after(Span::from_secs(wait)))
            };
            {
                let mut tasks = Tasks::new();
                let sent = uplink.with_timeout(Duration::from_secs(10));
                tasks.spawn(async { _ = sent.run(reading).await });
                tasks.run(&time, far());
            }
            if !chance.next_u32().is_multiple_of(self.brown_outs) {
                keep();
            }
            real += Instant::now().as_secs() + self.asleep;
        }
        (served, throttled)
    }
}

#[test]
fn a_device_that_does_not_know_how_long_it_slept_still_uses_its_quota() {
    for asleep in [300, 600, 3_600] {
        let readings = |knows| {
            let life = Life { asleep, days: 14, knows, before_each: false, brown_outs: u32::MAX };
            life.readings(&mut Window::new(100, 86_400_000_000_000))
        };
        let ((known, usual), (served, throttled)) = (readings(true), readings(false));
        assert!(served * 10 >= known * 9, "{asleep} s: {served} of {known}");
        assert!(throttled <= usual + served / 50, "{asleep} s: {throttled} of {served}, {usual}");
    }
}

#[test]
fn with_a_record_before_each_attempt_a_brown_out_costs_nothing() {
    const DAYS: u64 = 60;
    for an_hour in 3..=5 {
        let readings = |knows, before_each| {
            let life = Life { asleep: 600, days: DAYS, knows, before_each, brown_outs: 20 };
            life.readings(&mut Sliding::new(an_hour, 3_600_000_000_000))
        };
        let all = an_hour * 24 * DAYS;
        // Without a clock, a sleep without a record before it counts as nothing.
        for (knows, least) in [(true, 95), (false, 94)] {
            let (served, throttled) = readings(knows, true);
            println!("{an_hour}, {knows}: {served} of {all}, {throttled} throttled");
            assert!(served * 100 >= all * least, "{served} of {all}");
            assert!(throttled * 50 <= served, "{throttled} throttled, {served} served");
        }
        let (without, _) = readings(true, false);
        assert!(without * 100 < all * 80, "{without} of {all} without it");
    }
}

/// A reading each time the device wakes up, every ten minutes for a fortnight, under a known limit of 120 calls a day.
/// The server reports no times. Returns how many were sent.
fn sent_under_a_fixed_limit(expects: bool) -> usize {
    type Fixed120 = Throttle<NoopRawMutex, Fixed>;
    let quota = Quota::per_day(120).unwrap().with_burst(2).unwrap();
    let policy = leak(Policy::new(Fixed::new(quota)));
    let mut record = [0; Fixed120::RECORD_BYTES];
    let mut sent = 0;
    for wake in 0..14 * 144 {
        let _time = Time::begin();
        let uplink = Fixed120::new();
        if uplink.wake_up(policy, wake, &record, None).is_err() {
            assert_eq!(wake, 0);
            uplink.start(policy, wake);
        }
        if let Some(permit) = uplink.try_acquire() {
            permit.settle(Outcome::Ok);
            sent += 1;
        }
        if expects {
            uplink.expect_sleep(Duration::from_secs(600));
        }
        uplink.record(&mut record).unwrap();
    }
    sent
}

#[test]
fn a_fixed_limit_with_an_expected_sleep_uses_its_quota() {
    let quota = 14 * 120;
    let (expected, unknown) = (sent_under_a_fixed_limit(true), sent_under_a_fixed_limit(false));
    println!("{expected} of {quota}, {unknown} without the expectation");
    assert!(expected * 100 >= quota * 95 && expected <= quota + 2, "{expected} of {quota}");
    assert!(unknown < quota / 5, "{unknown}");
}

#[test]
fn a_throttle_that_was_not_started_writes_no_record() {
    let _time = Time::begin();
    let uplink = Sleeper::new();
    let mut record = [7; Sleeper::RECORD_BYTES];
    assert_eq!((uplink.snapshot(&mut record), uplink.record(&mut record)), (Ok(0), Ok(0)));
    assert_eq!(record, [7; _]);
    assert!(uplink.try_acquire().is_none(), "it is still not started");
}
