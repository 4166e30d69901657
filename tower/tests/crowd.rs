//! Many tasks with one gate: none is forgotten, even if others are dropped or run elsewhere.

use std::cmp::Reverse;
use std::num::NonZeroU16;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use futures_util::FutureExt;
use tidegate_tower::tidegate::law::Fixed;
use tidegate_tower::tidegate::{Outcome, Policy, Quota};
use tidegate_tower::{Acquire, Gate};
use tokio::task::{JoinSet, yield_now};
use tokio::time::timeout;

/// Longer than any test takes on a busy machine.
const LONG: Duration = Duration::from_secs(120);

fn policy(rate: u64, concurrency: u16) -> Policy<Fixed> {
    let window = NonZeroU16::new(concurrency).unwrap();
    let quota = Quota::per_second(rate).unwrap().with_burst(50).unwrap();
    Policy::new(Fixed::new(quota)).backoff(None).concurrency(window)
}

async fn all<T: 'static>(tasks: JoinSet<T>) -> usize {
    timeout(LONG, tasks.join_all()).await.expect("a wake-up was lost").len()
}

#[tokio::test]
async fn ten_thousand_tasks_of_eight_priorities_are_admitted_in_their_order() {
    let gate = Gate::builder(policy(1_000_000, 8)).queue(10_000).build();
    // They all wait until the first places are released.
    let first: Vec<_> = std::iter::from_fn(|| gate.try_acquire()).collect();
    let admitted = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = JoinSet::new();
    for number in 0..10_000u32 {
        let (gate, admitted) = (gate.clone(), admitted.clone());
        tasks.spawn(async move {
            let priority = (number.wrapping_mul(0x9e37_79b9) >> 29) as u8;
            let permit = gate.call().with_priority(priority).acquire().await.unwrap();
            admitted.lock().unwrap().push((Reverse(priority), number));
            yield_now().await;
            permit.settle(Outcome::Ok);
        });
    }
    while gate.stats().waiting < 10_000 {
        yield_now().await;
    }
    first.into_iter().for_each(|permit| permit.settle(Outcome::Ok));
    assert_eq!(all(tasks).await, 10_000);
    let admitted = admitted.lock().unwrap();
    let mut sorted: Vec<_> =
        admitted.iter().enumerate().map(|(turn, call)| (*call, turn)).collect();
    sorted.sort_unstable();
    for (turn, (call, polled)) in sorted.into_iter().enumerate() {
        // Calls that are in flight together are polled in any order.
        assert!(polled.abs_diff(turn) < 8, "{call:?} came {polled} in place of {turn}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_tasks_share_a_rate_and_two_places_of_two_keys_while_a_third_of_them_give_up()
{
    const KEYS: [&[usize]; 4] = [&[0], &[0, 1], &[1, 0], &[1]];
    let gate = Gate::builder(policy(20_000, 2)).queue(10_000).build();
    let in_flight = Arc::new([const { AtomicUsize::new(0) }; 2]);
    let mut tasks = JoinSet::new();
    for number in 0..10_000 {
        let (gate, in_flight, keys) = (gate.clone(), in_flight.clone(), KEYS[number % 4]);
        tasks.spawn(async move {
            let call = gate.keys(keys.iter().map(usize::to_string));
            let mut acquire = pin!(call.with_priority((number % 8) as u8).acquire());
            if number % 3 == 0 {
                let patience = Duration::from_millis(number as u64 % 200);
                drop(timeout(patience, acquire.as_mut()).await);
                return;
            }
            let permit = acquire.await.unwrap();
            for key in keys {
                assert!(in_flight[*key].fetch_add(1, Ordering::SeqCst) < 2, "the limit of {key}");
            }
            yield_now().await;
            for key in keys {
                in_flight[*key].fetch_sub(1, Ordering::SeqCst);
            }
            permit.settle(Outcome::Ok);
        });
    }
    assert_eq!(all(tasks).await, 10_000);
    let stats = gate.stats();
    // A call of two keys counts for each.
    assert_eq!((stats.counts.ok, stats.in_flight, stats.waiting), (10_000, 0, 0));
}

#[test]
fn a_runtime_that_is_not_driven_does_not_delay_others() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (asleep, awake) = (runtime(), runtime());
    let gate = Gate::new(policy(200, 1_000));
    while let Some(permit) = gate.try_acquire() {
        permit.settle(Outcome::Ok);
    }
    let watcher = gate.clone();
    let task = asleep.spawn(async move { watcher.acquire().await.unwrap().settle(Outcome::Ok) });
    asleep.block_on(yield_now()); // the task waits, and its runtime is not driven from here on
    let mut tasks = JoinSet::new();
    for _ in 0..50 {
        let gate = gate.clone();
        tasks.spawn_on(
            async move { gate.acquire().await.unwrap().settle(Outcome::Ok) },
            awake.handle(),
        );
    }
    assert_eq!(awake.block_on(all(tasks)), 50);
    asleep.block_on(async { timeout(LONG, task).await.unwrap().unwrap() });
    // Outside a runtime a gate also works if nothing has to wait.
    drop((asleep, awake));
    std::thread::sleep(Duration::from_millis(20));
    gate.try_acquire().unwrap().settle(Outcome::Ok);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_admitted_and_not_polled_is_refunded() {
    let gate = Gate::new(policy(10, 1));
    let held = gate.acquire().await.unwrap();
    let mut next = Box::pin(gate.acquire());
    assert!(next.as_mut().now_or_never().is_none());
    held.settle(Outcome::Ok); // admits the next one, which is dropped before it is polled
    assert_eq!(gate.stats().in_flight, 1);
    drop(next);
    let stats = gate.stats();
    assert_eq!((stats.in_flight, stats.counts.abandoned), (0, 1));
    assert_eq!(gate.peek(), Ok(Duration::ZERO));
}

/// A task that ends when it is woken, or with its last waker, as in some executors.
#[derive(Default)]
struct Task(Mutex<Option<Acquire>>);

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let call = self.0.lock().unwrap().take();
        drop(call);
    }
}

#[test]
fn a_waker_that_ends_another_call_is_woken_and_dropped_without_a_lock() {
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for end in ["replaced", "dropped", "woken"] {
                let gate = Gate::new(policy(1_000, 1));
                let mut held = gate.try_acquire();
                let poll = |acquire: &mut Acquire, waker: &Waker| {
                    let mut cx = Context::from_waker(waker);
                    assert!(Pin::new(acquire).poll(&mut cx).is_pending());
                };
                let (mut call, mut other) = (gate.acquire(), gate.acquire());
                let task = Arc::new(Task::default());
                poll(&mut call, &task.clone().into());
                poll(&mut other, Waker::noop());
                *task.0.lock().unwrap() = Some(other);
                drop(task);
                match end {
                    "replaced" => poll(&mut call, Waker::noop()),
                    "woken" => drop(held.take()),
                    _ => {}
                }
                drop((call, held));
                assert_eq!((gate.stats().in_flight, gate.stats().waiting), (0, 0), "{end}");
            }
        });
        done.send(()).unwrap();
    });
    ended.recv_timeout(LONG).expect("a call waits for itself");
}
