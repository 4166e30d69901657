//! Numbers by which the calls are made up: the same on every machine.

/// A generator of plain numbers; which one does not matter.
pub struct Draw(u64);

impl Draw {
    /// A run of numbers of its own.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number from 0 to `end`, which is left out.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % end
    }
}
