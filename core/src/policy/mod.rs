//! A policy: the constant half of a controller.

mod named;

use core::num::NonZeroU16;

use crate::backoff::{Backoff, Next};
use crate::config_error::ConfigError;
use crate::gate::{Account, CooldownPolicy, RetryBudgetPolicy, account};
use crate::law::{Adaptive, AnyLaw};
use crate::linked::Linked;
use crate::time::Span;

/// The configuration of a controller: the law of each limit, and the settings of the gates.
///
/// Every part is validated at construction, so a policy is always valid. It can be a `const` in
/// flash, and any number of controllers can share it. A program whose policies are constants links no code for a
/// retry budget or a backoff that none of them has.
///
/// ```
/// use core::num::NonZeroU16;
/// use tidegate::{Policy, law::Aimd};
///
/// const POLICY: Policy<Aimd> = Policy::new(Aimd::DEFAULT);
/// let narrow = POLICY.concurrency(NonZeroU16::new(4).unwrap());
/// assert_ne!(narrow, POLICY);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Policy<L = AnyLaw, const LIMITS: usize = 1> {
    pub(crate) laws: [L; LIMITS],
    pub(crate) rules: Rules,
}

/// Settings for all limits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Rules {
    pub(crate) cooldown: CooldownPolicy,
    pub(crate) concurrency: NonZeroU16,
    pub(crate) retry_budget: Option<Linked<RetryBudgetPolicy, Account>>,
    pub(crate) backoff: Option<Linked<Backoff, Next>>,
    pub(crate) attempts: Option<NonZeroU16>,
    /// How long a throttled call has more attempts than that.
    pub(crate) patience: Span,
    pub(crate) elapsed: Span,
}

impl Rules {
    const DEFAULT: Self = Self {
        cooldown: CooldownPolicy::DEFAULT,
        concurrency: NonZeroU16::MAX,
        retry_budget: None,
        backoff: Some(Backoff::DEFAULT.linked()),
        attempts: Some(Policy::ATTEMPTS),
        patience: Policy::PATIENCE,
        elapsed: Span::MAX,
    };
    const WITHOUT_BACKOFF: Self = Self { backoff: None, ..Self::DEFAULT };
    const ADAPTIVE: Self =
        Self { cooldown: CooldownPolicy::DEFAULT.without_spread(), ..Self::WITHOUT_BACKOFF };
}

/// The settings of the policies that have a name, each in flash once.
mod rules {
    use super::Rules;

    pub(super) static DEFAULT: Rules = Rules::DEFAULT;
    pub(super) static WITHOUT_BACKOFF: Rules = Rules::WITHOUT_BACKOFF;
    pub(super) static ADAPTIVE: Rules = Rules::ADAPTIVE;
}

impl<L: Copy> Policy<L> {
    /// Creates a policy with one limit. Cooldowns are followed for up to an hour, and calls in
    /// flight are not limited. A call has ten attempts (up to 64 within [two
    /// minutes](Policy::PATIENCE) if it is throttled), with delays that double from 100 ms to 20 s
    /// and full jitter, and without a retry budget.
    #[must_use]
    pub const fn new(law: L) -> Self {
        Self::of([law])
    }

    /// Adds the law of `other` as a second limit. Both laws see the same calls, a call costs one for each limit, and
    /// the longer wait applies.
    ///
    /// ```
    /// use tidegate::{Controller, Instant, Policy};
    ///
    /// // A rate for a server that throttles, and a concurrency limit for one that queues.
    /// let [rate, concurrency] = ["adaptive", "vegas"].map(|name| Policy::named(name).unwrap());
    /// let gate: Controller<_, 2> = Controller::new(rate.beside(&concurrency), 7, Instant::ZERO);
    /// # let _ = gate;
    /// ```
    #[must_use]
    pub const fn beside(self, other: &Self) -> Policy<L, 2> {
        let ([one], [two]) = (self.laws, other.laws);
        Policy { laws: [one, two], rules: self.rules }
    }
}

impl<L: Copy, const LIMITS: usize> Policy<L, LIMITS> {
    /// A policy of several limits, each with its law, such as requests and tokens, or per second and per day. The other
    /// settings are those of [`Policy::new`].
    ///
    /// ```
    /// use tidegate::{Policy, Quota, law::Fixed};
    ///
    /// let requests = Quota::per_second(3).unwrap().with_burst(3).unwrap();
    /// let tokens = Quota::per_minute(90_000).unwrap().with_burst(90_000).unwrap();
    /// let policy = Policy::of([Fixed::new(requests), Fixed::new(tokens)]);
    /// # let _ = policy;
    /// ```
    #[must_use]
    pub const fn of(laws: [L; LIMITS]) -> Self {
        Self { laws, rules: Rules::DEFAULT }
    }

    /// The law of each limit.
    #[must_use]
    pub const fn laws(&self) -> [L; LIMITS] {
        self.laws
    }

    /// The same policy for other limits, each with its law.
    ///
    /// ```
    /// use tidegate::{Policy, Quota, law::Adaptive};
    ///
    /// let [calls, tokens] = [60, 30_000].map(|count| Quota::per_minute(count).unwrap());
    /// let policy = Policy::adaptive().limits([calls, tokens].map(Adaptive::with_quota));
    /// assert_eq!(policy.laws()[0], Adaptive::with_quota(calls));
    /// ```
    #[must_use]
    #[inline(always)]
    pub const fn limits<M: Copy, const N: usize>(self, laws: [M; N]) -> Policy<M, N> {
        Policy { laws, rules: self.rules }
    }

    /// The same policy with no cooldown longer than `ceiling`.
    ///
    /// # Errors
    /// [`ConfigError::CooldownCeiling`](crate::ConfigError::CooldownCeiling) if `ceiling` is
    /// zero.
    #[inline(always)]
    pub const fn ceiling(self, ceiling: Span) -> Result<Self, ConfigError> {
        match self.rules.cooldown.at_most(ceiling) {
            Ok(cooldown) => Ok(self.cooldown(cooldown)),
            Err(error) => Err(error),
        }
    }

    /// The same policy with another cooldown policy.
    #[must_use]
    #[inline(always)]
    pub const fn cooldown(self, cooldown: CooldownPolicy) -> Self {
        Self { rules: Rules { cooldown, ..self.rules }, ..self }
    }

    /// The same policy with at most `limit` calls in flight: for a server that limits them, such as an MQTT broker with
    /// its Receive Maximum. [`NonZeroU16::MAX`] is no limit.
    #[must_use]
    #[inline(always)]
    pub const fn concurrency(self, limit: NonZeroU16) -> Self {
        Self { rules: Rules { concurrency: limit, ..self.rules }, ..self }
    }

    /// The same policy with a retry budget; `None` admits every retry. A controller whose calls have no costs
    /// ([`Single`](crate::Single)) ignores it; with debug assertions, creating one panics.
    #[must_use]
    #[inline(always)]
    pub const fn retry_budget(self, retry_budget: Option<RetryBudgetPolicy>) -> Self {
        let retry_budget = match retry_budget {
            Some(setting) => Some(Linked { setting, follow: account as Account }),
            None => None,
        };
        Self { rules: Rules { retry_budget, ..self.rules }, ..self }
    }

    /// The same policy with another backoff between a call's attempts; `None` retries at once, as
    /// soon as the gates allow.
    #[must_use]
    #[inline(always)]
    pub const fn backoff(self, backoff: Option<Backoff>) -> Self {
        let backoff = match backoff {
            Some(backoff) => Some(backoff.linked()),
            None => None,
        };
        Self { rules: Rules { backoff, ..self.rules }, ..self }
    }

    /// The same policy with at most `attempts` attempts per call, including the first. `None` sets
    /// no limit.
    #[must_use]
    #[inline(always)]
    pub const fn attempts(self, attempts: Option<NonZeroU16>) -> Self {
        Self { rules: Rules { attempts, patience: Span::ZERO, ..self.rules }, ..self }
    }

    /// The same policy with no attempt of a call later than `elapsed` after its first failure; `None` sets no limit.
    /// The time counts from the first failure, so a call is not abandoned because it is slow itself. If a gate would
    /// delay the attempt longer, it is rejected as [`Late`](crate::Reason::Late).
    #[must_use]
    #[inline(always)]
    pub const fn elapsed(self, elapsed: Option<Span>) -> Self {
        let elapsed = match elapsed {
            Some(elapsed) => elapsed,
            None => Span::MAX,
        };
        Self { rules: Rules { elapsed, ..self.rules }, ..self }
    }
}

impl Policy {
    /// How many attempts a call has, unless [`attempts`](Self::attempts) says otherwise.
    pub const ATTEMPTS: NonZeroU16 = NonZeroU16::MIN.saturating_add(9);

    /// How long after its first failure a call whose latest attempt was throttled has up to 64 attempts, unless
    /// [`attempts`](Self::attempts) was set. Many windows last a minute, and many servers do not say when a window
    /// ends: ten attempts would be used up before that. Each attempt beyond the tenth waits at least a quarter of the
    /// time since the first failure, because the server may reject this call for ever, and serve others.
    pub const PATIENCE: Span = Span::from_secs(120);
}

impl Policy<Adaptive> {
    /// The policy with the name `adaptive`. The law itself delays attempts and spreads cooldowns,
    /// so the policy has neither a backoff nor a jitter.
    ///
    /// ```
    /// use tidegate::{Policy, law::AnyLaw};
    ///
    /// let policy = Policy::adaptive();
    /// let [law] = policy.laws();
    /// assert_eq!(Some(policy.limits([AnyLaw::from(law)])), Policy::named("adaptive"));
    /// ```
    #[must_use]
    pub const fn adaptive() -> Self {
        Self { laws: [Adaptive::DEFAULT], rules: Rules::ADAPTIVE }
    }
}
