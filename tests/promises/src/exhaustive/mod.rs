//! Walks through all that can happen to small policies, event by event.
//!
//! A search at random tries long runs and meets few of the short ones. This is the other half: every
//! order of polls, answers, hints, clocks and restarts, up to a depth, over numbers so small that
//! everything meets everything.

mod moves;
mod policies;
mod walk;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use policies::Small;
use walk::Walked;

/// Walks, so many events less far than usual, and tells what it has seen; whether all promises are kept.
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

/// As many at a time as there are cores; each is told of when it is done.
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
