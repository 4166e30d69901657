//! What one verb took.

use board::{count, stack};

/// The verbs of a client.
pub struct Meters {
    /// A poll that admits the call.
    pub admit: Meter,
    /// A poll that must wait.
    pub wait: Meter,
    /// The call comes back.
    pub settle: Meter,
}

/// Sums up instructions and the deepest stack.
pub struct Meter {
    calls: u64,
    instructions: u64,
    stack: usize,
}

impl Meters {
    /// Nothing has been measured yet.
    pub const fn new() -> Self {
        Self { admit: Meter::new(), wait: Meter::new(), settle: Meter::new() }
    }

    /// Tells the log what each took.
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

    /// Does `work` twice on equal copies: once for the instructions, once for the stack.
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

/// What measuring itself takes.
fn empty() -> u64 {
    let mut meter = Meter::new();
    for _ in 0..1_000 {
        meter.of(&mut (), |()| core::hint::black_box(()));
    }
    meter.instructions / meter.calls
}
