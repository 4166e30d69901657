//! "Go: Rate-limiting (done right)": retries until success with cenkalti's backoff, while the call
//! stays in flight; and the "dynamic value" for the number of calls in flight that the post
//! suggests.

use std::collections::VecDeque;

use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::law::{AimdConcurrency, Fixed, Law};
use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy, Ratio, Span};

use crate::published::GO;
use crate::report::{Report, Table};
use crate::statistics::{Spread, mean, rank};
use crate::{at_millis, of_seeds, ratio, seconds};

/// cenkalti's defaults with another initial interval, as a schedule of core.
///
/// # Panics
/// The schedule is invalid.
#[must_use]
pub fn schedule(initial: Span, spread: Ratio) -> Backoff {
    let growth = Growth::Exponential(ratio(3, 2));
    Backoff::new(growth, Jitter::Spread(spread), initial, Span::from_secs(60)).expect("a schedule")
}

/// The waits between the attempts of a failing call, as far as the policy grants them. The call
/// takes no time.
#[must_use]
pub fn waits(schedule: Backoff, elapsed: Option<Span>, most: usize, seed: u64) -> Vec<Span> {
    let endless = Policy::new(Fixed::UNLIMITED).attempts(None);
    let policy = endless.backoff(Some(schedule)).elapsed(elapsed);
    let mut gate: Controller<Fixed> = Controller::new(policy, seed, Instant::ZERO);
    let (mut now, mut call, mut waits) = (Instant::ZERO, Call::new(), Vec::new());
    while waits.len() < most {
        match gate.poll(now, &call) {
            Decision::Admit(permit) => {
                gate.settle(now, permit, Outcome::Failed);
                let Ok(next) = gate.retry(now, &call, Outcome::Failed) else { break };
                waits.push(next.not_before().saturating_since(now));
                call = next;
            }
            Decision::Wait(until) => now = until,
            other => panic!("an open window answered {other:?}"),
        }
    }
    waits
}

/// A gap of the post's list compared with our schedule.
#[derive(Clone, Copy, Debug)]
pub struct Gap {
    /// The schedule without jitter, in milliseconds.
    pub nominal: f64,
    /// The shortest and longest of ten thousand waits.
    pub band: (f64, f64),
    /// The published gap between two attempts.
    pub published: f64,
}

/// The 16 gaps of the post's list.
#[must_use]
pub fn gaps() -> Vec<Gap> {
    let elapsed: Vec<f64> = GO.words("elapsed").filter_map(|word| word.parse().ok()).collect();
    let published: Vec<f64> = elapsed.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let base = Span::from_millis(1);
    let nominal = waits(schedule(base, Ratio::ZERO), None, published.len(), 0);
    let runs =
        of_seeds(10_000, |seed| waits(schedule(base, Ratio::HALF), None, published.len(), seed));
    let gaps = nominal.iter().zip(published).enumerate();
    let millis = |span: Span| 1e3 * seconds(span);
    let gap = |(number, (nominal, published)): (usize, (&Span, f64))| {
        let band = runs.iter().map(|run| run[number]);
        let (least, most) = (band.clone().min(), band.max());
        let band = (millis(least.unwrap_or(Span::ZERO)), millis(most.unwrap_or(Span::MAX)));
        Gap { nominal: millis(*nominal), band, published }
    };
    gaps.map(gap).collect()
}

/// The sum of sixteen waits in milliseconds, ten thousand times.
#[must_use]
pub fn totals() -> Vec<f64> {
    let schedule = schedule(Span::from_millis(1), Ratio::HALF);
    of_seeds(10_000, |seed| {
        waits(schedule, None, 16, seed).into_iter().map(seconds).sum::<f64>() * 1e3
    })
}

/// The number of attempts in 15 minutes, a thousand times.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "some dozens")]
pub fn attempts(initial: Span) -> Vec<f64> {
    let elapsed = Some(Span::from_secs(900));
    of_seeds(1_000, |seed| {
        1.0 + waits(schedule(initial, Ratio::HALF), elapsed, 1_000, seed).len() as f64
    })
}

/// The limit of `aimd-concurrency` after each answer of a database that handles this many writes at
/// once and lets all others time out, with more writes waiting than the limit.
///
/// # Panics
/// Nothing is in flight, but no call may be sent.
#[must_use]
pub fn windows(capacity: usize, answers: usize) -> Vec<u16> {
    let law = AimdConcurrency::DEFAULT;
    let policy = Policy::new(law).backoff(None);
    let mut gate: Controller<AimdConcurrency> = Controller::new(policy, 1, Instant::ZERO);
    let (mut flights, mut windows) = (VecDeque::new(), Vec::new());
    for tick in 0..answers as u64 {
        let now = at_millis(tick);
        while let Decision::Admit(permit) = gate.poll(now, &Call::new()) {
            flights.push_back((permit, flights.len() < capacity));
        }
        let (permit, in_time) = flights.pop_front().expect("a call in flight");
        gate.settle(now, permit, if in_time { Outcome::Ok } else { Outcome::Failed });
        windows.extend(
            gate.states().filter_map(|state| law.concurrency(state, Instant::ZERO)).map(u16::from),
        );
    }
    windows
}

fn elapsed_table() -> Table {
    let mut rows: Vec<Vec<String>> = gaps()
        .iter()
        .enumerate()
        .map(|(number, gap)| {
            let numbers = [gap.band.0, gap.nominal, gap.band.1, gap.published];
            let mut row = vec![format!("{}", number + 1)];
            row.extend(numbers.map(|millis| format!("{millis:.3}")));
            row.push(format!("{:.3}", (gap.published - gap.band.1).max(0.0)));
            row
        })
        .collect();
    let totals = totals();
    let (published, spread) =
        (gaps().iter().map(|gap| gap.published).sum::<f64>(), Spread::of(&totals));
    let mut row = vec!["all: 5 %, median, 95 %".to_string()];
    row.extend(
        [spread.low, spread.median, spread.high, published].map(|millis| format!("{millis:.1}")),
    );
    row.push(format!("rank {:.0}", rank(&totals, published)));
    rows.push(row);
    Table {
        title: "The post's list of elapsed times: each wait in ms, with the shortest and longest of 10000",
        columns: &["wait", "shortest", "no jitter", "longest", "published", "above"],
        rows,
        notes: &["The excess over the longest wait is the time of the write: at most 0.13 ms."],
    }
}

fn defaults_table() -> Table {
    let half = Span::from_millis(500);
    let intervals = waits(schedule(half, Ratio::ZERO), None, 10, 0).into_iter().map(seconds);
    let rows: Vec<Vec<String>> = GO
        .row("defaults", "intervals")
        .into_iter()
        .zip(intervals)
        .enumerate()
        .map(|(number, (published, ours))| {
            vec![format!("interval {}, s", number + 1), published.to_string(), format!("{ours:.4}")]
        })
        .collect();
    Table {
        title: "cenkalti's defaults: 0.5 s, factor 1.5, at most 60 s, here without jitter",
        columns: &["what", "published", "ours"],
        rows,
        notes: &["The published intervals are truncated to three digits."],
    }
}

fn differences_table() -> Table {
    let capped = waits(schedule(Span::from_secs(60), Ratio::HALF), None, 10_000, 1);
    let longest = capped.iter().max().copied().unwrap_or(Span::ZERO);
    let middle = mean(&capped.into_iter().map(seconds).collect::<Vec<_>>());
    let attempts =
        |initial| format!("{:.0}", Spread::of(&attempts(Span::from_millis(initial))).median);
    let row = |what: &str, key: &str, ours: String| {
        vec![what.to_string(), GO.row("by its source", key).join(" "), ours]
    };
    Table {
        title: "Intended differences, at the defaults (at most 60 s, ±50 %, for 15 min)",
        columns: &["what", "cenkalti", "ours"],
        rows: vec![
            row("longest wait, s", "longest", format!("{:.1}", seconds(longest))),
            row("mean wait at the maximum, s", "mean", format!("{middle:.1}")),
            row("attempts from 500 ms, median", "from 500 ms", attempts(500)),
            row("attempts from 1 ms, median", "from 1 ms", attempts(1)),
        ],
        notes: &[
            "cenkalti caps the interval and then adds jitter, up to 90 s. Here no wait exceeds the maximum,",
            "so there are more attempts in that time. The time starts at the first failure here, and at",
            "the first attempt there.",
        ],
    }
}

fn window_table() -> Table {
    let windows = windows(20, 2_000);
    let reached = windows.iter().position(|concurrency| *concurrency > 20).unwrap_or(windows.len());
    let settled = &windows[1_000..];
    // Each increase by one takes a limit's worth of answers.
    let widest = self::windows(usize::MAX, 520_000).into_iter().max().unwrap_or(0);
    let row = |what: &str, value: String| vec![what.to_string(), value];
    Table {
        title: "The \"dynamic value for <limit>\": writes in flight with aimd-concurrency, for a capacity of 20",
        columns: &["what", "ours"],
        rows: vec![
            row("at the start", windows[0].to_string()),
            row("answers until 21 are tried", (reached + 1).to_string()),
            row(
                "minimum after that",
                settled.iter().min().map_or_else(String::new, u16::to_string),
            ),
            row("most", settled.iter().max().map_or_else(String::new, u16::to_string)),
            row(
                "mean",
                format!("{:.2}", mean(&settled.iter().map(|w| f64::from(*w)).collect::<Vec<_>>())),
            ),
            row("maximum with unlimited capacity", widest.to_string()),
        ],
        notes: &["Not published: the capacity of a Go channel is fixed when it is created."],
    }
}

/// The figures of this source.
#[must_use]
pub fn report() -> Report {
    Report {
        name: "go",
        title: "Retries in Go (cenkalti/backoff, and a concurrency limit)",
        source: "\"Go: Rate-limiting (done right)\", joaodlf.com, 2017; cenkalti/backoff's documentation",
        tables: vec![elapsed_table(), defaults_table(), differences_table(), window_table()],
        listing: Vec::new(),
    }
}
