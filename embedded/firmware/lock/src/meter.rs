//! A mutex that counts the instructions for which it is locked.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use board::count;
use embassy_sync::blocking_mutex::raw::RawMutex;

/// The limit, which the documentation of the throttle states.
const MOST: u32 = 4_100;
const TICK: u32 = 63;

/// The longest lock so far.
static LONGEST: AtomicU32 = AtomicU32::new(0);

/// Replaces a critical section.
pub struct Counted;

// SAFETY: there is one thread, and no interrupt uses a throttle.
unsafe impl RawMutex for Counted {
    const INIT: Self = Self;

    fn lock<R>(&self, work: impl FnOnce() -> R) -> R {
        let mut result = None;
        let took = count::of(|| result = Some(work()));
        let took = u32::try_from(took).unwrap_or(u32::MAX);
        LONGEST.store(LONGEST.load(Relaxed).max(took), Relaxed);
        match result {
            Some(result) => result,
            None => board::fail(board::Trouble::Wrong),
        }
    }
}

pub struct Meter {
    name: &'static str,
    longest: u32,
}

impl Meter {
    pub const fn new(name: &'static str) -> Self {
        Self { name, longest: 0 }
    }

    /// Counts the locks of `work`.
    pub fn of<R>(&mut self, work: impl FnOnce() -> R) -> R {
        LONGEST.store(0, Relaxed);
        let result = work();
        self.longest = self.longest.max(LONGEST.load(Relaxed));
        result
    }

    /// Logs the result, and fails if a lock took too long, or if there was none.
    pub fn tell(&self, subject: &str) {
        let Self { name, longest } = self;
        defmt::info!("lock {=str}: {=str}: longest {=u32} instructions", subject, name, longest);
        if !(1..=MOST + TICK).contains(longest) {
            board::fail(board::Trouble::Wrong);
        }
    }
}
