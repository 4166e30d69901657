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

use walk::Walked;

/// Runs the walks, as many at a time as there are cores, and prints each when it ends. Returns whether all promises
/// hold.
#[must_use]
pub fn run() -> bool {
    let since = Instant::now();
    let (policies, next) = (policies::all(), AtomicUsize::new(0));
    println!("{:<44} {:>5} {:>9} {:>11} {:>8}", "policy", "depth", "states", "events", "seconds");
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let walked: Vec<Walked> = thread::scope(|scope| {
        let work = || {
            let mut mine = Vec::new();
            while let Some(policy) = policies.get(next.fetch_add(1, Ordering::Relaxed)) {
                let walked = walk::all_from(policy);
                println!("{:<44} {walked}", policy.name);
                mine.push(walked);
            }
            mine
        };
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a walk ends")).collect()
    });
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
