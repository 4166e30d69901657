//! Deep sleep: the throttle continues with what it has learned, without a burst.

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_time::{Duration, Instant};
use tidegate::law::{Adaptive, Fixed};
use tidegate::snapshot::SnapshotError;
use tidegate::{Hint, Outcome, Policy, Quota, Span};
use tidegate_embassy::Throttle;
use tidegate_embassy_host::{Tasks, Time, far, leak};

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

/// Wakes up `away` later with a clock at zero. Returns when the next call is sent.
fn next_after(record: &[u8], away: Duration) -> Instant {
    let time = Time::begin();
    let uplink = Uplink::new();
    uplink.restore(policy(), 8, record, away).unwrap();
    let mut tasks = Tasks::new();
    tasks.spawn(async { uplink.acquire().await.unwrap().settle(Outcome::Ok) });
    tasks.run(&time, far());
    Instant::now()
}

#[test]
fn the_next_call_waits_for_the_remaining_time_minus_the_sleep() {
    let record = fall_asleep(20);
    for (away, left) in [(0, 40), (15, 25), (40, 0), (3_600, 0)] {
        let left = Instant::from_secs(left);
        assert_eq!(next_after(&record, Duration::from_secs(away)), left, "{away} s asleep");
    }
}

#[test]
fn a_record_that_is_damaged_or_of_another_law_changes_nothing() {
    let mut record = fall_asleep(20);
    let _time = Time::begin();
    let uplink = Uplink::seeded(policy(), 7);
    uplink.try_acquire().unwrap().settle(Outcome::Ok);
    let cut = uplink.restore(policy(), 8, &record[1..], Duration::from_secs(0));
    assert_eq!(cut, Err(SnapshotError::Length));
    record[9] ^= 1;
    let bent = uplink.restore(policy(), 8, &record, Duration::from_secs(0));
    assert_eq!(bent, Err(SnapshotError::Damaged));
    assert_eq!(uplink.snapshot(&mut record[1..]), Err(SnapshotError::Length));
    assert_eq!(uplink.stats().ok, 1);
    assert!(uplink.try_acquire().is_some());
}

#[test]
fn after_a_restore_calls_in_flight_keep_their_places_and_waiting_calls_their_order() {
    let record = fall_asleep(20);
    let time = Time::begin();
    let uplink = Uplink::seeded(policy(), 7);
    let permits = [(); 3].map(|()| uplink.try_acquire().unwrap());
    let mut tasks = Tasks::new();
    tasks.spawn(async { uplink.acquire().await.unwrap().settle(Outcome::Ok) });
    tasks.run(&time, Instant::from_secs(10));
    uplink.restore(policy(), 8, &record, Duration::from_secs(0)).unwrap();
    for permit in permits {
        permit.settle(Outcome::Ok);
    }
    tasks.run(&time, far());
    assert_eq!((tasks.left(), Instant::now()), (0, Instant::from_secs(50)));
    let stats = uplink.stats();
    assert_eq!((stats.ok, uplink.in_flight()), (4, 0));
}

#[test]
fn a_permit_from_between_snapshot_and_restore_is_not_mistaken_for_a_later_one() {
    let _time = Time::begin();
    let uplink = Uplink::seeded(policy(), 7);
    let mut record = [0; Uplink::SNAPSHOT_BYTES];
    uplink.snapshot(&mut record).unwrap();
    let late = uplink.try_acquire().unwrap();
    uplink.restore(policy(), 8, &record, Duration::from_secs(0)).unwrap();
    let fresh = uplink.try_acquire().unwrap();
    late.settle(Outcome::Ok);
    let stats = uplink.stats();
    assert_eq!((stats.ok, uplink.in_flight()), (1, 1));
    fresh.settle(Outcome::Ok);
    assert_eq!((uplink.stats().ok, uplink.in_flight()), (2, 0));
}

type Sleeper = Throttle<NoopRawMutex, Adaptive>;

/// One reading each time the device wakes up, within ten seconds, for a fortnight, from a server of
/// 100 calls a day that reports the end of the day. The device's clock restarts with each boot.
/// Returns how many calls were served and how many throttled.
fn readings(asleep: u64, knows: bool) -> (u64, u64) {
    const DAY: u64 = 86_400;
    let policy = leak(Policy::new(Adaptive::DEFAULT));
    let (mut record, mut real) = (None::<[u8; Sleeper::SLEEP_BYTES]>, 7 * 3_600);
    let (mut left, mut day, mut served, mut throttled) = (100, 0, 0, 0);
    while real < 14 * DAY {
        let time = Time::begin();
        let uplink = Sleeper::new();
        match &record {
            Some(record) => {
                let away = knows.then_some(Duration::from_secs(asleep));
                uplink.wake_up(policy, real, record, away).unwrap();
            }
            None => uplink.start(policy, real),
        }
        let reading = async || {
            let now = real + Instant::now().as_secs();
            if now / DAY > day {
                (left, day) = (100, now / DAY);
            }
            let wait = Hint::retry_after(Span::from_secs(DAY - now % DAY));
            if left == 0 {
                throttled += 1;
                return Outcome::Throttled.with(wait);
            }
            (left, served) = (left - 1, served + 1);
            Outcome::Ok.into()
        };
        {
            let mut tasks = Tasks::new();
            let sent = uplink.with_timeout(Duration::from_secs(10));
            tasks.spawn(async { _ = sent.run(reading).await });
            tasks.run(&time, far());
        }
        real += Instant::now().as_secs() + asleep;
        let mut kept = [0; Sleeper::SLEEP_BYTES];
        assert_eq!(uplink.fall_asleep(&mut kept), Ok(kept.len()));
        record = Some(kept);
    }
    (served, throttled)
}

#[test]
fn a_device_that_does_not_know_how_long_it_slept_still_uses_its_quota() {
    for asleep in [300, 600, 3_600] {
        let ((known, usual), (served, throttled)) =
            (readings(asleep, true), readings(asleep, false));
        assert!(served * 10 >= known * 9, "{asleep} s: {served} of {known}");
        assert!(throttled <= usual + served / 50, "{asleep} s: {throttled} of {served}, {usual}");
    }
}

/// A reading each time the device wakes up, every ten minutes for a fortnight, under a known limit of 120 calls a day.
/// The server reports no times. Returns how many were sent.
fn sent_under_a_fixed_limit(expects: bool) -> usize {
    type Fixed120 = Throttle<NoopRawMutex, Fixed>;
    let quota = Quota::per_day(120).unwrap().with_burst(2).unwrap();
    let policy = leak(Policy::new(Fixed::new(quota)));
    let mut record = [0; Fixed120::SLEEP_BYTES];
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
        uplink.fall_asleep(&mut record).unwrap();
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
fn a_record_of_another_length_or_with_a_modified_sleep_changes_nothing() {
    let _time = Time::begin();
    let policy = leak(Policy::new(Adaptive::DEFAULT));
    let uplink = Sleeper::seeded(policy, 7);
    let mut record = [0; Sleeper::SLEEP_BYTES];
    assert_eq!(uplink.fall_asleep(&mut record[1..]), Err(SnapshotError::Length));
    uplink.fall_asleep(&mut record).unwrap();
    assert_eq!(uplink.wake_up(policy, 8, &record[..9], None), Err(SnapshotError::Length));
    record[Sleeper::SLEEP_BYTES - 9] ^= 1;
    assert_eq!(uplink.wake_up(policy, 8, &record, None), Err(SnapshotError::Damaged));
}

#[test]
fn a_throttle_that_was_not_started_writes_no_record() {
    let _time = Time::begin();
    let uplink = Sleeper::new();
    let mut record = [7; Sleeper::SLEEP_BYTES];
    assert_eq!((uplink.snapshot(&mut record), uplink.fall_asleep(&mut record)), (Ok(0), Ok(0)));
    assert_eq!(record, [7; _]);
    assert!(uplink.try_acquire().is_none(), "it is still not started");
}

#[test]
fn a_throttle_that_starts_again_knows_the_calls_in_flight() {
    let _time = Time::begin();
    let throttle: Throttle<NoopRawMutex, Fixed> = Throttle::seeded(policy(), 7);
    let before = throttle.try_acquire().unwrap();
    throttle.start(policy(), 8);
    let after = throttle.try_acquire().unwrap();
    assert_eq!(throttle.in_flight(), 2);
    before.settle(Outcome::Ok);
    assert_eq!(throttle.in_flight(), 1);
    after.settle(Outcome::Ok);
    assert_eq!(throttle.in_flight(), 0);
}
