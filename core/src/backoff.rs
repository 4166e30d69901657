//! Backoff schedules: how long one call waits before its next attempt.

use crate::config_error::ConfigError;
use crate::fixed::Ratio;
use crate::linked::Linked;
use crate::rng::Rng;
use crate::time::Span;

/// How the delay grows from attempt to attempt.
///
/// ```
/// use tidegate::{Ratio, Rng, Span, backoff::{Backoff, Growth, Jitter}};
///
/// let next_step = |growth| {
///     let (base, most) = (Span::from_nanos(4), Span::from_nanos(13));
///     let schedule = Backoff::new(growth, Jitter::None, base, most).unwrap();
///     let (mut step, mut rng) = (Span::ZERO, Rng::new(1));
///     [(); 4].map(|()| {
///         step = schedule.next_step(step, &mut rng);
///         step.as_nanos()
///     })
/// };
/// assert_eq!(next_step(Growth::Constant), [4, 4, 4, 4]);
/// assert_eq!(next_step(Growth::Linear), [4, 8, 12, 13]);
/// assert_eq!(next_step(Growth::Exponential(Ratio::new(5, 4).unwrap())), [4, 5, 7, 9]); // rounded up
/// // The only one that chance moves where the jitter is `None`, and that may go down again.
/// assert!(next_step(Growth::Decorrelated).iter().all(|step| (4..=13).contains(step)));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Growth {
    /// The same delay each time.
    Constant,
    /// Grows by the base each time.
    Linear,
    /// This factor times the previous delay. At least 1.
    Exponential(Ratio),
    /// Random between the base and three times the previous delay, regardless of the jitter
    /// (Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
    Decorrelated,
}

/// Jitter: how a delay is randomised, so that clients that failed together do not retry together.
///
/// ```
/// use tidegate::{Ratio, Rng, Span, backoff::{Backoff, Growth, Jitter}};
///
/// // The shortest and the longest of ten thousand clients' delays, in whole milliseconds.
/// let reach = |jitter, step| {
///     let (base, most) = (Span::from_millis(1), Span::from_millis(1_000));
///     let schedule = Backoff::new(Growth::Linear, jitter, base, most).unwrap();
///     let delays = (0..10_000).map(|seed| schedule.delay(step, &mut Rng::new(seed)).as_millis());
///     (delays.clone().min().unwrap(), delays.max().unwrap())
/// };
/// let fifth = Jitter::Spread(Ratio::new(1, 5).unwrap());
/// assert_eq!(reach(Jitter::None, Span::from_millis(500)), (500, 500));
/// assert_eq!(reach(Jitter::Full, Span::from_millis(500)), (0, 499));
/// assert_eq!(reach(Jitter::Equal, Span::from_millis(500)), (250, 499));
/// assert_eq!(reach(fifth, Span::from_millis(500)), (400, 599));
/// // At the maximum, a spread only shortens the delay.
/// assert_eq!(reach(fifth, Span::from_millis(1_000)), (800, 999));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Jitter {
    /// Exactly the delay.
    None,
    /// From zero to the delay.
    Full,
    /// From half the delay to the delay.
    Equal,
    /// The delay plus or minus this part of it, at most the maximum. The part is at most 1.
    Spread(Ratio),
}

/// A schedule of delays between the attempts of one call.
///
/// The delay is capped before the jitter, and never exceeds the maximum. (Adding jitter to the
/// capped delay would exceed the maximum. Capping the jittered delay would synchronise a fleet.)
/// Delays round up, so a growing schedule always grows.
///
/// ```
/// use tidegate::{Rng, Span, backoff::{Backoff, Growth, Jitter}};
///
/// let (base, most) = (Span::from_millis(100), Span::from_millis(350));
/// let schedule = Backoff::new(Growth::Linear, Jitter::None, base, most).unwrap();
/// let mut rng = Rng::new(1);
/// let mut step = Span::ZERO;
/// let mut delays = [0; 5];
/// for delay in &mut delays {
///     step = schedule.next_step(step, &mut rng);
///     *delay = schedule.delay(step, &mut rng).as_millis();
/// }
/// assert_eq!(delays, [100, 200, 300, 350, 350]);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Backoff {
    growth: Growth,
    jitter: Jitter,
    base: Span,
    most: Span,
}

impl Backoff {
    /// Doubling from 100 ms to 20 s, with the full jitter that the AWS post in [`Growth::Decorrelated`] recommends.
    pub const DEFAULT: Self = Self {
        growth: Growth::Exponential(Ratio::of(2, 1)),
        jitter: Jitter::Full,
        base: Span::from_millis(100),
        most: Span::from_secs(20),
    };

    /// A schedule that begins at `base` and never waits longer than `most`.
    ///
    /// # Errors
    /// [`ConfigError`] names what is wrong.
    pub const fn new(
        growth: Growth,
        jitter: Jitter,
        base: Span,
        most: Span,
    ) -> Result<Self, ConfigError> {
        if base.as_nanos() == 0 {
            return Err(ConfigError::BackoffBase);
        }
        if base.as_nanos() > most.as_nanos() {
            return Err(ConfigError::BackoffMost);
        }
        if let Growth::Exponential(factor) = growth
            && factor.is_below_one()
        {
            return Err(ConfigError::BackoffFactor);
        }
        if let Jitter::Spread(part) = jitter
            && part.exceeds_one()
        {
            return Err(ConfigError::BackoffSpread);
        }
        Ok(Self { growth, jitter, base, most })
    }

    /// The delay after `step` without jitter, from the base to the maximum. [`Span::ZERO`] starts
    /// the schedule. Only a decorrelated schedule draws from `rng`.
    pub fn next_step(&self, step: Span, rng: &mut Rng) -> Span {
        let next = match self.growth {
            Growth::Decorrelated => {
                let step = step.max(self.base);
                let top = (step + step + step).min(self.most);
                return rng.between(self.base, top);
            }
            Growth::Constant => self.base,
            Growth::Linear => step + self.base,
            Growth::Exponential(factor) => Span::from_nanos(factor.ceil_of(step.as_nanos())),
        };
        next.max(self.base).min(self.most)
    }

    /// The next step and its delay.
    fn next(&self, step: Span, rng: &mut Rng) -> (Span, Span) {
        let step = self.next_step(step, rng);
        (step, self.delay(step, rng))
    }

    /// The same for a schedule that doubles and has full jitter, which needs no division.
    fn doubled(&self, step: Span, rng: &mut Rng) -> (Span, Span) {
        let step = (step + step).max(self.base).min(self.most);
        (step, rng.between(Span::ZERO, step))
    }

    /// The schedule, and the shortest code that follows it.
    pub(crate) const fn linked(self) -> Linked<Self, Next> {
        let doubles = matches!(self.growth, Growth::Exponential(factor) if factor.is(2, 1));
        let follow = match self.jitter {
            Jitter::Full if doubles => Self::doubled,
            _ => Self::next,
        };
        Linked { setting: self, follow }
    }

    /// The delay of `step` with jitter, at most the maximum for a step that [`next_step`](Self::next_step)
    /// returned. A decorrelated step is returned unchanged, since it is already random.
    pub fn delay(&self, step: Span, rng: &mut Rng) -> Span {
        if matches!(self.growth, Growth::Decorrelated) {
            return step;
        }
        let (least, most) = match self.jitter {
            Jitter::None => return step,
            Jitter::Full => (Span::ZERO, step),
            Jitter::Equal => (Span::from_nanos(step.as_nanos() / 2), step),
            Jitter::Spread(part) => {
                let reach = Span::from_nanos(part.floor_of(step.as_nanos()));
                (step - reach, (step + reach).min(self.most))
            }
        };
        rng.between(least, most)
    }
}

/// The next step of a schedule, and its delay.
pub(crate) type Next = fn(&Backoff, Span, &mut Rng) -> (Span, Span);

impl Default for Backoff {
    fn default() -> Self {
        Self::DEFAULT
    }
}
