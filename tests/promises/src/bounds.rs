//! The bounds of a law's state, in every world.

use core::num::{NonZeroU16, NonZeroU32};

use tidegate::law::{AimdConfig, AnyLaw, AnyState, AutosleeperConfig, HerokuConfig, Law, Strategy};
use tidegate::{Instant, Quota, Ratio, Span};

#[derive(Clone, Copy, Debug)]
pub enum Bounds {
    /// No bounds that are visible from outside.
    None,
    /// The lowest and highest rate, in calls a second with 20 bits of fraction.
    Rate(u128, u128),
    /// At most this many calls in flight, and at least one.
    Calls(NonZeroU16),
    /// No delay, or a delay in this range.
    Delay(Span, Span),
    /// A sleep of at least this.
    Sleep(Span),
    /// At most this many calls a second.
    Seconds(NonZeroU32),
}

impl Bounds {
    pub fn of_aimd(config: &AimdConfig) -> Self {
        // A law rounds its rates to their representation.
        Self::Rate(rate(config.floor).saturating_sub(1), rate(config.ceiling) + 1)
    }

    pub fn of_heroku(config: &HerokuConfig) -> Self {
        match config.strategy {
            // It begins each run at its first rung instead.
            Strategy::Exponential => Self::None,
            _ => Self::Sleep(config.floor.min(config.start)),
        }
    }

    /// Its jitter is part of the state, so with jitter there are no bounds.
    pub fn of_autosleeper(config: &AutosleeperConfig) -> Self {
        let (initial, most) = (config.initial, config.most);
        match config.spread {
            Ratio::ZERO => Self::Delay(initial.min(most), initial.max(most)),
            _ => Self::None,
        }
    }

    pub fn contain(self, law: &AnyLaw, state: &AnyState, now: Instant) {
        let kept = match (self, state) {
            (Self::Rate(least, most), _) => law.quota(state).is_some_and(|quota| {
                let rate = rate(quota);
                least <= rate && rate <= most
            }),
            (Self::Calls(most), _) => {
                law.concurrency(state, now).is_some_and(|concurrency| concurrency <= most)
            }
            (Self::Delay(least, most), AnyState::Autosleeper(state)) => {
                let delay = state.delay();
                delay == Span::ZERO || (least..=most).contains(&delay)
            }
            (Self::Sleep(least), AnyState::Heroku(state)) => state.sleep() >= least,
            (Self::Seconds(most), AnyState::Tchannel(state)) => {
                state.limit_q36() <= u64::from(most.get()) << 36
            }
            _ => true,
        };
        assert!(kept, "{state:?} is not within {self:?}");
    }
}

/// Calls a second with 20 bits of fraction.
fn rate(quota: Quota) -> u128 {
    (1_000_000_000 << 20) / u128::from(quota.interval().as_nanos())
}
