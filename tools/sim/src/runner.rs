//! Runs many worlds on all cores, and shows their progress.

use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rayon::prelude::*;
use tidegate::Instant;

use crate::scenario::Scenario;
use crate::world::{Run, World};

#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    pub scenario: &'a Scenario,
    pub law: &'a str,
    pub seed: u64,
}

/// The number of progress steps per job.
const STEPS: u64 = 50;

/// Runs all jobs. The results are in the order of the jobs, and do not depend on the number of
/// cores.
pub fn run_all(jobs: &[Job], bar: &ProgressBar) -> Result<Vec<Run>> {
    bar.set_length(jobs.len() as u64 * STEPS);
    // Job lengths differ by a factor of a thousand, so any core must be able to take any job.
    let runs = jobs.par_iter().with_max_len(1).map(|job| run(job, bar)).collect();
    bar.finish_and_clear();
    runs
}

/// A progress bar on standard error. It shows nothing if that is not a terminal.
pub fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}  {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// The same, hidden for the first two seconds.
pub fn late_progress_bar() -> ProgressBar {
    let bar = progress_bar();
    bar.set_draw_target(ProgressDrawTarget::hidden());
    let shown = bar.downgrade();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(2));
        if let Some(bar) = shown.upgrade().filter(|bar| !bar.is_finished()) {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    });
    bar
}

fn run(job: &Job, bar: &ProgressBar) -> Result<Run> {
    let Job { scenario, law, seed } = *job;
    let mut world =
        World::new(scenario, law, seed).with_context(|| format!("there is no law \"{law}\""))?;
    bar.set_message(format!("{} · {law} · seed {seed}", scenario.name));
    let end = scenario.end.get_ref().span().as_nanos();
    for step in 1..=STEPS {
        let until = Instant::from_nanos(if step == STEPS { end } else { end / STEPS * step });
        world.advance(until, &mut |_| {}).map_err(|broken| {
            anyhow!("scenario {} with law {law} and seed {seed} broke: {broken}", scenario.name)
        })?;
        bar.inc(1);
    }
    Ok(world.finish())
}
