//! The cooldown: a time before which nothing is sent.

use crate::config_error::ConfigError;
use crate::fixed::Ratio;
use crate::linked::Linked;
use crate::rng::Rng;
use crate::snapshot::fields;
use crate::time::{Instant, Span};

/// The limits of cooldowns that a server requests.
///
/// ```
/// use tidegate::{ConfigError, Ratio, Span, gate::CooldownPolicy};
///
/// let patient = CooldownPolicy::new(Span::from_secs(600), Ratio::ZERO).unwrap();
/// assert_eq!(patient.ceiling(), Span::from_secs(600));
/// assert_eq!(CooldownPolicy::new(Span::ZERO, Ratio::ZERO), Err(ConfigError::CooldownCeiling));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct CooldownPolicy {
    ceiling: Span,
    spread: Option<Linked<Spread, Draw>>,
}

impl CooldownPolicy {
    /// At most an hour, with a jitter of an eighth. An hour covers the resets of most APIs. A server that asks for more
    /// (Docker Hub asks for six hours, another for a year) is probed once per hour.
    pub const DEFAULT: Self =
        Self { ceiling: Span::from_secs(3_600), spread: Spread(ONE / 8).linked() };

    /// Cooldowns of at most `ceiling`. Clients with the same delay are spread over `spread` of it
    /// (rounded down to 2^-31), so that they do not return at once.
    ///
    /// # Errors
    /// [`ConfigError::CooldownCeiling`] if `ceiling` is zero, and [`ConfigError::CooldownSpread`]
    /// if `spread` is above one.
    pub const fn new(ceiling: Span, spread: Ratio) -> Result<Self, ConfigError> {
        if ceiling.as_nanos() == 0 {
            return Err(ConfigError::CooldownCeiling);
        }
        if spread.exceeds_one() {
            return Err(ConfigError::CooldownSpread);
        }
        Ok(Self { ceiling, spread: Spread(spread.q31()).linked() })
    }

    /// The longest cooldown that a server can request.
    #[must_use]
    pub const fn ceiling(self) -> Span {
        self.ceiling
    }

    /// The same policy with another ceiling.
    pub(crate) const fn at_most(self, ceiling: Span) -> Result<Self, ConfigError> {
        if ceiling.as_nanos() == 0 {
            return Err(ConfigError::CooldownCeiling);
        }
        Ok(Self { ceiling, ..self })
    }

    /// The same policy without jitter.
    pub(crate) const fn without_spread(self) -> Self {
        Self { spread: None, ..self }
    }

    /// The cooldown for a server's `asked`.
    fn cooldown(&self, asked: Span, rng: &mut Rng) -> Span {
        match &self.spread {
            Some(Linked { setting, follow }) => follow(setting, asked, self.ceiling, rng),
            None => asked.min(self.ceiling),
        }
    }
}

/// The jitter of cooldowns, as a part of them in 2^-31, rounded down: no division is linked for it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Spread(u32);

/// [`Spread::draw`], which only policies with a jitter link.
type Draw = fn(&Spread, Span, Span, &mut Rng) -> Span;

impl Spread {
    const fn linked(self) -> Option<Linked<Self, Draw>> {
        if self.0 == 0 { None } else { Some(Linked { setting: self, follow: Self::draw as Draw }) }
    }

    /// The cooldown for a server's `asked`.
    ///
    /// A request below the ceiling is a floor, so jitter is only added. A request beyond the
    /// ceiling is reduced to it, so jitter is subtracted: a fleet stays spread, and no cooldown
    /// exceeds the ceiling.
    fn draw(&self, asked: Span, ceiling: Span, rng: &mut Rng) -> Span {
        let middle = asked.min(ceiling);
        let reach = self.of(middle);
        let least = if asked < ceiling { asked } else { middle - reach };
        rng.between(least, (middle + reach).min(ceiling))
    }

    /// The jitter of a cooldown, in two halves that each fit 64 bits.
    const fn of(self, cooldown: Span) -> Span {
        let (nanos, spread) = (cooldown.as_nanos(), self.0 as u64);
        let (high, low) = (nanos >> 31, nanos & (ONE as u64).wrapping_sub(1));
        let low = low.wrapping_mul(spread) >> 31;
        Span::from_nanos(high.wrapping_mul(spread).wrapping_add(low))
    }
}

/// A spread of one.
const ONE: u32 = 1 << 31;

impl Default for CooldownPolicy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The latest cooldown that a server requested (`Retry-After` and similar).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Cooldown {
    until: Instant,
}

impl Cooldown {
    /// When the latest cooldown ends or ended. Zero if there never was one.
    pub(crate) const fn until(&self) -> Instant {
        self.until
    }

    /// Starts a cooldown of the duration that the server `asked` for, limited by the policy. A
    /// later, shorter one never shortens a cooldown. It ends one instant before [`Instant::MAX`] at
    /// the latest.
    pub(crate) fn raise(
        &mut self,
        now: Instant,
        asked: Span,
        policy: CooldownPolicy,
        rng: &mut Rng,
    ) {
        self.wait_until(now + policy.cooldown(asked, rng));
    }

    pub(crate) fn wait_until(&mut self, until: Instant) {
        self.until = self.until.max(until.min(Instant::LAST));
    }

    /// Ends the cooldown at `latest` at the latest.
    pub(crate) fn shorten(&mut self, latest: Instant) {
        self.until = self.until.min(latest);
    }
}

fields!(Cooldown { until: Instant });
