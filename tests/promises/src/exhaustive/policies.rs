//! Policies so small that all numbers interact within a few events.

use core::num::{NonZeroU16, NonZeroU32};

use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::gate::{CooldownPolicy, RetryBudgetPolicy};
use tidegate::law::{
    Adaptive, Aimd, AimdConcurrency, AimdConcurrencyConfig, AimdConfig, AimdCooldown, AnyLaw,
    Fixed, Vegas,
    published::{
        Autosleeper, AutosleeperConfig, HerokuConfig, Over, Recovery, Strategy, Tchannel,
        TchannelConfig,
    },
};
use tidegate::{Policy, Quota, Ratio, Span};

use super::moves::Move;
use crate::terms::{Made, Terms, heroku};

/// A policy, and the depth of its walk.
#[derive(Debug)]
pub struct Small {
    pub name: &'static str,
    pub terms: Terms<1>,
    /// How far the clock advances: a short and a long time.
    pub spans: [Span; 2],
    pub depth: u32,
    pub prologue: Prologue,
}

/// Repeat counts and events.
type Prologue = &'static [(u32, &'static [Move])];

const MS: u64 = 1_000_000;
/// One call, which is served.
const SERVED: &[Move] = &[Move::Poll, Move::Pass(0), Move::SettleFirst(0)];

fn small(name: &'static str, made: Made, spans: [u64; 2], depth: u32) -> Small {
    let (law, spans) = (made.law, spans.map(Span::from_nanos));
    let cooldown = CooldownPolicy::new(spans[1], Ratio::HALF).unwrap_or_default();
    // Few, so that the limit is reached soon.
    let concurrency = NonZeroU16::MIN.saturating_add(2);
    let backoff = Backoff::new(Growth::Linear, Jitter::Full, spans[0], spans[1]);
    let terms = Terms {
        policy: Policy::new(law)
            .cooldown(cooldown)
            .concurrency(concurrency)
            .backoff(backoff.ok())
            .attempts(None),
        laws: [law],
        quotas: [made.quota],
        bounds: [made.bounds],
        cuts_for_each_throttled: made.cuts_for_each_throttled,
        cooldown,
        spread: Ratio::HALF,
        concurrency,
        retry_budget: None,
        backoff: Some(spans[1]),
        attempts: None,
        longest: Some(spans[1] * 64),
    };
    Small { name, terms, spans, depth, prologue: &[] }
}

impl Small {
    fn with(self, change: impl FnOnce(&mut Terms<1>)) -> Self {
        let mut terms = self.terms;
        change(&mut terms);
        Self { terms, ..self }
    }

    fn concurrency(self, limit: u16) -> Self {
        let concurrency = NonZeroU16::new(limit).unwrap_or(NonZeroU16::MAX);
        self.with(|terms| {
            (terms.concurrency, terms.policy) = (concurrency, terms.policy.concurrency(concurrency))
        })
    }

    fn retry_budget(self, numerator: u32, denominator: u32, reserve: u32) -> Self {
        let policy = RetryBudgetPolicy::new(ratio(numerator, denominator), reserve).ok();
        let retry_budget = (numerator.into(), denominator.into(), reserve.into());
        self.with(|terms| {
            (terms.retry_budget, terms.policy) =
                (Some(retry_budget), terms.policy.retry_budget(policy))
        })
    }

    fn after(self, prologue: Prologue) -> Self {
        Self { prologue, ..self }
    }
}

fn ratio(numerator: u32, denominator: u32) -> Ratio {
    Ratio::new(numerator, denominator).unwrap_or(Ratio::HALF)
}

fn quota(count: u64, nanos: u64, burst: u32) -> Quota {
    let quota =
        Quota::per(count, Span::from_nanos(nanos)).and_then(|quota| quota.with_burst(burst));
    quota.unwrap_or_else(|error| panic!("{error}"))
}

fn fixed(name: &'static str, of: (u64, u64, u32), spans: [u64; 2]) -> Small {
    small(name, Made::quoted(quota(of.0, of.1, of.2), Fixed::new), spans, 6)
}

/// The longest wait is two calls at the longest interval of 2^52 ns, and half of that for jitter.
fn adaptive(name: &'static str) -> Small {
    let longest = Some(Span::from_nanos(3 << 52));
    small(name, plain(Adaptive::DEFAULT), [40 * MS, 900 * MS], 6)
        .with(|terms| terms.longest = longest)
}

fn plain(law: impl Into<AnyLaw>) -> Made {
    Made::plain(law)
}

fn aimd(cooldown: bool) -> Made {
    let millis = Span::from_millis;
    let config = AimdConfig {
        start: quota(2, 1_000 * MS, 2),
        floor: quota(1, 1_000 * MS, 1),
        ceiling: quota(3, 1_000 * MS, 1),
        step: quota(1, 1_000 * MS, 1),
        every: 1,
        keep: Ratio::HALF,
        cooldown: cooldown.then_some(AimdCooldown {
            base: millis(100),
            most: millis(300),
            discount: 1,
        }),
    };
    Made::plain(Aimd::new(config).unwrap_or(Aimd::DEFAULT))
}

fn tchannel(recovery: Recovery) -> Made {
    let most = NonZeroU32::MIN.saturating_add(2);
    let config = TchannelConfig { most, recovery, over: Over::Wait };
    let law = Tchannel::new(config).unwrap_or(Tchannel::DEFAULT);
    Made::published(law)
}

fn aimd_concurrency() -> Made {
    let two = NonZeroU16::MIN.saturating_add(1);
    let config = AimdConcurrencyConfig { start: two, most: two, keep: Ratio::HALF };
    Made::plain(AimdConcurrency::new(config).unwrap_or(AimdConcurrency::DEFAULT))
}

fn gem(strategy: Strategy) -> Made {
    let nanos = Span::from_nanos;
    let divisor = NonZeroU32::MIN.saturating_add(3);
    let jitter = Ratio::HALF;
    let gem = HerokuConfig::gem(strategy);
    heroku(HerokuConfig { start: nanos(2), add: nanos(3), divisor, jitter, ..gem })
}

fn autosleeper(spread: Ratio) -> Made {
    let nanos = Span::from_nanos;
    let config = AutosleeperConfig {
        initial: nanos(2),
        most: nanos(9),
        up: ratio(2, 1),
        down: Ratio::HALF,
        threshold: 1,
        spread,
        most_spread: nanos(3),
    };
    let law = Autosleeper::new(config).unwrap_or(Autosleeper::DEFAULT);
    Made::published(law)
}

pub fn all() -> Vec<Small> {
    use Move::{Pass, Poll, SettleFirst};
    let mut all = vec![
        fixed("fixed, 2 per 7 ns, burst 1", (2, 7, 1), [2, 9]),
        fixed("fixed, 2 per 7 ns, burst 3", (2, 7, 3), [2, 9]),
        fixed("fixed, 7 per 2 ns", (7, 2, 2), [1, 5]),
        fixed("fixed, with a concurrency limit and a retry budget", (2, 7, 2), [2, 9])
            .concurrency(2)
            .retry_budget(1, 2, 1),
        small("a concurrency limit of one", plain(Fixed::UNLIMITED), [2, 25], 6).concurrency(1),
        small(
            "a concurrency limit of two, and a retry budget",
            plain(Fixed::UNLIMITED),
            [2, 25],
            6,
        )
        .concurrency(2)
        .retry_budget(2, 3, 1),
        small("aimd", aimd(false), [125 * MS, 600 * MS], 6),
        small(
            "aimd, with cooldowns, a concurrency limit and a retry budget",
            aimd(true),
            [125 * MS, 600 * MS],
            6,
        )
        .concurrency(2)
        .retry_budget(1, 2, 1),
        small("tchannel, by rate", tchannel(Recovery::Rate(1)), [500 * MS, 3_000 * MS], 6),
        small("tchannel, by value", tchannel(Recovery::Value(1)), [500 * MS, 3_000 * MS], 6),
        small("aimd-concurrency", aimd_concurrency(), [2, 25], 6).concurrency(2),
        small("vegas, after its first round", plain(Vegas), [2 * MS, 9 * MS], 6)
            .after(&[(33, SERVED), (1, &[Poll, SettleFirst(2)])]),
        small("autosleeper", autosleeper(Ratio::HALF), [3, 20], 6),
        small("autosleeper, without jitter", autosleeper(Ratio::ZERO), [3, 20], 6),
        adaptive("adaptive"),
        small(
            "adaptive, with a quota",
            Made::quoted(quota(2, 100 * MS, 2), Adaptive::with_quota),
            [40 * MS, 900 * MS],
            6,
        )
        .with(|terms| terms.longest = None),
        adaptive("adaptive, blind").after(&[(1, SERVED), (1, &[Poll, Pass(0), SettleFirst(1)])]),
        adaptive("adaptive, with a period hint").after(&[(1, &[Poll, Pass(0), SettleFirst(7)])]),
        adaptive("adaptive, with a bucket hint")
            .after(&[(3, SERVED), (1, &[Poll, Pass(0), SettleFirst(8)])]),
        Small { depth: 5, ..adaptive("adaptive, with a concurrency limit and a retry budget") }
            .concurrency(2)
            .retry_budget(1, 2, 1)
            .after(&[(1, SERVED)]),
    ];
    for (name, strategy) in [
        ("heroku, exponential", Strategy::Exponential),
        ("heroku, gradual", Strategy::Gradual(Span::from_nanos(2))),
        ("heroku, proportional", Strategy::Proportional),
        ("heroku, remaining", Strategy::Remaining),
    ] {
        all.push(small(name, gem(strategy), [3, 20], 6));
    }
    let demo = heroku(HerokuConfig::DEMO);
    all.push(small("heroku, demonstration", demo, [900 * MS, 4_000 * MS], 6));
    all
}
