//! An exhaustive walk through the events of small policies.
//!
//! Random tests cover long sequences, but few of the short ones. This test covers every order of
//! polls, responses, hints, clock changes and restarts up to a depth, with numbers so small that
//! all edge cases coincide.

mod moves;
mod policies;
mod walk;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use policies::Small;
use walk::Walked;

/// Runs the walks, with this many fewer events than usual, and prints the results. Returns whether
/// all promises hold.
#[must_use]
pub fn run(less: u32, json: bool) -> bool {
    let since = Instant::now();
    let policies = policies::all();
    if !json {
        println!(
            "{:<44} {:>5} {:>9} {:>11} {:>8}",
            "policy", "depth", "states", "events", "seconds"
        );
    }
    let walked = walk_all(&policies, less, json);
    if json {
        let rows: Vec<String> = policies.iter().zip(&walked).map(|(p, w)| w.json(p.name)).collect();
        println!("[{}]", rows.join(",\n "));
    }
    let broken = walked.iter().filter(|walked| walked.broken.is_some()).count();
    let states: u64 = walked.iter().map(|walked| walked.states).sum();
    let events: u64 = walked.iter().map(|walked| walked.events).sum();
    let took = since.elapsed().as_secs_f32();
    eprintln!(
        "{} policies, {states} states, {events} events, {broken} broken ({took:.0} s)",
        walked.len()
    );
    broken == 0
}

/// As many at a time as there are cores. Each is printed when it ends.
fn walk_all(policies: &[Small], less: u32, quiet: bool) -> Vec<Walked> {
    let next = AtomicUsize::new(0);
    let workers =
        thread::available_parallelism().map_or(1, |cores| cores.get().min(policies.len()));
    let mut walked: Vec<(usize, Walked)> = thread::scope(|scope| {
        let work = || {
            let mut mine = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(policy) = policies.get(index) else { return mine };
                let walked = walk::all_from(policy, policy.depth - less);
                if !quiet {
                    println!("{:<44} {walked}", policy.name);
                }
                mine.push((index, walked));
            }
        };
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a walk ends")).collect()
    });
    walked.sort_by_key(|(index, _)| *index);
    walked.into_iter().map(|(_, walked)| walked).collect()
}
