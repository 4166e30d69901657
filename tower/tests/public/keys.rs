//! The table of keys: each key has a separate limit, and their number is bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use tidegate_tower::tidegate::law::Fixed;
use tidegate_tower::tidegate::{Outcome, Policy, Quota};
use tidegate_tower::{Builder, Gate, Timer, Tokio};
use tokio::time::sleep;

use crate::common::throttled;

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
async fn a_key_with_calls_or_under_a_cooldown_is_not_evicted_and_delays_no_other() {
    let gate = gate(2);
    gate.key("cooldown").try_acquire().unwrap().settle(throttled(60));
    let in_use = gate.key("in use").try_acquire().unwrap();
    let waiting = gate.key("waiting").acquire();
    for number in 0..300 {
        gate.key(number.to_string()).try_acquire().unwrap().settle(Outcome::Ok);
    }
    let keys = |gate: &Gate| gate.snapshot().into_keys().collect::<Vec<_>>();
    assert_eq!(keys(&gate), ["299", "cooldown", "in use", "waiting"]);
    drop((in_use, waiting));
    sleep(Duration::from_secs(70)).await;
    gate.key("new").try_acquire().unwrap().settle(Outcome::Ok);
    assert_eq!(keys(&gate), ["299", "new"]);
    assert_eq!((gate.stats().keys, gate.stats().counts.ok), (2, 301));
}

#[tokio::test(start_paused = true)]
async fn a_new_key_looks_at_few_keys_of_a_full_table() {
    let (looks, new) = (Arc::new(AtomicUsize::new(0)), 600);
    let count = looks.clone();
    let timer = Watched(Tokio::default(), move || _ = count.fetch_add(1, Ordering::Relaxed));
    let gate = Builder::new(policy(), timer).keys(601).build();
    let mut held = Vec::new();
    for number in 0..300 {
        gate.key(format!("cooldown {number}")).try_acquire().unwrap().settle(throttled(3_600));
        held.push(gate.key(format!("in use {number}")).try_acquire().unwrap());
    }
    looks.store(0, Ordering::Relaxed);
    for number in 0..new {
        gate.key(format!("new {number}")).try_acquire().unwrap().settle(Outcome::Ok);
    }
    let looks = looks.load(Ordering::Relaxed);
    assert!(looks < 10 * new, "{looks} for {new} keys");
    // New keys stay while it looks at the 600, four at a time.
    assert!(gate.stats().keys <= 601 + 600 / 3, "{}", gate.stats().keys);
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
