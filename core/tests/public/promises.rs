//! Promises to users, with random clients and servers.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;
use tidegate::gate::CooldownPolicy;
use tidegate::law::{Adaptive, Fixed};
use tidegate::{
    Call, Controller, Decision, Hint, Instant, Outcome, Policy, Quota, Ratio, Rng, Span, Verdict,
};

use crate::client::{Client, Gate, POLICY, admitted};
use crate::server::{Says, Server};
use crate::{DAY, MILLIS, SECOND, at};

/// A device's clock when it starts. The time before it must have room for the instants in a record.
const WAKE: u64 = 1 << 62;

proptest! {
    #[test]
    fn below_the_limit_nothing_waits_with_any_hints(
        seed: u64,
        limit in 8u64..10_000,
        period in 1u64..100_000,
        gaps in prop::collection::vec(0u64..100_000, 1..200),
    ) {
        let mut client = Client::new(seed);
        for gap in gaps {
            client.now += gap * MILLIS;
            prop_assert_eq!(client.gate.check(at(client.now), &Call::new()), Verdict::Admit);
            let hint = Hint::quota(limit, Span::from_secs(period));
            let hint = hint.and_remaining(gap % limit).and_reset(Span::from_secs(gap % period));
            client.call(Outcome::Ok.with::<1>(hint));
        }
    }

    #[test]
    fn a_client_that_knows_its_rate_sends_a_burst_at_once_if_hints_show_room(
        seed: u64,
        limit in 64u64..10_000,
        period in 1u64..3_600,
    ) {
        let mut client = Client::new(seed);
        let hint = |left| Hint::quota(limit, Span::from_secs(period)).and_remaining(left);
        let used_up = hint(0).and_reset(Span::from_secs(1));
        client.call(Outcome::Throttled.with::<1>(used_up));
        for _ in 0..60 {
            client.call(Outcome::Ok.with::<1>(hint(limit - 1)));
            client.now += period * SECOND;
        }
        for sent in 0..8 {
            let decision = client.gate.poll(at(client.now), &Call::new());
            prop_assert!(matches!(decision, Decision::Admit(_)), "{:?} after {}", decision, sent);
        }
    }

    #[test]
    fn a_lower_ceiling_and_a_reset_end_any_cooldown_with_any_law(
        law in prop::sample::select(Policy::NAMES.to_vec()),
        seed: u64,
        // How long the server asks clients to wait, and the ceiling that the user sets meanwhile.
        asked in prop::collection::vec(1u64..100_000, 1..8),
        ceiling in 1u64..3_600,
    ) {
        let policy = Policy::named(law).unwrap().backoff(None);
        let (mut gate, mut now) = (Controller::<_>::new(policy, seed, at(0)), 1);
        let wait = |gate: &Controller<_>, now| match gate.check(at(now), &Call::new()) {
            Verdict::Wait(until) => until.as_nanos() - now,
            _ => 0,
        };
        for seconds in asked {
            now += wait(&gate, now);
            let Decision::Admit(permit) = gate.poll(at(now), &Call::new()) else { panic!() };
            now += 50 * MILLIS;
            gate.settle(at(now), permit, Outcome::Throttled.with(Hint::retry_after(Span::from_secs(seconds))));
        }
        let cooldown = CooldownPolicy::new(Span::from_secs(ceiling), Ratio::HALF).unwrap();
        let before = wait(&gate, now);
        gate.set_policy(policy.cooldown(cooldown), at(now));
        let after = wait(&gate, now);
        // What a law has learned is no cooldown.
        let learned = gate.intervals(at(now)).next().flatten().map_or(0, Span::as_nanos);
        let bounds = before.min(ceiling * SECOND)..=before.min(learned.max(ceiling * SECOND));
        prop_assert!(bounds.contains(&after), "{} ns is not in {:?}", after, bounds);
        gate.reset(at(now));
        prop_assert!(wait(&gate, now) <= SECOND, "{} ns", wait(&gate, now));
    }

    #[test]
    fn no_cooldown_is_longer_than_the_ceiling_with_any_law(
        law in prop::sample::select(vec!["adaptive", "aimd", "vegas", "aimd-concurrency", "fixed", "none"]),
        seed: u64,
        ceiling in 1u64..100,
        // An outcome, how long to wait, and how the server states that: a client with few hints searches by itself.
        good in 1u8..5,
        replies in prop::collection::vec(
            (0u8..5, prop_oneof![Just(0), 0u64..10, 0u64..10_000], 0u8..3), 1..40,
        ),
    ) {
        let cooldown = CooldownPolicy::new(Span::from_secs(ceiling), Ratio::HALF).unwrap();
        let policy = Policy::named(law).unwrap().backoff(None).cooldown(cooldown);
        let (mut gate, mut now) = (Controller::<_>::new(policy, seed, at(0)), 1);
        let interval = |gate: &mut Controller<_>, now| {
            gate.intervals(at(now)).next().flatten().map_or(0, Span::as_nanos)
        };
        // The interval when the previous call was sent, which determines the spacing of the next.
        let mut spaced = 0;
        for (luck, seconds, form) in replies {
            let permit = loop {
                match gate.poll(at(now), &Call::new()) {
                    Decision::Admit(permit) => break permit,
                    Decision::Wait(until) => {
                        let wait = until.as_nanos() - now;
                        // What the law has learned may be longer, here from successes alone.
                        let learnt = interval(&mut gate, now).max(spaced);
                        let ceiling = ceiling * SECOND;
                        // The law stores the ceiling with a precision of 1/256 of an octave, never
                        // above it.
                        let most = if learnt > ceiling - ceiling / 128 { 2 * learnt } else { ceiling };
                        prop_assert!(wait <= most, "{wait} ns of {most}");
                        now = until.as_nanos();
                    }
                    other => panic!("{other:?}"),
                }
            };
            spaced = interval(&mut gate, now);
            now += 50 * MILLIS;
            let span = Span::from_secs(seconds);
            let hint = match form {
                0 => Hint::NONE,
                1 => Hint::retry_after(span),
                _ => Hint::remaining(0).and_reset(span),
            };
            let outcome = if luck >= good { Outcome::Ok } else { Outcome::Throttled };
            gate.settle(at(now), permit, outcome.with(hint));
        }
    }

    #[test]
    fn a_reported_cost_delays_a_client_by_at_most_a_day(
        law in prop::sample::select(vec!["adaptive", "aimd", "fixed"]),
        seed: u64,
        costs in prop::collection::vec(prop_oneof![1u32..1_000, any::<u32>(), Just(u32::MAX)], 1..20),
    ) {
        let mut gate = Controller::<_>::new(Policy::named(law).unwrap(), seed, at(0));
        let mut now = SECOND;
        // The first rejection gives `adaptive` a rate.
        for outcome in [Outcome::Ok, Outcome::Throttled, Outcome::Ok, Outcome::Ok] {
            let permit = admitted(&mut gate, &mut now, &Call::new());
            now += 50 * MILLIS;
            gate.settle(at(now), permit, outcome);
        }
        for cost in costs {
            let permit = admitted(&mut gate, &mut now, &Call::new());
            now += 50 * MILLIS;
            gate.settle(at(now), permit, Outcome::Ok.using([cost]));
            if let Verdict::Wait(until) = gate.check(at(now), &Call::new()) {
                // Pacing adds an interval.
                prop_assert!(until < at(now + DAY + 60 * SECOND), "{:?}", until);
            }
        }
    }

    #[test]
    fn a_limit_of_simultaneous_calls_is_exceeded_only_by_rare_probes(
        seed: u64,
        limit in 2usize..40,
    ) {
        let Client { mut gate, mut now } = Client::new(seed);
        let (mut served, mut rejected) = (0, 0);
        for round in 0..300 {
            let mut sent = Vec::new();
            while let Decision::Admit(permit) = gate.poll(at(now), &Call::new()) {
                sent.push(permit);
            }
            // Throttled calls complete at once, and served ones 50 ms later.
            now += MILLIS;
            for permit in sent.split_off(sent.len().min(limit)) {
                gate.settle(at(now), permit, Outcome::Busy);
                rejected += usize::from(round >= 20);
            }
            now += 50 * MILLIS;
            served += if round >= 20 { sent.len() } else { 0 };
            for permit in sent {
                gate.settle(at(now), permit, Outcome::Ok);
            }
        }
        let capacity = 280 * limit;
        prop_assert!(served * 10 >= capacity * 9, "{served} of {capacity} were served");
        prop_assert!(rejected * 50 <= served, "{rejected} were rejected");
    }

    #[test]
    fn a_burst_exceeds_the_reported_remaining_calls_by_at_most_one(
        seed: u64,
        limit in 64u64..1_000,
        round_trip in 1u64..600,
        reset in 6u64..3_600,
    ) {
        let Client { mut gate, mut now } = Client::new(seed);
        let (mut on_their_way, mut left, mut rejected) = (VecDeque::new(), limit, 0);
        let end = now + reset * SECOND;
        loop {
            let verdict = match gate.poll(at(now), &Call::new()) {
                Decision::Admit(permit) => {
                    on_their_way.push_back((now + round_trip * MILLIS, permit));
                    continue;
                }
                Decision::Full => gate.next_at(at(now)),
                other => {
                    prop_assert!(rejected > 0, "{:?}", other);
                    None
                }
            };
            let Some((back, permit)) = on_their_way.pop_front() else { break };
            if let Some(wider) = verdict.map(Instant::as_nanos).filter(|wider| *wider < back) {
                on_their_way.push_front((back, permit));
                now = wider;
                continue;
            }
            now = back;
            let outcome = if left > 0 { Outcome::Ok } else { Outcome::Throttled };
            rejected += u64::from(left == 0);
            left = left.saturating_sub(1);
            let hint = Hint::remaining(left).and_limit(limit);
            gate.settle(at(now), permit, outcome.with(hint.and_reset(Span::from_nanos(end - now))));
        }
        prop_assert_eq!((left, rejected), (0, 1));
    }

    #[test]
    fn a_burst_that_meets_an_unknown_limit_exceeds_it_by_little(
        seed: u64,
        limit in 20u64..2_000,
        round_trip in 1u64..60,
    ) {
        let Client { mut gate, mut now } = Client::new(seed);
        let (mut on_their_way, mut left, mut rejected) = (VecDeque::new(), limit, 0);
        while rejected == 0 || !on_their_way.is_empty() {
            while rejected == 0 && let Decision::Admit(permit) = gate.poll(at(now), &Call::new()) {
                on_their_way.push_back((now + round_trip * MILLIS, permit));
            }
            if let Some((back, permit)) = on_their_way.pop_front() {
                now = back;
                gate.settle(at(now), permit, if left > 0 { Outcome::Ok } else { Outcome::Throttled });
                rejected += u64::from(left == 0);
                left = left.saturating_sub(1);
            }
        }
        prop_assert!(rejected <= 10 + limit * 3 / 10, "{rejected} beyond {limit}");
    }

    #[test]
    fn a_call_outlasts_a_silent_window_of_a_minute_with_any_law(
        // `none` retries as fast as responses arrive.
        law in prop::sample::select(Policy::NAMES).prop_filter("no delay", |law| *law != "none"),
        seed: u64,
        dark in 1u64..=60_000,
        round_trip in 1u64..500,
    ) {
        let mut gate = Controller::<_>::new(Policy::named(law).unwrap(), seed, at(0));
        let (mut call, mut now) = (Call::new(), 1);
        loop {
            match gate.poll(at(now), &call) {
                Decision::Wait(until) => now = until.as_nanos(),
                Decision::Full => now = gate.next_at(at(now)).unwrap().as_nanos(),
                Decision::Reject(reason) => panic!("{reason:?}"),
                Decision::Admit(permit) => {
                    now += round_trip * MILLIS;
                    if now >= dark * MILLIS {
                        break;
                    }
                    gate.settle(at(now), permit, Outcome::Throttled);
                    call = gate.retry(at(now), &call, Outcome::Throttled).unwrap();
                }
            }
        }
    }

    #[test]
    fn a_client_that_meets_an_exhausted_silent_window_uses_the_next_one(
        seed: u64,
        dark in 5u64..100,
        round_trip in 1u64..300,
    ) {
        let mut client = Client::new(seed);
        let (end, mut first, mut served) = (client.now + dark * SECOND, None, 0);
        while served < 50 {
            let permit = client.admitted();
            client.now += round_trip * MILLIS;
            let outcome = if client.now < end { Outcome::Throttled } else { Outcome::Ok };
            if outcome == Outcome::Ok {
                first.get_or_insert(client.now);
                served += 1;
            }
            client.gate.settle(at(client.now), permit, outcome);
        }
        let now = client.now;
        let found = first.unwrap_or(now);
        let took = (now - found) / MILLIS;
        prop_assert!(took <= 50 * round_trip + 20_000, "{took} ms for fifty calls");
    }

    #[test]
    fn a_call_that_is_throttled_at_the_start_is_retried_at_the_stated_time(
        seed: u64,
        wait in 2u64..3_000,
        form in 0u8..2,
    ) {
        let mut client = Client::new(seed);
        let span = Span::from_secs(wait);
        let hint = if form == 0 { Hint::retry_after(span) } else { Hint::remaining(0).and_reset(span) };
        client.call(Outcome::Throttled.with::<1>(hint));
        let over = client.now;
        let _permit = client.admitted();
        let waited = client.now - over;
        prop_assert!(waited >= wait * SECOND && waited <= wait * SECOND * 12 / 10);
    }

    #[test]
    fn no_period_has_more_calls_than_a_strict_quota(
        seed: u64, count in 1..40u64, period in 20 * MILLIS..60 * SECOND, share in 0..40u64, late in 1..60 * SECOND,
    ) {
        let burst = 1 + share % count;
        let quota = Quota::strict(count, Span::from_nanos(period), u32::try_from(burst).unwrap()).unwrap();
        let mut gate = Controller::new(Policy::new(Fixed::new(quota)), seed, at(0));
        let (mut rng, mut now, mut sent) = (Rng::new(seed), 0, Vec::new());
        let mut below = |most: u64| rng.between(Span::ZERO, Span::from_nanos(most - 1)).as_nanos();
        while sent.len() < 400 {
            let cost = 1 + below(burst);
            match gate.poll(at(now), &Call::new().cost(u32::try_from(cost).unwrap())) {
                Decision::Admit(permit) => {
                    gate.settle(at(now), permit, Outcome::Ok);
                    sent.extend((0..cost).map(|_| now));
                    // A silence, after which a burst may be sent.
                    now += if below(16) == 0 { below(2 * period) } else { 0 };
                }
                // Timers are late, some of them very late.
                Decision::Wait(until) => {
                    let most = if below(8) == 0 { late } else { 4 * MILLIS };
                    now = until.as_nanos() + below(most);
                }
                other => panic!("{other:?}"),
            }
        }
        let count = usize::try_from(count).unwrap();
        for calls in sent.windows(count + 1) {
            prop_assert!(calls[count] - calls[0] >= period, "{} in {} ns", count + 1, calls[count] - calls[0]);
        }
    }

    #[test]
    fn two_strict_quotas_of_airtime_hold_in_any_period_over_resets_with_a_record(
        seed: u64, wanted in 10..600 * SECOND,
    ) {
        let periods = [(30_000, DAY), (36_000, 3_600 * SECOND)];
        let laws = periods.map(|(most, period)| {
            Fixed::new(Quota::strict(most, Span::from_nanos(period), 2_000).unwrap())
        });
        let policy = Policy::of(laws);
        let (mut rng, mut real, mut idle, mut sent) = (Rng::new(seed), 0, 0, Vec::new());
        let mut below = |most: u64| rng.between(Span::ZERO, Span::from_nanos(most - 1)).as_nanos();
        let mut gate = Controller::<Fixed, 2, _, [u32; 2]>::new(&policy, seed, at(WAKE));
        for week in 1..5 {
            // The device's clock restarts with it.
            let woke = real;
            while real < week * 7 * DAY {
                let now = at(WAKE + real - woke);
                let airtime = if below(8) == 0 { 1_800 } else { 62 };
                match gate.poll(now, &Call::of([airtime; 2])) {
                    Decision::Admit(permit) => {
                        sent.push((real, u64::from(airtime)));
                        gate.settle(now, permit, Outcome::Ok);
                        let silence = if below(500) == 0 { below(DAY) } else { 0 };
                        (real, idle) = (real + below(wanted) + silence, idle + silence);
                    }
                    Decision::Wait(until) => real += (until - now).as_nanos() + below(4 * MILLIS),
                    other => panic!("{other:?}"),
                }
            }
            let mut record = [0; Controller::<Fixed, 2, &Policy<Fixed, 2>, [u32; 2]>::SNAPSHOT_BYTES];
            gate.snapshot(at(WAKE + real - woke), &mut record).unwrap();
            let away = below(DAY);
            (real, idle) = (real + away, idle + away);
            gate = Controller::restore(&policy, real, &record, at(WAKE), Span::from_nanos(away)).unwrap();
        }
        for (most, period) in periods {
            let (mut first, mut airtime) = (0, 0);
            for &(at, took) in &sent {
                airtime += took;
                while at - sent[first].0 >= period {
                    airtime -= sent[first].1;
                    first += 1;
                }
                prop_assert!(airtime <= most, "{airtime} ms of {most} in {period} ns");
            }
        }
        let used: u64 = sent.iter().map(|&(_, took)| took).sum();
        let days = (real - idle) / DAY;
        prop_assert!(used >= 20_000 * days, "{used} ms in {days} days");
    }

    #[test]
    fn a_configured_quota_is_kept_and_used_before_any_server(
        seed: u64,
        (count, period, burst) in (1u64..200, 1u64..3_600, 1u32..20),
        // In hundredths of the quota.
        limit in prop::option::of(1u64..400),
        windows: bool,
        says in prop::sample::select(vec![Says::Nothing, Says::Left, Says::Policy, Says::Reset]),
    ) {
        let period = period * SECOND;
        let server = limit.map(|limit| {
            let limit = (limit * count).div_ceil(100);
            Server::new(limit, period, (!windows).then_some(limit), says)
        });
        let used = quoted((count, period, burst), server, seed, 40 * period);
        prop_assert!(limit.is_some() || used >= 36 * count, "{used} of {}", 40 * count);
    }
}

/// What a client with this quota uses that always has a call to make. It is restored from a snapshot again and again,
/// and its timers are late. Panics if any period has more than the quota.
fn quoted(
    (count, period, burst): (u64, u64, u32),
    mut server: Option<Server>,
    seed: u64,
    time: u64,
) -> u64 {
    let quota = Quota::per(count, Span::from_nanos(period)).unwrap().with_burst(burst).unwrap();
    let mut rng = Rng::new(seed);
    let mut below = |most: u64| u64::from(rng.next_u32()) % most;
    let policy = Policy::adaptive().limits([Adaptive::with_quota(quota)]);
    // The quota is set after a while without one.
    let (mut gate, mut now) = (Gate::new(POLICY, seed, at(0)), 0);
    for _ in 0..8 {
        let permit = admitted(&mut gate, &mut now, &Call::new());
        gate.settle(at(now), permit, if below(2) == 0 { Outcome::Throttled } else { Outcome::Ok });
    }
    gate.set_policy(policy, at(now));
    let most = u64::from(burst);
    let (start, mut latest, mut excess, mut used) = (now, now, 0, 0);
    while now < start + time {
        let cost = 1 + below(most);
        match gate.poll(at(now), &Call::new().cost(u32::try_from(cost).unwrap())) {
            Decision::Admit(permit) => {
                used += cost;
                excess = u64::saturating_sub(excess, (now - latest) * count) + cost * period;
                let allowed = most * period + count * 2 * MILLIS;
                assert!(excess <= allowed, "{} calls' worth in parts", excess - allowed);
                latest = now;
                let reply = server.as_mut().map_or(Outcome::Ok.into(), |server| {
                    let served = (0..cost).all(|_| server.limit.take(now, 1));
                    server.reply(served)
                });
                now += MILLIS;
                gate.settle(at(now), permit, reply);
            }
            Decision::Wait(until) => now = until.as_nanos() + below(1_100_000),
            other => panic!("{other:?}"),
        }
        if below(16) == 0 {
            let mut record = [0; Gate::SNAPSHOT_BYTES];
            gate.snapshot(at(now), &mut record).unwrap();
            let away = below(2 * period / count);
            now += away;
            gate = Gate::restore(policy, seed, &record, at(now), Span::from_nanos(away)).unwrap();
        }
    }
    used
}

#[test]
fn a_client_with_a_quota_of_seven_a_minute_sends_seven_a_minute() {
    for server in [None, Some(Server::bucket(1, SECOND))] {
        for seed in 0..20 {
            let used = quoted((7, 60 * SECOND, 1), server.clone(), seed, 3_600 * SECOND);
            assert!((385..=428).contains(&used), "{used} in an hour, {server:?}");
        }
    }
}

#[test]
fn a_client_without_hints_retries_within_seconds() {
    for seed in 0..100 {
        let mut client = Client::new(seed);
        client.call(Outcome::Throttled);
        let over = client.now;
        let _permit = client.admitted();
        assert!(client.now - over < 5 * SECOND, "{} ms", (client.now - over) / MILLIS);
    }
}

#[test]
fn a_burst_starts_with_ten_calls_and_slow_calls_do_not_delay_others() {
    let (mut gate, mut now, mut sent) = (Client::new(7).gate, SECOND, 0);
    let mut first = 0;
    while sent < 100 {
        match gate.poll(at(now), &Call::new()) {
            Decision::Admit(_) => sent += 1,
            Decision::Full => {
                first = if first == 0 { sent } else { first };
                let next = gate.next_at(at(now)).unwrap().as_nanos();
                assert!(next > now);
                now = next;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(first, 10);
    assert!(now <= 3 * SECOND, "after {} ms", (now - SECOND) / MILLIS);
}

/// A client that always has a call to make, for this time. Returns how many were served and how
/// many throttled.
fn greedy(mut server: Server, seed: u64, takes: u64, time: u64) -> (u64, u64) {
    let mut client = Client::new(seed);
    let (mut served, mut rejected) = (0, 0);
    while client.now < time {
        let permit = client.admitted();
        let reply = server.call(client.now);
        let fits = reply.outcome == Outcome::Ok;
        (served, rejected) = (served + u64::from(fits), rejected + u64::from(!fits));
        client.now += takes;
        client.gate.settle(at(client.now), permit, reply);
    }
    (served, rejected)
}

/// With limits of at least four calls. With one or two calls per period, a client with hints uses
/// up to a third less than one that guesses.
#[test]
fn a_true_hint_makes_no_client_slower_or_more_often_throttled() {
    let mut rng = Rng::new(5);
    let mut below = |most: u32| u64::from(rng.next_u32() % most);
    let mut told = [[0; 2]; 4];
    for world in 0..200 {
        let limit = (4 + below(12)) << below(6);
        let period = [1, 10, 60, 600][usize::try_from(below(4)).unwrap()] * SECOND;
        let burst = (world % 2 == 1).then_some(limit);
        let server = Server::new(limit, period, burst, Says::Nothing);
        let (takes, time) = ((2 + below(100)) * MILLIS, (20 * period).max(300 * SECOND));
        let alone = greedy(server.clone(), world, takes, time);
        for (index, says) in
            [Says::Left, Says::Quota, Says::Policy, Says::Reset].into_iter().enumerate()
        {
            let with = greedy(server.saying(says), world, takes, time);
            let parts = |(served, rejected)| rejected * 1_000 / (served + rejected);
            let what = format!("{server:?} {says:?}: {with:?}, and {alone:?} without");
            assert!(with.0 * 4 >= alone.0 * 3, "slower: {what}");
            assert!(parts(with) <= parts(alone) + 50, "rejected: {what}");
            let [faster, rejected] = &mut told[index];
            *faster += i64::try_from(with.0 * 1_000 / alone.0).unwrap() - 1_000;
            *rejected += i64::try_from(parts(with)).unwrap() - i64::try_from(parts(alone)).unwrap();
        }
    }
    // Over all worlds together at most a hundredth is lost, and half a thousandth more is rejected.
    let kept = told.iter().all(|[faster, rejected]| *faster >= -2_000 && *rejected <= 100);
    assert!(kept, "faster and more rejected, in thousandths of 200 worlds: {told:?}");
}

/// A client with as many calls in flight as possible, up to 64, at a bucket. Each is on its way for
/// half of a round trip that varies by half. Returns how many were served within 20 s.
fn wide(mut server: Server, told: bool, seed: u64, round_trip: u64) -> u64 {
    let Client { mut gate, mut now } = Client::new(seed);
    let mut rng = Rng::new(seed);
    let mut way = || {
        let spread = Span::from_nanos(round_trip / 4);
        round_trip * 3 / 8 + rng.between(Span::ZERO, spread).as_nanos()
    };
    // Calls on their way to the server, and responses on their way back, by arrival time.
    let (mut calls, mut answers) = (BTreeMap::new(), BTreeMap::new());
    let (mut served, mut number, end) = (0, 0_u32, now + 20 * SECOND);
    while now < end {
        let mut next = u64::MAX;
        while calls.len() + answers.len() < 64 {
            match gate.poll(at(now), &Call::new()) {
                Decision::Admit(permit) => {
                    number += 1;
                    calls.insert((now + way(), number), permit);
                }
                Decision::Full => {
                    next = gate.next_at(at(now)).map_or(u64::MAX, Instant::as_nanos);
                    break;
                }
                Decision::Wait(until) => {
                    next = until.as_nanos();
                    break;
                }
                Decision::Reject(reason) => panic!("{reason}"),
            }
        }
        let arrives = calls.keys().chain(answers.keys()).map(|(at, _)| *at).min();
        now = next.max(now + 1).min(arrives.unwrap_or(u64::MAX));
        while let Some(call) = calls.first_entry().filter(|call| call.key().0 <= now) {
            let ((_, number), permit) = call.remove_entry();
            let mut reply = server.call(now);
            served += u64::from(reply.outcome == Outcome::Ok);
            if told {
                let left = Hint::remaining(server.limit.remaining());
                let is_ok = reply.outcome == Outcome::Ok;
                let hint = if is_ok { left.and_reset(Span::from_secs(1)) } else { left };
                reply = reply.outcome.with(hint);
            }
            answers.insert((now + way(), number), (permit, reply));
        }
        while let Some(answer) = answers.first_entry().filter(|answer| answer.key().0 <= now) {
            let (permit, reply) = answer.remove();
            gate.settle(at(now), permit, reply);
        }
    }
    served
}

/// A bucket that refills within a round trip reports few remaining calls, but serves many.
#[test]
fn a_pool_that_refills_within_a_round_trip_delays_no_call() {
    let mut rng = Rng::new(6);
    let mut below = |most: u32| u64::from(rng.next_u32() % most);
    let mut told = 0;
    for world in 0..100 {
        let (limit, round_trip) = (3 + below(120), (5 + below(200)) * MILLIS);
        // It is full again after a fraction of a round trip.
        let server = Server::bucket(limit, round_trip / (1 + below(10)));
        let alone = wide(server.clone(), false, world, round_trip);
        let with = wide(server.clone(), true, world, round_trip);
        assert!(with * 4 >= alone * 3, "{with}, and {alone} without: {server:?}, {round_trip} ns");
        told += i64::try_from(with * 1_000 / alone).unwrap() - 1_000;
    }
    assert!(told >= -2_000, "slower by {told} thousandths of 100 worlds");
}

/// Clients that always have a call to make, at a server with windows, for thirty of the longest.
/// Returns how many calls of each were served in the second half.
fn fleet<const N: usize>(clients: u64, mut servers: [Server; N], seed: u64) -> Vec<u64> {
    let longest = servers.iter().map(|server| server.period).max().unwrap();
    let (half, takes) = (15 * longest, 40 * MILLIS);
    let mut fleet: Vec<_> = (0..clients).map(|client| (Client::new(seed + client), 0)).collect();
    loop {
        let (client, served) = fleet.iter_mut().min_by_key(|(client, _)| client.now).unwrap();
        if client.now > 2 * half {
            return fleet.into_iter().map(|(_, served)| served).collect();
        }
        match client.gate.poll(at(client.now), &Call::new()) {
            Decision::Admit(permit) => {
                // A call that one window rejects uses up nothing of the others.
                let fits = servers.iter_mut().all(|server| server.limit.fits(client.now, 1));
                if fits {
                    servers.iter_mut().for_each(|server| server.limit.charge(1));
                }
                *served += u64::from(fits && client.now > half);
                client.now += takes;
                client.gate.settle(at(client.now), permit, servers[0].reply(fits));
            }
            Decision::Wait(until) => client.now = until.as_nanos(),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_fleet_that_knows_when_a_window_ends_shares_it() {
    let mut rng = Rng::new(9);
    let mut below = |most: u32| u64::from(rng.next_u32() % most);
    let mut uneven = Vec::new();
    for seed in 0..40 {
        let clients = 3 + below(20);
        let limit = clients * (3 + below(12));
        let period = [60, 600, 3_600, 86_400][usize::try_from(below(4)).unwrap()] * SECOND;
        let server = Server::new(limit, period, None, Says::Reset);
        let shares = fleet(clients, [server], 1_000 * seed);
        // 1 - Jain's index, in thousandths.
        let (sum, squares) = shares
            .iter()
            .fold((0, 0), |(sum, squares), share| (sum + share, squares + share * share));
        uneven.push(1_000 - 1_000 * sum * sum / (clients * squares));
        assert!(sum * 10 >= 15 * limit * 9, "{sum} of {} were served", 15 * limit);
    }
    uneven.sort_unstable();
    assert!(uneven[20] <= 60 && uneven[36] <= 300, "{uneven:?}");
}

/// A server of 10 a second, 100 a minute and 1000 an hour.
#[test]
fn a_server_with_several_windows_at_once_is_used() {
    let windows = [(10, 1), (100, 60), (1_000, 3_600)];
    let servers =
        windows.map(|(limit, period)| Server::new(limit, period * SECOND, None, Says::Nothing));
    for clients in [1, 2, 4] {
        let used = |seed: u64| fleet(clients, servers.clone(), 1_000 * seed).iter().sum::<u64>();
        let mut used: Vec<_> = (0..12u64).map(used).collect();
        used.sort_unstable();
        assert!(used[6] >= 14_250, "{used:?} of 15000, {clients} clients");
    }
}

#[test]
fn a_rate_is_kept_by_timers_that_fire_late() {
    // Up to 1.1 ms late, like timers with a resolution of milliseconds.
    let mut chance = Rng::new(7);
    for rate in [100, 500, 1_000, 50_000] {
        let law = Fixed::new(Quota::per_second(rate).unwrap());
        let mut gate: Controller<Fixed> = Controller::new(Policy::new(law), 7, at(0));
        let (mut now, mut calls) = (at(0), 0);
        while now < at(10 * SECOND) {
            match gate.poll(now, &Call::new()) {
                Decision::Admit(permit) => {
                    calls += 1;
                    gate.settle(now, permit, Outcome::Ok);
                }
                Decision::Wait(until) => {
                    now = until + chance.between(Span::ZERO, Span::from_micros(1_100));
                }
                other => panic!("{other:?}"),
            }
        }
        // No more than the quota allows, plus its calls in two milliseconds.
        let most = rate * 10_002 / 1_000 + 1;
        assert!((most * 99 / 100..=most).contains(&calls), "{calls} at {rate} a second");
    }
}

#[test]
fn a_learned_rate_is_kept_by_timers_that_fire_late() {
    let mut chance = Rng::new(7);
    // Buckets of 10 ms and of a second.
    for (rate, buckets) in [(100, 1), (1_000, 1), (10_000, 1), (10_000, 100), (50_000, 100)] {
        let mut server = Server::bucket(rate / buckets, SECOND / buckets);
        let (mut client, mut served) = (Client::new(rate), 0);
        while client.now < 40 * SECOND {
            match client.gate.poll(at(client.now), &Call::new()) {
                Decision::Admit(permit) => {
                    let reply = server.call(client.now);
                    let fits = reply.outcome == Outcome::Ok;
                    served += u64::from(fits && client.now >= 20 * SECOND);
                    client.gate.settle(at(client.now + 1), permit, reply);
                }
                Decision::Wait(until) => {
                    let late = chance.between(Span::ZERO, Span::from_micros(1_100)).as_nanos();
                    client.now = until.as_nanos() + late;
                }
                other => panic!("{other:?}"),
            }
        }
        let most = 20 * rate;
        assert!(served * 100 >= most * 97, "{served} of {most}");
    }
}
