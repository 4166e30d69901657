//! The walk: breadth first, each state once.

use std::collections::HashSet;
use std::fmt;
use std::time::Instant;

use crate::moves::{self, Move};
use crate::policies::Small;
use crate::world::World;

/// What a walk has seen.
pub struct Walked {
    pub depth: u32,
    pub states: u64,
    pub events: u64,
    pub seconds: f32,
    /// The promise that did not hold, and the way to it.
    pub broken: Option<String>,
}

/// Every sequence of so many events from the start; of those that come to the same state, one goes
/// on.
pub fn all_from(policy: &Small, depth: u32) -> Walked {
    let since = Instant::now();
    let moves = moves::all();
    let mut seen = HashSet::new();
    let mut layer = Vec::new();
    let (mut events, mut broken) = (0, None);
    match World::start(policy) {
        Ok(world) => {
            seen.insert(world.digest());
            layer.push((world, Vec::new()));
        }
        Err(promise) => broken = Some(format!("{}: {promise}, at the start", policy.name)),
    }
    'walk: for _ in 0..depth {
        let mut next = Vec::new();
        for (world, way) in &layer {
            for step in &moves {
                let mut world = world.clone();
                let happened = match world.happen(*step) {
                    Ok(happened) => happened,
                    Err(promise) => {
                        let way = told(way, *step);
                        broken = Some(format!("{}: {promise}, after {way}", policy.name));
                        break 'walk;
                    }
                };
                events += 1;
                if happened && seen.insert(world.digest()) {
                    let way: Vec<Move> = way.iter().copied().chain([*step]).collect();
                    next.push((world, way));
                }
            }
        }
        layer = next;
    }
    let seconds = since.elapsed().as_secs_f32();
    Walked { depth, states: seen.len() as u64, events, seconds, broken }
}

fn told(way: &[Move], last: Move) -> String {
    let steps: Vec<String> = way.iter().chain([&last]).map(|step| format!("{step:?}")).collect();
    steps.join(", ")
}

impl Walked {
    /// One row, for scripts.
    pub fn json(&self, name: &str) -> String {
        let broken = self.broken.as_ref().map_or("null".into(), |broken| format!("{broken:?}"));
        format!(
            "{{\"policy\": {name:?}, \"depth\": {}, \"states\": {}, \"events\": {}, \"broken\": {broken}}}",
            self.depth, self.states, self.events
        )
    }
}

impl fmt::Display for Walked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { depth, states, events, seconds, broken } = self;
        write!(f, "{depth:>5} {states:>9} {events:>11} {seconds:>8.1}")?;
        broken.iter().try_for_each(|broken| write!(f, "\nbroken: {broken}"))
    }
}
