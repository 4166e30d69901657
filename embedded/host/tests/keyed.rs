//! A line for each key.

use std::cell::RefCell;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_time::Instant;
use tidegate::law::Fixed;
use tidegate::{Outcome, Policy, Quota};
use tidegate_embassy::KeyedThrottle;
use tidegate_embassy_host::{Tasks, Time, far};

type Apis = KeyedThrottle<NoopRawMutex, u8, Fixed, 3, 2, 8>;

/// One a second for each key.
fn apis() -> Apis {
    Apis::seeded(Policy::new(Fixed::new(Quota::per_second(1).unwrap())), 7)
}

#[test]
fn keys_neither_wait_for_each_other_nor_take_each_others_turns() {
    let time = Time::begin();
    let apis = apis();
    let left_at = RefCell::new(Vec::new());
    let mut tasks = Tasks::new();
    for number in 0..6u8 {
        let (apis, left_at) = (&apis, &left_at);
        tasks.spawn(async move {
            let key = number % 2;
            apis.call(key).acquire().await.unwrap().settle(Outcome::Ok);
            left_at.borrow_mut().push((Instant::now().as_secs(), number));
        });
    }
    tasks.run(&time, far());
    assert_eq!(*left_at.borrow(), [(0, 0), (0, 1), (1, 2), (1, 3), (2, 4), (2, 5)]);
    assert_eq!((apis.keys(), apis.waiting(), apis.evicted()), (2, 0, 0));
}

#[test]
fn whoever_waits_for_a_key_that_had_to_go_is_served_all_the_same() {
    let time = Time::begin();
    let apis = apis();
    let mut tasks = Tasks::new();
    // Two for each of five keys, where there is room for three.
    for number in 0..8 {
        let apis = &apis;
        tasks.spawn(async move {
            let answer = apis.call(number % 5).run(async || Outcome::Ok).await;
            assert_eq!(answer, Ok(Outcome::Ok));
        });
    }
    tasks.run(&time, far());
    assert_eq!((tasks.left(), apis.waiting()), (0, 0));
    assert!(apis.evicted() > 0);
}
