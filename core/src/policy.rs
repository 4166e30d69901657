//! A policy: the constant half of a controller.

use core::num::NonZeroU16;

use crate::backoff::Backoff;
use crate::fixed::Ratio;
use crate::gate::{BudgetPolicy, HoldPolicy, WindowPolicy};
use crate::law::{
    Adaptive, Aimd, AnyLaw, Busy, Crowd, Cubic, Fixed, Proportional, ProportionalConfig,
    Responsive, Strategy, Vegas,
};
use crate::rate::Quota;
use crate::time::Span;

/// What a controller is told once: the law of each limit, and how its gates are set.
///
/// Every part was checked where it was made, so a policy is always whole; it can be a `const` in
/// flash, and serve any number of controllers.
///
/// ```
/// use tidegate::{Policy, Span, gate::WindowPolicy, law::Aimd};
///
/// const POLICY: Policy<Aimd> = Policy::new(Aimd::DEFAULT);
/// let narrow = POLICY.window(WindowPolicy::new(4, Span::from_secs(30)).unwrap());
/// assert_ne!(narrow, POLICY);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Policy<L = AnyLaw, const LIMITS: usize = 1> {
    pub(crate) laws: [L; LIMITS],
    pub(crate) rules: Rules,
}

/// What holds for all limits alike.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Rules {
    pub(crate) hold: HoldPolicy,
    pub(crate) window: WindowPolicy,
    pub(crate) budget: Option<BudgetPolicy>,
    pub(crate) backoff: Option<Backoff>,
    pub(crate) attempts: Option<NonZeroU16>,
    pub(crate) elapsed: Option<Span>,
}

impl Rules {
    const DEFAULT: Self = Self {
        hold: HoldPolicy::DEFAULT,
        window: WindowPolicy::DEFAULT,
        budget: None,
        backoff: Some(Backoff::DEFAULT),
        attempts: None,
        elapsed: None,
    };
}

impl<L: Copy> Policy<L> {
    /// A policy of one limit that `law` keeps: server hints followed for up to an hour, as many
    /// calls in flight as there is room for, retries without limit or budget at doubling delays from
    /// 100 ms to 20 s, full jitter.
    #[must_use]
    pub const fn new(law: L) -> Self {
        Self::of([law])
    }

    /// The same policy with the other one's law beside its own, for two laws that look at the same
    /// calls: an ask costs one of each. The law that keeps a call back longer has its way.
    ///
    /// ```
    /// use tidegate::{Controller, Instant, Policy};
    ///
    /// // A rate for what the server refuses, and a window for what it keeps in line.
    /// let [rate, window] = ["adaptive", "vegas"].map(|name| Policy::named(name).unwrap());
    /// let gate: Controller<_, 2> = Controller::new(rate.beside(&window), 7, Instant::ZERO);
    /// # let _ = gate;
    /// ```
    #[must_use]
    pub const fn beside(self, other: &Self) -> Policy<L, 2> {
        let ([one], [two]) = (self.laws, other.laws);
        Policy { laws: [one, two], rules: self.rules }
    }
}

impl<L: Copy, const LIMITS: usize> Policy<L, LIMITS> {
    /// A policy of several limits, each with its law: requests and tokens, or seconds and days.
    /// The rest is as [`Policy::new`] has it.
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

    /// The same policy with another attitude to server hints.
    #[must_use]
    pub const fn hold(self, hold: HoldPolicy) -> Self {
        Self { rules: Rules { hold, ..self.rules }, ..self }
    }

    /// The same policy with another window.
    #[must_use]
    pub const fn window(self, window: WindowPolicy) -> Self {
        Self { rules: Rules { window, ..self.rules }, ..self }
    }

    /// The same policy with a retry budget; `None` lets every retry leave.
    #[must_use]
    pub const fn budget(self, budget: Option<BudgetPolicy>) -> Self {
        Self { rules: Rules { budget, ..self.rules }, ..self }
    }

    /// The same policy with another backoff between a call's attempts; `None` retries at once, as
    /// soon as the gates allow.
    #[must_use]
    pub const fn backoff(self, backoff: Option<Backoff>) -> Self {
        Self { rules: Rules { backoff, ..self.rules }, ..self }
    }

    /// The same policy with at most so many attempts for a call, the first one included; `None`
    /// sets no limit.
    #[must_use]
    pub const fn attempts(self, attempts: Option<NonZeroU16>) -> Self {
        Self { rules: Rules { attempts, ..self.rules }, ..self }
    }

    /// The same policy with no attempt of a call later than `elapsed` after its first failure;
    /// `None` sets no limit. Counting from the first failure, a call that itself takes long is not
    /// given up for that. Where a gate would keep the attempt longer, it is refused as
    /// [`Late`](crate::Reason::Late).
    #[must_use]
    pub const fn elapsed(self, elapsed: Option<Span>) -> Self {
        Self { rules: Rules { elapsed, ..self.rules }, ..self }
    }
}

impl Policy {
    /// The names that [`named`](Self::named) knows.
    pub const NAMES: &[&str] = &[
        "adaptive",
        "none",
        "backoff",
        "fixed",
        "aimd",
        "crowd",
        "vegas",
        "responsive",
        "busy",
        "cubic",
        "gradual",
        "proportional",
        "remaining",
    ];

    /// The policy of a name, for command lines and configuration files:
    ///
    /// | name | law | between a call's attempts |
    /// |---|---|---|
    /// | `adaptive` | [`Adaptive::DEFAULT`] | nothing: the law itself delays, and spreads what servers ask for |
    /// | `none` | no rate | nothing: it hammers |
    /// | `backoff` | no rate | 100 ms doubling to 20 s, full jitter |
    /// | `fixed` | ten calls a second | as `backoff` |
    /// | `aimd` | [`Aimd::DEFAULT`] | as `backoff` |
    /// | `crowd` | [`Crowd::DEFAULT`]: a window instead of a rate | as `backoff` |
    /// | `vegas` | [`Vegas`]: a window that delay steers | as `backoff` |
    /// | `responsive` | [`Responsive::DEFAULT`] | nothing: the law itself delays |
    /// | `busy` | [`Busy::DEFAULT`] | as `backoff` |
    /// | `cubic` | [`Cubic`] | as `backoff` |
    /// | `gradual`, `proportional`, `remaining` | [`Proportional`], the gem's strategies | nothing: the law itself delays |
    ///
    /// ```
    /// use tidegate::Policy;
    ///
    /// assert!(Policy::NAMES.iter().all(|name| Policy::named(name).is_some()));
    /// assert!(Policy::named("magic").is_none());
    /// ```
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let unlimited = Self::new(AnyLaw::Fixed(Fixed::UNLIMITED));
        Some(match name {
            "adaptive" => {
                Self::new(AnyLaw::Adaptive(Adaptive::DEFAULT)).backoff(None).hold(exact()?)
            }
            "none" => unlimited.backoff(None),
            "backoff" => unlimited,
            "fixed" => Self::new(AnyLaw::Fixed(Fixed::new(Quota::per_second(10).ok()?))),
            "aimd" => Self::new(AnyLaw::Aimd(Aimd::DEFAULT)),
            "responsive" => Self::new(AnyLaw::Responsive(Responsive::DEFAULT)).backoff(None),
            "crowd" => Self::new(AnyLaw::Crowd(Crowd::DEFAULT)),
            "vegas" => Self::new(AnyLaw::Vegas(Vegas)),
            "busy" => Self::new(AnyLaw::Busy(Busy::DEFAULT)),
            "cubic" => Self::new(AnyLaw::Cubic(Cubic)),
            "gradual" => gem(Strategy::Gradual(Span::from_millis(800)))?,
            "proportional" => gem(Strategy::Proportional)?,
            "remaining" => gem(Strategy::Remaining)?,
            _ => return None,
        })
    }
}

/// What servers ask for, to the nanosecond.
fn exact() -> Option<HoldPolicy> {
    HoldPolicy::new(HoldPolicy::DEFAULT.ceiling(), Ratio::ZERO).ok()
}

fn gem(strategy: Strategy) -> Option<Policy> {
    let law = Proportional::new(ProportionalConfig::gem(strategy)).ok()?;
    Some(Policy::new(AnyLaw::Proportional(law)).backoff(None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_the_policy_that_its_table_says() {
        let gem = |strategy| {
            let law = Proportional::new(ProportionalConfig::gem(strategy)).unwrap();
            Policy::new(AnyLaw::from(law)).backoff(None)
        };
        let ten = Quota::per_second(10).unwrap();
        for (name, policy) in [
            (
                "adaptive",
                Policy::new(AnyLaw::from(Adaptive::DEFAULT)).backoff(None).hold(exact().unwrap()),
            ),
            ("none", Policy::new(AnyLaw::from(Fixed::UNLIMITED)).backoff(None)),
            ("backoff", Policy::new(Fixed::UNLIMITED.into())),
            ("fixed", Policy::new(Fixed::new(ten).into())),
            ("aimd", Policy::new(Aimd::DEFAULT.into())),
            ("crowd", Policy::new(Crowd::DEFAULT.into())),
            ("vegas", Policy::new(Vegas.into())),
            ("responsive", Policy::new(AnyLaw::from(Responsive::DEFAULT)).backoff(None)),
            ("busy", Policy::new(Busy::DEFAULT.into())),
            ("cubic", Policy::new(Cubic.into())),
            ("gradual", gem(Strategy::Gradual(Span::from_millis(800)))),
            ("proportional", gem(Strategy::Proportional)),
            ("remaining", gem(Strategy::Remaining)),
        ] {
            assert_eq!(Policy::named(name), Some(policy), "{name}");
            assert!(Policy::NAMES.contains(&name));
        }
        assert_eq!(Policy::NAMES.len(), 13);
    }
}
