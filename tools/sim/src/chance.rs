//! Random numbers: independent streams from one seed, and distributions.

use serde::{Deserialize, Serialize};
use tidegate::{Rng, Span};

use crate::PLAIN;
use crate::scenario::units::Time;

/// The purpose of a stream. Streams are independent, so with the same seed every law sees the same
/// latencies and arrivals.
#[derive(Clone, Copy, Debug)]
pub enum Stream {
    /// The throttle of a process, by its number.
    Throttle(u32),
    /// A thread, by its number in the world: its start, demand and latencies.
    Thread(u32),
    Server,
    Strangers,
}

impl Stream {
    pub const fn seed(self, seed: u64) -> u64 {
        let (kind, number) = match self {
            Self::Throttle(number) => (1, number),
            Self::Thread(number) => (2, number),
            Self::Server => (3, 0),
            Self::Strangers => (4, 0),
        };
        // `Rng::new` mixes its seed, so this only has to separate the streams of neighbouring runs.
        seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (kind << 56) ^ ((number as u64) << 8)
    }
}

#[derive(Clone, Debug)]
pub struct Chance(Rng);

impl Chance {
    pub const fn new(seed: u64, stream: Stream) -> Self {
        Self(Rng::new(stream.seed(seed)))
    }

    /// A stream outside any run.
    pub const fn of(seed: u64) -> Self {
        Self(Rng::new(seed))
    }

    /// Uniform between 0 and 1, both excluded.
    pub fn unit(&mut self) -> f64 {
        (f64::from(self.0.next_u32()) + 0.5) / 4_294_967_296.0
    }

    /// Uniform in `from..to`, in steps of 2^-53 of the width.
    pub fn within(&mut self, from: f64, to: f64) -> f64 {
        let high = u64::from(self.0.next_u32()) << 21;
        let low = u64::from(self.0.next_u32()) >> 11;
        from + (to - from) * ((high | low) as f64 / (1_u64 << 53) as f64)
    }

    /// Uniform in `least..=most`.
    pub fn between(&mut self, least: Span, most: Span) -> Span {
        self.0.between(least, most)
    }

    /// The time until the next event of a Poisson process with this mean interval.
    pub fn exponential(&mut self, mean: Span) -> Span {
        scaled(mean, -libm::log(self.unit()))
    }

    /// A standard normal draw (Box-Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.unit()));
        radius * libm::cos(core::f64::consts::TAU * self.unit())
    }
}

/// `factor` times `span`, rounded down and saturating.
pub fn scaled(span: Span, factor: f64) -> Span {
    Span::from_nanos((span.as_nanos() as f64 * factor) as u64)
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Spread {
    Constant(Time),
    Uniform(Time, Time),
    Exponential(Time),
    /// Lognormal: half the draws are below the median, and their logarithm has the standard
    /// deviation `sigma`.
    Lognormal {
        median: Time,
        /// The spread. With 0.5, one draw in forty exceeds 2.7 medians.
        sigma: f64,
    },
}

impl Spread {
    pub fn draw(&self, chance: &mut Chance) -> Span {
        match self {
            Self::Constant(time) => time.span(),
            Self::Uniform(least, most) => chance.between(least.span(), most.span()),
            Self::Exponential(mean) => chance.exponential(mean.span()),
            Self::Lognormal { .. } if PLAIN => unreachable!("no plain latency is"),
            Self::Lognormal { median, sigma } => {
                scaled(median.span(), libm::exp(sigma * chance.normal()))
            }
        }
    }

    /// The mean, in seconds.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Constant(time) | Self::Exponential(time) => time.seconds(),
            Self::Uniform(least, most) => f64::midpoint(least.seconds(), most.seconds()),
            Self::Lognormal { median, sigma } => median.seconds() * libm::exp(sigma * sigma / 2.0),
        }
    }

    /// What is wrong with the parameters, if anything.
    pub fn fault(&self) -> Option<&'static str> {
        match self {
            // Otherwise a client could call for ever at one instant.
            Self::Constant(most)
            | Self::Uniform(_, most)
            | Self::Exponential(most)
            | Self::Lognormal { median: most, .. }
                if most.span() == Span::ZERO =>
            {
                Some("a latency must be above zero")
            }
            Self::Uniform(least, most) if least > most => {
                Some("a uniform latency's first time must not be above its second")
            }
            Self::Lognormal { sigma, .. } if !(0.0..=10.0).contains(sigma) => {
                Some("a lognormal latency's sigma must be between 0 and 10")
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(spread: Spread) -> Vec<f64> {
        let mut chance = Chance::new(1, Stream::Server);
        let mut all: Vec<f64> =
            (0..100_000).map(|_| spread.draw(&mut chance).as_nanos() as f64 / 1e6).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    #[test]
    fn distributions_have_their_means_and_medians() {
        let ms = |n| Time::from(Span::from_millis(n));
        // The mean's standard error is at most 100/sqrt(100 000) = 0.32 ms. Four of those are
        // allowed.
        for (spread, mean, median) in [
            (Spread::Constant(ms(100)), 100.0, 100.0),
            (Spread::Uniform(ms(50), ms(150)), 100.0, 100.0),
            (Spread::Exponential(ms(100)), 100.0, 69.315),
            (Spread::Lognormal { median: ms(100), sigma: 0.5 }, 113.315, 100.0),
        ] {
            let all = draws(spread);
            let sum: f64 = all.iter().sum();
            assert!((sum / 100_000.0 - mean).abs() < 1.3, "{spread:?}: mean {}", sum / 100_000.0);
            assert!((all[50_000] - median).abs() < 1.3, "{spread:?}: median {}", all[50_000]);
        }
    }

    #[test]
    fn streams_and_neighbouring_seeds_are_independent() {
        let mut firsts: Vec<Span> = (0..100)
            .flat_map(|seed| {
                (0..100u32).flat_map(move |number| {
                    [Stream::Thread(number), Stream::Throttle(number)].map(|s| (seed, s))
                })
            })
            .map(|(seed, stream)| {
                Chance::new(seed, stream).between(Span::ZERO, Span::from_secs(3_600))
            })
            .collect();
        firsts.sort();
        firsts.dedup();
        // Of 20 000 draws of 32 bits, 0.05 pairs are equal by chance.
        assert!(firsts.len() >= 19_998, "{}", firsts.len());
    }
}
