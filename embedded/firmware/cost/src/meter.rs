//! The cost of one function.

use board::{count, stack};

pub struct Meters {
    pub admit: Meter,
    pub wait: Meter,
    pub settle: Meter,
}

/// Sums instructions, and keeps the deepest stack.
pub struct Meter {
    calls: u64,
    instructions: u64,
    stack: usize,
}

impl Meters {
    pub const fn new() -> Self {
        Self { admit: Meter::new(), wait: Meter::new(), settle: Meter::new() }
    }

    pub fn tell(&self, name: &str) {
        let empty = empty();
        for (verb, meter) in
            [("admit", &self.admit), ("wait", &self.wait), ("settle", &self.settle)]
        {
            if let Some(mean) = meter.instructions.checked_div(meter.calls) {
                defmt::info!(
                    "cost {=str}: {=str} {=u64} instructions, {=usize} bytes of stack, {=u64} calls",
                    name,
                    verb,
                    mean.saturating_sub(empty),
                    meter.stack,
                    meter.calls
                );
            }
        }
    }
}

impl Meter {
    const fn new() -> Self {
        Self { calls: 0, instructions: 0, stack: 0 }
    }

    /// Does `work` twice on equal copies: once to count instructions, once to measure the stack.
    pub fn of<T: Clone, R>(&mut self, subject: &mut T, work: impl Fn(&mut T) -> R) -> R {
        let mut copy = subject.clone();
        self.stack = self.stack.max(stack::of(|| {
            core::hint::black_box(work(&mut copy));
        }));
        let mut result = None;
        self.instructions += count::of(|| result = Some(work(subject)));
        self.calls += 1;
        match result {
            Some(result) => result,
            None => board::fail(board::Trouble::Wrong),
        }
    }
}

fn empty() -> u64 {
    let mut meter = Meter::new();
    for _ in 0..1_000 {
        meter.of(&mut (), |()| core::hint::black_box(()));
    }
    meter.instructions / meter.calls
}
