//! A policy made of bytes, with what the promises need to know of it.

use core::num::{NonZeroU16, NonZeroU32};

use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::gate::{BudgetPolicy, HoldPolicy, WindowPolicy};
use tidegate::law::{
    Adaptive, Aimd, AimdConfig, AnyLaw, Busy, BusyConfig, BusyVariant, Crowd, CrowdConfig, Cubic,
    Fixed, Over, Pause, Proportional, ProportionalConfig, Recovery, Responsive, ResponsiveConfig,
    ResponsiveVariant, Strategy, Vegas,
};
use tidegate::{Policy, Quota, Ratio, Span};

use crate::input::Input;

const DEFAULT_HOLD: (HoldPolicy, Ratio) = (HoldPolicy::DEFAULT, EIGHTH);
const EIGHTH: Ratio = match Ratio::new(1, 8) {
    Some(eighth) => eighth,
    None => Ratio::ZERO,
};

/// A policy, and what it is made of.
#[derive(Clone, Copy, Debug)]
pub struct Terms<const LIMITS: usize> {
    pub policy: Policy<AnyLaw, LIMITS>,
    pub laws: [AnyLaw; LIMITS],
    /// The quota of a limit whose law keeps one as it stands.
    pub quotas: [Option<Quota>; LIMITS],
    /// Whether a law cuts for every refusal, as its source does and its documentation says.
    pub cuts_for_each_refusal: bool,
    pub hold: HoldPolicy,
    pub spread: Ratio,
    pub window: WindowPolicy,
    /// What a success pays in, what a retry costs, and for how many there is at the start.
    pub budget: Option<(u64, u64, u64)>,
    /// The longest delay of a backoff.
    pub backoff: Option<Span>,
    pub attempts: Option<NonZeroU16>,
    /// No wait is longer, where that is known.
    pub longest: Option<Span>,
}

impl<const LIMITS: usize> Terms<LIMITS> {
    pub fn of(input: &mut Input<'_>) -> Self {
        let laws = [(); LIMITS].map(|()| law(input));
        let which = input.u8();
        let given = |bit: u8| which & 1 << bit != 0;
        let (hold, spread) = if given(0) { hold(input) } else { DEFAULT_HOLD };
        let window = if given(1) { window(input) } else { WindowPolicy::DEFAULT };
        let budget = given(2).then(|| budget(input));
        let most = if given(3) { None } else { Some(backoff(input)) };
        let attempts = if given(4) { NonZeroU16::new(input.u8().into()) } else { None };
        let elapsed = given(5).then(|| input.span());
        let policy = Policy::of(laws.map(|(law, _, _)| law)).hold(hold).window(window);
        let policy = policy.budget(budget.map(|(budget, _)| budget));
        let policy = policy.attempts(attempts).elapsed(elapsed);
        Self {
            policy: policy.backoff(most.map(|(backoff, _)| backoff)),
            laws: laws.map(|(law, _, _)| law),
            quotas: laws.map(|(_, quota, _)| quota),
            cuts_for_each_refusal: laws.iter().any(|(_, _, cuts)| *cuts),
            hold,
            spread,
            window,
            budget: budget.map(|(_, told)| told),
            backoff: most.map(|(_, most)| most),
            attempts,
            longest: None,
        }
    }
}

/// A law, the quota that it keeps, and whether it cuts for each refusal.
fn law(input: &mut Input<'_>) -> (AnyLaw, Option<Quota>, bool) {
    let plain = |law: AnyLaw| (law, None, false);
    match input.u8() % 20 {
        0 => plain(Adaptive::DEFAULT.into()),
        1 => plain(Fixed::UNLIMITED.into()),
        2 => plain(Aimd::DEFAULT.into()),
        3 => plain(Crowd::DEFAULT.into()),
        4 => plain(Vegas.into()),
        5 => plain(Responsive::DEFAULT.into()),
        6 => plain(Busy::DEFAULT.into()),
        7 => (Cubic.into(), None, true),
        kind @ 8..=11 => {
            let strategy = match kind {
                8 => Strategy::Exponential,
                9 => Strategy::Proportional,
                10 => Strategy::Remaining,
                _ => Strategy::Gradual(Span::from_millis(800)),
            };
            proportional(ProportionalConfig::gem(strategy))
        }
        12 => proportional(ProportionalConfig::DEMO),
        13 => proportional_of(input),
        14 => plain(Adaptive::with_quota(quota(input)).into()),
        15 => plain(aimd(input).into()),
        16 => plain(crowd(input).into()),
        17 => busy(input),
        18 => responsive(input),
        _ => {
            let quota = quota(input);
            (Fixed::new(quota).into(), Some(quota), false)
        }
    }
}

/// Any quota; ten a second where the bytes make none.
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

fn proportional(config: ProportionalConfig) -> (AnyLaw, Option<Quota>, bool) {
    let law = Proportional::new(config).unwrap_or(Proportional::DEFAULT);
    (law.into(), None, true)
}

fn proportional_of(input: &mut Input<'_>) -> (AnyLaw, Option<Quota>, bool) {
    let strategies = [Strategy::Exponential, Strategy::Proportional, Strategy::Remaining];
    let strategy = match input.u8() {
        which @ 0..128 => strategies[usize::from(which) % strategies.len()],
        _ => Strategy::Gradual(input.span()),
    };
    let flags = input.u8();
    proportional(ProportionalConfig {
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

fn aimd(input: &mut Input<'_>) -> Aimd {
    let pauses = input.u8() & 1 != 0;
    let config = AimdConfig {
        start: quota(input),
        floor: quota(input),
        ceiling: quota(input),
        step: quota(input),
        every: input.u16(),
        keep: ratio(input),
        pause: pauses.then(|| Pause {
            base: input.span(),
            most: input.span(),
            discount: input.u16(),
        }),
    };
    // Bytes seldom put the start between the floor and the ceiling.
    let within = AimdConfig { floor: config.start, ceiling: config.start, ..config };
    Aimd::new(config).or_else(|_| Aimd::new(within)).unwrap_or(Aimd::DEFAULT)
}

fn crowd(input: &mut Input<'_>) -> Crowd {
    let one = NonZeroU16::MIN;
    let config = CrowdConfig {
        start: NonZeroU16::new(input.u8().into()).unwrap_or(one),
        most: NonZeroU16::new(input.u16()).unwrap_or(one),
        keep: ratio(input),
    };
    Crowd::new(config).unwrap_or(Crowd::DEFAULT)
}

fn busy(input: &mut Input<'_>) -> (AnyLaw, Option<Quota>, bool) {
    let flags = input.u8();
    let faithful = flags & 1 != 0;
    let recovery = input.small();
    let config = BusyConfig {
        most: NonZeroU32::new(input.small()).unwrap_or(NonZeroU32::MIN),
        recovery: if flags & 2 != 0 { Recovery::Rate(recovery) } else { Recovery::Value(recovery) },
        over: if flags & 4 != 0 { Over::Refuse } else { Over::Wait },
        variant: if faithful { BusyVariant::Faithful } else { BusyVariant::Promised },
    };
    match Busy::new(config) {
        Ok(law) => (law.into(), None, faithful),
        Err(_) => (Busy::DEFAULT.into(), None, false),
    }
}

fn responsive(input: &mut Input<'_>) -> (AnyLaw, Option<Quota>, bool) {
    let faithful = input.u8() & 1 != 0;
    let variant = if faithful { ResponsiveVariant::Faithful } else { ResponsiveVariant::Mended };
    let config = ResponsiveConfig {
        initial: input.span(),
        most: input.span(),
        up: ratio(input),
        down: ratio(input),
        threshold: input.u8().into(),
        spread: ratio(input),
        most_spread: input.span(),
        variant,
    };
    match Responsive::new(config) {
        Ok(law) => (law.into(), None, faithful),
        Err(_) => {
            let law = Responsive::new(ResponsiveConfig { variant, ..ResponsiveConfig::DEFAULT });
            (law.unwrap_or(Responsive::DEFAULT).into(), None, faithful)
        }
    }
}

/// Any hold, and how far chance moves it.
fn hold(input: &mut Input<'_>) -> (HoldPolicy, Ratio) {
    let (ceiling, spread) = (input.span(), ratio(input));
    HoldPolicy::new(ceiling, spread).map_or(DEFAULT_HOLD, |hold| (hold, spread))
}

/// Any window; the default where the bytes make none.
pub fn window(input: &mut Input<'_>) -> WindowPolicy {
    WindowPolicy::new(input.u8().into(), input.span()).unwrap_or(WindowPolicy::DEFAULT)
}

/// Any budget, and its numbers; a retry for each success where the bytes make none.
fn budget(input: &mut Input<'_>) -> (BudgetPolicy, (u64, u64, u64)) {
    let (numerator, denominator) = match (input.u8(), input.u8()) {
        (_, 0) => (1, 2),
        told => told,
    };
    let reserve = input.u8();
    let made = Ratio::new(numerator.into(), denominator.into());
    match made.map(|ratio| BudgetPolicy::new(ratio, reserve.into())) {
        Some(Ok(budget)) => (budget, (numerator.into(), denominator.into(), reserve.into())),
        _ => match BudgetPolicy::new(Ratio::ONE, 1) {
            Ok(budget) => (budget, (1, 1, 1)),
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
    let most = base.saturating_add(more);
    Backoff::new(growth, jitter, base, most).map_or(DEFAULT, |backoff| (backoff, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_law_is_among_those_that_bytes_make() {
        let bare = |policy: Policy| policy.backoff(None).hold(HoldPolicy::DEFAULT);
        let laws: Vec<AnyLaw> = (0..20).map(|kind| law(&mut Input::new(&[kind])).0).collect();
        for name in Policy::NAMES.iter().filter(|name| **name != "fixed") {
            let named = bare(Policy::named(name).unwrap());
            assert!(laws.iter().any(|law| bare(Policy::new(*law)) == named), "{name}");
        }
        let ten = [19, 10, 3 + 8, 1];
        let fixed = law(&mut Input::new(&ten)).0;
        assert_eq!(bare(Policy::new(fixed)), bare(Policy::named("fixed").unwrap()));
    }
}
