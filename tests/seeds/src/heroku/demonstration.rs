//! What the README of the demonstration wants to see, and says it cannot test: "without the ability
//! to simulate running through an entire day in a few seconds, I don't know how we could do that."

use std::sync::LazyLock;

use tidegate::law::{AnyState, HerokuConfig, HerokuState, Strategy};
use tidegate::{Controller, Instant, Span};

use super::bench::policy;
use super::server::Bucket;
use crate::of_seeds;
use crate::report::Table;
use crate::statistics::{Spread, mean};
use crate::world::World;

/// How long a call takes.
pub const TRIP: Span = Span::from_millis(100);

/// How often each behaviour is watched.
pub const RUNS: u64 = 8;

/// The demonstration's law, and the same without each of its ideas.
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

/// "One client consumes all available requests quickly": the seconds in which one thread takes a
/// full bucket down to ten.
#[must_use]
pub fn alone(config: HerokuConfig, seed: u64) -> f64 {
    let mut world = World::new(Bucket::full(), TRIP, seed);
    world.start(policy(config), 1, Span::ZERO);
    world.run(Instant::MAX, |_, answer| answer.remaining.is_some_and(|left| left <= 10));
    let done = world.threads.first().and_then(|thread| thread.done);
    crate::seconds(done.unwrap_or(Instant::MAX).saturating_since(Instant::ZERO))
}

/// How threads that sleep for 4 s at first and one that sleeps for 40 s share the server for a day:
/// "fast/slow client allows slow client to come down", and "the fast client is more likely to
/// be chosen".
#[derive(Clone, Copy, Debug)]
pub struct FastAndSlow {
    /// How many times longer than the fast ones' mean the slow one sleeps, after an hour.
    pub after_an_hour: f64,
    /// The same after a day.
    pub after_a_day: f64,
    /// How many 429s a fast one gets in the first hour.
    pub fast_hits: f64,
    /// How many the slow one gets.
    pub slow_hits: f64,
}

/// Runs that day.
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

/// 25 threads for a day, in so many processes that share a controller: the share of throttled
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

/// What a law of the demonstration or of the gem comes to with all seeds.
#[derive(Debug)]
pub struct Wishes {
    /// Whose law it is.
    pub law: &'static str,
    /// What one client takes to empty the bucket.
    pub alone: Vec<f64>,
    /// 24 fast threads and a slow one.
    pub crowd: Vec<FastAndSlow>,
    /// One of each.
    pub two: Vec<FastAndSlow>,
}

/// The README's wishes. They take a while, so they are made once.
pub static WISHES: LazyLock<[Wishes; 2]> = LazyLock::new(|| {
    let gem = HerokuConfig::gem(Strategy::Remaining);
    [("demonstration", HerokuConfig::DEMO), ("gem", gem)].map(|(law, config)| Wishes {
        law,
        alone: of_seeds(RUNS, |seed| alone(config, seed)),
        crowd: of_seeds(RUNS, |seed| fast_and_slow(config, 24, seed)),
        two: of_seeds(RUNS, |seed| fast_and_slow(config, 1, seed)),
    })
});

/// What a day of 25 threads comes to with all seeds.
#[derive(Debug)]
pub struct Days {
    /// The law, as [`configs`] names it.
    pub law: &'static str,
    /// The shares of throttled requests where each thread has a controller.
    pub own: Vec<f64>,
    /// The same where five processes have one each.
    pub shared: Vec<f64>,
}

/// The days with each of [`configs`]. They take a while, so they are made once.
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
        title: "What the README wants to see: one client; 24 fast ones and a slow one (median of 8)",
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
            "alone: seconds in which one client takes all 4500. slow/fast: the sleep of one that begins",
            "at 40 s over those that begin at 4 s. 429s: of each in the first hour. two: the same ratio",
            "for one fast and one slow alone, where the demonstration fails: the fast one is seldom",
            "throttled often enough to slow down for long, while each doubling of the slow one stays.",
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
            "own: each thread has a controller; shared: each of five processes has one. Published, for",
            "five processes and all three ideas: \"2-3%\", \"around 2%\".",
        ],
    }
}
