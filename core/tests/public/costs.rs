//! `adaptive` with buckets that are counted in units, and calls that cost several.

use tidegate::law::{Adaptive, Fixed};
use tidegate::queue::{Node, Queue};
use tidegate::{
    Call, Controller, Decision, Hint, Instant, Outcome, Policy, Quota, Reason, Reply, Rng, Span,
};
use tidegate_limits::{Bucket, Limit};

use crate::SECOND;

const ROUND_TRIP: Span = Span::from_millis(50);

/// A bucket of this many units in each period, and a burst of a period's worth.
fn bucket(rate: u64, period: u64) -> Bucket {
    Bucket::new(rate, period, rate)
}

/// The calls of a client after a minute of learning.
#[derive(Default)]
struct Tally {
    calls: u64,
    throttled: u64,
    units: u64,
}

impl Tally {
    const START: Instant = Instant::from_nanos(60 * SECOND);
    const END: Instant = Instant::from_nanos(660 * SECOND);

    fn count(&mut self, now: Instant, cost: u32, served: bool) {
        if now >= Self::START {
            self.calls += 1;
            self.throttled += u64::from(!served);
            self.units += if served { u64::from(cost) } else { 0 };
        }
    }

    /// The used share of `rate` units a second, and the throttled share of calls, in thousandths.
    const fn shares(&self, rate: u64) -> (u64, u64) {
        (self.units * 1_000 / (rate * 600), self.throttled * 1_000 / self.calls)
    }
}

/// The shares of [`Tally`] for one client without a known quota.
fn run(rate: u64, hints: bool, cost: impl FnMut(&mut Rng) -> u32) -> (u64, u64) {
    run_law(Adaptive::DEFAULT, rate, hints, cost)
}

/// The same for any `law`, which may know the quota.
fn run_law(
    law: Adaptive,
    rate: u64,
    hints: bool,
    mut cost: impl FnMut(&mut Rng) -> u32,
) -> (u64, u64) {
    let mut bucket = bucket(rate, SECOND);
    let mut chance = Rng::new(3);
    let mut now = Instant::ZERO;
    let mut gate: Controller<Adaptive> = Controller::new(Policy::new(law), 7, now);
    let mut tally = Tally::default();
    let mut next = cost(&mut chance);
    while now < Tally::END {
        match gate.poll(now, &Call::new().cost(next)) {
            Decision::Admit(permit) => {
                let served = bucket.take(now.as_nanos(), next.into());
                tally.count(now, next, served);
                let outcome = if served { Outcome::Ok } else { Outcome::Throttled };
                let hint = if hints {
                    Hint::quota(rate, Span::from_secs(1)).and_remaining(bucket.remaining())
                } else {
                    Hint::NONE
                };
                now += ROUND_TRIP;
                gate.settle(now, permit, outcome.with(hint));
                if served {
                    next = cost(&mut chance);
                }
            }
            Decision::Wait(until) => {
                assert!(until > now, "the wait is zero");
                now = until;
            }
            other => panic!("{other:?}"),
        }
    }
    tally.shares(rate)
}

#[test]
fn a_limit_in_units_is_used_at_any_cost_per_call() {
    // Ten calls a second in each row, of any size.
    for size in [1, 7, 100, 1_000, 65_536, 20_000_000] {
        let (used, throttled) = run(10 * u64::from(size), false, |_| size);
        assert!(
            used >= 950 && throttled <= 30,
            "size {size}: {used} of 1000 used, {throttled} throttled"
        );
    }
}

#[test]
fn a_known_quota_counts_the_costs_of_calls() {
    for size in [1, 1_000, 20_000_000] {
        let rate = 10 * u64::from(size);
        let law = Adaptive::with_quota(Quota::per_second(rate).unwrap().with_burst(size).unwrap());
        let (used, throttled) = run_law(law, rate, false, |_| size);
        assert!(used >= 950 && throttled <= 5, "size {size}: {used} used, {throttled} throttled");
    }
}

#[test]
fn calls_of_mixed_sizes_use_a_limit_nearly_as_well() {
    let mixed = |rng: &mut Rng| 100 + rng.next_u32() % 1_900;
    for hints in [false, true] {
        let (used, throttled) = run(10_000, hints, mixed);
        assert!(
            used >= 900 && throttled <= 50,
            "hints {hints}: {used} used, {throttled} throttled"
        );
    }
}

#[test]
fn the_law_adapts_to_calls_a_thousand_times_as_large() {
    let mut count = 0;
    let growing = |_: &mut Rng| {
        count += 1;
        if count < 3_000 { 2 } else { 2_000 }
    };
    // Calls of 2 units of 20 000 a second are not limited by the bucket, and are made until 850 is
    // the maximum. Calls of 2 000 units are limited.
    let (used, throttled) = run(20_000, false, growing);
    assert!(used >= 750 && throttled <= 30, "{used} used, {throttled} throttled");
}

/// A server of language models: requests and tokens per minute. A throttled call is not charged.
#[test]
fn each_of_two_limits_gets_its_own_hints() {
    let quota = |limit| Hint::quota(limit, Span::from_secs(60));
    for (requests, tokens, size, hints, what) in [
        (600, 60_000, 1_000, true, "tokens bind, with hints"),
        (120, 6_000_000, 1_000, true, "requests bind, with hints"),
        (600, 60_000, 1_000, false, "tokens bind, without hints"),
        (60, 60_000, 1_000, true, "both bind"),
    ] {
        let mut server = [requests, tokens].map(|limit| bucket(limit, 60 * SECOND));
        let mut now = Instant::ZERO;
        let mut gate: Controller<Adaptive, 2> =
            Controller::new(Policy::of([Adaptive::DEFAULT; 2]), 7, now);
        let (mut calls, mut throttled, mut used) = (0u64, 0u64, [0u64; 2]);
        let (warm, end) = (Instant::from_nanos(600 * SECOND), Instant::from_nanos(4_200 * SECOND));
        while now < end {
            match gate.poll(now, &Call::of([1, size])) {
                Decision::Admit(permit) => {
                    let costs = [1, u64::from(size)];
                    let fits = server
                        .iter_mut()
                        .zip(costs)
                        .all(|(bucket, cost)| bucket.fits(now.as_nanos(), cost));
                    if fits {
                        server.iter_mut().zip(costs).for_each(|(limit, cost)| limit.charge(cost));
                    }
                    if now >= warm {
                        calls += 1;
                        throttled += u64::from(!fits);
                        for (used, cost) in used.iter_mut().zip(costs) {
                            *used += if fits { cost } else { 0 };
                        }
                    }
                    let outcome = if fits { Outcome::Ok } else { Outcome::Throttled };
                    let said = [
                        quota(requests).and_remaining(server[0].remaining()),
                        quota(tokens).and_remaining(server[1].remaining()),
                    ];
                    now += Span::from_millis(300);
                    let said = if hints { said } else { [Hint::NONE; 2] };
                    gate.settle(now, permit, Reply::about(outcome, said));
                }
                Decision::Wait(until) => now = until,
                other => panic!("{other:?}"),
            }
        }
        let most = [used[0] * 1_000 / (requests * 60), used[1] * 1_000 / (tokens * 60)];
        let most = most.into_iter().max().unwrap_or(0);
        let throttled = throttled * 1_000 / calls;
        assert!(
            most >= 930 && throttled <= 40,
            "{what}: {most} of 1000 used, {throttled} throttled"
        );
        assert!(!hints || throttled <= 5, "{what}: {throttled} throttled");
    }
}

/// The server reports the cost after each call. The client may not know it in advance.
#[test]
fn calls_that_state_no_cost_use_a_limit_as_well() {
    let run = |mut cost: Box<dyn FnMut(&mut Rng) -> u32>, states: Option<u32>| {
        let (mut bucket, mut chance, mut now) =
            (bucket(10_000, SECOND), Rng::new(3), Instant::ZERO);
        let mut gate: Controller<Adaptive, 2> =
            Controller::new(Policy::of([Adaptive::DEFAULT; 2]), 7, now);
        let mut tally = Tally::default();
        let mut next = cost(&mut chance);
        while now < Tally::END {
            let call = Call::of([1, states.unwrap_or(next)]).estimated();
            match gate.poll(now, &call) {
                Decision::Admit(permit) => {
                    let served = bucket.take(now.as_nanos(), next.into());
                    tally.count(now, next, served);
                    let left =
                        Hint::quota(10_000, Span::from_secs(1)).and_remaining(bucket.remaining());
                    let outcome = if served { Outcome::Ok } else { Outcome::Throttled };
                    let mut reply = Reply::about(outcome, [Hint::NONE, left]);
                    if served {
                        reply = reply.using([1, next]);
                        next = cost(&mut chance);
                    }
                    now += ROUND_TRIP;
                    gate.settle(now, permit, reply);
                }
                Decision::Wait(until) => now = until,
                other => panic!("{other:?}"),
            }
        }
        tally.shares(10_000)
    };
    for states in [None, Some(0), Some(1)] {
        let (used, throttled) = run(Box::new(|_| 1_000), states);
        assert!(used >= 950 && throttled <= 30, "{states:?}: {used} used, {throttled} throttled");
        let mixed = Box::new(|rng: &mut Rng| 100 + rng.next_u32() % 1_900);
        let (used, throttled) = run(mixed, states);
        assert!(used >= 900 && throttled <= 60, "{states:?}: {used} used, {throttled} throttled");
    }
}

#[test]
fn calls_wait_for_the_actual_cost_of_earlier_ones() {
    let next = |used: u32| {
        let mut gate: Controller<Adaptive> =
            Controller::new(Policy::new(Adaptive::DEFAULT), 7, Instant::ZERO);
        let call = Call::new().cost(100);
        let mut now = Instant::from_nanos(SECOND);
        let Decision::Admit(first) = gate.poll(now, &call) else { panic!() };
        now += ROUND_TRIP;
        gate.settle(now, first, Outcome::Throttled.with::<1>(Hint::NONE.and_limit(u64::MAX)));
        let Decision::Wait(until) = gate.poll(now, &call) else { panic!() };
        let Decision::Admit(second) = gate.poll(until, &call) else { panic!() };
        gate.settle(until, second, Outcome::Ok.using([used]));
        match gate.poll(until, &call) {
            Decision::Wait(then) => (then - until).as_nanos(),
            _ => 0,
        }
    };
    let (less, same, more) = (next(50), next(100), next(1_000));
    assert!(less < same && more > 5 * same, "{less} {same} {more}");
    // A debt of any size ends.
    assert!(next(u32::MAX) <= 2 * 86_400 * SECOND);
}

/// A gate for requests and tokens, of which a second has so many.
fn two(requests: u32, tokens: u32) -> Controller<Fixed, 2> {
    let law =
        |each: u32| Fixed::new(Quota::per_second(each.into()).unwrap().with_burst(each).unwrap());
    Controller::new(Policy::of([requests, tokens].map(law)), 7, Instant::ZERO)
}

/// Settles a call that states nothing of tokens, and returns what it was charged of them.
fn settle(gate: &mut Controller<Fixed, 2>, now: Instant, reply: Reply<2>) -> u32 {
    let Decision::Admit(permit) = gate.poll(now, &Call::of([1, 0]).estimated()) else {
        panic!("it waits")
    };
    let [_, tokens] = permit.costs();
    gate.settle(now, permit, reply);
    tokens
}

#[test]
fn calls_that_state_no_cost_are_charged_the_mean_of_about_sixteen() {
    let mut gate = two(u32::MAX, u32::MAX);
    let mut settle = |used| settle(&mut gate, Instant::ZERO, Outcome::Ok.using([1, used]));
    assert_eq!([settle(100), settle(100)], [0, 100]);
    (0..15).for_each(|_| _ = settle(200));
    assert!((155..175).contains(&settle(200)));
    (0..200).for_each(|_| _ = settle(40));
    assert!(settle(40).abs_diff(40) <= 1);
}

#[test]
fn only_served_calls_without_a_stated_cost_change_the_usual_cost() {
    let mut gate = two(100, 10_000);
    let now = Instant::ZERO;
    settle(&mut gate, now, Outcome::Ok.using([1, 100]));
    settle(&mut gate, now, Outcome::Throttled.using([0, 0]));
    let Decision::Admit(large) = gate.poll(now, &Call::of([1, 5_000])) else { panic!() };
    assert_eq!(large.costs(), [1, 5_000]);
    gate.settle(now, large, Outcome::Ok.using([1, 5_000]));
    assert_eq!(settle(&mut gate, now, Outcome::Ok.into()), 100);
}

#[test]
fn a_stated_cost_is_charged_even_if_it_is_nothing() {
    let (mut gate, now) = (two(100, 1_000), Instant::ZERO);
    settle(&mut gate, now, Outcome::Ok.using([1, 1_000]));
    // The second one also waits for the nine tokens that the first one used.
    for (stated, expected) in [(0, Ok(0)), (1, Err(Instant::from_nanos(SECOND / 100)))] {
        let charged = match gate.poll(now, &Call::of([1, stated])) {
            Decision::Admit(permit) => {
                let [_, tokens] = permit.costs();
                gate.settle(now, permit, Outcome::Ok.using([1, 9]));
                Ok(tokens)
            }
            Decision::Wait(until) => Err(until),
            other => panic!("{other:?}"),
        };
        assert_eq!(charged, expected, "{stated}");
    }
    let later = Instant::from_nanos(2 * SECOND);
    assert_eq!(settle(&mut gate, later, Outcome::Ok.into()), 1_000, "the mean is as before");
}

#[test]
fn calls_that_use_more_than_a_burst_are_sent_one_by_one() {
    let mut gate = two(10, 100);
    settle(&mut gate, Instant::ZERO, Outcome::Ok.using([1, 250]));
    let paid = Instant::from_nanos(5 * SECOND / 2);
    assert_eq!(settle(&mut gate, paid, Outcome::Ok.using([1, 250])), 100, "the whole burst");
}

#[test]
fn a_snapshot_contains_the_learned_costs() {
    let mut gate = two(10, 1_000);
    settle(&mut gate, Instant::ZERO, Outcome::Ok.using([1, 300]));
    let mut record = [0; Controller::<Fixed, 2>::SNAPSHOT_BYTES];
    gate.snapshot(Instant::ZERO, &mut record).unwrap();
    let law =
        |each: u32| Fixed::new(Quota::per_second(each.into()).unwrap().with_burst(each).unwrap());
    let policy = Policy::of([10, 1_000].map(law));
    let mut again: Controller<Fixed, 2> =
        Controller::restore(policy, 8, &record, Instant::ZERO, Span::ZERO).unwrap();
    assert_eq!(settle(&mut again, Instant::ZERO, Outcome::Ok.into()), 300);
}

#[test]
fn calls_that_wait_count_at_their_usual_cost() {
    for stated in [0, 1] {
        let mut gate = two(1_000, 100);
        let now = Instant::ZERO;
        settle(&mut gate, now, Outcome::Ok.using([1, 100]));
        let mut queue = Queue::new(Vec::<Node<2>>::new(), 8);
        let call = Call::of([1, stated]).estimated();
        for _ in 0..5 {
            let place = queue.place(0);
            assert!(queue.admit_or_join(now, &mut gate, &call, place).is_ok());
        }
        // A second for each of the five, and one for this one.
        let late = Instant::from_nanos(6 * SECOND);
        let place = queue.place(0);
        let hasty = call.deadline(Instant::from_nanos(6 * SECOND - 1));
        assert_eq!(
            queue.admit_or_join(now, &mut gate, &hasty, place),
            Err(Reason::Late(late)),
            "{stated}"
        );
    }
}

#[test]
fn a_cost_is_learned_from_a_server_that_says_only_the_limit_or_only_what_is_left() {
    let at = |second: u64| Instant::from_nanos(second * SECOND);
    let unstated = Call::of([1, 0]).estimated();
    let admitted = |hint: fn(u64) -> Hint| {
        let policy = Policy::of([Adaptive::DEFAULT; 2]);
        let mut gate: Controller<Adaptive, 2> = Controller::new(policy, 7, at(0));
        for (second, left) in [(1, 900), (2, 850)] {
            let Decision::Admit(permit) = gate.poll(at(second), &unstated) else { panic!() };
            let reply = Reply::about(Outcome::Ok, [Hint::NONE, hint(left)]).using([1, 50]);
            gate.settle(at(second) + ROUND_TRIP, permit, reply);
        }
        // Calls that state their cost report how much is left.
        for (second, left) in [(3, 900), (4, 100)] {
            let Decision::Admit(permit) = gate.poll(at(second), &Call::of([1, 50])) else {
                panic!()
            };
            let hint = Hint::NONE.and_limit(1_000).and_remaining(left);
            let reply = Reply::about(Outcome::Ok, [Hint::NONE, hint]).using([1, 50]);
            gate.settle(at(second) + ROUND_TRIP, permit, reply);
        }
        (0..20).take_while(|_| matches!(gate.poll(at(5), &unstated), Decision::Admit(_))).count()
    };
    let hints: [fn(u64) -> Hint; 3] =
        [|_| Hint::NONE.and_limit(1_000), |left| Hint::NONE.and_remaining(left), |_| Hint::NONE];
    assert_eq!(hints.map(admitted), [3, 3, 20]);
}
