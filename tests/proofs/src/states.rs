//! Steps of the gates: a state, an event, and the state after it.

use crate::gate::{Budget, BudgetPolicy, Hold, HoldPolicy, Pace};
use crate::numbers::Kind::{self, At, Eight};
use crate::numbers::{Numbers, told_field};
use crate::{Reason, Verdict};

const PACE: &[Kind] = &[Eight, At, At];
const BUDGET: &[Kind] = &[Eight];
const HOLD: &[Kind] = &[At];

/// What the step answers; `None` where it is none of these.
pub fn take(step: &str, of: &mut Numbers) -> Option<Vec<u64>> {
    match step {
        "pace_check" | "pace_take" | "pace_correct" | "pace_delay" | "pace_resize"
        | "pace_room" => pace(step, of),
        "budget" => budget(of),
        "hold" => hold(of),
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
