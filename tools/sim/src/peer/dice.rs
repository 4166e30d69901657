//! Random numbers for peers that compute in floating point.

use tidegate::{Rng, Span};

/// A peer's random generator. It only adds and multiplies doubles, so its results are the same on
/// every machine.
#[derive(Clone, Debug)]
pub(super) struct Dice(Rng);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(Rng::new(seed))
    }

    /// Uniform in 0..1 in steps of 2^-53.
    pub fn unit(&mut self) -> f64 {
        let high = u64::from(self.0.next_u32()) << 21;
        let low = u64::from(self.0.next_u32()) >> 11;
        (high | low) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in `from..to`.
    pub fn between(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.unit()
    }
}

/// A span of `seconds`, rounded down to nanoseconds. Negative values become zero.
pub(super) fn seconds(seconds: f64) -> Span {
    Span::from_nanos((seconds * 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_uniform_in_the_unit_interval() {
        let mut dice = Dice::new(5);
        let draws: Vec<f64> = (0..100_000).map(|_| dice.unit()).collect();
        assert!(draws.iter().all(|x| (0.0..1.0).contains(x)));
        for tenth in 0..10 {
            let from = f64::from(tenth) / 10.0;
            let n = draws.iter().filter(|x| (from..from + 0.1).contains(*x)).count();
            // Six standard deviations (95) around 10 000.
            assert!((9_430..=10_570).contains(&n), "{n} draws from {from}");
        }
    }

    #[test]
    fn seconds_saturate_at_both_ends() {
        let cases = [(-1.0, 0), (0.0, 0), (1.5, 1_500_000_000), (1e300, u64::MAX)];
        for (given, nanos) in cases {
            assert_eq!(seconds(given), Span::from_nanos(nanos));
        }
    }
}
