//! Random numbers for the calls, equal on every machine.

/// A simple random generator.
pub struct Draw(u64);

impl Draw {
    /// A sequence with this seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number in 0..end.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % end
    }
}
