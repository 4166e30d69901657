//! Calls that count against the limits of several keys.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::num::NonZeroU16;
use std::time::Duration;

use crate::common::{concurrently, drop_after, per_second, throttled};
use tidegate_tower::tidegate::gate::RetryBudgetPolicy;
use tidegate_tower::tidegate::law::Fixed;
use tidegate_tower::tidegate::{Hint, Outcome, Policy, Quota, Ratio, Reason, Rng, Span};
use tidegate_tower::{Error, Gate};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, sleep, timeout};

const LAYERS: [&str; 2] = ["account", "model"];

#[tokio::test(start_paused = true)]
async fn a_call_is_sent_when_all_its_keys_admit_it_and_charges_none_before() {
    let gate = Gate::new(per_second(1, 2));
    gate.key("model").try_acquire().unwrap().settle(throttled(60));
    assert!(gate.keys(LAYERS).try_acquire().is_none());
    assert!(gate.keys(LAYERS).peek().unwrap() >= Duration::from_secs(60));
    let waiting = tokio::spawn(gate.keys(LAYERS).acquire());
    yield_now().await;
    assert_eq!((gate.stats().waiting, gate.stats().in_flight), (1, 0));
    // The whole burst of the account is there for others.
    for _ in 0..2 {
        gate.keys(["account", "other"]).try_acquire().unwrap().settle(Outcome::Ok);
    }
    let begun = Instant::now();
    let permit = waiting.await.unwrap().unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(60));
    assert_eq!((permit.key(), gate.stats().in_flight), ("account", 2));
    permit.settle(Outcome::Ok);
    assert_eq!((gate.stats().in_flight, gate.stats().waiting), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn equal_keys_count_once_and_no_keys_are_none() {
    let gate = Gate::new(per_second(1, 1));
    let permit = gate.keys(["a", "b", "a"]).try_acquire().unwrap();
    assert_eq!((permit.key(), gate.stats().in_flight), ("a", 2));
    assert_eq!(gate.keys(["c", "c"]).try_acquire().unwrap().key(), "c");
    assert_eq!(gate.key("d").keys([""; 0]).try_acquire().unwrap().key(), "");
    assert_eq!(gate.keys(["e", "f"]).key("g").try_acquire().unwrap().key(), "g");
    assert_eq!(gate.stats().keys, 5);
    drop(permit);
    assert_eq!(gate.stats().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn calls_that_wait_for_a_slow_model_do_not_delay_others_of_the_account() {
    for policy in [per_second(1, 1), concurrently(1)] {
        let gate = Gate::new(policy);
        let slow = gate.key("slow").try_acquire().unwrap();
        // The one model is in a cooldown, and the other one has no place.
        let slow = match policy == concurrently(1) {
            true => Some(slow),
            false => {
                slow.settle(throttled(60));
                None
            }
        };
        let mut waiting = JoinSet::new();
        for _ in 0..20 {
            waiting.spawn(gate.keys(["account", "slow"]).acquire());
            yield_now().await;
        }
        // Each of the others is sent at the earliest possible time.
        let begun = Instant::now();
        for second in 0..20 {
            let permit = gate.keys(["account", "fast"]).acquire().await.unwrap();
            let waited = begun.elapsed();
            assert!(waited < Duration::from_secs(second) + Duration::from_millis(20), "{waited:?}");
            sleep(Duration::from_millis(900)).await;
            permit.settle(Outcome::Ok);
        }
        assert_eq!(gate.stats().waiting, 20);
        drop((slow, waiting));
    }
}

/// Calls that are made one after the other, until the end of the test.
async fn constantly(gate: Gate, key: &'static str, takes: Duration) {
    loop {
        let permit = gate.key(key).acquire().await.unwrap();
        sleep(takes).await;
        permit.settle(Outcome::Ok);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_served_beside_constant_demand_for_each_of_its_keys() {
    let millis = Duration::from_millis;
    let one = NonZeroU16::MIN;
    // How long calls of the account and of the model take, and the longest time between two turns.
    let worlds = [
        (per_second(1, 1), [0, 0], 1_000),
        (per_second(1, 3), [700, 0], 1_000),
        (concurrently(1), [10, 10], 10),
        (concurrently(1), [1_000, 13], 1_000),
        (concurrently(1), [13, 1_000], 1_000),
        (concurrently(3), [1_000, 1_100], 1_100),
        (per_second(10, 1).concurrency(one), [70, 900], 900),
    ];
    for (world, (policy, takes, turn)) in worlds.into_iter().enumerate() {
        for layers in [LAYERS, ["model", "account"]] {
            let gate = Gate::builder(policy).queue(8).build();
            let mut others = JoinSet::new();
            let [account, model] = takes.map(millis);
            for number in 0..7 {
                others.spawn(constantly(gate.clone(), "account", account));
                sleep(millis(37 * number)).await; // out of step
                others.spawn(constantly(gate.clone(), "model", model));
            }
            for _ in 0..20 {
                let begun = Instant::now();
                let permit = gate.keys(layers).acquire().await.unwrap();
                let waited = begun.elapsed();
                // Its turn in both queues, and four times as long as it has to keep a permit.
                let most = millis(turn) * (8 + 8 + 5);
                assert!(waited < most, "{waited:?} in world {world}");
                sleep(millis(5)).await;
                permit.settle(Outcome::Ok);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn priorities_hold_among_calls_with_several_keys_and_with_one() {
    let gate = Gate::new(per_second(1, 1));
    for key in LAYERS {
        gate.key(key).try_acquire().unwrap().settle(Outcome::Ok);
    }
    let order = RefCell::new(Vec::new());
    let call = async |keys: &[&str], priority| {
        let call = gate.keys(keys.iter().copied()).with_priority(priority);
        call.acquire().await.unwrap().settle(Outcome::Ok);
        order.borrow_mut().push(priority);
    };
    tokio::join!(
        call(&LAYERS, 0),
        call(&LAYERS, 3),
        call(&["model"], 7),
        call(&["model", "account"], 5),
        call(&["model"], 1),
    );
    assert_eq!(*order.borrow(), [7, 5, 3, 1, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_one_key_rejects_is_rejected_at_once_and_charges_no_other() {
    let gate = Gate::builder(per_second(1, 2)).queue(1).build();
    gate.key("model").try_acquire().unwrap().settle(throttled(60));
    let begun = Instant::now();
    for keys in [LAYERS, ["model", "account"]] {
        let call = gate.keys(keys).with_timeout(Duration::from_secs(5));
        let late = call.acquire().await.unwrap_err();
        assert_eq!(
            (late.key(), late.wait().map(|wait| wait.as_secs() >= 60)),
            ("model", Some(true))
        );
        let heavy = gate.keys(keys).costing([3]).acquire().await.unwrap_err();
        assert!(matches!(heavy, Error::Rejected { reason: Reason::TooBig, .. }), "{heavy}");
    }
    let waiting = tokio::spawn(gate.key("model").acquire());
    yield_now().await;
    let full = gate.keys(LAYERS).acquire().await.unwrap_err();
    assert!(matches!(full, Error::Rejected { reason: Reason::QueueFull, .. }), "{full}");
    assert!(begun.elapsed() < Duration::from_millis(5));
    assert_eq!((gate.stats().in_flight, gate.stats().waiting), (0, 1));
    for _ in 0..2 {
        gate.key("account").try_acquire().unwrap().settle(Outcome::Ok);
    }
    waiting.await.unwrap().unwrap().settle(Outcome::Ok);
}

#[tokio::test(start_paused = true)]
async fn a_retry_goes_through_all_keys_and_each_counts_it() {
    let attempts = NonZeroU16::new(4);
    let budget = RetryBudgetPolicy::new(Ratio::HALF, 3).unwrap();
    let gate = Gate::new(per_second(10, 1).attempts(attempts).retry_budget(Some(budget)));
    let (made, begun) = (Cell::new(0), Instant::now());
    let fail = || {
        made.set(made.get() + 1);
        async { Outcome::Failed }
    };
    assert_eq!(gate.keys(LAYERS).idempotent().run(fail).await, Ok(Outcome::Failed));
    assert_eq!(made.get(), 4);
    assert!(begun.elapsed() >= Duration::from_millis(300));
    let counts = gate.stats().counts;
    assert_eq!((counts.admitted, counts.failed, counts.retries), (8, 8, 6));
    // The reserve of three is used up for the account and for the model.
    for (key, made_then) in [("account", 5), ("model", 6)] {
        assert_eq!(gate.key(key).idempotent().run(fail).await, Ok(Outcome::Failed));
        assert_eq!(made.get(), made_then);
    }
}

#[tokio::test(start_paused = true)]
async fn hints_describe_the_last_key_and_blame_it_alone_if_its_limit_is_used_up() {
    let asked = Hint::retry_after(Span::from_secs(60));
    let hints = [(asked, 3), (asked.and_remaining(0), 1), (asked.and_remaining(1), 3)];
    for (reply, throttled_keys) in hints.map(|(hint, keys)| (Outcome::Throttled.with(hint), keys)) {
        for way in 0..3 {
            let gate = Gate::adaptive();
            let mut permit = gate.keys(["account", "model", "route"]).try_acquire().unwrap();
            let again = match way {
                0 => {
                    permit.settle(reply);
                    None
                }
                1 => {
                    permit.learn(reply);
                    drop(permit);
                    None
                }
                _ => Some(permit.retry(reply).unwrap()),
            };
            let counts = gate.stats().counts;
            assert_eq!((counts.throttled, counts.abandoned), (throttled_keys, 3 - throttled_keys));
            let waits = |key| gate.key(key).peek().unwrap();
            assert!(waits("route") >= Duration::from_secs(60));
            assert!(waits("model") < Duration::from_secs(60));
            assert!(waits("account") < Duration::from_secs(60));
            assert!(throttled_keys > 1 || waits("model") == Duration::ZERO);
            drop(again);
            assert_eq!((gate.stats().in_flight, gate.stats().waiting), (0, 0));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_call_used_describes_the_last_key() {
    let law = |each| Fixed::new(Quota::per_minute(each).unwrap().with_burst(100).unwrap());
    for way in 0..2 {
        let gate = Gate::new(Policy::of([100, 100].map(law)));
        let mut permit = gate.keys(LAYERS).costing([1, 10]).try_acquire().unwrap();
        match way {
            0 => permit.settle(Outcome::Ok.using([1, 90])),
            _ => {
                permit.learn(Outcome::Ok);
                permit.correct([None, Some(90)]);
                drop(permit);
            }
        }
        let fits = |key, tokens| gate.key(key).costing([1, tokens]).peek() == Ok(Duration::ZERO);
        assert!(fits("account", 90) && !fits("account", 91));
        assert!(fits("model", 10) && !fits("model", 11));
    }
}

#[tokio::test(start_paused = true)]
async fn a_refund_is_one_for_all_keys() {
    let gate = Gate::new(per_second(1, 1));
    gate.keys(LAYERS).try_acquire().unwrap().refund();
    gate.keys(LAYERS).try_acquire().unwrap().settle(Outcome::Ok);
    assert_eq!((gate.stats().counts.ok, gate.stats().in_flight), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_at_any_poll_leaves_no_trace_in_any_key() {
    for (keys, places) in [(&LAYERS[..1], 10), (&LAYERS, 1), (&LAYERS, 2), (&LAYERS, 10)] {
        for polls in 0.. {
            let one = NonZeroU16::MIN;
            let attempts = NonZeroU16::new(3);
            let policy = per_second(10, 1).concurrency(one).attempts(attempts);
            let gate = Gate::builder(policy).keys(places).build();
            let mut rivals = JoinSet::new();
            for (key, takes) in [("account", 330), ("model", 470)] {
                let gate = gate.clone();
                rivals.spawn(async move {
                    for _ in 0..2 {
                        let permit = gate.key(key).acquire().await.unwrap();
                        sleep(Duration::from_millis(takes)).await;
                        permit.settle(Outcome::Ok);
                    }
                });
                yield_now().await;
            }
            let call = gate.keys(keys.iter().copied()).run(|| async {
                yield_now().await;
                sleep(Duration::from_millis(5)).await;
                Outcome::Throttled
            });
            let ended = drop_after(polls, call).await;
            rivals.join_all().await;
            let stats = gate.stats();
            assert_eq!((stats.in_flight, stats.waiting), (0, 0), "dropped after {polls} polls");
            let ended_calls = stats.counts.settled() + stats.counts.abandoned;
            assert_eq!(stats.counts.admitted, ended_calls, "dropped after {polls} polls");
            for key in LAYERS {
                gate.key(key).acquire().await.unwrap().settle(Outcome::Ok);
            }
            if ended {
                assert!(polls > 8, "{polls} polls are no test");
                break;
            }
        }
    }
}

/// When the calls of each key were sent.
type Log = HashMap<&'static str, Vec<Duration>>;

#[tokio::test(start_paused = true)]
async fn random_calls_over_random_keys_are_all_served_and_exceed_no_limit() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let mut below = move |most: usize| rng.next_u32() as usize % most;
        let (rate, burst, places) = (1 + below(20), 1 + below(4), 1 + below(5));
        let limit = NonZeroU16::new(places as u16).unwrap();
        let gate = Gate::new(per_second(rate as u64, burst as u32).concurrency(limit));
        let (log, flying) = (RefCell::new(Log::new()), RefCell::new(HashMap::new()));
        let begun = Instant::now();
        let calls = (0..60).map(|_| {
            let mut keys = vec!["a", "b", "c", "d"];
            for _ in 0..below(4) {
                keys.remove(below(keys.len()));
            }
            let shift = below(keys.len());
            keys.rotate_left(shift);
            let [starts, takes] =
                [below(3_000), below(300)].map(|it| Duration::from_millis(it as u64));
            let (priority, gives_up) = (below(8) as u8, below(5) == 0);
            let (gate, log, flying) = (&gate, &log, &flying);
            async move {
                sleep(starts).await;
                let acquire = gate.keys(keys.iter().copied()).with_priority(priority).acquire();
                let patience = if gives_up { takes } else { Duration::from_secs(1_000) };
                let permit = match timeout(patience, acquire).await {
                    Ok(permit) => permit.unwrap(),
                    Err(_) => return assert!(gives_up, "{keys:?} is not served, seed {seed}"),
                };
                for key in &keys {
                    log.borrow_mut().entry(*key).or_default().push(begun.elapsed());
                    let mut flying = flying.borrow_mut();
                    let count = flying.entry(*key).or_insert(0);
                    *count += 1;
                    assert!(*count <= places, "{count} calls of {key} in flight, seed {seed}");
                }
                sleep(takes).await;
                for key in &keys {
                    *flying.borrow_mut().get_mut(key).unwrap() -= 1;
                }
                permit.settle(Outcome::Ok);
            }
        });
        futures_util::future::join_all(calls).await;
        assert_eq!((gate.stats().in_flight, gate.stats().waiting), (0, 0), "seed {seed}");
        for (key, sent) in log.into_inner() {
            for (first, from) in sent.iter().enumerate() {
                for (last, to) in sent.iter().enumerate().skip(first) {
                    // A late timer is made up for.
                    let time = (*to - *from).as_secs_f64() + 0.002;
                    let most = burst as f64 + rate as f64 * time + 1e-6;
                    let count = last - first + 1;
                    assert!(count as f64 <= most, "{count} of {key} in {time} s, seed {seed}");
                }
            }
        }
    }
}
