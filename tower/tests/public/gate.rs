//! The gate on tokio's paused clock.

use std::cell::Cell;
use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::time::Duration;

use futures_util::FutureExt;
use tidegate_tower::tidegate::law::Fixed;
use tidegate_tower::tidegate::{Outcome, Policy, Reason, Span};
use tidegate_tower::{Error, Gate};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::common::{concurrently, per_second, throttled};

#[tokio::test(start_paused = true)]
async fn calls_are_paced_in_order_of_arrival() {
    let (gate, begun) = (Gate::new(per_second(10, 1)), Instant::now());
    let mut tasks = JoinSet::new();
    for number in 0..20 {
        let gate = gate.clone();
        tasks.spawn(async move {
            gate.acquire().await.unwrap().settle(Outcome::Ok);
            (number, begun.elapsed())
        });
        tokio::task::yield_now().await;
    }
    let mut order = Vec::new();
    while let Some(done) = tasks.join_next().await {
        let (number, at) = done.unwrap();
        let due = Duration::from_millis(100) * number;
        assert!(at >= due && at < due + Duration::from_millis(20), "{number} at {at:?}");
        order.push(number);
    }
    assert!(order.is_sorted() && order.len() == 20, "{order:?}");
}

#[tokio::test(start_paused = true)]
async fn throttled_calls_are_retried_and_failed_ones_only_if_idempotent() {
    let gate = Gate::new(per_second(1_000, 1));
    let attempts = async |call: tidegate_tower::Call, outcome| {
        let mut attempts = 0;
        let send = || {
            attempts += 1;
            let outcome = if attempts < 4 { outcome } else { Outcome::Ok };
            async move { outcome }
        };
        call.run(send).await.unwrap();
        attempts
    };
    assert_eq!(attempts(gate.call(), Outcome::Throttled).await, 4);
    assert_eq!(attempts(gate.call(), Outcome::Busy).await, 4);
    assert_eq!(attempts(gate.call(), Outcome::Failed).await, 1);
    assert_eq!(attempts(gate.call().idempotent(), Outcome::Failed).await, 4);
    assert_eq!(attempts(gate.call().once(), Outcome::Throttled).await, 1);
    assert_eq!(attempts(gate.call(), Outcome::Abandoned).await, 1);
}

#[tokio::test(start_paused = true)]
async fn the_last_result_is_returned_if_no_retry_can_meet_the_deadline() {
    let gate = Gate::new(per_second(1_000, 1));
    let told = throttled(60);
    let call = gate.with_timeout(Duration::from_secs(5));
    assert_eq!(call.run(|| async { (told, "slow down") }).await, Ok((told, "slow down")));
    // The server's cooldown applies to all calls, and is known at once.
    let error = gate.with_timeout(Duration::from_secs(5)).acquire().await.unwrap_err();
    assert!(error.wait().unwrap() >= Duration::from_secs(55), "{error}");
    assert!(gate.peek().unwrap() >= Duration::from_secs(55));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_in_flight_at_its_deadline_is_given_up() {
    let (gate, begun) = (Gate::new(per_second(10, 1)), Instant::now());
    let hanging = gate.key("api").with_timeout(Duration::from_secs(3)).run(|| async {
        pending::<()>().await;
        Outcome::Ok
    });
    assert_eq!(hanging.await, Err(Error::TimedOut { key: "api".into() }));
    assert!(begun.elapsed() < Duration::from_secs(4));
    let (in_flight, counts) = (gate.stats().in_flight, gate.stats().counts);
    assert_eq!((in_flight, counts.failed, counts.abandoned), (0, 1, 0), "it is evidence");
}

#[tokio::test(start_paused = true)]
async fn a_response_in_time_is_returned_even_if_its_task_wakes_after_the_deadline() {
    let gate = Gate::new(per_second(10, 1));
    let call = gate.with_timeout(Duration::from_secs(3)).run(|| async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        Outcome::Ok
    });
    let busy = async {
        tokio::task::yield_now().await;
        tokio::time::advance(Duration::from_secs(5)).await;
    };
    assert_eq!(tokio::join!(call, busy).0, Ok(Outcome::Ok));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_cannot_end_by_its_deadline_is_not_sent_late() {
    let gate = Gate::new(per_second(1, 1));
    let sent = Cell::new(0);
    let call = |seconds| {
        let call = gate.key("api").with_timeout(Duration::from_secs_f64(seconds));
        call.run(async || {
            sent.set(sent.get() + 1);
            tokio::time::sleep(Duration::from_secs(2)).await;
            Outcome::Ok
        })
    };
    assert_eq!(call(10.0).await, Ok(Outcome::Ok));
    // The second one would be sent in a second, with 1.5 seconds left.
    let (at_once, late, in_time) = tokio::join!(call(2.5), call(2.5), call(3.5));
    assert_eq!((at_once, in_time), (Ok(Outcome::Ok), Ok(Outcome::Ok)));
    assert_eq!(late.unwrap_err().wait(), Some(Duration::from_secs(1)));
    // One that has waited while it was not known how long such calls take.
    let other = Gate::new(per_second(1, 1));
    let call_of_other = |seconds| {
        let call = other.with_timeout(Duration::from_secs_f64(seconds));
        call.run(async || {
            tokio::time::sleep(Duration::from_millis(500)).await;
            Outcome::Ok
        })
    };
    let (first, second, third) =
        tokio::join!(call_of_other(2.3), call_of_other(2.3), call_of_other(2.3));
    assert_eq!((first, second), (Ok(Outcome::Ok), Ok(Outcome::Ok)));
    assert_eq!(third.unwrap_err().wait(), Some(Duration::ZERO));
    let counts = other.stats().counts;
    assert_eq!((counts.ok, counts.failed), (2, 0));
    // One that may be sent at once is sent, so that a server that has become faster is found.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(matches!(call(1.0).await, Err(Error::TimedOut { .. })));
    assert_eq!(sent.get(), 4);
}

#[tokio::test]
async fn a_slow_response_prevents_no_later_call() {
    let gate = Gate::new(per_second(1_000, 1));
    let call = |timeout, takes| {
        let call = gate.with_timeout(Duration::from_millis(timeout));
        call.run(move || async move {
            tokio::time::sleep(Duration::from_millis(takes)).await;
            Outcome::Ok
        })
    };
    assert_eq!(call(60_000, 900).await, Ok(Outcome::Ok));
    // They have less time than that from the start.
    for _ in 0..3 {
        assert_eq!(call(800, 1).await, Ok(Outcome::Ok));
    }
    // Calls without a deadline show, too, that the server is fast again.
    assert_eq!(call(60_000, 900).await, Ok(Outcome::Ok));
    assert_eq!(gate.run(|| async { Outcome::Ok }).await, Ok(Outcome::Ok));
    assert_eq!(call(800, 1).await, Ok(Outcome::Ok));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_is_an_instant_of_tokios_clock() {
    let gate = Gate::new(per_second(1, 1));
    gate.try_acquire().unwrap().settle(Outcome::Ok);
    let soon = Instant::now() + Duration::from_millis(500);
    assert!(gate.call().with_deadline(soon).acquire().await.is_err());
    let later = Instant::now() + Duration::from_millis(1_500);
    assert!(gate.call().with_deadline(later).acquire().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_fits_is_rejected_and_so_is_one_beyond_a_full_queue() {
    let gate = Gate::builder(concurrently(1)).queue(1).build();
    let heavy = Gate::new(per_second(1, 1)).call().costing([2]).acquire().await.unwrap_err();
    assert!(matches!(heavy, Error::Rejected { reason: Reason::TooBig, .. }), "{heavy}");
    let _held = gate.acquire().await.unwrap();
    let waiting = gate.acquire();
    tokio::pin!(waiting);
    assert!(waiting.as_mut().now_or_never().is_none());
    let full = gate.acquire().await.unwrap_err();
    assert!(matches!(full, Error::Rejected { reason: Reason::QueueFull, .. }), "{full}");
    assert!(full.to_string().contains("Builder::queue"), "{full}");
}

#[tokio::test(start_paused = true)]
async fn try_acquire_never_overtakes_waiting_calls() {
    let gate = Gate::new(concurrently(1));
    let held = gate.try_acquire().unwrap();
    let waiting = gate.acquire();
    tokio::pin!(waiting);
    assert!(waiting.as_mut().now_or_never().is_none());
    held.settle(Outcome::Ok);
    // The place belongs to the waiting call, which has not been polled since.
    assert!(gate.try_acquire().is_none());
    waiting.await.unwrap().settle(Outcome::Ok);
    assert!(gate.try_acquire().is_some());
}

#[tokio::test(start_paused = true)]
async fn peek_returns_how_long_a_call_would_wait_and_changes_nothing() {
    let gate = Gate::new(per_second(1, 1));
    assert_eq!(gate.peek(), Ok(Duration::ZERO));
    assert_eq!(gate.stats().keys, 0);
    gate.try_acquire().unwrap().settle(Outcome::Ok);
    assert_eq!(gate.peek(), Ok(Duration::from_secs(1)));
    let calls = [gate.acquire(), gate.acquire()];
    for mut call in calls {
        assert!((&mut call).now_or_never().is_none());
        assert!(gate.peek().unwrap() >= Duration::from_secs(1));
    }
    let too_late = gate.with_timeout(Duration::from_millis(10)).peek().unwrap_err();
    assert_eq!(too_late.wait(), Some(Duration::from_secs(1)));
}

#[tokio::test(start_paused = true)]
async fn of_several_keys_a_call_takes_the_one_that_admits_it_first() {
    let gate = Gate::new(per_second(1, 1));
    let chosen = || gate.call().soonest(["a", "b", "c"]).try_acquire();
    for expected in ["a", "b", "c"] {
        let permit = chosen().unwrap();
        assert_eq!(permit.key(), expected);
        permit.settle(Outcome::Ok);
        tokio::time::advance(Duration::from_millis(100)).await;
    }
    assert!(chosen().is_none());
    let waiting = gate.call().soonest(["c", "b", "a"]).acquire();
    assert_eq!(waiting.await.unwrap().key(), "a");
    // If no key has to wait, the one with fewer calls in flight.
    tokio::time::advance(Duration::from_secs(9)).await;
    let held = gate.key("b").try_acquire().unwrap();
    tokio::time::advance(Duration::from_secs(9)).await;
    assert_eq!(gate.call().soonest(["b", "a"]).try_acquire().unwrap().key(), "a");
    drop(held);
    assert_eq!(gate.call().soonest([""; 0]).try_acquire().unwrap().key(), "");
}

#[tokio::test(start_paused = true)]
async fn a_policy_with_a_lower_ceiling_ends_a_cooldown_earlier() {
    let within = |seconds| Policy::adaptive().ceiling(Span::from_secs(seconds)).unwrap();
    let (gate, begun) = (Gate::new(within(2_000_000)), Instant::now());
    gate.try_acquire().unwrap().settle(throttled(1_209_600));
    let waiting = tokio::spawn(gate.acquire());
    tokio::task::yield_now().await;
    gate.set_policy(within(60));
    waiting.await.unwrap().unwrap().settle(Outcome::Ok);
    assert!(begun.elapsed() <= Duration::from_secs(61), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_restored_gate_continues_from_its_snapshot() {
    let gate = Gate::new(per_second(1, 1));
    gate.key("a").try_acquire().unwrap().settle(Outcome::Ok);
    let learnt = gate.snapshot();
    let again = Gate::new(per_second(1, 1));
    let busy = again.key("a").try_acquire().unwrap();
    assert_eq!(again.restore(&learnt, Duration::ZERO), Ok(0)); // its call is in flight
    busy.settle(Outcome::Ok);
    assert_eq!(again.restore(&learnt, Duration::ZERO), Ok(1));
    assert_eq!(again.key("a").peek(), Ok(Duration::from_secs(1)));
    assert_eq!(again.restore(&learnt, Duration::from_secs(1)), Ok(1));
    assert_eq!(again.key("a").peek(), Ok(Duration::ZERO));
    let other = Gate::new(Policy::named("aimd").unwrap()).restore(&learnt, Duration::ZERO);
    assert_eq!(&*other.unwrap_err().key, "a");
}

#[tokio::test(start_paused = true)]
async fn a_permit_that_is_not_taken_in_time_passes_to_another_call() {
    let builder = || Gate::builder(concurrently(1));
    for (builder, seconds) in [(builder(), 1), (builder().take_within(Duration::from_secs(30)), 30)]
    {
        let (gate, patience) = (builder.build(), Duration::from_secs(seconds));
        for keys in [&["a"][..], &["a", "b"]] {
            let held = gate.keys(keys.to_vec()).acquire().await.unwrap();
            let mut lost = Box::pin(gate.keys(keys.to_vec()).acquire());
            assert!(lost.as_mut().now_or_never().is_none());
            held.settle(Outcome::Ok); // admits the lost one, which is no longer polled
            let begun = Instant::now();
            let next = gate.keys(keys.to_vec()).acquire().await.unwrap();
            assert!(begun.elapsed() >= patience && begun.elapsed() < 2 * patience);
            // It is first again once it is polled again.
            let third = tokio::spawn(gate.keys(keys.to_vec()).acquire());
            tokio::task::yield_now().await;
            assert!(lost.as_mut().now_or_never().is_none());
            next.settle(Outcome::Ok);
            let lost = lost.await.unwrap();
            assert!(!third.is_finished());
            lost.settle(Outcome::Ok);
            third.await.unwrap().unwrap().settle(Outcome::Ok);
        }
    }
}

/// Polls a future as a task does that always runs this late.
async fn late<F: Future>(late: Duration, future: F) -> F::Output {
    struct Woken(Notify);
    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.notify_one();
        }
    }
    let (mut future, woken) = (pin!(future), Arc::new(Woken(Notify::new())));
    loop {
        let waker = woken.clone().into();
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        woken.0.notified().await;
        sleep(late).await;
        _ = woken.0.notified().now_or_never();
    }
}

#[tokio::test(start_paused = true)]
async fn calls_whose_tasks_run_late_are_served() {
    async fn serve(gate: &Gate, delay: Duration, hold: Duration) {
        let permit = late(delay, gate.acquire()).await.unwrap();
        sleep(hold).await;
        permit.settle(Outcome::Ok);
    }
    // A call loses a permit after 1 s, then 2, 4, and 8 s. It keeps the next one until its task runs.
    for (delay, losses) in [(500, 0), (1_500, 1), (2_000, 2), (3_000, 2), (10_000, 4)] {
        for hold in [0, 300, 2_000] {
            for (calls, others) in [(1, 3), (10, 0), (10, 3), (50, 0), (50, 3)] {
                let [delay, hold] = [delay, hold].map(Duration::from_millis);
                let (gate, mut late, mut demand) =
                    (Gate::new(concurrently(1)), JoinSet::new(), JoinSet::new());
                let held = gate.acquire().await.unwrap();
                for _ in 0..calls {
                    let gate = gate.clone();
                    late.spawn(async move { serve(&gate, delay, hold).await });
                }
                for _ in 0..others {
                    let gate = gate.clone();
                    demand.spawn(async move {
                        loop {
                            serve(&gate, Duration::ZERO, hold.max(Duration::from_millis(100)))
                                .await;
                        }
                    });
                }
                tokio::task::yield_now().await;
                held.settle(Outcome::Ok);
                // Each permit is taken or lost, and each task runs again, within the delay.
                let bound = (calls + 1) * ((losses + 1) * (delay + hold) + hold);
                let case = format!("{calls} late by {delay:?}, {others} others, held for {hold:?}");
                timeout(bound, late.join_all()).await.expect(&case);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_rejection_stays_until_it_is_taken() {
    let gate = Gate::new(concurrently(1));
    let held = gate.acquire().await.unwrap();
    let mut late = Box::pin(gate.with_timeout(Duration::from_secs(20)).acquire());
    assert!(late.as_mut().now_or_never().is_none());
    held.settle(throttled(60));
    gate.reset("");
    sleep(Duration::from_secs(2)).await;
    drop(gate.acquire().await);
    let error = late.await.unwrap_err();
    assert!(matches!(error, Error::Rejected { reason: Reason::Late(_), .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_polled_delays_paced_calls_by_at_most_two_seconds() {
    let gate = Gate::new(per_second(10, 1));
    gate.acquire().await.unwrap().settle(Outcome::Ok);
    let mut lost = Box::pin(gate.acquire()); // it has the timer of the queue
    assert!(lost.as_mut().now_or_never().is_none());
    let begun = Instant::now();
    for _ in 0..3 {
        gate.acquire().await.unwrap().settle(Outcome::Ok);
    }
    assert!(begun.elapsed() <= Duration::from_millis(2_300), "{:?}", begun.elapsed());
    lost.await.unwrap().settle(Outcome::Ok);
}

#[tokio::test]
async fn calls_that_are_admitted_at_once_let_the_other_futures_of_their_task_run() {
    let gate = Gate::new(Policy::new(Fixed::UNLIMITED));
    let calls = async {
        for _ in 0..1_000 {
            gate.acquire().await.unwrap().settle(Outcome::Ok);
        }
    };
    assert!(calls.now_or_never().is_none());
}

#[tokio::test]
async fn a_gate_has_no_hidden_limit_on_calls_in_flight() {
    let gate = Gate::new(Policy::new(Fixed::UNLIMITED));
    let permits: Vec<_> = (0..20_000).map_while(|_| gate.try_acquire()).collect();
    assert_eq!(gate.stats().in_flight, 20_000);
    drop(permits);
    assert_eq!(gate.stats().in_flight, 0);
}
