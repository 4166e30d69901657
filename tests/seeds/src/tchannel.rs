//! `TChannel`: a limit per second, halved by busy responses.

use tidegate::gate::Permit;
use tidegate::law::{Over, Recovery, Tchannel, TchannelConfig, TchannelState};
use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy, Reason, Span};

use crate::report::{Report, Table};

/// The calls that the document's program offers each second, and how many of them may be busy.
const OFFERED: u64 = 5_000;
const BUSY: u64 = 3_000;
/// Calls of the first second that are answered late. More than the seconds of a run.
const LATE: u64 = 32;
/// Bits of fraction in the law's limit.
const FRACTION: u32 = 36;

/// When the server is busy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pattern {
    /// In every second.
    Steady,
    /// In every third second.
    Flappy,
}

/// A run of the document's program: nine seconds of busy responses, then recovery.
#[derive(Clone, Debug)]
pub struct Run {
    /// When the server was busy.
    pub pattern: Pattern,
    /// How the limit recovered.
    pub recovery: Recovery,
    /// Second by second.
    pub rows: Vec<Row>,
    /// Whether the last row had full traffic again.
    pub converged: bool,
}

/// A line of a run.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Whether busy responses had ended.
    pub recovering: bool,
    /// The second, as the document counts.
    pub time: u64,
    /// The calls of that second.
    pub second: Second,
}

/// The calls of a second.
#[derive(Clone, Copy, Debug)]
pub struct Second {
    /// Calls that were sent.
    pub sent: u64,
    /// Calls with a busy response.
    pub busy: u64,
    /// The limit of the second, in calls with 36 bits of fraction.
    pub limit: u64,
}

/// The four runs of the document, in its order.
pub const DOCUMENT: [(Pattern, Recovery); 4] = [
    (Pattern::Steady, Recovery::Rate(3)),
    (Pattern::Steady, Recovery::Value(200)),
    (Pattern::Flappy, Recovery::Rate(3)),
    (Pattern::Flappy, Recovery::Value(200)),
];

impl Row {
    /// The line that the document's program prints. During recovery it does not round the limit
    /// before subtracting it from the traffic, so 4999 are throttled when nothing is sent.
    #[must_use]
    pub fn line(&self) -> String {
        let Second { sent, busy, limit } = self.second;
        let allowed = match self.recovering {
            true => limit.min(OFFERED << FRACTION),
            false => sent << FRACTION,
        };
        let throttled = ((OFFERED << FRACTION) - allowed) >> FRACTION;
        format!(
            "{} time={} rps={sent} throttled={throttled} busy={busy} limit={}",
            if self.recovering { "+++" } else { "---" },
            self.time,
            limit >> FRACTION,
        )
    }
}

impl Run {
    /// What the document's program prints.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.rows.iter().map(Row::line).collect();
        let quiet = self.rows.iter().position(|row| row.recovering).unwrap_or(lines.len());
        lines.insert(quiet, "++++ recovering".into());
        lines.push(self.verdict());
        lines
    }

    fn verdict(&self) -> String {
        match self.rows.last() {
            Some(last) if self.converged => {
                format!("converged at time={}, speed={}", last.time, last.time - 10)
            }
            _ => "failed to converge".into(),
        }
    }

    /// The name of the table in the document.
    #[must_use]
    pub fn name(&self) -> String {
        let pattern = match self.pattern {
            Pattern::Steady => "steady",
            Pattern::Flappy => "flappy",
        };
        format!("{pattern} {}", recovery_name(self.recovery))
    }

    fn total(&self, of: fn(&Second) -> u64) -> u64 {
        self.rows.iter().map(|row| of(&row.second)).sum()
    }
}

fn recovery_name(recovery: Recovery) -> String {
    match recovery {
        Recovery::Rate(rate) => format!("recover_rate={rate}"),
        Recovery::Value(value) => format!("recover_value={value}"),
    }
}

/// A client with calls to make every second, and the controller that admits them.
struct Client {
    gate: Controller<Tchannel>,
    /// Calls that are answered late: one at the start of each second, as served.
    late: Vec<Permit>,
    now: Instant,
}

impl Client {
    fn new(recovery: Recovery) -> Self {
        let config = TchannelConfig { recovery, over: Over::Reject, ..TchannelConfig::DEFAULT };
        let law = Tchannel::new(config).expect("the document's configuration");
        let policy = Policy::new(law).backoff(None);
        Self {
            gate: Controller::new(policy, 1, Instant::ZERO),
            late: Vec::new(),
            now: Instant::ZERO,
        }
    }

    /// Offers a second's calls. `busy` says whether the n-th call sent is answered busy.
    fn second(&mut self, busy: impl Fn(u64) -> bool) -> Second {
        // The controller notices a new second when it is called. The late answer ensures that, even
        // if no call is admitted.
        if let Some(permit) = self.late.pop() {
            self.gate.settle(self.now, permit, Outcome::Ok);
        }
        let limit = self.gate.states().next().map_or(0, TchannelState::limit_q36);
        let (mut sent, mut throttled) = (0, 0);
        for _ in 0..OFFERED {
            match self.gate.poll(self.now, &Call::new()) {
                Decision::Admit(permit) => {
                    sent += 1;
                    if busy(sent) {
                        throttled += 1;
                        self.gate.settle(self.now, permit, Outcome::Busy);
                    } else if self.now == Instant::ZERO && sent > OFFERED - LATE {
                        self.late.push(permit);
                    } else {
                        self.gate.settle(self.now, permit, Outcome::Ok);
                    }
                }
                Decision::Reject(Reason::OverLimit) => {}
                other => panic!("a limit that throttles answered {other:?}"),
            }
        }
        self.now = self.now.saturating_add(Span::from_secs(1));
        Second { sent, busy: throttled, limit }
    }
}

/// Runs the document's program.
#[must_use]
pub fn run(pattern: Pattern, recovery: Recovery) -> Run {
    let mut client = Client::new(recovery);
    let mut rows = Vec::new();
    for time in 1..10 {
        let may_be_busy = pattern == Pattern::Steady || time % 3 == 0;
        let second = client.second(|number| may_be_busy && number <= BUSY);
        rows.push(Row { recovering: false, time, second });
    }
    // The document's clock skips its tenth second, and the limit does not grow in it.
    for time in 11..=31 {
        let second = client.second(|_| false);
        rows.push(Row { recovering: true, time, second });
        if second.sent == OFFERED {
            return Run { pattern, recovery, rows, converged: true };
        }
    }
    Run { pattern, recovery, rows, converged: false }
}

/// The share of a server's capacity that the rule uses, in per mille, if the server answers busy to
/// calls above it.
#[must_use]
pub fn closed_loop(recovery: Recovery, capacity: u64) -> u64 {
    let mut client = Client::new(recovery);
    let mut served = 0;
    for second in 0..200 {
        let Second { sent, busy, .. } = client.second(|number| number > capacity);
        served += if second < 50 { 0 } else { sent - busy };
    }
    (served * 2_000 / (150 * capacity)).div_ceil(2)
}

/// The figures of this source.
///
/// # Panics
/// The controller admits a different number of calls than its limit.
#[must_use]
pub fn report() -> Report {
    let runs = DOCUMENT.map(|(pattern, recovery)| run(pattern, recovery));
    let summary = runs.iter().map(|run| {
        let totals = [run.total(|second| second.sent), run.total(|second| second.busy)];
        let lines = run.lines();
        let published: Vec<&str> = crate::published::TCHANNEL.section(&run.name()).collect();
        let same = lines.iter().zip(&published).filter(|(ours, theirs)| ours == theirs).count();
        let mut row = vec![run.name(), run.verdict()];
        row.push(published.last().unwrap_or(&"").to_string());
        row.extend(totals.map(|total| total.to_string()));
        row.push(format!("{same} of {}", published.len()));
        row
    });
    let listing = |run: &Run| std::iter::once(format!("[{}]", run.name())).chain(run.lines());
    Report {
        name: "tchannel",
        title: "Throttling on busy responses (TChannel): its four tables, and the use of the server",
        source: "uber/tchannel, docs/busy-throttling.md and docs/throttling.py, branch busy-throttling, 2015",
        tables: vec![
            Table {
                title: "The program",
                columns: &["run", "ours", "published", "calls", "busy", "same lines"],
                rows: summary.collect(),
                notes: &[
                    "The lines are in tests/golden/tchannel.txt, and equal the published ones.",
                ],
            },
            by_second(&runs),
            closed(),
        ],
        listing: runs.iter().flat_map(listing).collect(),
    }
}

/// The four runs side by side.
fn by_second(runs: &[Run; 4]) -> Table {
    let mut rows = Vec::new();
    for time in (1..10).chain(11..=31) {
        let mut cells = vec![time.to_string()];
        for run in runs {
            match run.rows.iter().find(|row| row.time == time) {
                Some(row) => {
                    cells.extend([row.second.sent, row.second.busy].map(|count| count.to_string()));
                }
                None => cells.extend([String::new(), String::new()]),
            }
        }
        rows.push(cells);
    }
    Table {
        title: "Calls and busy responses, second by second (busy until 9, then recovery)",
        columns: &["time", "S4", "S4 busy", "S+", "S+ busy", "F4", "F4 busy", "F+", "F+ busy"],
        rows,
        notes: &["S steady, F flappy; 4: the limit recovers fourfold, +: by 200."],
    }
}

fn closed() -> Table {
    let rows = [4_000, 2_000, 1_000, 100].map(|capacity| {
        let part = |recovery| {
            let part = closed_loop(recovery, capacity);
            format!("{}.{}", part / 10, part % 10)
        };
        vec![capacity.to_string(), part(Recovery::Rate(3)), part(Recovery::Value(200))]
    });
    Table {
        title: "Per cent of a server's capacity in use, with 5000 calls a second offered",
        columns: &["capacity", "x4", "+200"],
        rows: rows.into(),
        notes: &["The server answers busy to calls above its capacity. Not published."],
    }
}
