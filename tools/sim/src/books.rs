//! Accounts for every call from its beginning to its end.

use crate::breach::Breach;

/// The calls by result, and the threads by state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Books {
    begun: u64,
    served: u64,
    lost: u64,
    withdrawn: u64,
    /// Threads that have a call.
    open: u64,
    /// Threads whose fixed amount of work is not done.
    at_work: u64,
    /// Threads that may still make calls.
    there: u64,
}

impl Books {
    /// The accounts of `there` threads, `at_work` of which have a fixed amount of work.
    pub const fn new(there: u64, at_work: u64) -> Self {
        Self { begun: 0, served: 0, lost: 0, withdrawn: 0, open: 0, at_work, there }
    }

    /// A thread begins a call.
    pub const fn begin(&mut self) {
        self.begun += 1;
        self.open += 1;
    }

    /// A call was served.
    pub const fn serve(&mut self) {
        self.open -= 1;
        self.served += 1;
    }

    /// A call is given up.
    pub const fn lose(&mut self) {
        self.open -= 1;
        self.lost += 1;
    }

    /// A call is withdrawn because its thread leaves.
    pub const fn withdraw(&mut self) {
        self.open -= 1;
        self.withdrawn += 1;
    }

    /// A thread makes no more calls.
    pub fn leave(&mut self, had_fixed_work: bool) {
        self.there -= 1;
        self.at_work -= u64::from(had_fixed_work);
    }

    /// How many calls were given up.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// How many threads have not done their fixed amount of work.
    pub const fn at_work(&self) -> u64 {
        self.at_work
    }

    /// How many threads may still make calls.
    pub const fn there(&self) -> u64 {
        self.there
    }

    /// Checks that every call is accounted for.
    pub const fn check(&self) -> Result<(), Breach> {
        let known = self.served + self.lost + self.withdrawn + self.open;
        if known == self.begun { Ok(()) } else { Err(Breach::Lost { begun: self.begun, known }) }
    }
}
