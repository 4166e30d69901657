//! The simulated world in WebAssembly: a scenario's text goes in, its trace's digest comes out.
//!
//! Text crosses the border byte by byte, so that neither side has to know the other's memory.

use std::cell::RefCell;

use tidegate_sim::{Scenario, World};

thread_local! {
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Adds a byte to the text: the law's name, a line feed, and the scenario.
#[unsafe(no_mangle)]
pub extern "C" fn push(byte: u8) {
    TEXT.with_borrow_mut(|text| text.push(byte));
}

/// Runs the text's scenario and law with a seed and returns the digest; the text is used up.
/// 0 where it is no scenario, no law, or the world broke.
#[unsafe(no_mangle)]
pub extern "C" fn digest(seed: u64) -> u64 {
    digest_of(&TEXT.take(), seed).unwrap_or(0)
}

fn digest_of(text: &[u8], seed: u64) -> Option<u64> {
    let (law, text) = std::str::from_utf8(text).ok()?.split_once('\n')?;
    let scenario = Scenario::parse(text, "scenario", "scenario").ok()?;
    let run = World::new(&scenario, law, seed)?.run().ok()?;
    Some(run.digest.value())
}
