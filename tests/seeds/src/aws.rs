//! The AWS SDKs' adaptive retry mode: a token bucket whose rate follows a cubic.

use std::collections::VecDeque;

use tidegate::gate::Permit;
use tidegate::law::{AwsCubic, AwsCubicState};
use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy, Span};

use crate::at_millis;
use crate::published::AWS;
use crate::report::{Report, Table};

/// A client with a manual clock.
struct Client {
    gate: Controller<AwsCubic>,
    now: Instant,
    flights: VecDeque<Permit>,
}

/// The number of calls sent and the rate at a time after the start of a run.
pub type Mark = (u32, Option<f64>);

impl Client {
    /// Starts on a whole second, as recorded, late enough for the clock to step back an hour.
    fn new() -> Self {
        let now = at_millis(10_000_000);
        let policy = Policy::new(AwsCubic).backoff(None);
        Self { gate: Controller::new(policy, 1, now), now, flights: VecDeque::new() }
    }

    fn rate(&self) -> Option<f64> {
        let rate = self.gate.states().next().and_then(AwsCubicState::rate_q20)?;
        #[expect(clippy::cast_precision_loss, reason = "a rate in 2^20ths, far below 2^52")]
        Some(rate as f64 / f64::from(1 << 20))
    }

    fn pass(&mut self, span: Span) {
        self.now = self.now.saturating_add(span);
    }

    /// Sends calls that are answered later. The limiter must not be active.
    fn send(&mut self, calls: u32) {
        for _ in 0..calls {
            let Decision::Admit(permit) = self.gate.poll(self.now, &Call::new()) else {
                panic!("nothing waits before the first throttling response")
            };
            self.flights.push_back(permit);
        }
    }

    /// Answers the oldest call in flight.
    fn answer(&mut self, outcome: Outcome) {
        let permit = self.flights.pop_front().expect("a call in flight");
        self.gate.settle(self.now, permit, outcome);
    }

    /// Calls one after the other that complete immediately, with a pause before each.
    fn calls(&mut self, calls: u32, cooldown: Span, outcome: Outcome) {
        for _ in 0..calls {
            self.pass(cooldown);
            self.send(1);
            self.answer(outcome);
        }
    }

    /// One caller, back to back, up to the last of `marks`.
    fn run(&mut self, trip: Span, marks: &[Span]) -> Vec<Mark> {
        let start = self.now;
        let (mut sent, mut seen) = (0, Vec::new());
        let mut last = None;
        while let Some(mark) = marks.get(seen.len()) {
            match self.gate.poll(self.now, &Call::new()) {
                Decision::Wait(until) => self.now = until,
                Decision::Admit(permit) => {
                    self.pass(trip);
                    let answered = self.now.saturating_since(start);
                    // Calls that complete after the mark are not counted there yet.
                    for _ in marks[seen.len()..].iter().take_while(|mark| answered > **mark) {
                        seen.push((sent, last));
                    }
                    self.gate.settle(self.now, permit, Outcome::Ok);
                    sent += 1;
                    last = self.rate();
                }
                other => panic!("before {mark:?}, an open window answered {other:?}"),
            }
        }
        seen
    }
}

/// The rates at 5, 6, ... 11 s after a cut at ten calls a second.
///
/// The rate is also limited to twice the measured one, so calls that were sent before the cut keep
/// completing, forty a second.
///
/// # Panics
/// The limiter is active before its first throttling response, or inactive after it.
#[must_use]
pub fn vector() -> Vec<f64> {
    let mut client = Client::new();
    client.send(240);
    let early = std::mem::take(&mut client.flights);
    // Ten calls a second for twenty seconds, the last of them throttled.
    client.calls(199, Span::from_millis(100), Outcome::Ok);
    client.calls(1, Span::from_millis(100), Outcome::Throttled);
    client.flights = early;
    let mut rates = vec![client.rate().expect("a rate")];
    for _ in 6..=11 {
        for _ in 0..40 {
            client.pass(Span::from_millis(25));
            client.answer(Outcome::Ok);
        }
        rates.extend(client.rate());
    }
    rates
}

/// The recordings of botocore's classes, replayed with core.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The rate after a throttling response within the first half second.
    pub at_once: f64,
    /// What one caller sends then, at 1, 5 and 10 s.
    pub then: Vec<Mark>,
    /// The rate after one throttling response at a hundred calls a second.
    pub at_hundred: f64,
    /// What one caller sends then, from 0.5 to 60 s.
    pub after: Vec<Mark>,
    /// What it sends after a minute without a call, from 0.1 to 30 s.
    pub idle: Vec<Mark>,
    /// How long the next call waits after the clock has stepped back an hour, in seconds.
    pub clock_back: f64,
    /// The rate after twenty throttling responses to calls that were in flight together.
    pub burst: f64,
}

/// Replays the recordings.
///
/// # Panics
/// The limiter is active before its first throttling response, or inactive after it.
#[must_use]
pub fn recorded() -> Recorded {
    let (one, ten) = (Span::from_millis(1), Span::from_millis(10));
    let marks = |section| marks(section).map(|(at, _)| at).collect::<Vec<_>>();

    let mut first = Client::new();
    first.calls(10, ten, Outcome::Ok);
    first.calls(1, ten, Outcome::Throttled);
    let at_once = first.rate().expect("a rate");
    let then = first.run(one, &marks("throttled at once"));

    let mut hundred = Client::new();
    hundred.calls(1_000, ten, Outcome::Ok);
    hundred.calls(1, Span::ZERO, Outcome::Throttled);
    let at_hundred = hundred.rate().expect("a rate");
    let after = hundred.run(ten, &marks("throttled at 100 a second"));
    hundred.pass(Span::from_secs(60));
    let idle = hundred.run(ten, &marks("idle"));
    let back = Instant::from_nanos(hundred.now.as_nanos() - Span::from_secs(3_600).as_nanos());
    let next = match hundred.gate.poll(back, &Call::new()) {
        Decision::Wait(until) => until.saturating_since(hundred.now),
        _ => Span::ZERO,
    };

    let mut burst = Client::new();
    burst.calls(1_000, ten, Outcome::Ok);
    burst.send(20);
    for _ in 0..20 {
        burst.pass(one);
        burst.answer(Outcome::Throttled);
    }
    let burst = burst.rate().expect("a rate");
    Recorded { at_once, then, at_hundred, after, idle, clock_back: crate::seconds(next), burst }
}

/// The published marks of a section: time, calls sent, and rate.
pub fn marks(section: &'static str) -> impl Iterator<Item = (Span, Mark)> {
    AWS.section(section).filter_map(|line| {
        let (at, rest) = line.split_once(':')?;
        let at: f64 = at.trim().parse().ok()?;
        let mut words = rest.split_whitespace();
        let sent = words.next()?.parse().ok()?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "up to a minute"
        )]
        let at = Span::from_millis((at * 1e3) as u64);
        Some((at, (sent, words.next().and_then(|rate| rate.parse().ok()))))
    })
}

fn cell((sent, rate): Mark) -> [String; 2] {
    [sent.to_string(), rate.map_or_else(|| "-".into(), |rate| format!("{rate:.1}"))]
}

/// The figures of this source.
#[must_use]
pub fn report() -> Report {
    let theirs = AWS.words("vector");
    let vector = vector().into_iter().zip(theirs).zip(5..).map(|((ours, theirs), second)| {
        vec![second.to_string(), theirs.to_string(), format!("{ours:.9}")]
    });
    let recorded = recorded();
    let mut runs = Vec::new();
    for (section, ours) in [
        ("throttled at once", &recorded.then),
        ("throttled at 100 a second", &recorded.after),
        ("idle", &recorded.idle),
    ] {
        for ((at, published), ours) in marks(section).zip(ours) {
            let mut row = vec![format!("{section}, {} s", crate::seconds(at))];
            row.extend(cell(published).into_iter().chain(cell(*ours)));
            runs.push(row);
        }
    }
    let corner = |what: &str, section: &str, key: &str, ours: f64, places: usize| {
        vec![what.to_string(), AWS.row(section, key).join(" "), format!("{ours:.places$}")]
    };
    Report {
        name: "aws",
        title: "The AWS SDKs' adaptive mode (CUBIC)",
        source: "smithy-rs, client_rate_limiter.rs; botocore 1.44.5, retries/adaptive.py, on a fake clock",
        tables: vec![
            Table {
                title: "The vector that the SDKs share: calls a second, after a cut from ten at 5 s",
                columns: &["s", "published", "ours"],
                rows: vector.collect(),
                notes: &["Rates here have 20 bits of fraction, six digits."],
            },
            Table {
                title: "Rates after throttling responses, and other cases",
                columns: &["what", "botocore", "ours"],
                rows: vec![
                    corner(
                        "rate, throttled before the first half second is over",
                        "throttled at once",
                        "rate",
                        recorded.at_once,
                        6,
                    ),
                    corner(
                        "rate, throttled once at 100 a second",
                        "throttled at 100 a second",
                        "rate",
                        recorded.at_hundred,
                        6,
                    ),
                    corner(
                        "rate, 20 of one burst throttled at 100 a second",
                        "burst",
                        "rate",
                        recorded.burst,
                        6,
                    ),
                    corner(
                        "seconds to wait when the clock steps back an hour",
                        "clock back",
                        "wait",
                        recorded.clock_back,
                        6,
                    ),
                ],
                notes: &[
                    "The last one is corrected: a clock that steps back removes no tokens here.",
                ],
            },
            Table {
                title: "Calls that one caller then sends, back to back",
                columns: &["when", "botocore sent", "botocore rate", "our sent", "our rate"],
                rows: runs,
                notes: &[],
            },
        ],
        listing: Vec::new(),
    }
}
