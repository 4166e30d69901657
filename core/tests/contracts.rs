//! The controller's contracts as properties: any policy, any clock, any order of events.
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that overflows or panics fails, which is right"
)]

use core::num::NonZeroU16;

use proptest::prelude::*;
use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::gate::{BudgetPolicy, HoldPolicy, Permit, WindowPolicy};
use tidegate::law::Strategy as Gem;
use tidegate::law::{
    Adaptive, Aimd, AnyLaw, Busy, BusyConfig, BusyVariant, Crowd, Cubic, Fixed, Over, Proportional,
    ProportionalConfig, Responsive, ResponsiveConfig, ResponsiveVariant, Vegas,
};
use tidegate::{
    Ask, Controller, Decision, Hint, Instant, Outcome, Policy, Quota, Ratio, Reason, Span, Verdict,
};

const SECOND: u64 = 1_000_000_000;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn after(now: Instant, nanos: u64) -> Instant {
    now.saturating_add(Span::from_nanos(nanos))
}

/// What can happen to a controller.
#[derive(Clone, Debug)]
enum Event {
    /// The clock moves ahead.
    Pass(u64),
    /// The clock steps back.
    StepBack(u64),
    /// The clock jumps anywhere.
    Jump(u64),
    /// A new call is asked for, perhaps with a deadline so far ahead.
    Ask(u32, Option<u64>),
    /// A waiting call is asked for again.
    AskAgain(usize),
    /// A call comes back, and is perhaps asked for again.
    Settle(usize, Outcome, Option<u64>),
    /// A permit out of thin air is settled.
    Forge(u64),
}

/// Everything that a server can say, honest or not.
fn hint_of(nanos: u64) -> Hint {
    let span = Span::from_nanos(nanos);
    let told = match nanos % 5 {
        0 => Hint::retry_after(span),
        1 => Hint::remaining(nanos % 60),
        2 => Hint::quota(nanos % 100, Span::from_nanos(nanos / 3)),
        3 => Hint::quota(u64::MAX, span).and_reset(Span::MAX),
        _ => {
            Hint::quota(1 + nanos % 100, Span::from_secs(60)).and_reset(Span::from_secs(nanos % 61))
        }
    };
    if nanos.is_multiple_of(3) { told } else { told.and_remaining(nanos % 97) }
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        4 => Just(Outcome::Ok),
        3 => Just(Outcome::Throttled),
        1 => Just(Outcome::Busy),
        1 => Just(Outcome::Failed),
        1 => Just(Outcome::Abandoned),
    ]
}

fn spans() -> impl Strategy<Value = u64> {
    prop_oneof![0..10u64, 0..SECOND, 0..1_000 * SECOND, any::<u64>()]
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        6 => (0..SECOND).prop_map(Event::Pass),
        2 => spans().prop_map(Event::Pass),
        1 => spans().prop_map(Event::StepBack),
        1 => prop_oneof![Just(u64::MAX), any::<u64>()].prop_map(Event::Jump),
        6 => (1..3u32, prop::option::weighted(0.2, spans())).prop_map(|(cost, in_)| Event::Ask(cost, in_)),
        1 => (any::<u32>(), Just(None)).prop_map(|(cost, in_)| Event::Ask(cost, in_)),
        6 => any::<usize>().prop_map(Event::AskAgain),
        8 => (any::<usize>(), outcomes(), prop::option::weighted(0.3, spans()))
            .prop_map(|(which, outcome, hint)| Event::Settle(which, outcome, hint)),
        1 => any::<u64>().prop_map(Event::Forge),
    ];
    prop::collection::vec(event, 0..200)
}

fn laws() -> impl Strategy<Value = AnyLaw> {
    let responsive =
        ResponsiveConfig { variant: ResponsiveVariant::Faithful, ..ResponsiveConfig::DEFAULT };
    let busy = BusyConfig { variant: BusyVariant::Faithful, ..BusyConfig::DEFAULT };
    let refusing = BusyConfig { over: Over::Refuse, ..BusyConfig::DEFAULT };
    let gem = ProportionalConfig::gem(Gem::Remaining);
    prop_oneof![
        Just(Fixed::UNLIMITED.into()),
        (1..100u64, 1..5u32).prop_map(|(count, burst)| {
            Fixed::new(Quota::per_second(count).unwrap().with_burst(burst).unwrap()).into()
        }),
        Just(Adaptive::DEFAULT.into()),
        Just(Aimd::DEFAULT.into()),
        Just(Busy::DEFAULT.into()),
        Just(Busy::new(busy).unwrap().into()),
        Just(Busy::new(refusing).unwrap().into()),
        Just(Crowd::DEFAULT.into()),
        Just(Cubic.into()),
        Just(Proportional::new(gem).unwrap().into()),
        Just(Proportional::new(ProportionalConfig::DEMO).unwrap().into()),
        Just(Responsive::DEFAULT.into()),
        Just(Responsive::new(responsive).unwrap().into()),
        Just(Vegas.into()),
    ]
}

/// These cut for every refusal, as their sources do, and say so in their documentation.
fn cuts_for_each_refusal(law: &AnyLaw) -> bool {
    let told = format!("{law:?}");
    ["Faithful", "Cubic", "once_per_event: false"].iter().any(|mark| told.contains(mark))
}

fn policies() -> impl Strategy<Value = (AnyLaw, Policy)> {
    let windows = prop::option::of((1..6u16, 1..100 * SECOND));
    let budgets = prop::option::of((1..10u32, 1..10u32));
    let backoffs = prop::option::of((1..SECOND, 0..100 * SECOND));
    let attempts = prop::option::weighted(0.3, 1..5u16);
    (laws(), windows, budgets, backoffs, attempts).prop_map(
        |(law, window, budget, backoff, attempts)| {
            let mut policy = Policy::new(law);
            if let Some((limit, lease)) = window {
                policy = policy.window(WindowPolicy::new(limit, Span::from_nanos(lease)).unwrap());
            }
            let budget = budget.map(|(ratio, reserve)| {
                BudgetPolicy::new(Ratio::new(1, ratio).unwrap(), reserve).unwrap()
            });
            let backoff = backoff.map(|(base, above)| {
                let (base, most) = (Span::from_nanos(base), Span::from_nanos(base + above));
                Backoff::new(Growth::Decorrelated, Jitter::Full, base, most).unwrap()
            });
            let policy = policy.budget(budget).backoff(backoff);
            (law, policy.attempts(attempts.and_then(NonZeroU16::new)))
        },
    )
}

/// A controller in a world of random events, with every contract that holds at all times.
struct World {
    gate: Controller,
    cuts_for_each_refusal: bool,
    now: Instant,
    waiting: Vec<Ask>,
    flying: Vec<Flying>,
    answers: Vec<String>,
}

struct Flying {
    raw: u64,
    ask: Ask,
    /// How many cuts there had been when it left.
    cuts: u32,
}

impl World {
    fn run((law, policy): (AnyLaw, Policy), seed: u64, start: u64, events: &[Event]) -> Self {
        let now = at(start);
        let mut world = Self {
            gate: Controller::new(policy, seed, now),
            cuts_for_each_refusal: cuts_for_each_refusal(&law),
            now,
            waiting: Vec::new(),
            flying: Vec::new(),
            answers: Vec::new(),
        };
        for event in events {
            world.happen(event);
        }
        world
    }

    fn happen(&mut self, event: &Event) {
        match *event {
            Event::Pass(nanos) => self.now = after(self.now, nanos),
            Event::StepBack(nanos) => self.now = at(self.now.as_nanos().saturating_sub(nanos)),
            Event::Jump(nanos) => self.now = at(nanos),
            Event::Ask(cost, deadline) => {
                let ask = Ask::new().cost(cost);
                let deadline = deadline.map_or(Instant::MAX, |nanos| after(self.now, nanos));
                self.ask(ask.deadline(deadline));
            }
            Event::AskAgain(which) if !self.waiting.is_empty() => {
                let ask = self.waiting.swap_remove(which % self.waiting.len());
                self.ask(ask);
            }
            Event::Settle(which, outcome, hint) if !self.flying.is_empty() => {
                let flying = self.flying.swap_remove(which % self.flying.len());
                self.settle(&flying, outcome, hint);
            }
            Event::Forge(raw) if self.flying.iter().all(|flying| flying.raw != raw) => {
                self.forge(raw);
            }
            Event::AskAgain(_) | Event::Settle(..) | Event::Forge(_) => {}
        }
        self.next_is_honest();
    }

    /// A plain call leaves at `next_at` and not before.
    fn next_is_honest(&self) {
        let plain = Ask::new();
        let (Verdict::Wait(_) | Verdict::Full) = self.gate.check(self.now, &plain) else { return };
        let next = self.gate.next_at(self.now).expect("something is in the way");
        if next == Instant::MAX {
            return; // there is no later instant at which to see
        }
        assert!(next > self.now);
        assert_eq!(self.gate.check(next, &plain), Verdict::Go);
        assert_ne!(self.gate.check(at(next.as_nanos() - 1), &plain), Verdict::Go);
    }

    fn ask(&mut self, ask: Ask) {
        let before = self.gate.clone();
        let verdict = self.gate.check(self.now, &ask);
        let why = self.gate.why(self.now, &ask);
        assert_eq!(self.gate, before, "asking changes nothing");
        assert!(verdict != Verdict::Go || why.is_none());
        let decision = self.gate.poll(self.now, &ask);
        self.answers.push(format!("{decision:?}"));
        match decision {
            Decision::Go(permit) => {
                assert_eq!(verdict, Verdict::Go);
                let cuts = self.gate.stats().slower;
                self.flying.push(Flying { raw: permit.into_raw(), ask, cuts });
                return;
            }
            Decision::Wait(until) => {
                assert_eq!(verdict, Verdict::Wait(until));
                assert!(until > self.now, "a wait is never zero");
                let then = self.gate.check(until, &ask);
                let same = self.gate.why(until, &ask) == why;
                assert!(
                    !(matches!(then, Verdict::Wait(_)) && same),
                    "{why:?} said {until:?}, then {then:?}"
                );
                self.waiting.push(ask);
            }
            Decision::Full => {
                assert_eq!(verdict, Verdict::Full);
                self.waiting.push(ask);
            }
            Decision::Refuse(reason) => assert_eq!(verdict, Verdict::Refuse(reason)),
        }
        // What was not let go has cost nothing: every later answer is what it would have been.
        for later in [0, 1, SECOND / 7, 3 * SECOND, 4_000 * SECOND] {
            let later = after(self.now, later);
            for ask in [ask, Ask::new(), Ask::new().cost(2)] {
                assert_eq!(self.gate.check(later, &ask), before.check(later, &ask));
            }
        }
    }

    fn settle(&mut self, flying: &Flying, outcome: Outcome, hint: Option<u64>) {
        let before = self.gate.clone();
        let hint = hint.map_or(Hint::NONE, hint_of);
        let reply = outcome.with::<1>(hint);
        self.gate.settle(self.now, Permit::from_raw(flying.raw), reply);
        if self.gate.stats().unknown > before.stats().unknown {
            // Its lease had ended and its place was needed: as if it had never been.
            self.same_but_for_unknown(&before);
            return;
        }
        assert_eq!(self.gate.in_flight() + 1, before.in_flight(), "it gave its place back");
        if self.gate.stats().slower > before.stats().slower && !self.cuts_for_each_refusal {
            assert_eq!(flying.cuts, before.stats().slower, "it left before the latest cut");
        }
        if outcome == Outcome::Abandoned {
            assert!(self.gate.states().eq(before.states()), "it teaches nothing");
            // Room in the window is all that has changed.
            let verdict = before.check(self.now, &Ask::new());
            assert!(verdict == Verdict::Full || self.gate.check(self.now, &Ask::new()) == verdict);
        }
        let (asked, before_retry) = (flying.ask, self.gate.clone());
        let next = self.gate.retry(self.now, &asked, outcome);
        assert!(next.is_none() || outcome.is_retryable());
        assert!(self.gate.states().eq(before_retry.states()));
        self.answers.push(format!("{next:?}"));
        if let Some(next) = next {
            assert_eq!(next.attempt(), asked.attempt() + 1);
            self.waiting.push(next);
        }
    }

    fn forge(&mut self, raw: u64) {
        let before = self.gate.clone();
        self.gate.settle(self.now, Permit::from_raw(raw), Outcome::Throttled);
        self.same_but_for_unknown(&before);
    }

    fn same_but_for_unknown(&self, before: &Controller) {
        assert_eq!(self.gate.stats().unknown, before.stats().unknown + 1);
        assert_eq!(self.gate.in_flight(), before.in_flight());
        assert!(self.gate.states().eq(before.states()));
        for later in [0, 1, SECOND, 4_000 * SECOND] {
            let later = after(self.now, later);
            assert_eq!(self.gate.check(later, &Ask::new()), before.check(later, &Ask::new()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn every_contract_holds_in_any_order_of_events(
        policy in policies(), seed: u64,
        start in prop_oneof![Just(0), 0..u64::MAX / 2, Just(u64::MAX - 5 * SECOND), Just(u64::MAX)],
        events in events(),
    ) {
        World::run(policy, seed, start, &events);
    }

    #[test]
    fn the_same_seed_and_events_give_the_same_answers(
        policy in policies(), seed: u64, start: u64, events in events(),
    ) {
        let (one, two) = (World::run(policy, seed, start, &events), World::run(policy, seed, start, &events));
        prop_assert_eq!(&one.answers, &two.answers);
        prop_assert_eq!(one.gate, two.gate);
    }

    #[test]
    fn no_clock_earns_more_than_the_quota_allows(
        count in 1..1_000u64, burst in 1..20u32, steps in prop::collection::vec((any::<bool>(), 0..SECOND), 1..400),
    ) {
        // However the clock runs, what leaves is bounded by the latest instant it has shown.
        let law = Fixed::new(Quota::per_second(count).unwrap().with_burst(burst).unwrap());
        let mut gate: Controller<Fixed> = Controller::new(Policy::new(law), 1, at(0));
        let (mut now, mut latest, mut gone) = (0u64, 0u64, 0u64);
        for (back, step) in steps {
            now = if back { now.saturating_sub(step) } else { now + step };
            latest = latest.max(now);
            while let Decision::Go(permit) = gate.poll(at(now), &Ask::new()) {
                gate.settle(at(now), permit, Outcome::Ok);
                gone += 1;
            }
            let allowed = u128::from(burst) + u128::from(latest) * u128::from(count) / u128::from(SECOND);
            prop_assert!(u128::from(gone) <= allowed, "{} of {}", gone, allowed);
        }
    }

    #[test]
    fn a_call_that_follows_its_waits_leaves_after_a_few_polls(
        policy in policies(), seed: u64, events in events(),
    ) {
        let mut world = World::run((policy.0, policy.1.attempts(None)), seed, 0, &events);
        if world.now > at(u64::MAX / 2) {
            return Ok(()); // the clock is near its end
        }
        let ask = Ask::new();
        let mut now = world.now;
        for _ in 0..8 {
            match world.gate.poll(now, &ask) {
                Decision::Go(_) => return Ok(()),
                Decision::Wait(until) => now = until,
                Decision::Full => now = world.gate.next_at(now).unwrap(),
                // A wait beyond the end of time, and a law that refuses instead of waiting.
                Decision::Refuse(Reason::Never | Reason::OverLimit) => return Ok(()),
                Decision::Refuse(reason) => prop_assert!(false, "{reason}"),
            }
        }
        prop_assert!(false, "still waiting at {:?}: {:?}", now, world.gate);
    }

    #[test]
    fn a_deadline_refuses_at_once_what_would_leave_too_late(
        wait in 1..1_000u64, deadline in 0..1_000u64,
    ) {
        let law = Fixed::new(Quota::per(1, Span::from_nanos(wait)).unwrap());
        let mut gate: Controller<Fixed> = Controller::new(Policy::new(law), 1, at(0));
        prop_assert!(matches!(gate.poll(at(0), &Ask::new()), Decision::Go(_)));
        let verdict = gate.check(at(0), &Ask::new().deadline(at(deadline)));
        let expected = if wait > deadline { Verdict::Refuse(Reason::Late(at(wait))) } else { Verdict::Wait(at(wait)) };
        prop_assert_eq!(verdict, expected);
        prop_assert_eq!(
            gate.check(at(wait), &Ask::new().deadline(at(wait - 1))),
            Verdict::Refuse(Reason::Late(at(wait)))
        );
        prop_assert_eq!(gate.check(at(wait), &Ask::new().deadline(at(wait))), Verdict::Go);
    }

    #[test]
    fn a_hint_is_a_floor_up_to_its_ceiling_and_stops_nobody_for_good(
        asked: u64, ceiling in 1..10_000 * SECOND, now in 0..u64::MAX / 2, seed: u64, busy: bool,
    ) {
        let hold = HoldPolicy::new(Span::from_nanos(ceiling), Ratio::new(1, 8).unwrap()).unwrap();
        let policy = Policy::named("none").unwrap().hold(hold);
        let mut gate: Controller = Controller::new(policy, seed, at(now));
        let Decision::Go(permit) = gate.poll(at(now), &Ask::new()) else { panic!() };
        let outcome = if busy { Outcome::Busy } else { Outcome::Throttled };
        gate.settle(at(now), permit, outcome.with(Hint::retry_after(Span::from_nanos(asked))));
        let waited = match gate.check(at(now), &Ask::new()) {
            Verdict::Go => 0,
            Verdict::Wait(until) => until.saturating_since(at(now)).as_nanos(),
            other => panic!("{other:?}"),
        };
        prop_assert!(waited <= ceiling);
        if asked < ceiling {
            prop_assert!(waited >= asked);
        } else {
            prop_assert!(waited >= ceiling - ceiling / 8 - 1);
        }
    }

    #[test]
    fn several_limits_are_charged_together_or_not_at_all(
        events in prop::collection::vec((0..4u32, 0..6u32, 0..8u32, 0..SECOND / 2), 1..200),
    ) {
        // Three a second and ten tokens a second, against one plain pace for each.
        let quotas = [(3, 3), (10, 5)].map(|(count, burst)| Quota::per_second(count).unwrap().with_burst(burst).unwrap());
        let laws = quotas.map(Fixed::new);
        let mut gate: Controller<Fixed, 2> = Controller::new(Policy::of(laws), 1, at(0));
        let mut paces = [const { tidegate::gate::Pace::new(Instant::ZERO) }; 2];
        let mut now = 0;
        for (requests, tokens, used, step) in events {
            now += step;
            let costs = [requests, tokens];
            let verdict = (0..2).map(|i| paces[i].check(at(now), costs[i], Some(quotas[i]))).max().unwrap();
            prop_assert_eq!(gate.check(at(now), &Ask::of(costs)), verdict);
            if let Decision::Go(permit) = gate.poll(at(now), &Ask::of(costs)) {
                for i in 0..2 {
                    paces[i].charge(at(now), costs[i], Some(quotas[i]));
                    paces[i].correct(at(now), costs[i], [requests, used][i], Some(quotas[i]));
                }
                gate.settle(at(now), permit, Outcome::Ok.using([requests, used]));
            }
        }
    }
}

#[test]
fn a_law_that_refuses_does_not_hide_when_the_next_call_may_leave() {
    let one = BusyConfig { most: core::num::NonZeroU32::MIN, ..BusyConfig::DEFAULT };
    let law = Busy::new(BusyConfig { over: Over::Refuse, ..one }).unwrap();
    let mut gate: Controller<Busy> = Controller::new(Policy::new(law), 1, at(0));
    let Decision::Go(permit) = gate.poll(at(0), &Ask::new()) else { panic!() };
    // It has had its call of this second. The server's wish lasts for longer.
    gate.settle(at(0), permit, Outcome::Throttled.with(Hint::retry_after(Span::from_secs(5))));
    let Verdict::Wait(until) = gate.check(at(2 * SECOND), &Ask::new()) else { panic!() };
    assert_eq!(gate.next_at(at(2 * SECOND)), Some(until));
}

#[test]
fn a_call_from_before_a_cut_does_not_cut_again_under_another_law() {
    let [aimd, crowd] = ["aimd", "crowd"].map(|name| Policy::named(name).unwrap());
    let mut gate: Controller = Controller::new(crowd, 1, at(0));
    let [one, two] = [(); 2].map(|()| match gate.poll(at(0), &Ask::new()) {
        Decision::Go(permit) => permit,
        other => panic!("{other:?}"),
    });
    gate.settle(at(SECOND), one, Outcome::Throttled);
    assert_eq!(gate.stats().slower, 1);
    gate.set_policy(aimd, at(SECOND));
    gate.settle(at(SECOND), two, Outcome::Throttled);
    assert_eq!(gate.stats().slower, 1);
}
