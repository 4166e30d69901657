//! `responsive` against what its source published: sakthipriyan/go-utils, `sleeper.go` with the
//! vectors of `sleeper_test.go`, and the graph of the article "Responsive exponential backoff in
//! Go". Each runs through a whole controller: poll, wait, settle.
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that overflows or panics fails, which is right"
)]

use tidegate::gate::Pace;
use tidegate::law::{Law, Responsive, ResponsiveConfig, ResponsiveState, ResponsiveVariant};
use tidegate::{Ask, Controller, Decision, Instant, Outcome, Policy, Ratio, Rng, Span};

const FAITHFUL: ResponsiveConfig = ResponsiveConfig {
    spread: Ratio::ZERO,
    variant: ResponsiveVariant::Faithful,
    ..ResponsiveConfig::DEFAULT
};

fn micros(micros: u64) -> Span {
    Span::from_micros(micros)
}

fn ratio(numerator: u32, denominator: u32) -> Ratio {
    Ratio::new(numerator, denominator).unwrap()
}

/// One worker whose calls take no time, as in the source's own tests.
struct Worker {
    gate: Controller<Responsive>,
    now: Instant,
    /// How long it slept after each call so far.
    slept: Vec<Span>,
}

impl Worker {
    fn new(config: ResponsiveConfig) -> Self {
        let policy = Policy::new(Responsive::new(config).unwrap()).backoff(None);
        let now = Instant::from_nanos(1);
        Self { gate: Controller::new(policy, 7, now), now, slept: Vec::new() }
    }

    /// Calls, and sleeps until the next call may leave; returns how long.
    fn call(&mut self, outcome: Outcome) -> Span {
        let Decision::Go(permit) = self.gate.poll(self.now, &Ask::new()) else { panic!("waits") };
        self.gate.settle(self.now, permit, outcome);
        let start = self.now;
        if let Decision::Wait(until) = self.gate.poll(self.now, &Ask::new()) {
            self.now = until;
        }
        let slept = self.now.saturating_since(start);
        self.slept.push(slept);
        slept
    }

    fn calls(mut self, failures: usize, successes: usize) -> Self {
        for _ in 0..failures {
            self.call(Outcome::Throttled);
        }
        for _ in 0..successes {
            self.call(Outcome::Ok);
        }
        self
    }

    fn state(&self) -> ResponsiveState {
        *self.gate.states().next().unwrap()
    }

    /// The source's metrics: invocations, steps up, steps down, total sleep.
    fn metrics(&self) -> (u32, u32, u32, Span) {
        let stats = self.gate.stats();
        (stats.settled(), stats.slower, stats.faster, stats.waited)
    }
}

/// The figure's labels. It prints 2.25 ms as 2.3; all else is to the tenth of a millisecond.
const GRAPH: &str = "1.0F 1.5F 2.3F 3.4F 5.1F 7.6F 11.4F 17.1F 25.6F 38.4F 57.7F 86.5F 129.7F 194.6F \
    291.9Sx5 175.2Sx5 105.1Sx5 63.1Sx5 37.8F 56.8F 85.1Sx5 51.1F 76.6Sx5 46.0F 69.0Sx5 41.4F 62.1Sx5";

#[test]
fn the_published_graph_comes_out_delay_by_delay() {
    let mut worker = Worker::new(ResponsiveConfig {
        initial: Span::from_millis(1),
        down: ratio(6, 10),
        threshold: 5,
        ..FAITHFUL
    });
    let mut runs: Vec<(String, usize)> = Vec::new();
    let mut delay = worker.call(Outcome::Throttled);
    while runs.len() < 28 {
        // "Initially, requests were failing till it reached 291.9 ms. Later point, delay of
        // greater than 60 ms were succeeding."
        let descending = worker.gate.stats().faster > 0;
        let least = Span::from_millis(if descending { 60 } else { 250 });
        let served = delay >= least;
        // Rounded half up to a tenth of a millisecond, as the figure does.
        let tenths = (delay.as_nanos() + 50_000) / 100_000;
        let mark = if served { 'S' } else { 'F' };
        let label = format!("{}.{}{mark}", tenths / 10, tenths % 10);
        match runs.last_mut() {
            Some((last, times)) if *last == label => *times += 1,
            _ => runs.push((label, 1)),
        }
        delay = worker.call(if served { Outcome::Ok } else { Outcome::Throttled });
    }
    let shown: Vec<String> = runs[..27]
        .iter()
        .map(|(label, times)| if *times > 1 { format!("{label}x{times}") } else { label.clone() })
        .collect();
    assert_eq!(shown.join(" "), GRAPH.split_whitespace().collect::<Vec<_>>().join(" "));
}

#[test]
fn the_sources_vector_of_single_sleeps_comes_out() {
    let mut worker =
        Worker::new(ResponsiveConfig { initial: micros(10), up: ratio(11, 10), ..FAITHFUL });
    let slept: Vec<u64> =
        [Outcome::Ok, Outcome::Throttled, Outcome::Ok, Outcome::Throttled, Outcome::Throttled]
            .into_iter()
            .map(|outcome| worker.call(outcome).as_nanos())
            .collect();
    assert_eq!(slept, [0, 10_000, 10_000, 11_000, 12_100]);
    assert_eq!(worker.metrics(), (5, 3, 0, Span::from_nanos(43_100)));
}

#[test]
fn the_sources_vector_of_many_sleeps_comes_out() {
    let worker = Worker::new(ResponsiveConfig {
        initial: micros(1),
        up: ratio(2, 1),
        down: Ratio::HALF,
        threshold: 5,
        ..FAITHFUL
    })
    .calls(5, 30);
    assert_eq!(worker.metrics(), (35, 5, 5, micros(170)));
    // The source counts 30 sleeps: 29 that last, and the one that its last step down made zero.
    assert_eq!(worker.gate.stats().waits, 29);
    assert_eq!(worker.slept.iter().filter(|slept| **slept > Span::ZERO).count(), 29);
    assert_eq!(worker.slept[29], Span::ZERO);
    assert_eq!(worker.slept[28], micros(1));
}

#[test]
fn the_sources_vector_at_the_maximum_comes_out() {
    let worker = Worker::new(ResponsiveConfig {
        initial: micros(100),
        most: micros(150),
        up: ratio(2, 1),
        down: Ratio::HALF,
        threshold: 1,
        ..FAITHFUL
    })
    .calls(2, 2);
    assert_eq!(worker.metrics(), (4, 2, 1, micros(250)));
}

/// The source's defects, one by one: faithful here, mended there.
#[test]
fn the_faithful_variant_has_the_sources_defects_and_the_mended_one_has_not() {
    let mended = ResponsiveConfig { variant: ResponsiveVariant::Mended, ..FAITHFUL };
    let delay = |worker: &Worker| worker.state().delay().as_millis();

    // Nine successes, a failure, one success: down at once, because the counter stood.
    for (config, expected) in [(FAITHFUL, 675), (mended, 750)] {
        let worker = Worker::new(config).calls(1, 9).calls(1, 1);
        assert_eq!(delay(&worker), expected, "{:?}", config.variant);
    }
    // A threshold of zero never goes down; mended, it is an error.
    let never = ResponsiveConfig { threshold: 0, ..FAITHFUL };
    assert_eq!(delay(&Worker::new(never).calls(2, 1_000)), 750);
    assert!(Responsive::new(ResponsiveConfig { threshold: 0, ..mended }).is_err());
    // The first delay ignores the maximum; mended, that is an error.
    let high = ResponsiveConfig { initial: Span::from_secs(1_200), ..FAITHFUL };
    assert_eq!(delay(&Worker::new(high).calls(1, 0)), 1_200_000);
    assert!(
        Responsive::new(ResponsiveConfig { initial: Span::from_secs(1_200), ..mended }).is_err()
    );
    // One step down from exactly the initial delay ends it, in both.
    for config in [FAITHFUL, mended] {
        assert_eq!(delay(&Worker::new(config).calls(1, 10)), 0, "{:?}", config.variant);
    }
    // From nothing to the maximum in 20 failures; back in 720 successes.
    let mut worker = Worker::new(FAITHFUL).calls(19, 0);
    assert!(worker.state().delay() < Span::from_secs(900));
    worker = worker.calls(1, 719);
    assert!(worker.state().delay() > Span::ZERO);
    worker = worker.calls(0, 1);
    assert_eq!(worker.state().delay(), Span::ZERO);
    assert_eq!(worker.gate.stats().faster, 72);
}

#[test]
fn chance_moves_the_faithful_state_and_only_the_mended_delay() {
    let faithful =
        ResponsiveConfig { variant: ResponsiveVariant::Faithful, ..ResponsiveConfig::DEFAULT };
    let steps = |config: ResponsiveConfig| {
        let law = Responsive::new(config).unwrap();
        let mut higher = 0;
        for seed in 0..4_000 {
            let policy = Policy::new(law).backoff(None);
            let mut worker = Worker {
                gate: Controller::new(policy, seed, Instant::ZERO),
                now: Instant::ZERO,
                slept: Vec::new(),
            };
            worker = worker.calls(6, 9);
            let before = worker.state().delay();
            worker = worker.calls(0, 1);
            higher += u32::from(worker.state().delay() > before);
        }
        higher
    };
    // A step "down" goes up with probability (1.3 - 1/0.9) / 0.6 = 31.5 %: 1259 of 4000, and six
    // standard deviations are 176.
    let higher = steps(faithful);
    assert!((1_083..=1_435).contains(&higher), "{higher}");
    assert_eq!(steps(ResponsiveConfig::DEFAULT), 0);
}

#[test]
fn no_mended_delay_exceeds_the_maximum_and_none_is_in_step_with_the_fleet() {
    let most = Span::from_secs(900);
    let mut first = std::collections::BTreeSet::new();
    let mut longest = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let policy = Policy::new(Responsive::DEFAULT).backoff(None);
        let mut worker = Worker {
            gate: Controller::new(policy, seed, Instant::ZERO),
            now: Instant::ZERO,
            slept: Vec::new(),
        };
        worker = worker.calls(40, 20);
        assert!(worker.slept.iter().all(|slept| *slept <= most));
        first.insert(worker.slept[0]);
        longest.insert(worker.slept[39]);
    }
    assert!(first.len() > 190, "{}", first.len());
    assert!(longest.len() > 190, "{}", longest.len());
}

#[test]
fn silence_lowers_the_mended_delay_and_leaves_the_faithful_one() {
    for (variant, expected) in
        [(ResponsiveVariant::Faithful, false), (ResponsiveVariant::Mended, true)]
    {
        let mut worker = Worker::new(ResponsiveConfig { variant, ..FAITHFUL }).calls(12, 0);
        let before = worker.state().delay();
        worker.now = worker.now.saturating_add(Span::from_secs(86_400));
        worker.call(Outcome::Abandoned);
        assert_eq!(worker.state().delay() < before, expected, "{variant:?}");
    }
}

#[test]
fn successes_that_did_not_wait_leave_the_mended_delay() {
    let law = Responsive::new(ResponsiveConfig { variant: ResponsiveVariant::Mended, ..FAITHFUL })
        .unwrap();
    let mut gate: Controller<Responsive> =
        Controller::new(Policy::new(law).backoff(None), 1, Instant::ZERO);
    let mut now = Instant::ZERO;
    for outcome in [Outcome::Failed].into_iter().chain([Outcome::Ok; 50]) {
        let Decision::Go(permit) = gate.poll(now, &Ask::new()) else { panic!() };
        gate.settle(now, permit, outcome);
        now = now.saturating_add(Span::from_millis(600)); // longer than the delay
    }
    assert_eq!(gate.states().next().unwrap().delay(), Span::from_millis(500));
}

#[test]
fn neither_a_delay_nor_a_slow_call_is_silence() {
    // A threshold of one makes a stretch of silence as short as the delay itself.
    for (threshold, takes) in [(1, Span::ZERO), (10, Span::from_secs(30))] {
        let mended = ResponsiveConfig { threshold, variant: ResponsiveVariant::Mended, ..FAITHFUL };
        let mut worker = Worker::new(mended);
        for _ in 0..12 {
            let Decision::Go(permit) = worker.gate.poll(worker.now, &Ask::new()) else { panic!() };
            worker.now = worker.now.saturating_add(takes);
            worker.gate.settle(worker.now, permit, Outcome::Failed);
            if let Decision::Wait(until) = worker.gate.poll(worker.now, &Ask::new()) {
                worker.now = until;
            }
        }
        // 500 ms, half as much again eleven times.
        assert_eq!(worker.state().delay().as_millis(), 43_248, "{threshold}, {takes:?}");
    }
    // Nor is a slow call silence where it succeeds.
    let mut worker =
        Worker::new(ResponsiveConfig { variant: ResponsiveVariant::Mended, ..FAITHFUL })
            .calls(2, 0);
    for _ in 0..9 {
        let Decision::Go(permit) = worker.gate.poll(worker.now, &Ask::new()) else { panic!() };
        worker.now = worker.now.saturating_add(Span::from_secs(30));
        worker.gate.settle(worker.now, permit, Outcome::Ok);
    }
    assert_eq!(worker.state().delay().as_millis(), 750);
}

#[test]
fn each_stretch_of_silence_is_a_step_down() {
    // Two failures: 750 ms, so that a stretch is 7.5 s, and the next one 6.75 s.
    let mended = ResponsiveConfig { variant: ResponsiveVariant::Mended, ..FAITHFUL };
    for (silence, expected) in
        [(7_499, 750_000), (7_500, 675_000), (14_249, 675_000), (14_250, 607_500)]
    {
        let mut worker = Worker::new(mended).calls(2, 0);
        worker.now = worker.now.saturating_add(Span::from_millis(silence));
        worker.call(Outcome::Abandoned);
        assert_eq!(worker.state().delay(), micros(expected), "{silence} ms");
    }
    // A clock that steps back has not been silent for the time that it shows twice.
    let worker = Worker::new(mended).calls(2, 0);
    let later = worker.now.saturating_add(Span::from_secs(7));
    let law = Responsive::new(mended).unwrap();
    let (mut state, mut pace, mut rng) = (worker.state(), Pace::new(later), Rng::new(1));
    for now in [later, worker.now, later.saturating_add(Span::from_secs(2))] {
        law.released(&mut state, &mut pace, now, 1, &mut rng);
    }
    assert_eq!(state.delay(), worker.state().delay());
}

#[test]
fn chance_spreads_a_delay_by_a_part_of_it_and_by_two_minutes_at_most() {
    for (failures, least, most) in [(1, 350_000, 650_000), (21, 780_000_000, 900_000_000)] {
        let slept = (0..500).map(|seed| {
            let policy = Policy::new(Responsive::DEFAULT).backoff(None);
            let gate = Controller::new(policy, seed, Instant::ZERO);
            let worker = Worker { gate, now: Instant::ZERO, slept: Vec::new() };
            *worker.calls(failures, 0).slept.last().unwrap()
        });
        let (first, last) = (slept.clone().min().unwrap(), slept.max().unwrap());
        // The longer counts of what is drawn at the leaving and at the answer, so few are short.
        let slack = (most - least) / 10;
        assert!(micros(least) <= first && first <= micros(least + slack), "{first:?}");
        assert!(micros(most - slack) <= last && last <= micros(most), "{last:?}");
    }
}

#[test]
fn a_month_of_silence_ends_the_longest_delay() {
    let mended = ResponsiveConfig { variant: ResponsiveVariant::Mended, ..FAITHFUL };
    let mut worker = Worker::new(mended).calls(40, 0);
    assert_eq!(worker.state().delay(), Span::from_secs(900));
    worker.now = worker.now.saturating_add(Span::from_secs(30 * 86_400));
    worker.call(Outcome::Abandoned);
    assert_eq!(worker.state().delay(), Span::ZERO);
}

#[test]
fn the_mended_delay_runs_from_leaving_to_leaving() {
    let law = Responsive::new(ResponsiveConfig { variant: ResponsiveVariant::Mended, ..FAITHFUL })
        .unwrap();
    let mut gate: Controller<Responsive> =
        Controller::new(Policy::new(law).backoff(None), 1, Instant::ZERO);
    let Decision::Go(permit) = gate.poll(Instant::ZERO, &Ask::new()) else { panic!() };
    gate.settle(Instant::ZERO, permit, Outcome::Throttled);
    let leaves = Instant::ZERO.saturating_add(Span::from_millis(500));
    let Decision::Go(permit) = gate.poll(leaves, &Ask::new()) else { panic!() };
    // The call takes 400 of the 500 ms: 100 are left to wait.
    let answered = leaves.saturating_add(Span::from_millis(400));
    gate.settle(answered, permit, Outcome::Ok);
    let Decision::Wait(until) = gate.poll(answered, &Ask::new()) else { panic!() };
    assert_eq!(until.saturating_since(answered), Span::from_millis(100));
    assert_eq!(law.quota(gate.states().next().unwrap()), None);
}
