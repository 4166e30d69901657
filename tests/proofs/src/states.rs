//! Steps of the gates and of the laws: a state, an event, and the state after it.

use std::num::NonZeroU32;

use crate::gate::{Budget, BudgetPolicy, Hold, HoldPolicy, Pace};
use crate::law::{
    Aimd, AimdConfig, Busy, BusyConfig, BusyVariant, Crowd, CrowdConfig, Cubic, Law, Over, Pause,
    Proportional, ProportionalConfig, Recovery, Responsive, ResponsiveConfig, ResponsiveVariant,
    Strategy, Vegas,
};
use crate::numbers::Kind::{self, At, Byte, Eight, Four, Two};
use crate::numbers::{Numbers, told, told_field};
use crate::rate::LawBurst;
use crate::{Hint, Instant, Quota, Reason, Verdict};

const PACE: &[Kind] = &[Eight, At, At];
const BUDGET: &[Kind] = &[Eight];
const HOLD: &[Kind] = &[At];
const AIMD: &[Kind] = &[Eight, Two, Byte, Two];
const BUSY: &[Kind] = &[At, Eight, Four, Four, Byte, Byte];
const CROWD: &[Kind] = &[Two, Two];
const CUBIC: &[Kind] = &[Eight, Byte, Eight, At, Eight, At, Eight];
const PROPORTIONAL: &[Kind] = &[Eight, Two, At, At];
const RESPONSIVE: &[Kind] = &[Eight, Two, At];
const VEGAS: &[Kind] = &[Two, Byte, Byte];

/// What the step answers; `None` where it is none of these.
pub fn take(step: &str, of: &mut Numbers) -> Option<Vec<u64>> {
    match step {
        "pace_check" | "pace_take" | "pace_correct" | "pace_delay" | "pace_resize"
        | "pace_room" => pace(step, of),
        "budget" => budget(of),
        "hold" => hold(of),
        "aimd" => aimd(of),
        "busy" => busy(of),
        "crowd" => crowd(of),
        "cubic" => cubic(of),
        "proportional" => proportional(of),
        "responsive" => responsive(of),
        "vegas" => vegas(of),
        _ => None,
    }
}

fn verdict(verdict: Verdict) -> [u64; 2] {
    match verdict {
        Verdict::Go => [0, 0],
        Verdict::Wait(until) => [1, until.as_nanos()],
        Verdict::Full => [2, 0],
        Verdict::Refuse(Reason::OverLimit) => [4, 0],
        Verdict::Refuse(Reason::TooBig) => [6, 0],
        Verdict::Refuse(_) => [7, 0],
    }
}

fn pace(step: &str, of: &mut Numbers) -> Option<Vec<u64>> {
    let mut pace: Pace = of.field(PACE)?;
    let mut answer = Vec::new();
    match step {
        "pace_check" => {
            let (now, cost) = (of.instant(), of.u32());
            answer.extend(verdict(pace.check(now, cost, Some(of.quota()?))));
        }
        "pace_take" => {
            let (now, cost) = (of.instant(), of.u32());
            answer.extend(verdict(pace.take(now, cost, &of.quota()?)));
        }
        "pace_correct" => {
            let (now, charged, used) = (of.instant(), of.u32(), of.u32());
            pace.correct(now, charged, used, Some(of.quota()?));
        }
        "pace_delay" => pace.delay(of.instant(), of.span()),
        "pace_resize" => pace.resize(of.quota()?, of.quota()?),
        _ => pace.leave_room(of.u64(), of.quota()?),
    }
    answer.extend(told_field(&pace, PACE));
    Some(answer)
}

/// Whether a retry may leave, and what is saved after a success, and after a retry.
fn budget(of: &mut Numbers) -> Option<Vec<u64>> {
    let policy = BudgetPolicy::new(of.ratio(), of.u32()).ok()?;
    let saved: Budget = of.field(BUDGET)?;
    let (mut more, mut less) = (saved.clone(), saved.clone());
    more.deposit(policy);
    less.withdraw(policy);
    let mut answer = vec![u64::from(saved.check(policy) == Verdict::Go)];
    answer.extend(told_field(&Budget::new(policy), BUDGET));
    answer.extend(told_field(&more, BUDGET));
    answer.extend(told_field(&less, BUDGET));
    Some(answer)
}

fn hold(of: &mut Numbers) -> Option<Vec<u64>> {
    let policy = HoldPolicy::new(of.span(), of.ratio()).ok()?;
    let mut hold: Hold = of.field(HOLD)?;
    let mut rng = of.rng()?;
    let word = rng.clone().next_u32();
    hold.raise(of.instant(), of.span(), policy, &mut rng);
    let mut answer = vec![word.into()];
    answer.extend(told_field(&hold, HOLD));
    Some(answer)
}

/// The quota of so many calls a second, with 20 bits of fraction.
fn rate(of: &mut Numbers) -> Quota {
    Quota::of_law_rate(of.u64(), LawBurst::ONE)
}

fn aimd(of: &mut Numbers) -> Option<Vec<u64>> {
    let [start, floor, ceiling, step] = [rate(of), rate(of), rate(of), rate(of)];
    let (every, keep, pauses) = (of.u16(), of.ratio(), of.flag());
    let pause = Pause { base: of.span(), most: of.span(), discount: of.u16() };
    let pause = pauses.then_some(pause);
    let config = AimdConfig { start, floor, ceiling, step, every, keep, pause };
    let law = Aimd::new(config).ok()?;
    let mut state = of.state(&law, AIMD)?;
    let mut rng = of.rng()?;
    let word = rng.clone().next_u32();
    let mut pace = Pace::new(Instant::from_nanos(2));
    law.observe(&mut state, &mut pace, &of.sample(&Hint::NONE), &mut rng);
    let mut answer = vec![word.into()];
    answer.extend(told(&law, &state, AIMD));
    answer.push(told_field(&pace, PACE)[2]);
    Some(answer)
}

/// What it says before the event, and what it has come to after it: an answer, or a call that leaves.
fn busy(of: &mut Numbers) -> Option<Vec<u64>> {
    let most = NonZeroU32::new(of.u32())?;
    let recovery = if of.flag() { Recovery::Rate(of.u32()) } else { Recovery::Value(of.u32()) };
    let variant = if of.flag() { BusyVariant::Faithful } else { BusyVariant::Promised };
    let law = Busy::new(BusyConfig { most, recovery, over: Over::Wait, variant }).ok()?;
    let mut state = of.state(&law, BUSY)?;
    let (leaves, mut rng) = (of.flag(), crate::Rng::new(1));
    let sample = of.sample(&Hint::NONE);
    let mut answer: Vec<u64> = verdict(law.check(&state, sample.now, 0)).into();
    let mut pace = Pace::new(sample.now);
    match leaves {
        true => law.released(&mut state, &mut pace, sample.now, 1, &mut rng),
        false => _ = law.observe(&mut state, &mut pace, &sample, &mut rng),
    }
    answer.extend(told(&law, &state, BUSY));
    Some(answer)
}

fn crowd(of: &mut Numbers) -> Option<Vec<u64>> {
    let law = Crowd::new(CrowdConfig { start: of.some16(), most: of.some16(), keep: of.ratio() });
    let law = law.ok()?;
    let mut state = of.state(&law, CROWD)?;
    let (mut pace, mut rng) = (Pace::new(Instant::ZERO), crate::Rng::new(1));
    law.observe(&mut state, &mut pace, &of.sample(&Hint::NONE), &mut rng);
    Some(told(&law, &state, CROWD))
}

/// Each answer in turn: the law counts answers by half seconds, which no record holds.
fn cubic(of: &mut Numbers) -> Option<Vec<u64>> {
    let mut state = of.state(&Cubic, CUBIC)?;
    let (mut pace, mut rng) = (Pace::new(Instant::ZERO), crate::Rng::new(1));
    let mut answer = Vec::new();
    while !of.is_empty() {
        Cubic.observe(&mut state, &mut pace, &of.sample(&Hint::NONE), &mut rng);
        answer.extend(told(&Cubic, &state, CUBIC));
        answer.push(told_field(&pace, PACE)[0]);
    }
    Some(answer)
}

fn proportional(of: &mut Numbers) -> Option<Vec<u64>> {
    let (strategy, less) = (of.u8(), of.span());
    let config = ProportionalConfig {
        strategy: match strategy {
            0 => Strategy::Exponential,
            1 => Strategy::Gradual(less),
            2 => Strategy::Proportional,
            _ => Strategy::Remaining,
        },
        start: of.span(),
        add: of.span(),
        times: of.ratio(),
        floor: of.span(),
        divisor: of.some32(),
        jitter: of.ratio(),
        spare_first: of.flag(),
        once_per_event: of.flag(),
        calm: Some(of.span()).filter(|calm| calm.as_nanos() > 0),
    };
    let law = Proportional::new(config).ok()?;
    let mut state = of.state(&law, PROPORTIONAL)?;
    let mut rng = of.rng()?;
    let word = rng.clone().next_u32();
    let (told_left, left) = (of.flag(), of.u64());
    let hint = if told_left { Hint::remaining(left) } else { Hint::NONE };
    let mut pace = Pace::new(Instant::from_nanos(2));
    law.observe(&mut state, &mut pace, &of.sample(&hint), &mut rng);
    let mut answer = vec![word.into()];
    answer.extend(told(&law, &state, PROPORTIONAL));
    answer.push(told_field(&pace, PACE)[2]);
    Some(answer)
}

fn responsive(of: &mut Numbers) -> Option<Vec<u64>> {
    let config = ResponsiveConfig {
        initial: of.span(),
        most: of.span(),
        up: of.ratio(),
        down: of.ratio(),
        threshold: of.u16(),
        spread: of.ratio(),
        most_spread: of.span(),
        variant: if of.flag() { ResponsiveVariant::Faithful } else { ResponsiveVariant::Mended },
    };
    let law = Responsive::new(config).ok()?;
    let mut state = of.state(&law, RESPONSIVE)?;
    let mut rng = of.rng()?;
    let word = rng.clone().next_u32();
    let leaves = of.flag();
    let sample = of.sample(&Hint::NONE);
    let mut pace = Pace::new(Instant::from_nanos(2));
    match leaves {
        true => law.released(&mut state, &mut pace, sample.now, 1, &mut rng),
        false => _ = law.observe(&mut state, &mut pace, &sample, &mut rng),
    }
    let mut answer = vec![word.into()];
    answer.extend(told(&law, &state, RESPONSIVE));
    answer.push(told_field(&pace, PACE)[2]);
    Some(answer)
}

/// Calls one after the other, each of which took so long and was paced or not, and was refused or not.
fn vegas(of: &mut Numbers) -> Option<Vec<u64>> {
    let mut now = of.instant();
    let mut state = Vegas.start(now);
    let (mut pace, mut rng) = (Pace::new(now), crate::Rng::new(1));
    let mut answer = Vec::new();
    while !of.is_empty() {
        let (calls, gap, first, more) = (of.u16(), of.span(), of.u64(), of.u64());
        let (outcome, paced) = (of.outcome(), of.flag());
        for call in 0..u64::from(calls) {
            now = now.saturating_add(gap);
            let took = first.wrapping_add(more.wrapping_mul(call % 7));
            let sent = Instant::from_nanos(now.as_nanos().saturating_sub(took));
            let mut sample = crate::law::Sample::new(now, sent, outcome);
            sample.paced = paced;
            Vegas.observe(&mut state, &mut pace, &sample, &mut rng);
        }
        answer.extend(told(&Vegas, &state, VEGAS));
    }
    Some(answer)
}
