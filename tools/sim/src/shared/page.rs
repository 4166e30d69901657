//! The page: every fleet with each of its laws.

use std::fmt::Write as _;

use anyhow::Context;

use super::{Figures, Fleet, Outcome, run};
use crate::metric::median;
use crate::runner::each;

/// Runs all fleets under all their laws and these seeds, and writes the committed page.
pub fn page(fleets: &[Fleet], seeds: &[u64]) -> anyhow::Result<String> {
    let pairs = fleets.iter().flat_map(|fleet| fleet.laws.iter().map(move |law| (fleet, law)));
    let jobs: Vec<_> = pairs.flat_map(|pair| seeds.iter().map(move |seed| (pair, *seed))).collect();
    let runs = each(&jobs, |((fleet, law), seed)| {
        run(fleet, law, *seed).with_context(|| format!("{} with {law}", fleet.name))
    });
    let runs: Vec<Figures> = runs.into_iter().collect::<anyhow::Result<_>>()?;
    let mut runs = runs.chunks(seeds.len());
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
        for (law, runs) in fleet.laws.iter().zip(&mut runs) {
            for (index, stretch) in fleet.stretches.iter().enumerate() {
                let figures = || runs.iter().map(|run| &run[index]);
                let of = |figure: fn(&Outcome) -> f64| median(figures().map(figure)).unwrap_or(0.0);
                let branch = Some(of(|is| is.branch_messages)).filter(|each| *each > 0.0);
                let _ = writeln!(
                    page,
                    "| {law} | {} | {:.2} % | {:.3} % | {:.4} | {:.1} % | {:.1} % | {:.0}, {:.0} ms | {} | {:.1} | {} | {:.1}, {}{} | {:.2} |",
                    stretch.name,
                    of(|is| is.util) * 100.0,
                    of(|is| is.throttled) * 100.0,
                    of(|is| is.jain),
                    of(|is| is.local) * 100.0,
                    of(|is| is.alone) * 100.0,
                    of(|is| is.wait_p50_ms),
                    of(|is| is.wait_p99_ms),
                    // Calls lost in any run are reported.
                    figures().map(|is| is.lost).sum::<u64>(),
                    of(|is| is.excess),
                    of(|is| is.leases as f64) as u64,
                    of(|is| is.messages),
                    of(|is| is.messages_peak as f64) as u64,
                    branch.map_or(String::new(), |each| format!("; {each:.1}")),
                    of(|is| is.calls_a_message),
                );
            }
        }
    }
    Ok(page)
}
