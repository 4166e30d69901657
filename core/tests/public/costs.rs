//! `adaptive` with buckets that are counted in units, and calls that cost several.

use tidegate::law::{Adaptive, Fixed};
use tidegate::queue::{Node, Queue};
use tidegate::{
    Call, Controller, Decision, Hint, Instant, Outcome, Policy, Quota, Reason, Reply, Rng, Span,
};
use tidegate_limits::{Bucket, Limit};

use crate::SECOND;

const ROUND_TRIP: Span = Span::from_millis(50);

/// One client of a server that allows these units of each limit a second, and a burst of a period's worth.
struct World<const LIMITS: usize> {
    rates: [Option<u64>; LIMITS],
    period: Span,
    /// Whether responses say how much is left of each limit.
    hints: bool,
    law: Adaptive,
    round_trip: Span,
    /// The seconds of learning, and those that count.
    seconds: [u64; 2],
}

impl<const LIMITS: usize> World<LIMITS> {
    /// Ten minutes after one of learning, with the period of a second.
    fn new(rates: [Option<u64>; LIMITS], hints: bool) -> Self {
        let (period, law) = (Span::from_secs(1), Adaptive::DEFAULT);
        Self { rates, period, hints, law, round_trip: ROUND_TRIP, seconds: [60, 600] }
    }

    /// Runs with calls that cost this much of the last limit and one of others. The client states what `states` says.
    /// Returns the used share of the limit that is used most, and the throttled share of calls, in thousandths.
    fn run(
        &self,
        mut cost: impl FnMut(&mut Rng) -> u32,
        states: impl Fn([u32; LIMITS]) -> Call<LIMITS>,
        reports: bool,
    ) -> (u64, u64) {
        let periods = self.period.as_secs();
        let mut server = self.rates.map(|rate| {
            let units = rate.map_or(u64::MAX / 2, |rate| rate * periods);
            Bucket::new(units, self.period.as_nanos(), units)
        });
        let (mut chance, mut now) = (Rng::new(3), Instant::ZERO);
        let mut gate: Controller<Adaptive, LIMITS> =
            Controller::new(Policy::of([self.law; LIMITS]), 7, now);
        let start = Instant::ZERO + Span::from_secs(self.seconds[0]);
        let end = start + Span::from_secs(self.seconds[1]);
        let (mut calls, mut throttled, mut used) = (0, 0, [0; LIMITS]);
        let mut next = cost(&mut chance);
        while now < end {
            let mut costs = [1; LIMITS];
            costs[LIMITS - 1] = next;
            match gate.poll(now, &states(costs)) {
                Decision::Admit(permit) => {
                    let each = costs.map(u64::from);
                    let fits = server
                        .iter_mut()
                        .zip(each)
                        .all(|(bucket, cost)| bucket.fits(now.as_nanos(), cost));
                    if fits {
                        server.iter_mut().zip(each).for_each(|(bucket, cost)| bucket.charge(cost));
                        next = cost(&mut chance);
                    }
                    if now >= start {
                        calls += 1;
                        throttled += u64::from(!fits);
                        let units = if fits { each } else { [0; LIMITS] };
                        used.iter_mut().zip(units).for_each(|(used, cost)| *used += cost);
                    }
                    let hints = core::array::from_fn(|limit| match self.rates[limit] {
                        Some(rate) if self.hints => Hint::quota(rate * periods, self.period)
                            .and_remaining(server[limit].remaining()),
                        _ => Hint::NONE,
                    });
                    let outcome = if fits { Outcome::Ok } else { Outcome::Throttled };
                    let reply = Reply::about(outcome, hints);
                    now += self.round_trip;
                    let reply = if reports && fits { reply.using(costs) } else { reply };
                    gate.settle(now, permit, reply);
                }
                Decision::Wait(until) => {
                    assert!(until > now, "the wait is zero");
                    now = until;
                }
                other => panic!("{other:?}"),
            }
        }
        let limits = used.into_iter().zip(self.rates);
        let shares =
            limits.filter_map(|(used, rate)| Some(used * 1_000 / (rate? * self.seconds[1])));
        (shares.max().unwrap(), throttled * 1_000 / calls)
    }
}

/// The shares for one limit of this many units a second, of which the client knows each call's cost.
fn run(rate: u64, hints: bool, cost: impl FnMut(&mut Rng) -> u32) -> (u64, u64) {
    World::new([Some(rate)], hints).run(cost, Call::of, false)
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
        let world = World { law, ..World::new([Some(rate)], false) };
        let (used, throttled) = world.run(|_| size, Call::of, false);
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
    for (requests, tokens, hints, what) in [
        (10, 1_000, true, "tokens bind, with hints"),
        (2, 100_000, true, "requests bind, with hints"),
        (10, 1_000, false, "tokens bind, without hints"),
        (1, 1_000, true, "both bind"),
    ] {
        let world = World {
            period: Span::from_secs(60),
            round_trip: Span::from_millis(300),
            seconds: [600, 3_600],
            ..World::new([Some(requests), Some(tokens)], hints)
        };
        let (most, throttled) = world.run(|_| 1_000, Call::of, false);
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
    let world = World::new([None, Some(10_000)], true);
    for states in [None, Some(0), Some(1)] {
        let call = |[_, cost]: [u32; 2]| Call::of([1, states.unwrap_or(cost)]).estimated();
        let (used, throttled) = world.run(|_| 1_000, call, true);
        assert!(used >= 950 && throttled <= 30, "{states:?}: {used} used, {throttled} throttled");
        let (used, throttled) = world.run(|rng| 100 + rng.next_u32() % 1_900, call, true);
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

/// Requests and tokens, of which a second has so many.
fn policy(limits: [u32; 2]) -> Policy<Fixed, 2> {
    let quota = |each: u32| Quota::per_second(each.into()).unwrap().with_burst(each).unwrap();
    Policy::of(limits.map(|each| Fixed::new(quota(each))))
}

fn two(requests: u32, tokens: u32) -> Controller<Fixed, 2> {
    Controller::new(policy([requests, tokens]), 7, Instant::ZERO)
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
    let policy = policy([10, 1_000]);
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
