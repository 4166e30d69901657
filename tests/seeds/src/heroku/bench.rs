//! The gem's benchmark: half an hour, two processes of five threads, a bucket that starts empty.
//!
//! The gem's threads sleep independently, so each has its own controller. (In the gem the threads
//! of a process share the sleep's value, but with no time between two calls a thread reads the
//! value that it has just written.)

use std::sync::LazyLock;

use tidegate::law::{AnyLaw, Heroku, HerokuConfig, Strategy};
use tidegate::{Instant, Policy, Span};

use super::server::Bucket;
use crate::published::HEROKU;
use crate::report::Table;
use crate::statistics::{Spread, deviation, mean, rank};
use crate::world::World;
use crate::{of_seeds, ratio};

/// The gem's strategies by our names. Its fifth, `Null`, does nothing.
pub const STRATEGIES: [(&str, Strategy); 4] = [
    ("exponential", Strategy::Exponential),
    ("gradual", Strategy::Gradual(Span::from_millis(800))),
    ("proportional", Strategy::Proportional),
    ("remaining", Strategy::Remaining),
];

/// The time of a call in the benchmark. Its clock runs ten times too fast, so this corresponds to 8
/// ms of a local server.
pub const TRIP: Span = Span::from_millis(80);

/// The number of runs.
pub const RUNS: u64 = 1_000;

/// The output of a run.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The mean of the threads' shares of throttled requests, in per cent.
    pub retry: f64,
    /// The longest sleep in seconds.
    pub longest: f64,
    /// The standard deviation of the threads' request counts.
    pub deviation: f64,
}

/// A figure of an outcome, by name.
pub type Figure = (&'static str, fn(&Outcome) -> f64);

/// The three figures of an outcome.
pub const FIGURES: [Figure; 3] = [
    ("retry %", |outcome| outcome.retry),
    ("longest sleep s", |outcome| outcome.longest),
    ("deviation", |outcome| outcome.deviation),
];

/// The policy of a configuration.
///
/// # Panics
/// The configuration is invalid.
#[must_use]
pub fn policy(config: HerokuConfig) -> Policy {
    let law = Heroku::new(config).expect("a valid configuration");
    Policy::new(AnyLaw::Heroku(law)).backoff(None).attempts(None)
}

/// Runs the benchmark once.
#[must_use]
pub fn bench(config: HerokuConfig, trip: Span, seed: u64) -> Outcome {
    let mut world = World::new(Bucket::starting_with(0.0), trip, seed);
    for _ in 0..10 {
        world.start(policy(config), 1, Span::from_millis(50));
    }
    world.run(Instant::ZERO.saturating_add(Span::from_secs(1_800)), |_, _| false);
    let threads = &world.threads;
    let shares: Vec<f64> = threads
        .iter()
        .filter(|thread| thread.sent > 0)
        .map(|thread| 100.0 * f64::from(thread.throttled) / f64::from(thread.sent))
        .collect();
    let counts: Vec<f64> = threads.iter().map(|thread| f64::from(thread.sent)).collect();
    let longest = threads.iter().map(|thread| thread.longest).max().unwrap_or(Span::ZERO);
    Outcome {
        retry: mean(&shares),
        longest: crate::seconds(longest),
        deviation: deviation(&counts),
    }
}

/// The benchmark with each of the [`STRATEGIES`], and with a backoff that doubles. Computed once,
/// because it is slow.
pub static BENCH: LazyLock<Vec<(&str, Vec<Outcome>)>> = LazyLock::new(|| {
    let gem = STRATEGIES.map(|(name, strategy)| (name, HerokuConfig::gem(strategy)));
    let doubling = HerokuConfig { times: ratio(2, 1), ..HerokuConfig::gem(Strategy::Exponential) };
    let all = gem.into_iter().chain([("exponential x2", doubling)]);
    all.map(|(name, config)| (name, benches(config, TRIP, RUNS))).collect()
});

/// The published figures for each of [`BENCH`].
#[must_use]
pub fn published(name: &str) -> Vec<f64> {
    match name {
        "exponential x2" => HEROKU.numbers("doubling", "exponential"),
        _ => HEROKU.numbers("bench", name),
    }
}

/// Runs the benchmark with this many seeds.
#[must_use]
pub fn benches(config: HerokuConfig, trip: Span, runs: u64) -> Vec<Outcome> {
    of_seeds(runs, |seed| bench(config, trip, seed))
}

/// The seconds in which ten threads that start with a sleep empty a bucket of 4500 down to ten.
#[must_use]
pub fn clear(strategy: Strategy, start: Span, bucket: Bucket, trip: Span, seed: u64) -> f64 {
    let config = HerokuConfig { start, ..HerokuConfig::gem(strategy) };
    let mut world = World::new(bucket, trip, seed);
    for _ in 0..10 {
        world.start(policy(config), 1, Span::from_millis(50));
    }
    world.run(Instant::MAX, |_, answer| answer.remaining.is_some_and(|left| left <= 10));
    let last = world.threads.iter().filter_map(|thread| thread.done).max();
    crate::seconds(last.unwrap_or(Instant::MAX).saturating_since(Instant::ZERO))
}

/// The figures of the benchmark.
#[must_use]
pub fn tables() -> Vec<Table> {
    vec![half_hour(), trips(), clearing()]
}

fn row(name: &str, figure: &str, outcomes: &[f64], published: f64) -> Vec<String> {
    let spread = Spread::of(outcomes);
    let mut row = vec![format!("{name}, {figure}"), format!("{published:.2}")];
    row.extend([spread.low, spread.median, spread.high].map(|value| format!("{value:.2}")));
    row.push(format!("{:.0}", rank(outcomes, published)));
    row.push(if spread.holds(published) { "yes" } else { "no" }.into());
    row
}

fn half_hour() -> Table {
    let mut rows = Vec::new();
    for (name, outcomes) in &*BENCH {
        for ((figure, of), published) in FIGURES.into_iter().zip(published(name)) {
            let values: Vec<f64> = outcomes.iter().map(of).collect();
            rows.push(row(name, figure, &values, published));
        }
    }
    if let Some((name, outcomes)) = BENCH.last() {
        let values: Vec<f64> = outcomes.iter().map(|outcome| outcome.retry).collect();
        let shares = HEROKU.numbers("doubling", "shares");
        rows.push(row(name, "retry % by its rows", &values, 100.0 * mean(&shares)));
    }
    Table {
        title: "The benchmark, 1000 times: is the published figure within the middle nine tenths of ours?",
        columns: &["strategy", "published", "5 %", "median", "95 %", "rank", "inside"],
        rows,
        notes: &[
            "A call takes 80 ms, which is 8 ms on the benchmark's clock. One figure in",
            "ten is outside by chance. The blog's 60.08 does not agree with the rows of its own run.",
        ],
    }
}

fn trips() -> Table {
    let trips = [40, 60, 80, 100, 130].map(Span::from_millis);
    let mut rows = Vec::new();
    for (name, strategy) in STRATEGIES {
        let config = HerokuConfig::gem(strategy);
        let outcomes = trips.map(|trip| benches(config, trip, 300));
        for ((figure, of), published) in FIGURES.into_iter().zip(HEROKU.numbers("bench", name)) {
            let ranks = outcomes.iter().map(|outcomes| {
                let values: Vec<f64> = outcomes.iter().map(of).collect();
                format!("{:.0}", rank(&values, published))
            });
            rows.push(std::iter::once(format!("{name}, {figure}")).chain(ranks).collect());
        }
    }
    Table {
        title: "The rank of the published figures among ours, by the time of a call in ms (300 runs)",
        columns: &["strategy", "40", "60", "80", "100", "130"],
        rows,
        notes: &[
            "The README does not say how long its calls took. Backoff without memory depends on it;",
            "the two proportional strategies do not.",
        ],
    }
}

fn clearing() -> Table {
    let start = Span::from_secs(1);
    let rows = STRATEGIES.map(|(name, strategy)| {
        let median = |trip| {
            let trip = Span::from_millis(trip);
            let times = of_seeds(20, |seed| clear(strategy, start, Bucket::draining(), trip, seed));
            format!("{:.1}", Spread::of(&times).median)
        };
        let published = HEROKU.row("bench", name)[3];
        let again = HEROKU.row("clear again", name)[0];
        vec![name.to_string(), median(30), median(130), published.into(), again.into()]
    });
    let ten = Span::from_secs(10);
    let hours = of_seeds(20, |seed| {
        clear(Strategy::Proportional, ten, Bucket::full(), TRIP, seed) / 3_600.0
    });
    let long = vec![
        "proportional, from 10 s, in hours".into(),
        String::new(),
        format!("{:.2}", Spread::of(&hours).median),
        format!("nearly {}", HEROKU.row("nearly", "hours")[0]),
        String::new(),
    ];
    Table {
        title: "Seconds to clear 4500 requests, sleeping 1 s at first (median of 20 runs)",
        columns: &["strategy", "30 ms", "130 ms", "published", "again"],
        rows: rows.into_iter().chain([long]).collect(),
        notes: &[
            "The published times include the start of a web server, on a clock ten times too fast, and",
            "vary by as much between runs. The gem also sleeps before the first call. core",
            "does not, and is one second faster.",
        ],
    }
}
