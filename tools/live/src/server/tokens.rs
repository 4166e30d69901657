//! A bucket of tokens, as APIs of language models have beside their limit of calls.

use super::gcra::Gcra;
use super::limiter::{Count, Standing};
use super::timeline::{Nanos, Timeline};
use crate::options::Tokens as Cost;

/// A bucket that holds the tokens of one period. Each call states its cost.
#[derive(Debug)]
pub struct Tokens {
    bucket: Gcra,
    calls: u64,
    taken: u64,
}

impl Tokens {
    /// Starts with a full bucket.
    pub fn new(timeline: Timeline, period: Nanos) -> Self {
        let burst = timeline.limit;
        Tokens { bucket: Gcra::new(timeline, period, burst), calls: 0, taken: 0 }
    }

    pub fn fits(&mut self, now: Nanos, tokens: u64) -> bool {
        self.bucket.fits(now, tokens)
    }

    pub fn take(&mut self, tokens: u64) {
        self.bucket.take(tokens);
        self.calls += 1;
        self.taken += tokens;
    }

    pub fn standing(&self, now: Nanos, tokens: u64) -> Standing {
        Standing { count: Count::Tokens, ..self.bucket.standing(now, tokens) }
    }

    /// The most calls that could have been served by `end`, at the mean cost of the served calls.
    pub fn capacity(&self, end: Nanos) -> f64 {
        let mean = match self.taken {
            0 => f64::from(Cost::MEAN),
            taken => taken as f64 / self.calls as f64,
        };
        self.bucket.capacity(end) / mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capacity_is_in_calls_at_the_mean_cost_of_served_calls() {
        let timeline = Timeline { limit: 3_000, step: None, outage: None };
        let mut tokens = Tokens::new(timeline, 1_000);
        assert_eq!(tokens.capacity(1_000), 6.0, "from the configured cost, as no call was served");
        assert!(tokens.fits(0, 500));
        tokens.take(500);
        assert_eq!(tokens.capacity(1_000), 12.0, "from the measured cost");
    }
}
