//! Runs many worlds on all cores, and shows the progress.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;

/// The results of all jobs, in their order. A bar on standard error shows the progress if that is a terminal.
pub fn each<J: Sync, R: Send>(jobs: &[J], run: impl Fn(&J) -> R + Sync) -> Vec<R> {
    let bar = ProgressBar::new(jobs.len() as u64);
    let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(200));
    let one = |job| {
        let done = run(job);
        bar.inc(1);
        done
    };
    // Job lengths differ by a factor of a thousand, so any core must be able to take any job.
    let results = jobs.par_iter().with_max_len(1).map(one).collect();
    bar.finish_and_clear();
    results
}
