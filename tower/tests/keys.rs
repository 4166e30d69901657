//! The table of keys: each key has a separate limit, and their number is bounded.

use std::time::Duration;

use tidegate_tower::Gate;
use tidegate_tower::tidegate::law::Fixed;
use tidegate_tower::tidegate::{Hint, Outcome, Policy, Quota, Reply, Span};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, sleep};

fn gate(keys: usize) -> Gate {
    let policy = Policy::new(Fixed::new(Quota::per_second(1).unwrap().with_burst(100).unwrap()));
    Gate::builder(policy).keys(keys).build()
}

#[tokio::test(start_paused = true)]
async fn hints_for_one_key_do_not_slow_another() {
    let gate = gate(10);
    let told: Reply = Outcome::Throttled.with(Hint::retry_after(Span::from_secs(60)));
    gate.key("a").try_acquire().unwrap().settle(told);
    assert!(gate.key("a").try_acquire().is_none());
    assert!(gate.key("b").try_acquire().is_some());
    assert_eq!(gate.stats().keys, 2);
}

#[tokio::test(start_paused = true)]
async fn the_least_recently_used_key_is_evicted_and_its_counters_are_kept() {
    let gate = gate(2);
    for key in ["a", "b", "a", "c"] {
        gate.key(key).try_acquire().unwrap().settle(Outcome::Ok);
    }
    let snapshot = gate.snapshot();
    let keys: Vec<_> = snapshot.keys().collect();
    assert_eq!(keys, ["a", "c"]);
    assert_eq!(gate.stats().counts.ok, 4);
}

#[tokio::test(start_paused = true)]
async fn a_call_with_a_new_key_waits_for_a_place() {
    let gate = gate(2);
    let (one, two) = (gate.key("a").try_acquire().unwrap(), gate.key("b").try_acquire().unwrap());
    assert!(gate.key("c").try_acquire().is_none());
    let waiting = tokio::spawn(gate.key("c").acquire());
    yield_now().await;
    assert!(!waiting.is_finished());
    // Calls of keys in the table continue.
    assert!(gate.key("a").try_acquire().is_some());
    two.settle(Outcome::Ok);
    assert_eq!(waiting.await.unwrap().unwrap().key(), "c");
    drop(one);
}

#[tokio::test(start_paused = true)]
async fn a_key_under_a_cooldown_is_not_evicted_before_it_ends() {
    let (gate, begun) = (gate(1), Instant::now());
    let told: Reply = Outcome::Throttled.with(Hint::retry_after(Span::from_secs(60)));
    gate.key("a").try_acquire().unwrap().settle(told);
    let early = gate.key("b").with_timeout(Duration::from_secs(5)).acquire().await.unwrap_err();
    assert!(early.wait().unwrap() > Duration::from_secs(50), "{early}");
    let permit = gate.key("b").acquire().await.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(60));
    drop(permit);
}

#[tokio::test(start_paused = true)]
async fn a_hundred_keys_share_three_places() {
    let gate = gate(3);
    let mut tasks = JoinSet::new();
    for number in 0..300 {
        let gate = gate.clone();
        tasks.spawn(async move {
            let permit = gate.key(format!("key {}", number % 100)).acquire().await.unwrap();
            sleep(Duration::from_millis(7)).await;
            permit.settle(Outcome::Ok);
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let stats = gate.stats();
    assert_eq!((stats.counts.ok, stats.in_flight, stats.waiting), (300, 0, 0));
    assert!(stats.keys <= 3);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_place_and_is_no_longer_polled_does_not_delay_others() {
    let gate = gate(1);
    let held = gate.key("a").try_acquire().unwrap();
    let mut first = gate.key("b").acquire();
    std::future::poll_fn(|cx| {
        assert!(std::pin::Pin::new(&mut first).poll(cx).is_pending());
        std::task::Poll::Ready(())
    })
    .await;
    let second = tokio::spawn(gate.key("c").acquire());
    yield_now().await;
    held.settle(Outcome::Ok);
    // `first` is there, but never polled again.
    second.await.unwrap().unwrap().settle(Outcome::Ok);
    drop(first);
}
