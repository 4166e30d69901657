//! The table of keys: each key has a separate limit, and their number is bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use tidegate_tower::tidegate::law::Fixed;
use tidegate_tower::tidegate::{Hint, Outcome, Policy, Quota, Reply, Span};
use tidegate_tower::{Builder, Gate, Timer, Tokio};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, sleep};

fn policy() -> Policy<Fixed> {
    Policy::new(Fixed::new(Quota::per_second(1).unwrap().with_burst(100).unwrap()))
}

fn gate(keys: usize) -> Gate {
    Gate::builder(policy()).keys(keys).build()
}

/// Calls a function whenever a lane reads the clock.
struct Watched<F>(Tokio, F);

impl<F: Fn() + 'static> Timer for Watched<F> {
    type Sleep = <Tokio as Timer>::Sleep;

    fn now(&self) -> tidegate_tower::tidegate::Instant {
        (self.1)();
        self.0.now()
    }

    fn sleep_until(&self, at: tidegate_tower::tidegate::Instant) -> Self::Sleep {
        self.0.sleep_until(at)
    }
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
async fn a_new_key_finds_room_as_soon_as_a_cooldown_is_ended() {
    let told: Reply = Outcome::Throttled.with(Hint::retry_after(Span::from_secs(3_600)));
    let ends: [fn(&Gate); 2] = [
        |gate| gate.reset("a"),
        |gate| gate.set_policy(policy().ceiling(Span::from_secs(1)).unwrap()),
    ];
    for end in ends {
        let (gate, begun) = (gate(1), Instant::now());
        gate.key("a").try_acquire().unwrap().settle(told);
        let waiting = tokio::spawn(gate.key("b").acquire());
        sleep(Duration::from_millis(10)).await;
        assert!(!waiting.is_finished());
        end(&gate);
        drop(waiting.await.unwrap().unwrap());
        assert!(begun.elapsed() <= Duration::from_secs(2), "{:?}", begun.elapsed());
    }
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
    tasks.join_all().await;
    let stats = gate.stats();
    assert_eq!((stats.counts.ok, stats.in_flight, stats.waiting), (300, 0, 0));
    assert!(stats.keys <= 3);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_place_and_is_no_longer_polled_does_not_delay_others() {
    let gate = gate(1);
    let held = gate.key("a").try_acquire().unwrap();
    let mut first = gate.key("b").acquire();
    assert!(futures_util::FutureExt::now_or_never(&mut first).is_none());
    let second = tokio::spawn(gate.key("c").acquire());
    yield_now().await;
    held.settle(Outcome::Ok);
    // `first` is there, but never polled again.
    second.await.unwrap().unwrap().settle(Outcome::Ok);
    drop(first);
}

#[tokio::test(start_paused = true)]
async fn a_new_key_does_not_look_at_all_keys_of_a_full_table_to_find_the_one_that_is_evicted() {
    let told: Reply = Outcome::Throttled.with(Hint::retry_after(Span::from_secs(3_600)));
    let (looks, new) = (Arc::new(AtomicUsize::new(0)), 300);
    let count = looks.clone();
    let timer = Watched(Tokio::default(), move || _ = count.fetch_add(1, Ordering::Relaxed));
    let gate = Builder::new(policy(), timer).keys(601).build();
    let mut held = Vec::new();
    for number in 0..300 {
        gate.key(format!("cooldown {number}")).try_acquire().unwrap().settle(told);
        held.push(gate.key(format!("in use {number}")).try_acquire().unwrap());
    }
    looks.store(0, Ordering::Relaxed);
    for number in 0..new {
        gate.key(format!("new {number}")).try_acquire().unwrap().settle(Outcome::Ok);
    }
    let looks = looks.load(Ordering::Relaxed);
    assert!(looks < 10 * new, "{looks} for {new} keys");
    assert_eq!(gate.stats().keys, 601);
    drop(held);
    // Those that were in use are evicted first now, and no key that is under a cooldown.
    for number in new..2 * new {
        gate.key(format!("new {number}")).try_acquire().unwrap().settle(Outcome::Ok);
    }
    for number in 0..300 {
        assert!(gate.key(format!("cooldown {number}")).peek().unwrap() > Duration::ZERO);
    }
}

#[test]
fn counters_and_snapshots_are_read_while_other_calls_continue() {
    let (ask, asked): (_, Receiver<()>) = sync_channel(0);
    let (done, is_done): (SyncSender<()>, _) = sync_channel(0);
    let (reads, is_done) = (Arc::new(AtomicUsize::new(usize::MAX)), std::sync::Mutex::new(is_done));
    let count = reads.clone();
    // While the first key is read, another thread makes a call with another one.
    let timer = Watched(Tokio::default(), move || {
        if count.fetch_sub(1, Ordering::Relaxed) == 1 {
            ask.send(()).unwrap();
            let wait = Duration::from_secs(20);
            is_done.lock().unwrap().recv_timeout(wait).expect("the call waits for the reader");
        }
    });
    let gate = Builder::new(policy(), timer).build();
    drop(gate.key("a").try_acquire().unwrap());
    let other = gate.clone();
    std::thread::spawn(move || {
        while asked.recv().is_ok() {
            drop(other.key("b").try_acquire().unwrap());
            done.send(()).unwrap();
        }
    });
    for read in [|gate: &Gate<1, _>| _ = gate.stats(), |gate: &Gate<1, _>| _ = gate.snapshot()] {
        reads.store(1, Ordering::Relaxed);
        read(&gate);
    }
}
