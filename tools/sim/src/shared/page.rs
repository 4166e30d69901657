//! The page: every fleet with each of its laws.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;

use super::{Figures, Fleet, Outcome, Stretch, run};
use crate::metric::median;
use crate::runner::each;
use crate::scenario::files;

/// One line of the page: a stretch of a fleet with a law.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Line {
    pub fleet: String,
    pub law: String,
    pub stretch: String,
    /// The median of each figure over the seeds.
    pub figures: Outcome,
}

/// The fleets of a folder, in the order of their names.
///
/// # Errors
/// The folder or one of its files cannot be read.
pub fn fleets(folder: &Path) -> anyhow::Result<Vec<Fleet>> {
    let files = files(folder)?;
    Ok(files.iter().map(|file| Fleet::read(file)).collect::<Result<_, _>>()?)
}

/// Runs all fleets under all their laws and these seeds.
///
/// # Errors
/// A fleet names no law, or violates a promise.
pub fn lines(fleets: &[Fleet], seeds: &[u64]) -> anyhow::Result<Vec<Line>> {
    let pairs: Vec<(&Fleet, &String)> =
        fleets.iter().flat_map(|fleet| fleet.laws.iter().map(move |law| (fleet, law))).collect();
    let jobs: Vec<_> =
        pairs.iter().flat_map(|pair| seeds.iter().map(move |seed| (pair, seed))).collect();
    let runs = each(&jobs, |((fleet, law), seed)| {
        run(fleet, law, **seed).with_context(|| format!("{} with {law}", fleet.name))
    });
    let runs: Vec<Figures> = runs.into_iter().collect::<anyhow::Result<_>>()?;
    let pairs = pairs.iter().zip(runs.chunks(seeds.len()));
    Ok(pairs.flat_map(|((fleet, law), runs)| stretches(fleet, law, runs)).collect())
}

fn stretches(fleet: &Fleet, law: &str, runs: &[Vec<Outcome>]) -> Vec<Line> {
    let line = |(index, stretch): (usize, &Stretch)| Line {
        fleet: fleet.name.clone(),
        law: law.to_owned(),
        stretch: stretch.name.clone(),
        figures: middle(runs.iter().filter_map(|run| run.get(index))),
    };
    fleet.stretches.iter().enumerate().map(line).collect()
}

fn middle<'a>(runs: impl Iterator<Item = &'a Outcome> + Clone) -> Outcome {
    let of = |figure: fn(&Outcome) -> f64| median(runs.clone().map(figure)).unwrap_or(0.0);
    Outcome {
        util: of(|run| run.util),
        throttled: of(|run| run.throttled),
        jain: of(|run| run.jain),
        local: of(|run| run.local),
        alone: of(|run| run.alone),
        wait_p50_ms: of(|run| run.wait_p50_ms),
        wait_p99_ms: of(|run| run.wait_p99_ms),
        // Calls lost in any run are reported.
        lost: runs.clone().map(|run| run.lost).sum(),
        excess: of(|run| run.excess),
        leases: of(|run| run.leases as f64) as u64,
        messages: of(|run| run.messages),
        messages_peak: of(|run| run.messages_peak as f64) as u64,
        calls_a_message: of(|run| run.calls_a_message),
        branch_messages: of(|run| run.branch_messages),
    }
}

/// The committed page.
pub fn page(fleets: &[Fleet], lines: &[Line], seeds: &[u64]) -> String {
    let mut page = String::new();
    let _ = writeln!(page, "# One budget for a fleet\n");
    let (first, last) = (seeds.first().unwrap_or(&0), seeds.last().unwrap_or(&0));
    let _ = writeln!(
        page,
        "Members that share one budget through a coordinator: the state machines of [core](../../core/docs/shared.md) in virtual time, with the fleets of \
         [tools/sim/scenarios/shared](../../tools/sim/scenarios/shared). Medians over the seeds {first} to {last}.\n\n\
         Written by `cargo run --release -p tidegate-sim -- shared --out tests/golden/shared.md`.\n\n\
         *util*: calls served, as a share of the possible or the requested. *local*: calls that no \
         message delayed, because their lease was available when it was due. *alone*: calls that \
         were sent without a lease. *excess*: the most calls that arrived in excess of the \
         server's rate at any time. *leases*: the most leases held at once, which bounds the \
         excess together with the burst (and with the share of members that are cut off for longer \
         than they keep it). *msg/s*: requests per second to the coordinator that holds the \
         budget, on average and in the busiest second; then to each coordinator between it and the \
         members."
    );
    for fleet in fleets {
        let _ = writeln!(page, "\n## {}\n\n{}\n", fleet.name, fleet.title);
        let _ = writeln!(
            page,
            "| law | stretch | util | throttled | jain | local | alone | wait p50, p99 | lost | excess | leases | msg/s | calls/msg |\n\
             |---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
        );
        for line in lines.iter().filter(|line| line.fleet == fleet.name) {
            let is = &line.figures;
            let _ = writeln!(
                page,
                "| {} | {} | {:.2} % | {:.3} % | {:.4} | {:.1} % | {:.1} % | {:.0}, {:.0} ms | {} | {:.1} | {} | {:.1}, {}{} | {:.2} |",
                line.law,
                line.stretch,
                is.util * 100.0,
                is.throttled * 100.0,
                is.jain,
                is.local * 100.0,
                is.alone * 100.0,
                is.wait_p50_ms,
                is.wait_p99_ms,
                is.lost,
                is.excess,
                is.leases,
                is.messages,
                is.messages_peak,
                if is.branch_messages > 0.0 {
                    format!("; {:.1}", is.branch_messages)
                } else {
                    String::new()
                },
                is.calls_a_message,
            );
        }
    }
    page
}
