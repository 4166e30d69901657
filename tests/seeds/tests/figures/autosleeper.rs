//! `AutoSleeper`: a delay that scales up on failure and down on success.

use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::law::published::{Autosleeper, AutosleeperConfig, AutosleeperState};
use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy, Ratio, Rng, Span};
use tidegate_seeds::AUTOSLEEPER;

use crate::ratio;

/// The source's defaults without jitter.
const PLAIN: AutosleeperConfig =
    AutosleeperConfig { spread: Ratio::ZERO, ..AutosleeperConfig::DEFAULT };

/// One worker whose calls take no time, as in the source's tests.
struct Worker {
    gate: Controller<Autosleeper>,
    now: Instant,
    slept: u32,
}

impl Worker {
    fn new(config: AutosleeperConfig, seed: u64) -> Self {
        let policy = Policy::new(Autosleeper::new(config).unwrap()).backoff(None);
        let gate = Controller::new(policy, seed, Instant::ZERO);
        Self { gate, now: Instant::ZERO, slept: 0 }
    }

    fn delay(&self) -> Span {
        self.gate.states().next().map_or(Span::ZERO, AutosleeperState::delay)
    }

    /// Makes a call, and sleeps until the next one may be sent. Returns the length of the sleep.
    fn call(&mut self, outcome: Outcome) -> Span {
        let delayed = self.delay() > Span::ZERO;
        let Decision::Admit(permit) = self.gate.poll(self.now, &Call::new()) else {
            panic!("a worker that has slept long enough may call")
        };
        self.gate.settle(self.now, permit, outcome);
        let since = self.now;
        if let Decision::Wait(until) = self.gate.poll(self.now, &Call::new()) {
            self.now = until;
        }
        // Counted like the source: a step down that ends the delay still "sleeps" for no time.
        self.slept += u32::from(delayed || self.delay() > Span::ZERO);
        self.now - since
    }
}

#[test]
fn the_graph_of_the_article_is_reproduced() {
    let initial = Span::from_millis(1);
    let config = AutosleeperConfig { initial, down: ratio(6, 10), threshold: 5, ..PLAIN };
    let mut worker = Worker::new(config, 1);
    let mut runs: Vec<(String, u32)> = Vec::new();
    let mut delay = worker.call(Outcome::Throttled);
    let published: Vec<&str> =
        AUTOSLEEPER.section("graph").flat_map(str::split_whitespace).collect();
    while runs.len() <= published.len() {
        // "Initially, requests were failing till it reached 291.9 ms. Later point, delay of greater
        // than 60 ms were succeeding."
        let least = Span::from_millis(if worker.gate.stats().faster > 0 { 60 } else { 250 });
        let served = delay >= least;
        // Rounded half up to a tenth of a millisecond, like the figure.
        let tenths = (delay.as_nanos() + 50_000) / 100_000;
        let label = format!("{}.{}{}", tenths / 10, tenths % 10, if served { 'S' } else { 'F' });
        match runs.last_mut() {
            Some((last, times)) if *last == label => *times += 1,
            _ => runs.push((label, 1)),
        }
        delay = worker.call(if served { Outcome::Ok } else { Outcome::Throttled });
    }
    runs.truncate(published.len()); // the figure ends here
    let label = |(label, times)| if times > 1 { format!("{label}x{times}") } else { label };
    assert_eq!(runs.into_iter().map(label).collect::<Vec<_>>(), published);
    assert_eq!(published.len(), 27);
}

#[test]
fn the_vectors_of_the_source_are_reproduced() {
    use Outcome::{Ok, Throttled};
    let config = |initial, most, up, down, threshold| AutosleeperConfig {
        initial: Span::from_micros(initial),
        most,
        up,
        down,
        threshold,
        ..PLAIN
    };
    let (two, half, short) = (ratio(2, 1), Ratio::HALF, Span::from_micros(150));
    let many = [[Throttled; 5].as_slice(), &[Ok; 30]].concat();
    for (name, config, calls) in [
        (
            "single sleeps",
            config(10, PLAIN.most, ratio(11, 10), PLAIN.down, 10),
            [Ok, Throttled, Ok, Throttled, Throttled].as_slice(),
        ),
        ("many sleeps", config(1, PLAIN.most, two, half, 5), &many),
        ("at the maximum", config(100, short, two, half, 1), &[Throttled, Throttled, Ok, Ok]),
    ] {
        let mut worker = Worker::new(config, 1);
        let sleeps: Vec<u64> = calls.iter().map(|call| worker.call(*call).as_nanos()).collect();
        let stats = worker.gate.stats();
        let counts = [stats.settled(), stats.slower, stats.faster, worker.slept].map(f64::from);
        let micros = sleeps.iter().sum::<u64>() as f64 / 1e3;
        assert_eq!(
            [&counts[..], &[micros]].concat(),
            AUTOSLEEPER.numbers("vectors", name),
            "{name}"
        );
        if name == "single sleeps" {
            assert_eq!(sleeps, [0, 10_000, 10_000, 11_000, 12_100]);
        }
    }
}

/// "Say RandomizationFactor=0.2, current delay is 1s and up multiplier 2, on next failure it can
/// become (1 x 2) +/- 0.2 * (1 x 2) = 1.6 to 2.4".
#[test]
fn jitter_of_a_fifth_around_two_seconds_is_from_1_6_to_2_4() {
    let initial = Span::from_secs(1);
    let config = AutosleeperConfig { initial, up: ratio(2, 1), spread: ratio(1, 5), ..PLAIN };
    let delays = (0..1_000).map(|seed| {
        let mut worker = Worker::new(config, seed);
        assert_eq!(worker.call(Outcome::Throttled), initial);
        worker.call(Outcome::Throttled).as_millis()
    });
    let (least, most) = (delays.clone().min().unwrap(), delays.max().unwrap());
    assert!((1_600..1_605).contains(&least) && (2_395..=2_400).contains(&most), "{least} {most}");
}

/// "1s, 2s, 3s, 4s, 5s, ..." and "1s, 2s, 4s, 8s, 16s, ...".
#[test]
fn linear_and_exponential_backoff_have_the_delays_of_the_article() {
    let twice = Growth::Exponential(ratio(2, 1));
    for (growth, expected) in [(Growth::Linear, [1, 2, 3, 4, 5]), (twice, [1, 2, 4, 8, 16])] {
        let (one, most) = (Span::from_secs(1), Span::from_secs(900));
        let schedule = Backoff::new(growth, Jitter::None, one, most).unwrap();
        let (mut rng, mut step) = (Rng::new(0), Span::ZERO);
        let delays = expected.map(|_| {
            step = schedule.next_step(step, &mut rng);
            schedule.delay(step, &mut rng).as_millis() / 1_000
        });
        assert_eq!(delays, expected, "{growth:?}");
    }
}
