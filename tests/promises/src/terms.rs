//! A policy from bytes, with the data that the promises need.

use core::num::{NonZeroU16, NonZeroU32};

use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::gate::{CooldownPolicy, RetryBudgetPolicy};
use tidegate::law::{
    Adaptive, Aimd, AimdConcurrency, AimdConcurrencyConfig, AimdConfig, AimdCooldown, AnyLaw,
    Fixed, Vegas,
    published::{
        Autosleeper, AutosleeperConfig, Heroku, HerokuConfig, Over, Recovery, Strategy, Tchannel,
        TchannelConfig,
    },
};
use tidegate::{Policy, Quota, Ratio, Span};

use crate::input::Input;

const DEFAULT_COOLDOWN: (CooldownPolicy, Ratio) = (CooldownPolicy::DEFAULT, EIGHTH);
const EIGHTH: Ratio = match Ratio::new(1, 8) {
    Some(eighth) => eighth,
    None => Ratio::ZERO,
};

#[derive(Clone, Copy, Debug)]
pub struct Terms<const LIMITS: usize> {
    pub policy: Policy<AnyLaw, LIMITS>,
    pub laws: [AnyLaw; LIMITS],
    /// The quota of each limit that has a configured one.
    pub quotas: [Option<Quota>; LIMITS],
    pub bounds: [Bounds; LIMITS],
    /// Whether a law cuts for every rejection, as documented for its source.
    pub cuts_for_each_throttled: bool,
    pub cooldown: CooldownPolicy,
    pub spread: Ratio,
    pub concurrency: NonZeroU16,
    /// What a success adds, what a retry costs, and the initial number of retries.
    pub retry_budget: Option<(u64, u64, u64)>,
    pub backoff: Option<Span>,
    pub attempts: Option<NonZeroU16>,
    /// The longest possible wait, if known.
    pub longest: Option<Span>,
}

impl<const LIMITS: usize> Terms<LIMITS> {
    pub fn of(input: &mut Input<'_>) -> Self {
        let laws = [(); LIMITS].map(|()| law(input));
        let which = input.u8();
        let given = |bit: u8| which & 1 << bit != 0;
        let (cooldown, spread) = if given(0) { cooldown(input) } else { DEFAULT_COOLDOWN };
        let concurrency = if given(1) { concurrency(input) } else { few() };
        let retry_budget = given(2).then(|| retry_budget(input));
        let most = if given(3) { None } else { Some(backoff(input)) };
        let attempts = if given(4) { NonZeroU16::new(input.u8().into()) } else { None };
        let elapsed = given(5).then(|| input.span());
        let policy = Policy::of(laws.each_ref().map(|made| made.law))
            .cooldown(cooldown)
            .concurrency(concurrency);
        let policy = policy.retry_budget(retry_budget.map(|(retry_budget, _)| retry_budget));
        let policy = policy.attempts(attempts).elapsed(elapsed);
        Self {
            policy: policy.backoff(most.map(|(backoff, _)| backoff)),
            laws: laws.each_ref().map(|made| made.law),
            quotas: laws.each_ref().map(|made| made.quota),
            bounds: laws.each_ref().map(|made| made.bounds),
            cuts_for_each_throttled: laws.iter().any(|made| made.cuts_for_each_throttled),
            cooldown,
            spread,
            concurrency,
            retry_budget: retry_budget.map(|(_, told)| told),
            backoff: most.map(|(_, most)| most),
            attempts,
            longest: None,
        }
    }
}

/// What a law's configuration allows at most and at least.
#[derive(Clone, Copy, Debug)]
pub enum Bounds {
    None,
    /// The lowest and the highest rate.
    Rate(Quota, Quota),
    Calls(NonZeroU16),
}

/// A law with the data that the promises need.
pub struct Made {
    pub law: AnyLaw,
    pub quota: Option<Quota>,
    pub bounds: Bounds,
    pub cuts_for_each_throttled: bool,
}

impl Made {
    pub fn plain(law: impl Into<AnyLaw>) -> Self {
        Self { law: law.into(), quota: None, bounds: Bounds::None, cuts_for_each_throttled: false }
    }

    pub fn quoted<L: Into<AnyLaw>>(quota: Quota, law: impl Fn(Quota) -> L) -> Self {
        Self { quota: Some(quota), ..Self::plain(law(quota)) }
    }

    /// A law that cuts for every rejection.
    pub fn published(law: impl Into<AnyLaw>) -> Self {
        Self { cuts_for_each_throttled: true, ..Self::plain(law) }
    }
}

fn law(input: &mut Input<'_>) -> Made {
    let kind = input.u8();
    // The last few values select a law by name, including laws without settings below.
    if let Some(name) = kind.checked_sub(240).and_then(|nth| Policy::NAMES.get(usize::from(nth))) {
        let [law] = Policy::named(name).unwrap_or_else(|| unreachable!("it is a name")).laws();
        return match law {
            AnyLaw::Autosleeper(_) | AnyLaw::Heroku(_) | AnyLaw::Tchannel(_) => {
                Made::published(law)
            }
            _ => Made::plain(law),
        };
    }
    match kind % 20 {
        0 => Made::plain(Adaptive::DEFAULT),
        1 => Made::plain(Fixed::UNLIMITED),
        2 => Made::plain(Aimd::DEFAULT),
        3 => Made::plain(AimdConcurrency::DEFAULT),
        4 => Made::plain(Vegas),
        5 => Made::published(Autosleeper::DEFAULT),
        6 => Made::published(Tchannel::DEFAULT),
        kind @ 8..=11 => {
            let strategy = match kind {
                8 => Strategy::Exponential,
                9 => Strategy::Proportional,
                10 => Strategy::Remaining,
                _ => Strategy::Gradual(Span::from_millis(800)),
            };
            heroku(HerokuConfig::gem(strategy))
        }
        12 => heroku(HerokuConfig::DEMO),
        13 => heroku_of(input),
        14 => Made::quoted(quota(input), Adaptive::with_quota),
        15 => aimd(input),
        16 => aimd_concurrency(input),
        17 => tchannel(input),
        18 => autosleeper(input),
        _ => Made::quoted(quota(input), Fixed::new),
    }
}

/// Any quota. Ten a second if the bytes are not a valid one.
fn quota(input: &mut Input<'_>) -> Quota {
    let (count, period, burst) = (input.count(), input.span(), input.small());
    let quota = Quota::per(count, period).and_then(|quota| quota.with_burst(burst));
    quota
        .or_else(|_| Quota::per(count.max(1), period.max(Span::from_nanos(1))))
        .unwrap_or_else(|_| unreachable!("neither its count nor its period is zero"))
}

fn ratio(input: &mut Input<'_>) -> Ratio {
    Ratio::new(input.u8().into(), input.u8().into()).unwrap_or(Ratio::HALF)
}

pub fn heroku(config: HerokuConfig) -> Made {
    Made::published(Heroku::new(config).unwrap_or(Heroku::DEFAULT))
}

fn heroku_of(input: &mut Input<'_>) -> Made {
    let strategies = [Strategy::Exponential, Strategy::Proportional, Strategy::Remaining];
    let strategy = match input.u8() {
        which @ 0..128 => strategies[usize::from(which) % strategies.len()],
        _ => Strategy::Gradual(input.span()),
    };
    let flags = input.u8();
    heroku(HerokuConfig {
        strategy,
        start: input.span(),
        add: input.span(),
        times: ratio(input),
        floor: input.span(),
        divisor: NonZeroU32::new(input.small()).unwrap_or(NonZeroU32::MIN),
        jitter: ratio(input),
        spare_first: flags & 1 != 0,
        once_per_event: flags & 2 != 0,
        calm: (flags & 4 != 0).then(|| input.span()),
    })
}

fn aimd(input: &mut Input<'_>) -> Made {
    let cooldowns = input.u8() & 1 != 0;
    let config = AimdConfig {
        start: quota(input),
        floor: quota(input),
        ceiling: quota(input),
        step: quota(input),
        every: input.u16(),
        keep: ratio(input),
        cooldown: cooldowns.then(|| AimdCooldown {
            base: input.span(),
            most: input.span(),
            discount: input.u16(),
        }),
    };
    // Random bytes rarely put the start between floor and ceiling.
    let within = AimdConfig { floor: config.start, ceiling: config.start, ..config };
    let made = [config, within].into_iter().find_map(|it| Some((Aimd::new(it).ok()?, it)));
    let (law, AimdConfig { floor, ceiling, .. }) =
        made.unwrap_or((Aimd::DEFAULT, AimdConfig::DEFAULT));
    Made { bounds: Bounds::Rate(floor, ceiling), ..Made::plain(law) }
}

fn aimd_concurrency(input: &mut Input<'_>) -> Made {
    let one = NonZeroU16::MIN;
    let config = AimdConcurrencyConfig {
        start: NonZeroU16::new(input.u8().into()).unwrap_or(one),
        most: NonZeroU16::new(input.u16()).unwrap_or(one),
        keep: ratio(input),
    };
    match AimdConcurrency::new(config) {
        Ok(law) => Made { bounds: Bounds::Calls(config.most), ..Made::plain(law) },
        Err(_) => Made::plain(AimdConcurrency::DEFAULT),
    }
}

fn tchannel(input: &mut Input<'_>) -> Made {
    let flags = input.u8();
    let recovery = input.small();
    let config = TchannelConfig {
        most: NonZeroU32::new(input.small()).unwrap_or(NonZeroU32::MIN),
        recovery: if flags & 2 != 0 { Recovery::Rate(recovery) } else { Recovery::Value(recovery) },
        over: if flags & 4 != 0 { Over::Reject } else { Over::Wait },
    };
    Made::published(Tchannel::new(config).unwrap_or(Tchannel::DEFAULT))
}

fn autosleeper(input: &mut Input<'_>) -> Made {
    let has_jitter = input.u8() & 1 != 0;
    let config = AutosleeperConfig {
        initial: input.span(),
        most: input.span(),
        up: ratio(input),
        down: ratio(input),
        threshold: input.u8().into(),
        spread: match (ratio(input), has_jitter) {
            (spread, true) => spread,
            _ => Ratio::ZERO,
        },
        most_spread: input.span(),
    };
    Made::published(Autosleeper::new(config).unwrap_or(Autosleeper::DEFAULT))
}

/// Any cooldown, and its jitter.
fn cooldown(input: &mut Input<'_>) -> (CooldownPolicy, Ratio) {
    let (ceiling, spread) = (input.span(), ratio(input));
    CooldownPolicy::new(ceiling, spread).map_or(DEFAULT_COOLDOWN, |cooldown| (cooldown, spread))
}

/// A concurrency limit that is soon full.
fn few() -> NonZeroU16 {
    NonZeroU16::MIN.saturating_add(2)
}

/// Any concurrency limit: none if the byte is zero.
pub fn concurrency(input: &mut Input<'_>) -> NonZeroU16 {
    NonZeroU16::new(input.u8().into()).unwrap_or(NonZeroU16::MAX)
}

/// Any retry budget and its numbers. One retry per success if the bytes are not a valid one.
fn retry_budget(input: &mut Input<'_>) -> (RetryBudgetPolicy, (u64, u64, u64)) {
    let (numerator, denominator) = match (input.u8(), input.u8()) {
        (_, 0) => (1, 2),
        told => told,
    };
    let reserve = input.u8();
    let made = Ratio::new(numerator.into(), denominator.into());
    match made.map(|ratio| RetryBudgetPolicy::new(ratio, reserve.into())) {
        Some(Ok(retry_budget)) => {
            (retry_budget, (numerator.into(), denominator.into(), reserve.into()))
        }
        _ => match RetryBudgetPolicy::new(Ratio::ONE, 1) {
            Ok(retry_budget) => (retry_budget, (1, 1, 1)),
            Err(error) => unreachable!("{error}"),
        },
    }
}

/// A backoff, and its longest delay.
fn backoff(input: &mut Input<'_>) -> (Backoff, Span) {
    const DEFAULT: (Backoff, Span) = (Backoff::DEFAULT, Span::from_secs(20));
    let kind = input.u8();
    if kind == 0 {
        return DEFAULT;
    }
    let growth = match kind & 3 {
        0 => Growth::Constant,
        1 => Growth::Linear,
        2 => Growth::Exponential(ratio(input)),
        _ => Growth::Decorrelated,
    };
    let jitter = match kind >> 2 & 3 {
        0 => Jitter::None,
        1 => Jitter::Full,
        2 => Jitter::Equal,
        _ => Jitter::Spread(ratio(input)),
    };
    let (base, more) = (input.span(), input.span());
    let most = base + more;
    Backoff::new(growth, jitter, base, most).map_or(DEFAULT, |backoff| (backoff, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_law_can_be_made_from_bytes() {
        let bare = |policy: Policy| policy.backoff(None).cooldown(CooldownPolicy::DEFAULT);
        let laws: Vec<AnyLaw> = (0..=255).map(|kind| law(&mut Input::new(&[kind])).law).collect();
        for name in Policy::NAMES {
            let named = bare(Policy::named(name).unwrap());
            assert!(laws.iter().any(|law| bare(Policy::new(*law)) == named), "{name}");
        }
    }
}
