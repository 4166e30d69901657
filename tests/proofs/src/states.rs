//! Steps of the gates: a state, an event, and the next state.

use crate::gate::{Cooldown, CooldownPolicy, Entry, Pacing, RetryBudgetPolicy, account};
use crate::numbers::Kind::{self, At};
use crate::numbers::{Numbers, hinted_field};
use crate::{Reason, Verdict};

const PACING: &[Kind] = &[At, At];
const HOLD: &[Kind] = &[At];

/// The result of the step. `None` if it is not one of these.
pub fn take(step: &str, of: &mut Numbers) -> Option<Vec<u64>> {
    match step {
        "pacing_check" | "pacing_take" | "pacing_correct" | "pacing_follow" | "pacing_delay" => {
            pacing(step, of)
        }
        "retry_budget" => retry_budget(of),
        "cooldown" => cooldown(of),
        _ => None,
    }
}

fn verdict(verdict: Verdict) -> [u64; 2] {
    match verdict {
        Verdict::Admit => [0, 0],
        Verdict::Wait(until) => [1, until.as_nanos()],
        Verdict::Full => [2, 0],
        Verdict::Reject(Reason::OverLimit) => [4, 0],
        Verdict::Reject(Reason::TooBig) => [6, 0],
        Verdict::Reject(_) => [7, 0],
    }
}

fn pacing(step: &str, of: &mut Numbers) -> Option<Vec<u64>> {
    let mut pacing: Pacing = of.field(PACING)?;
    let mut answer = Vec::new();
    match step {
        "pacing_check" => {
            let (now, cost) = (of.instant(), of.u32());
            answer.extend(verdict(pacing.check(now, cost, Some(of.quota()?))));
        }
        "pacing_take" => {
            let (now, cost) = (of.instant(), of.u32());
            answer.extend(verdict(pacing.take(now, cost, &of.quota()?)));
        }
        "pacing_correct" => {
            let (now, charged, used) = (of.instant(), of.u32(), of.u32());
            pacing.correct(now, charged, used, Some(of.quota()?));
        }
        "pacing_follow" => {
            let now = of.instant();
            pacing.follow(now, Some(of.quota()?), Some(of.quota()?));
        }
        _ => pacing.delay(of.instant(), of.span()),
    }
    answer.extend(hinted_field(&pacing, PACING));
    Some(answer)
}

/// Whether a retry may be sent, and the budget after a success and after a retry.
fn retry_budget(of: &mut Numbers) -> Option<Vec<u64>> {
    let policy = RetryBudgetPolicy::new(of.ratio(), of.u32()).ok()?;
    let saved = of.u64();
    let after = |entry| {
        let mut saved = saved;
        account(&mut saved, &policy, entry);
        saved
    };
    let enough = account(&mut saved.clone(), &policy, Entry::Check).into();
    Some(vec![enough, after(Entry::Open), after(Entry::Deposit), after(Entry::Withdrawal)])
}

fn cooldown(of: &mut Numbers) -> Option<Vec<u64>> {
    let policy = CooldownPolicy::new(of.span(), of.ratio()).ok()?;
    let mut cooldown: Cooldown = of.field(HOLD)?;
    let mut rng = of.rng()?;
    let word = rng.clone().next_u32();
    cooldown.raise(of.instant(), of.span(), policy, &mut rng);
    let mut answer = vec![word.into()];
    answer.extend(hinted_field(&cooldown, HOLD));
    Some(answer)
}
