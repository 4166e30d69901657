//! What must hold, whatever happens: of each state, and of each event.

use tidegate::{Ask, Instant, Outcome, Reason, Span, Verdict};

use crate::world::{Flight, Gate, SLOTS, World};

/// A promise, and what is said where it is broken.
pub fn that(holds: bool, or: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(or()) }
}

/// Of every state.
pub fn hold(world: &World<'_>) -> Result<(), String> {
    let World { policy, gate, now, .. } = world;
    let plain = Ask::new();
    that(usize::from(gate.in_flight()) <= SLOTS, || "more in flight than there are slots".into())?;
    let verdict = gate.check(*now, &plain);
    if gate.check(*now, &Ask::new().cost(2)) == Verdict::Go {
        that(verdict == Verdict::Go, || "two calls' worth may leave, and one may not".into())?;
    }
    // As its source has it, one law halves its limit where a second ends.
    if policy.halves_by_the_second {
        return Ok(());
    }
    match verdict {
        Verdict::Go => policy.spans.iter().try_for_each(|span| {
            let later = gate.check(now.saturating_add(*span), &plain);
            that(later == Verdict::Go, || format!("it may leave now, and {span:?} later {later:?}"))
        }),
        Verdict::Wait(_) | Verdict::Full => {
            let Some(next) = gate.next_at(*now) else {
                return Err(format!("{verdict:?}, and no instant at which it would be over"));
            };
            that(next > *now, || "the next instant is past".into())?;
            let then = gate.check(next, &plain);
            that(then == Verdict::Go, || format!("at the next instant, {next:?}: {then:?}"))?;
            let sooner = Instant::from_nanos(next.as_nanos() - 1);
            let then = gate.check(sooner, &plain);
            that(then != Verdict::Go, || "it could leave before the next instant".into())
        }
        Verdict::Refuse(Reason::OverLimit | Reason::TooBig) => Ok(()),
        Verdict::Refuse(reason) => Err(format!("a plain call is refused: {reason:?}")),
    }
}

/// Of a poll that was not let go: it has changed nothing, and the wait is long enough, no longer than
/// needed, and ends.
pub fn kept_back(
    before: &Gate,
    world: &World<'_>,
    ask: &Ask,
    verdict: Verdict,
) -> Result<(), String> {
    let World { policy, gate, now, .. } = world;
    // It may note that the law is the limit now, and no more.
    let same = before.states().eq(gate.states());
    that(same, || "a poll that was kept back has taught something".into())?;
    answers_the_same(before, gate, *now, "a poll that was kept back")?;
    match verdict {
        Verdict::Wait(until) => {
            that(until > *now, || format!("a wait of nothing, at {now:?}"))?;
            that(until <= ask.not_after(), || "it waits past its deadline".into())?;
            let waits = until.saturating_since(*now);
            that(waits <= policy.longest, || format!("it waits {waits:?}"))?;
            let then = gate.check(until, ask);
            that(!matches!(then, Verdict::Wait(_)), || format!("waited for, and now {then:?}"))?;
            let sooner = Instant::from_nanos(until.as_nanos() - 1);
            let then = gate.check(sooner, ask);
            that(then != Verdict::Go, || "the wait is longer than needed".into())
        }
        Verdict::Refuse(Reason::Late(at)) => {
            that(at > ask.not_after(), || "it is refused as late, and is not".into())
        }
        Verdict::Refuse(Reason::Budget) => {
            that(ask.attempt() > 0, || "no retry, and refused".into())
        }
        Verdict::Refuse(_) | Verdict::Full | Verdict::Go => Ok(()),
    }
}

/// Of a call that came back.
pub fn settled(
    before: &Gate,
    world: &World<'_>,
    flight: &Flight,
    outcome: Outcome,
) -> Result<(), String> {
    let World { policy, gate, now, .. } = world;
    if outcome == Outcome::Abandoned {
        let record = |gate: &Gate| record_of(gate, *now);
        that(record(before) == record(gate), || "an abandoned call has taught something".into())?;
    }
    let cuts = gate.stats().slower - before.stats().slower;
    let late = flight.cuts < before.stats().slower && !policy.cuts_for_each_refusal;
    that(cuts == 0 || !late, || "a call that left before the latest cut has cut again".into())?;
    let known = gate.stats().unknown == before.stats().unknown;
    let freed = before.in_flight() - gate.in_flight();
    that(freed == u16::from(known), || format!("it has freed {freed} places"))
}

/// Of a record: what goes on from it says what would have been said.
pub fn woke(before: &Gate, woken: &Gate, now: Instant) -> Result<(), String> {
    that(woken.in_flight() == 0, || "a record holds a call in flight".into())?;
    for later in [Span::ZERO, Span::from_nanos(1), Span::from_secs(1), Span::from_secs(3_600)] {
        let then = now.saturating_add(later);
        let (said, says) = (before.check(then, &Ask::new()), woken.check(then, &Ask::new()));
        that(said == says || said == Verdict::Full, || {
            format!("{later:?} after waking it says {says:?}, and would have said {said:?}")
        })?;
    }
    Ok(())
}

/// Nothing that counts has changed: neither what is known, nor any later answer.
pub fn is_the_same(before: &Gate, after: &Gate, now: Instant, whom: &str) -> Result<(), String> {
    that(record_of(before, now) == record_of(after, now), || {
        format!("{whom} has taught something")
    })?;
    answers_the_same(before, after, now, whom)
}

fn answers_the_same(before: &Gate, after: &Gate, now: Instant, whom: &str) -> Result<(), String> {
    that(before.in_flight() == after.in_flight(), || format!("{whom} has freed or taken a place"))?;
    for later in [Span::ZERO, Span::from_nanos(1), Span::from_secs(1), Span::from_secs(3_600)] {
        let then = now.saturating_add(later);
        let same = before.check(then, &Ask::new()) == after.check(then, &Ask::new());
        that(same, || format!("{whom} has changed what is answered {later:?} later"))?;
    }
    Ok(())
}

fn record_of(gate: &Gate, now: Instant) -> [u8; Gate::SNAPSHOT_BYTES] {
    let mut record = [0; Gate::SNAPSHOT_BYTES];
    _ = gate.snapshot(now, &mut record);
    record
}
