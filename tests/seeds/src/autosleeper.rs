//! `AutoSleeper`: a delay that scales up on failure and down on success.

use tidegate::law::{Autosleeper, AutosleeperConfig, AutosleeperState};
use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy, Ratio, Rng, Span};

use crate::published::AUTOSLEEPER;
use crate::ratio;
use crate::report::{Report, Table};

/// The source's defaults without jitter.
pub const PLAIN: AutosleeperConfig =
    AutosleeperConfig { spread: Ratio::ZERO, ..AutosleeperConfig::DEFAULT };

/// The source's defaults.
pub const DEFAULTS: AutosleeperConfig = AutosleeperConfig::DEFAULT;

/// The configuration of the article's graph.
#[must_use]
pub fn graph_config() -> AutosleeperConfig {
    AutosleeperConfig { initial: Span::from_millis(1), down: ratio(6, 10), threshold: 5, ..PLAIN }
}

/// One worker whose calls take no time, as in the source's tests.
#[derive(Debug)]
pub struct Worker {
    gate: Controller<Autosleeper>,
    now: Instant,
    slept: u32,
}

impl Worker {
    /// A worker that has not made a call yet.
    ///
    /// # Panics
    /// The configuration is invalid.
    #[must_use]
    pub fn new(config: AutosleeperConfig, seed: u64) -> Self {
        let law = Autosleeper::new(config).expect("a valid configuration");
        let gate = Controller::new(Policy::new(law).backoff(None), seed, Instant::ZERO);
        Self { gate, now: Instant::ZERO, slept: 0 }
    }

    /// Makes a call, and sleeps until the next one may be sent. Returns the length of the sleep.
    ///
    /// # Panics
    /// The controller does not admit a call after its own wait.
    pub fn call(&mut self, outcome: Outcome) -> Span {
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
        self.now.saturating_since(since)
    }

    /// Makes several calls.
    pub fn calls(&mut self, outcome: Outcome, times: u32) {
        for _ in 0..times {
            self.call(outcome);
        }
    }

    /// The current delay.
    #[must_use]
    pub fn delay(&self) -> Span {
        self.gate.states().next().map_or(Span::ZERO, AutosleeperState::delay)
    }

    /// The source's metrics: invocations, steps up, steps down, sleeps, time slept.
    #[must_use]
    pub fn metrics(&self) -> (u32, u32, u32, u32, Span) {
        let stats = self.gate.stats();
        (stats.settled(), stats.slower, stats.faster, self.slept, stats.waited)
    }

    fn descended(&self) -> bool {
        self.gate.stats().faster > 0
    }
}

/// The labels of the article's figure: delay, outcome, and how many in a row.
#[must_use]
pub fn graph() -> Vec<String> {
    let mut worker = Worker::new(graph_config(), 1);
    let mut runs: Vec<(String, u32)> = Vec::new();
    let mut delay = worker.call(Outcome::Throttled);
    while runs.len() < 28 {
        let least = Span::from_millis(if worker.descended() { 60 } else { 250 });
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
    runs.truncate(27); // the figure ends here
    let label = |(label, times)| if times > 1 { format!("{label}x{times}") } else { label };
    runs.into_iter().map(label).collect()
}

/// The vectors of the source's tests, by name.
#[must_use]
pub fn vectors() -> [(&'static str, Worker); 3] {
    let config = |initial, most, up, down, threshold| AutosleeperConfig {
        initial: Span::from_micros(initial),
        most,
        up,
        down,
        threshold,
        ..PLAIN
    };
    let (two, half, long) = (ratio(2, 1), Ratio::HALF, PLAIN.most);

    let mut single = Worker::new(config(10, long, ratio(11, 10), PLAIN.down, 10), 1);
    for outcome in
        [Outcome::Ok, Outcome::Throttled, Outcome::Ok, Outcome::Throttled, Outcome::Throttled]
    {
        single.call(outcome);
    }
    let mut many = Worker::new(config(1, long, two, half, 5), 1);
    many.calls(Outcome::Throttled, 5);
    many.calls(Outcome::Ok, 30);
    let mut highest = Worker::new(config(100, Span::from_micros(150), two, half, 1), 1);
    highest.calls(Outcome::Throttled, 2);
    highest.calls(Outcome::Ok, 2);
    [("single sleeps", single), ("many sleeps", many), ("at the maximum", highest)]
}

/// A server whose answers depend on the time since the previous call.
#[derive(Clone, Copy, Debug)]
pub enum Threshold {
    /// Fails calls that arrive earlier than this.
    Hard(Span),
    /// Fails at random: half of the calls after this time, and fewer of later ones.
    Soft(Span),
}

/// The percentage of calls that fail once a worker and a server have reached equilibrium.
pub fn failure_share(config: AutosleeperConfig, server: Threshold, calls: u32) -> f64 {
    let mut worker = Worker::new(config, 7);
    let mut chance = Rng::new(11);
    let (mut failed, mut delay) = (0u32, Span::ZERO);
    let warm = 2_000;
    for number in 0..warm + calls {
        let served = match server {
            Threshold::Hard(least) => delay >= least,
            // Fails with probability half / (half + delay).
            Threshold::Soft(half) => chance.between(Span::ZERO, half.saturating_add(delay)) >= half,
        };
        failed += u32::from(!served && number >= warm);
        delay = worker.call(if served { Outcome::Ok } else { Outcome::Throttled });
    }
    100.0 * f64::from(failed) / f64::from(calls)
}

/// The failure rate in per cent at which the logarithm of the delay has no drift: f ln(up) = (1 -
/// f) / N * -ln(down), with the mean over the jitter if there is one.
#[must_use]
pub fn share_by_arithmetic(config: AutosleeperConfig) -> f64 {
    let value = |ratio: Ratio| f64::from(ratio.numerator()) / f64::from(ratio.denominator());
    let spread = value(config.spread);
    let mean_log = |factor: f64| {
        let draws = 10_000;
        let log = |draw: u32| {
            let part = f64::from(draw) / f64::from(draws - 1);
            libm::log(factor * (1.0 - spread + 2.0 * spread * part))
        };
        (0..draws).map(log).sum::<f64>() / f64::from(draws)
    };
    let up = mean_log(value(config.up));
    let down = -mean_log(value(config.down)) / f64::from(config.threshold);
    100.0 * down / (up + down)
}

/// The three configurations whose failure rates are compared.
#[must_use]
pub fn equilibria() -> [(&'static str, AutosleeperConfig); 3] {
    [("defaults, no jitter", PLAIN), ("defaults", DEFAULTS), ("graph", graph_config())]
}

/// The minimum interval of the hard server: far from both ends of the law's delays.
pub const APART: Span = Span::from_secs(20);

/// The interval at which the soft server serves every other call.
pub const EVEN: Span = Span::from_secs(1);

fn ends() -> Vec<Vec<String>> {
    let mut worker = Worker::new(PLAIN, 1);
    let mut failures = 0;
    while worker.delay() < PLAIN.most {
        worker.call(Outcome::Throttled);
        failures += 1;
    }
    let (climbed, mut successes) = (worker.metrics(), 0);
    while worker.delay() > Span::ZERO {
        worker.call(Outcome::Ok);
        successes += 1;
    }
    let metrics = worker.metrics();
    let lasted = metrics.4.saturating_sub(climbed.4);

    // From the cap a step down may increase the delay, by its jitter and beyond the cap.
    let longest = (0..1_000).map(|seed| {
        let mut worker = Worker::new(DEFAULTS, seed);
        while worker.delay() < DEFAULTS.most {
            worker.call(Outcome::Throttled);
        }
        worker.calls(Outcome::Ok, 10);
        worker.delay()
    });
    let longest = longest.max().unwrap_or(Span::ZERO);
    let row = |what: &str, value: String| vec![what.to_string(), value];
    vec![
        row("failures from no delay to the longest", failures.to_string()),
        row("successes from the longest delay to none", successes.to_string()),
        row("steps down in between", metrics.2.to_string()),
        row("hours it takes", format!("{:.1}", crate::seconds(lasted) / 3_600.0)),
        row(
            "longest delay after a step down from 900 s, of 1000 (s)",
            format!("{:.1}", crate::seconds(longest)),
        ),
    ]
}

/// The figures of this source.
#[must_use]
pub fn report() -> Report {
    let mut theirs = AUTOSLEEPER.words("graph");
    let labels = graph().into_iter().enumerate().map(|(step, label)| {
        vec![(step + 1).to_string(), label, theirs.next().unwrap_or("").to_string()]
    });
    let vectors = vectors().map(|(name, worker)| {
        let (invoked, up, down, slept, total) = worker.metrics();
        let nanos = total.as_nanos();
        let mut row = vec![name.to_string()];
        row.extend([invoked, up, down, slept].map(|count| count.to_string()));
        row.push(format!("{}.{}", nanos / 1_000, nanos % 1_000 / 100));
        row.push(AUTOSLEEPER.row("vectors", name).join(" "));
        row
    });
    let equilibria = equilibria().map(|(name, config)| {
        let share = |server| format!("{:.2}", failure_share(config, server, 1_000_000));
        vec![
            name.to_string(),
            share(Threshold::Hard(APART)),
            share(Threshold::Soft(EVEN)),
            format!("{:.2}", share_by_arithmetic(config)),
        ]
    });
    Report {
        name: "autosleeper",
        title: "Responsive exponential backoff (AutoSleeper)",
        source: "sakthipriyan/go-utils, sleeper.go, sleeper_test.go, and the article's figure, 2022",
        tables: vec![
            Table {
                title: "The article's figure: delay in ms, S served or F failed, number in a row",
                columns: &["step", "ours", "published"],
                rows: labels.collect(),
                notes: &[],
            },
            Table {
                title: "The source's test vectors",
                columns: &["vector", "invoked", "up", "down", "slept", "µs", "published"],
                rows: vectors.into(),
                notes: &[],
            },
            Table {
                title: "Calls that fail in the long run, in per cent of a million calls",
                columns: &["configuration", "hard threshold", "soft threshold", "by arithmetic"],
                rows: equilibria.into(),
                notes: &[
                    "One server fails all calls less than 20 s apart. The other fails calls at random, half of those",
                    "1 s apart. The share depends only on the law, whose steps up and down have to cancel out.",
                ],
            },
            Table {
                title: "The limits of the default delays",
                columns: &["what", "ours"],
                rows: ends(),
                notes: &[],
            },
        ],
        listing: Vec::new(),
    }
}
