//! The walk: breadth first, with each state once.

use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::fmt::{self, Write};
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use tidegate::Span;

use super::moves::{self, Move, replies};
use super::policies::Small;
use crate::world::{Call, World};

pub struct Walked {
    pub depth: u32,
    pub states: u64,
    pub events: u64,
    pub seconds: f32,
    /// The events that lead to a violated promise.
    pub broken: Option<String>,
}

/// Every sequence of events of the policy's depth from the start. Of sequences that lead to the same state, one
/// continues.
pub fn all_from(policy: &Small) -> Walked {
    let since = Instant::now();
    let moves = moves::all();
    let mut seen = HashSet::new();
    let start = State::start(policy);
    seen.insert(start.digest());
    let mut layer = vec![(start, Vec::new())];
    let (mut events, mut broken) = (0, None);
    'walk: for left in (0..policy.depth).rev() {
        let mut next = Vec::new();
        for (state, way) in &layer {
            for step in &moves {
                let mut state = state.clone();
                let Ok(happened) = catch_unwind(AssertUnwindSafe(|| state.happen(*step))) else {
                    broken = Some(format!("{}: after {}", policy.name, told(way, *step)));
                    break 'walk;
                };
                events += 1;
                // What the last events lead to is not continued.
                if happened && left > 0 && seen.insert(state.digest()) {
                    let way: Vec<Move> = way.iter().copied().chain([*step]).collect();
                    next.push((state, way));
                }
            }
        }
        layer = next;
    }
    let seconds = since.elapsed().as_secs_f32();
    Walked { depth: policy.depth, states: seen.len() as u64, events, seconds, broken }
}

/// A world, with at most one call that is retried.
#[derive(Clone)]
struct State {
    world: World<1>,
    spans: [Span; 2],
    again: Option<Call<1>>,
}

impl State {
    /// The start, after the policy's prologue.
    fn start(policy: &Small) -> Self {
        let start = tidegate::Instant::from_nanos(1_000 * policy.spans[1].as_nanos());
        let world = World::new(policy.terms, 7, start);
        let mut state = Self { world, spans: policy.spans, again: None };
        for (times, steps) in policy.prologue {
            (0..*times).flat_map(|_| *steps).for_each(|step| _ = state.happen(*step));
        }
        state
    }

    /// Runs an event. `false` if it is impossible in this state.
    fn happen(&mut self, step: Move) -> bool {
        let (world, short) = (&mut self.world, self.spans[0]);
        let first = |call| Call { core: call, costs: [1], estimated: false };
        match step {
            Move::Poll => _ = world.poll(first(tidegate::Call::new())),
            Move::PollTwo => {
                _ = world.poll(Call {
                    core: tidegate::Call::new().cost(2),
                    costs: [2],
                    estimated: false,
                })
            }
            Move::PollHasty => _ = world.poll(first(tidegate::Call::new().deadline(world.now))),
            Move::PollRetry => match self.again {
                Some(call) if world.poll(call) => self.again = None,
                Some(_) => {}
                None => return false,
            },
            Move::Pass(which) => world.pass(self.spans[which]),
            Move::PassToNext => match world.gate.next_at(world.now) {
                Some(next) if next > world.now => world.set_clock(next),
                _ => return false,
            },
            Move::StepBack => {
                let back = world.now.as_nanos().saturating_sub(short.as_nanos());
                world.set_clock(tidegate::Instant::from_nanos(back));
            }
            Move::SettleFirst(reply) | Move::SettleLast(reply) => {
                let last = matches!(step, Move::SettleLast(_));
                let flying = if last { world.flying.last() } else { world.flying.first() };
                if flying.is_none() {
                    return false;
                }
                let which = if last { usize::MAX } else { 0 };
                world.settle(which, replies(short)[reply]);
            }
            Move::Sleep(which) => {
                world.sleep(Span::ZERO, if which == 0 { Span::ZERO } else { short });
                // The restored controller does not know the calls in flight.
                world.flying.clear();
            }
        }
        let again = world.waiting.drain(..).rfind(|call| (1..3).contains(&call.core.attempt()));
        self.again = again.or(self.again);
        world.every_promise_holds();
        true
    }

    /// A digest of everything that future decisions depend on. The gate's counters are excluded;
    /// they come last. (The chance that two of half a million states share a 64-bit digest is
    /// 10^-8.)
    fn digest(&self) -> u64 {
        let World { gate, now, flying, terms, .. } = &self.world;
        let account = terms.quotas[0].map(|_| self.world.accounts);
        let retries = terms.retry_budget.map(|_| self.world.retries);
        let mut told = String::with_capacity(2_048);
        _ = write!(told, "{gate:?}");
        told.truncate(told.rfind(", stats: ").unwrap_or(told.len()));
        let Self { again, .. } = self;
        _ = write!(told, "{now:?}{flying:?}{account:?}{retries:?}{again:?}");
        // The number of earlier calls does not matter, only which was the latest.
        let told = without_numbers(&told, "number: ");
        let mut hasher = DefaultHasher::new();
        told.hash(&mut hasher);
        hasher.finish()
    }
}

/// The text without the number after each such label.
fn without_numbers(text: &str, label: &str) -> String {
    let mut parts = text.split(label);
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| part.trim_start_matches(|digit: char| digit.is_ascii_digit()));
    core::iter::once(first).chain(rest).collect()
}

fn told(way: &[Move], last: Move) -> String {
    let steps: Vec<String> = way.iter().chain([&last]).map(|step| format!("{step:?}")).collect();
    steps.join(", ")
}

impl fmt::Display for Walked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { depth, states, events, seconds, broken } = self;
        write!(f, "{depth:>5} {states:>9} {events:>11} {seconds:>8.1}")?;
        broken.iter().try_for_each(|broken| write!(f, "\nbroken: {broken}"))
    }
}
