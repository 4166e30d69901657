//! The worlds of the page's first figure: equal clients with one law share a token bucket, and its
//! rate moves while they run.
//!
//! Without text, TOML and metrics, the module is a tenth of the laboratory's.

use std::cell::RefCell;
use std::rc::Rc;

use tidegate::{Outcome, Span};
use tidegate_sim::trace::What;
use tidegate_sim::{Rate, Scenario, World, controllers};

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: lol_alloc::LockedAllocator<lol_alloc::FreeListAllocator> =
    lol_alloc::LockedAllocator::new(lol_alloc::FreeListAllocator::new());

/// The laws, by number.
const LAWS: [&str; 4] = ["none", "backoff", "aimd", "adaptive"];
const BIN: Span = Span::from_millis(100);
/// One-way latency.
const WAY: [Span; 2] = [Span::from_millis(50), Span::from_millis(150)];
const BURST: u32 = 20;
const THREADS: u32 = 48;

thread_local! {
    static STORIES: RefCell<Vec<Story>> = RefCell::default();
}

/// A world and what happened in its last bin.
struct Story {
    world: World<Rc<Scenario>>,
    /// Calls that arrived and calls rejected, for each client; then the first client's rate.
    bin: Vec<f64>,
}

impl Story {
    fn new(law: &str, seed: u64, clients: u32, rate: f64) -> Self {
        let rate = Rate::per_second(rate);
        Self::of(Scenario::plain(WAY, BURST, rate, clients, THREADS), law, seed, clients)
    }

    fn of(scenario: Scenario, law: &str, seed: u64, clients: u32) -> Self {
        let world = World::with(Rc::new(scenario), seed, |place| controllers::plain(law, &place));
        let world = world.expect("the law is in the list");
        Self { world, bin: vec![0.0; 2 * clients as usize + 1] }
    }

    fn advance(&mut self) {
        let Self { world, bin } = self;
        bin.fill(0.0);
        let advanced = world.advance(world.now() + BIN, &mut |step| {
            if let What::Decided(outcome) = step.what {
                let client = 2 * step.process as usize;
                bin[client] += 1.0;
                bin[client + 1] += f64::from(u8::from(outcome != Outcome::Ok));
            }
        });
        debug_assert!(advanced.is_ok(), "{advanced:?}");
        if let Some(rate) = bin.last_mut() {
            *rate = world.rate(0).unwrap_or(0.0);
        }
    }
}

/// Opens a world at a rate in calls per second, and returns its number.
#[unsafe(no_mangle)]
pub extern "C" fn open(law: usize, seed: u32, clients: u32, rate: f64) -> usize {
    STORIES.with_borrow_mut(|stories| {
        stories.push(Story::new(LAWS[law], seed.into(), clients, rate));
        stories.len() - 1
    })
}

/// Runs a world for a tenth of a second. Returns where its numbers are until it runs again: for
/// each client, calls that arrived and calls that were rejected; then the rate of the first client
/// in calls per second, or 0 if its law has none.
#[unsafe(no_mangle)]
pub extern "C" fn advance(world: usize) -> *const f64 {
    STORIES.with_borrow_mut(|stories| {
        let story = &mut stories[world];
        story.advance();
        story.bin.as_ptr()
    })
}

/// Sets the rate of a world's bucket from now on, in calls per second.
#[unsafe(no_mangle)]
pub extern "C" fn set_rate(world: usize, per_second: f64) {
    STORIES.with_borrow_mut(|stories| stories[world].world.set_rate(Rate::per_second(per_second)));
}

#[unsafe(no_mangle)]
pub extern "C" fn close() {
    STORIES.with_borrow_mut(Vec::clear);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_that_is_set_while_a_world_runs_is_a_step_of_the_same_scenario_in_a_file() {
        let file = "end = '60s'\nlatency = { uniform = ['50ms', '150ms'] }\n\
            [server.bucket]\nburst = 20\nrate = '100/s'\n\
            steps = [{ at = '18s', rate = '200/s' }, { at = '42s', rate = '60/s' }]\n\
            [[clients]]\nprocesses = 2\nthreads = 48";
        let file = Scenario::parse(file, "", "").unwrap();
        for law in LAWS {
            let mut story = Story::new(law, 7, 2, 100.0);
            let mut steps = Story::of(file.clone(), law, 7, 2);
            for bin in 0..600 {
                match bin {
                    180 => story.world.set_rate(Rate::per_second(200.0)),
                    420 => story.world.set_rate(Rate::per_second(60.0)),
                    _ => {}
                }
                story.advance();
                steps.advance();
                assert_eq!(story.bin, steps.bin, "{law}, bin {bin}");
                assert!(bin < 10 || story.bin[0] + story.bin[2] > 0.0, "{law}, bin {bin}");
            }
        }
    }

    #[test]
    fn the_first_clients_rate_is_that_of_its_law() {
        let rate = |law: &str| {
            let mut story = Story::new(law, 1, 1, 100.0);
            (0..300).for_each(|_| story.advance());
            story.bin[2]
        };
        assert_eq!([rate("none"), rate("backoff")], [0.0, 0.0]);
        assert!((20.0..120.0).contains(&rate("aimd")));
        assert!((80.0..120.0).contains(&rate("adaptive")));
    }
}
