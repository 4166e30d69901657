//! Over a deep sleep: what has been learnt goes on, and no burst comes of it.

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_time::{Duration, Instant};
use tidegate::law::Fixed;
use tidegate::snapshot::SnapshotError;
use tidegate::{Outcome, Policy, Quota};
use tidegate_embassy::Throttle;
use tidegate_embassy_host::{Tasks, Time, far, leak};

type Uplink = Throttle<NoopRawMutex, Fixed>;

/// One a minute, and three to begin with.
fn policy() -> &'static Policy<Fixed> {
    leak(Policy::new(Fixed::new(Quota::per_minute(1).unwrap().with_burst(3).unwrap())))
}

/// Spends what there is, and falls asleep at so many seconds.
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

/// Wakes up `away` later with a clock at zero, and tells when the next call leaves.
fn next_after(record: &[u8], away: Duration) -> Instant {
    let time = Time::begin();
    let uplink = Uplink::new(policy(), || 8);
    uplink.restore(policy(), 8, record, away).unwrap();
    let mut tasks = Tasks::new();
    tasks.spawn(async { uplink.acquire().await.unwrap().settle(Outcome::Ok) });
    tasks.run(&time, far());
    Instant::now()
}

#[test]
fn the_next_call_waits_for_what_was_left_less_the_time_asleep() {
    let record = fall_asleep(20);
    for (away, left) in [(0, 40), (15, 25), (40, 0), (3_600, 0)] {
        let left = Instant::from_secs(left);
        assert_eq!(next_after(&record, Duration::from_secs(away)), left, "{away} s asleep");
    }
}

#[test]
fn a_record_that_is_damaged_or_another_laws_changes_nothing() {
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
fn calls_in_flight_teach_nothing_to_what_is_restored_and_waiters_stay_in_line() {
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
    assert_eq!((stats.ok, stats.late, uplink.in_flight()), (4, 3, 0));
}

#[test]
fn a_permit_from_between_snapshot_and_restore_is_not_taken_for_a_later_one() {
    let _time = Time::begin();
    let uplink = Uplink::seeded(policy(), 7);
    let mut record = [0; Uplink::SNAPSHOT_BYTES];
    uplink.snapshot(&mut record).unwrap();
    let late = uplink.try_acquire().unwrap();
    uplink.restore(policy(), 8, &record, Duration::from_secs(0)).unwrap();
    let fresh = uplink.try_acquire().unwrap();
    late.settle(Outcome::Ok);
    let stats = uplink.stats();
    assert_eq!((stats.ok, stats.late, uplink.in_flight()), (1, 1, 1));
    fresh.settle(Outcome::Ok);
    assert_eq!((uplink.stats().ok, uplink.in_flight()), (2, 0));
}
