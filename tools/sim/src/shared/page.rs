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
    let (first, last) = (seeds.first().unwrap_or(&0), seeds.last().unwrap_or(&0));
    let mut page = format!(include_str!("page.txt"), first = first, last = last);
    for fleet in fleets {
        _ = writeln!(page, "\n## {}\n\n{}\n", fleet.name, fleet.title);
        _ = writeln!(
            page,
            "| law | stretch | util | throttled | jain | local | alone | wait p50, p99 | lost | excess | leases | msg/s | calls/msg |\n\
             |---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
        );
        for (law, runs) in fleet.laws.iter().zip(&mut runs) {
            for (index, stretch) in fleet.stretches.iter().enumerate() {
                let figures = || runs.iter().map(|run| &run[index]);
                let of = |figure: fn(&Outcome) -> f64| median(figures().map(figure)).unwrap_or(0.0);
                let branch = Some(of(|is| is.branch_messages)).filter(|each| *each > 0.0);
                _ = writeln!(
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
