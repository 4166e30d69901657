//! The goals in the README of the demonstration, which it cannot test: "without the ability to
//! simulate running through an entire day in a few seconds, I don't know how we could do that."

use std::sync::LazyLock;

use tidegate::law::{AnyState, HerokuConfig, HerokuState, Strategy};
use tidegate::{Controller, Instant, Span};

use super::bench::policy;
use super::server::Bucket;
use crate::of_seeds;
use crate::report::Table;
use crate::statistics::{Spread, mean};
use crate::world::World;

/// The time of a call.
pub const TRIP: Span = Span::from_millis(100);

/// The number of runs.
pub const RUNS: u64 = 8;

/// The demonstration's law, and variants without each of its ideas.
#[must_use]
pub fn configs() -> [(&'static str, HerokuConfig); 4] {
    let demo = HerokuConfig::DEMO;
    [
        ("all three ideas", demo),
        ("without the time factor", HerokuConfig { calm: None, ..demo }),
        ("doubling on the first 429", HerokuConfig { spare_first: false, ..demo }),
        ("double dipping", HerokuConfig { once_per_event: false, ..demo }),
    ]
}

fn hours(hours: u64) -> Instant {
    Instant::ZERO.saturating_add(Span::from_secs(3_600 * hours))
}

/// "One client consumes all available requests quickly": the seconds in which one thread empties a
/// full bucket down to ten.
#[must_use]
pub fn alone(config: HerokuConfig, seed: u64) -> f64 {
    let mut world = World::new(Bucket::full(), TRIP, seed);
    world.start(policy(config), 1, Span::ZERO);
    world.run(Instant::MAX, |_, answer| answer.remaining.is_some_and(|left| left <= 10));
    let done = world.threads.first().and_then(|thread| thread.done);
    crate::seconds(done.unwrap_or(Instant::MAX).saturating_since(Instant::ZERO))
}

/// How threads that start with a sleep of 4 s and one that starts with 40 s share the server for a
/// day: "fast/slow client allows slow client to come down", and "the fast client is more likely to
/// be chosen".
#[derive(Clone, Copy, Debug)]
pub struct FastAndSlow {
    /// The slow one's sleep after an hour, divided by the mean of the fast ones.
    pub after_an_hour: f64,
    /// The same after a day.
    pub after_a_day: f64,
    /// 429s of a fast one in the first hour.
    pub fast_hits: f64,
    /// 429s of the slow one.
    pub slow_hits: f64,
}

/// Runs a day with fast threads and a slow one.
#[must_use]
pub fn fast_and_slow(config: HerokuConfig, fast: u32, seed: u64) -> FastAndSlow {
    let mut world = World::new(Bucket::starting_with(500.0), TRIP, seed);
    for thread in 0..=fast {
        let start = Span::from_secs(if thread == 0 { 40 } else { 4 });
        world.start(policy(HerokuConfig { start, ..config }), 1, start);
    }
    let slowness = |world: &World<Bucket>| match &sleeps(world.gates())[..] {
        [slow, fast @ ..] => slow / mean(fast),
        [] => f64::NAN,
    };
    world.run(hours(1), |_, _| false);
    let after_an_hour = slowness(&world);
    let hits: Vec<f64> = world.threads.iter().map(|thread| f64::from(thread.throttled)).collect();
    world.run(hours(24), |_, _| false);
    let after_a_day = slowness(&world);
    FastAndSlow { after_an_hour, after_a_day, fast_hits: mean(&hits[1..]), slow_hits: hits[0] }
}

fn sleeps(gates: &[Controller]) -> Vec<f64> {
    let sleep = |state: &_| match state {
        AnyState::Heroku(state) => crate::seconds(HerokuState::sleep(state)),
        other => panic!("the state of another law: {other:?}"),
    };
    gates.iter().flat_map(Controller::states).map(sleep).collect()
}

/// 25 threads for a day, in this many processes with a controller each: the share of throttled
/// requests in per cent.
#[must_use]
pub fn day(config: HerokuConfig, processes: u32, seed: u64) -> f64 {
    let mut world = World::new(Bucket::starting_with(500.0), TRIP, seed);
    for _ in 0..processes {
        world.start(policy(config), 25 / processes, TRIP);
    }
    world.run(hours(24), |_, _| false);
    let sent: u32 = world.threads.iter().map(|thread| thread.sent).sum();
    let throttled: u32 = world.threads.iter().map(|thread| thread.throttled).sum();
    100.0 * f64::from(throttled) / f64::from(sent)
}

/// The results of a law of the demonstration or of the gem with all seeds.
#[derive(Debug)]
pub struct Wishes {
    /// The origin of the law.
    pub law: &'static str,
    /// The time in which one client empties the bucket.
    pub alone: Vec<f64>,
    /// 24 fast threads and a slow one.
    pub crowd: Vec<FastAndSlow>,
    /// One of each.
    pub two: Vec<FastAndSlow>,
}

/// The goals of the README. Computed once, because they are slow.
pub static WISHES: LazyLock<[Wishes; 2]> = LazyLock::new(|| {
    let gem = HerokuConfig::gem(Strategy::Remaining);
    [("demonstration", HerokuConfig::DEMO), ("gem", gem)].map(|(law, config)| Wishes {
        law,
        alone: of_seeds(RUNS, |seed| alone(config, seed)),
        crowd: of_seeds(RUNS, |seed| fast_and_slow(config, 24, seed)),
        two: of_seeds(RUNS, |seed| fast_and_slow(config, 1, seed)),
    })
});

/// The results of a day of 25 threads with all seeds.
#[derive(Debug)]
pub struct Days {
    /// The law, as named by [`configs`].
    pub law: &'static str,
    /// The shares of throttled requests if each thread has a controller.
    pub own: Vec<f64>,
    /// The same if five processes have one each.
    pub shared: Vec<f64>,
}

/// The days with each of [`configs`]. Computed once, because they are slow.
pub static DAYS: LazyLock<[Days; 4]> = LazyLock::new(|| {
    configs().map(|(law, config)| Days {
        law,
        own: of_seeds(RUNS, |seed| day(config, 25, seed)),
        shared: of_seeds(RUNS, |seed| day(config, 5, seed)),
    })
});

/// The median of a figure.
#[must_use]
pub fn median(days: &[FastAndSlow], of: fn(&FastAndSlow) -> f64) -> f64 {
    Spread::of(&days.iter().map(of).collect::<Vec<f64>>()).median
}

/// The tables of the demonstration.
#[must_use]
pub fn tables() -> Vec<Table> {
    vec![wishes(), days()]
}

fn wishes() -> Table {
    let rows = WISHES.iter().map(|wishes| {
        let of = |days, figure| format!("{:.1}", median(days, figure));
        vec![
            wishes.law.to_string(),
            format!("{:.0}", Spread::of(&wishes.alone).median),
            "10.0".into(),
            of(&wishes.crowd, |day| day.after_an_hour),
            of(&wishes.crowd, |day| day.after_a_day),
            of(&wishes.crowd, |day| day.fast_hits),
            of(&wishes.crowd, |day| day.slow_hits),
            of(&wishes.two, |day| day.after_a_day),
        ]
    });
    Table {
        title: "The goals of the README: one client; 24 fast ones and a slow one (median of 8)",
        columns: &[
            "law",
            "alone s",
            "slow/fast",
            "1 h",
            "24 h",
            "429s fast",
            "429s slow",
            "two 24 h",
        ],
        rows: rows.collect(),
        notes: &[
            "alone: seconds in which one client uses all 4500. slow/fast: the sleep of one that starts",
            "at 40 s divided by those that start at 4 s. 429s: per client in the first hour. two: the same ratio",
            "for one fast and one slow client, where the demonstration fails: the fast one is rarely",
            "throttled often enough to slow down for long, while the slow one keeps each doubling.",
        ],
    }
}

fn days() -> Table {
    let rows = DAYS.iter().map(|days| {
        let mut row = vec![days.law.to_string()];
        for spread in [&days.own, &days.shared].map(|shares| Spread::of(shares)) {
            row.extend([spread.low, spread.median, spread.high].map(|value| format!("{value:.2}")));
        }
        row
    });
    Table {
        title: "Throttled requests of 25 threads in 24 hours, in per cent (8 runs)",
        columns: &[
            "law",
            "own 5 %",
            "own median",
            "own 95 %",
            "shared 5 %",
            "shared median",
            "shared 95 %",
        ],
        rows: rows.collect(),
        notes: &[
            "own: a controller per thread. shared: a controller for each of five processes. Published for",
            "five processes and all three ideas: \"2-3%\", \"around 2%\".",
        ],
    }
}
