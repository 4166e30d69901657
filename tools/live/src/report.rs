//! The figures of a run from the server's counts. Only the waits come from the clients.

use crate::fleet::Member;
use crate::options::Demo;
use crate::server::{Row, Server};
use crate::tally::Tally;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub law: String,
    /// Served calls divided by the calls that could have been served.
    pub utilisation: f64,
    /// Calls throttled by the policy, divided by all responses.
    pub throttled: f64,
    /// The same for the second half of the run, after the start.
    pub settled: f64,
    /// Jain's fairness index of the served calls by process: 1 if all are equal, 1/n if one got
    /// all.
    pub jain: f64,
    /// Time from the start of a call until its successful attempt is sent. `None` if no call
    /// succeeded.
    pub wait_p50_ms: Option<f64>,
    pub wait_p99_ms: Option<f64>,
    /// Logical calls.
    pub calls: u64,
    /// Calls given up, plus calls that only the server or only the client counted.
    pub lost: u64,
    /// Calls that were still waiting at the end of the run.
    pub unfinished: u64,
    pub answered: u64,
    /// Rate limit headers that the clients could not parse.
    pub ignored: u64,
    /// The number of responses after which `adaptive` used each basis. Empty for other laws.
    pub bases: BTreeMap<String, u64>,
    pub offered: u64,
    pub served: u64,
    pub outage: u64,
    pub capacity: f64,
    pub seconds: f64,
    pub server: String,
    pub processes: Vec<Row>,
}

impl Report {
    pub fn new(
        demo: &Demo,
        law: &str,
        elapsed: Duration,
        settled: f64,
        server: &Server,
        members: &[Member],
    ) -> Self {
        let truth = server.truth();
        let total = truth.total();
        let processes: Vec<Row> = truth.callers.iter().skip(1).copied().collect();
        let served: Vec<u64> = processes.iter().map(|row| row.served).collect();
        let waits = merged(members);
        let wait = |quantile| {
            waits.as_ref().map(|waits| waits.value_at_quantile(quantile) as f64 / 1000.0)
        };
        let sum = |count: fn(&Tally) -> u64| members.iter().map(|of| count(&of.tally)).sum();
        Report {
            law: law.to_owned(),
            utilisation: share(total.served as f64, truth.capacity),
            throttled: share(total.throttled as f64, total.offered as f64),
            settled,
            jain: jain(&served),
            wait_p50_ms: wait(0.5),
            wait_p99_ms: wait(0.99),
            calls: sum(|tally| tally.calls),
            lost: lost(&server.served_in_all(), members),
            unfinished: sum(Tally::unfinished),
            answered: sum(|tally| tally.answered),
            ignored: sum(|tally| tally.ignored),
            bases: bases(members),
            offered: total.offered,
            served: total.served,
            outage: total.outage,
            capacity: truth.capacity,
            seconds: elapsed.as_secs_f64(),
            server: demo.api.to_string(),
            processes,
        }
    }
}

/// All waits of the fleet, if there are any.
fn merged(members: &[Member]) -> Option<Histogram<u64>> {
    let (first, others) = members.split_first()?;
    let mut waits = first.waits_us.clone();
    for member in others {
        waits.add(&member.waits_us).ok()?;
    }
    (!waits.is_empty()).then_some(waits)
}

fn bases(members: &[Member]) -> BTreeMap<String, u64> {
    let mut bases = BTreeMap::new();
    for (basis, count) in members.iter().flat_map(|member| &member.tally.bases) {
        *bases.entry(basis.clone()).or_default() += count;
    }
    bases
}

/// Calls given up, plus every difference between the server's and the clients' counts.
fn lost(served_in_all: &[u64], members: &[Member]) -> u64 {
    members
        .iter()
        .zip(served_in_all.iter().skip(1))
        .map(|(member, served)| member.tally.given_up + member.tally.answered.abs_diff(*served))
        .sum()
}

/// (Σx)² / (n·Σx²). It is 1 if no process was served.
pub fn jain(shares: &[u64]) -> f64 {
    let sum: f64 = shares.iter().map(|share| *share as f64).sum();
    let squares: f64 = shares.iter().map(|share| (*share as f64).powi(2)).sum();
    if squares > 0.0 { sum * sum / (shares.len() as f64 * squares) } else { 1.0 }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

pub struct Table<'a>(pub &'a [Report]);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<12}{:>12}{:>9}{:>11}{:>7}{:>9}{:>9}{:>8}{:>5}",
            "law",
            "utilisation",
            "settled",
            "throttled",
            "jain",
            "wait p50",
            "wait p99",
            "calls",
            "lost"
        )?;
        for run in self.0 {
            writeln!(
                f,
                "{:<12}{:>12}{:>9}{:>11}{:>7.3}{:>9}{:>9}{:>8}{:>5}",
                run.law,
                percent(run.utilisation),
                percent(run.settled),
                percent(run.throttled),
                run.jain,
                run.wait_p50_ms.map_or("none".into(), millis),
                run.wait_p99_ms.map_or("none".into(), millis),
                run.calls,
                run.lost
            )?;
        }
        for (index, run) in self.0.iter().filter(|run| !run.bases.is_empty()).enumerate() {
            let gap = if index == 0 { "\n" } else { "" };
            writeln!(f, "{gap}{} decided by  {}", run.law, shares(&run.bases))?;
        }
        f.write_str(
            "\n\
             utilisation  calls served, as a share of those the API could have served\n\
             settled      share of calls that the API throttled in the second half of the run\n\
             throttled    the same in the whole run\n\
             jain         fairness between processes (Jain's index): 1 is equal shares\n\
             wait         from the start of a call until its successful attempt is sent\n\
             lost         calls that were abandoned, or counted by only one side\n",
        )
    }
}

/// Each basis's share of the attempts in whole per cent, largest first.
fn shares(bases: &BTreeMap<String, u64>) -> String {
    let all: u64 = bases.values().sum();
    let mut bases: Vec<_> = bases.iter().collect();
    bases.sort_by_key(|(_, count)| Reverse(*count));
    let share = |(basis, count): (&String, &u64)| match 100.0 * share(*count as f64, all as f64) {
        ..0.5 => format!("{basis} <1 %"),
        percent => format!("{basis} {percent:.0} %"),
    };
    bases.into_iter().map(share).collect::<Vec<_>>().join(", ")
}

pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Formats a time in milliseconds with a suitable unit.
pub fn millis(time: f64) -> String {
    match time {
        time if time < 9.95 => format!("{time:.1} ms"),
        time if time < 999.5 => format!("{time:.0} ms"),
        time if time < 99_500.0 => format!("{:.2} s", time / 1000.0),
        time => format!("{:.0} s", time / 1000.0),
    }
}

/// The JSON document of `--json`.
#[derive(Serialize)]
pub struct Document<'a> {
    pub runs: &'a [Report],
    /// Whether the run was stopped early. The figures then describe the part that ran.
    pub interrupted: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_is_one_for_equal_shares_and_one_over_n_if_one_process_gets_all() {
        for (shares, index) in [
            (&[5, 5, 5, 5][..], 1.0),
            (&[8, 0, 0, 0], 0.25),
            (&[1, 3], 0.8),
            (&[0, 0], 1.0),
            (&[], 1.0),
        ] {
            assert_eq!(jain(shares), index, "{shares:?}");
        }
    }

    #[test]
    fn a_call_that_only_one_side_counted_is_lost() {
        let member = |answered, given_up| Member {
            tally: Tally { calls: 100, answered, given_up, ..Tally::default() },
            waits_us: Histogram::new(3).unwrap(),
        };
        for (served, answered, given_up, missing) in
            [(10, 10, 0, 0), (11, 10, 0, 1), (10, 11, 0, 1), (10, 10, 2, 2), (12, 10, 3, 5)]
        {
            // The row of anonymous callers belongs to no process.
            assert_eq!(lost(&[7, served], &[member(answered, given_up)]), missing);
        }
        assert_eq!(
            lost(&[0, 11, 9], &[member(10, 0), member(10, 0)]),
            2,
            "differences do not cancel out"
        );
    }

    #[test]
    fn a_time_has_a_suitable_unit() {
        for (time, text) in [
            (0.0, "0.0 ms"),
            (9.94, "9.9 ms"),
            (9.96, "10 ms"),
            (999.4, "999 ms"),
            (1234.0, "1.23 s"),
            (123_456.0, "123 s"),
        ] {
            assert_eq!(millis(time), text);
        }
    }
}
