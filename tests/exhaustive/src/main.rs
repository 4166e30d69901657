//! Walks through all that can happen to small policies, event by event, and holds every state that
//! they come to against the promises.
//!
//! A search at random tries long runs and meets few of the short ones. This is the other half: every
//! order of polls, answers, hints, clocks and restarts, up to a depth, over numbers so small that
//! everything meets everything.

mod account;
mod moves;
mod policies;
mod promises;
mod walk;
mod world;

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use std::{env, thread};

use policies::Small;
use walk::Walked;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let json = arguments.iter().any(|argument| argument == "--json");
    if let Some(unknown) = arguments.iter().find(|word| !["--quick", "--json"].contains(&&***word))
    {
        eprintln!(
            "exhaustive: there is no `{unknown}`; there are --quick (three events less) and --json."
        );
        return ExitCode::from(2);
    }
    let since = Instant::now();
    let policies = policies::all();
    if !json {
        println!(
            "{:<44} {:>5} {:>9} {:>11} {:>8}",
            "policy", "depth", "states", "events", "seconds"
        );
    }
    let walked = walk_all(&policies, if quick { 3 } else { 0 }, json);
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
    ExitCode::from(u8::from(broken > 0))
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
