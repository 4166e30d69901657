//! A mutex that counts the instructions for which it is locked.

use core::cell::Cell;

use board::count;
use critical_section::Mutex as Section;
use embassy_sync::blocking_mutex::raw::RawMutex;

/// The limit, which the documentation of the throttle states.
const MOST: u64 = 4_100;
const TICK: u64 = 63;

/// The locks of a function so far.
#[derive(Clone, Copy)]
struct Sum {
    longest: u64,
    all: u64,
    locks: u64,
}

const EMPTY: Sum = Sum { longest: 0, all: 0, locks: 0 };

static SUM: Section<Cell<Sum>> = Section::new(Cell::new(EMPTY));

/// Replaces a critical section.
pub struct Counted;

// SAFETY: there is one thread, and no interrupt uses a throttle.
unsafe impl RawMutex for Counted {
    const INIT: Self = Self;

    fn lock<R>(&self, work: impl FnOnce() -> R) -> R {
        let mut result = None;
        let took = count::of(|| result = Some(work()));
        critical_section::with(|section| {
            let sum = SUM.borrow(section);
            let Sum { longest, all, locks } = sum.get();
            sum.set(Sum { longest: longest.max(took), all: all + took, locks: locks + 1 });
        });
        match result {
            Some(result) => result,
            None => board::fail(board::Trouble::Wrong),
        }
    }
}

pub struct Meter {
    name: &'static str,
    sum: Sum,
}

impl Meter {
    pub const fn new(name: &'static str) -> Self {
        Self { name, sum: EMPTY }
    }

    /// Counts the locks of `work`.
    pub fn of<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let clear = || critical_section::with(|section| SUM.borrow(section).replace(EMPTY));
        clear();
        let result = work();
        let sum = clear();
        self.sum.longest = self.sum.longest.max(sum.longest);
        self.sum.all += sum.all;
        self.sum.locks += sum.locks;
        result
    }

    /// Logs the result, and fails if a lock took too long.
    pub fn tell(&self, subject: &str) {
        defmt::info!(
            "lock {=str}: {=str}: longest {=u64} instructions, mean {=u64}, {=u64} locks",
            subject,
            self.name,
            self.sum.longest,
            self.sum.all / self.sum.locks.max(1),
            self.sum.locks
        );
        if self.sum.longest > MOST + TICK {
            board::fail(board::Trouble::Wrong);
        }
    }
}
