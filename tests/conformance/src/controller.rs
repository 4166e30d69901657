//! Replays the steps of a controller.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde_json::{Value, json};
use tidegate::Permit;
use tidegate::gate::Gate;
use tidegate::law::AnyLaw;
use tidegate::{Call, Controller, Decision, Instant, Reason, Reply, Span, Stats};

use crate::policy::{laws, policy, positive};
use crate::value::{
    Read, at, each, field, given, hint, instant, list, number, outcome, same, small, span, spelt,
    text,
};
use crate::{Played, Vector};

pub(crate) fn play(vector: &Vector<'_>) -> Played {
    match laws(field(&vector.fields, "policy")?)? {
        1 => Play::<1>::of(&vector.fields)?.all(vector),
        2 => Play::<2>::of(&vector.fields)?.all(vector),
        more => Err(format!("{more} limits are not supported")),
    }
}

/// How many calls of one step may be settled later.
const KEPT: u64 = 64;

struct Play<const LIMITS: usize> {
    gate: Controller<AnyLaw, LIMITS>,
    policy: Value,
    calls: BTreeMap<u64, Call<LIMITS>>,
    /// Permits by their order, including those from before a restore.
    permits: BTreeMap<u64, Permit<LIMITS>>,
    admitted: u64,
    saved: Vec<u8>,
}

impl<const LIMITS: usize> Play<LIMITS> {
    const BYTES: usize = Controller::<AnyLaw, LIMITS>::SNAPSHOT_BYTES;

    /// Boxed, because a controller is a large part of a small machine's stack.
    #[inline(never)]
    fn of(vector: &Value) -> Read<Box<Self>> {
        let asked = field(vector, "policy")?;
        let (seed, now) = (number(field(vector, "seed")?)?, instant(field(vector, "now")?)?);
        Ok(Box::new(Self {
            gate: Controller::new(policy(asked)?, seed, now),
            policy: asked.clone(),
            calls: BTreeMap::from([(0, Call::new())]),
            permits: BTreeMap::new(),
            admitted: 0,
            saved: Vec::new(),
        }))
    }

    fn all(&mut self, vector: &Vector<'_>) -> Played {
        let steps = vector.each(|event| self.step(event))?;
        let counted = stats(self.gate.stats());
        same("what was counted", field(&vector.fields, "stats")?, &counted).map(|()| steps)
    }

    /// One step: `[verb, arguments …, answer, digest]`. Steps that change nothing have no digest.
    fn step(&mut self, event: &Value) -> Read<()> {
        let argument = |place| at(event, place);
        let verb = text(argument(0)?)?;
        if verb == "call" {
            let mut call = Call::of(each(argument(2)?, small)?);
            if let Some(deadline) = given(argument(3)?, instant)? {
                call = call.deadline(deadline);
            }
            if event.get(4).is_some() {
                call = call.estimated();
            }
            self.calls.insert(number(argument(1)?)?, call);
            return Ok(());
        }
        let mut now = instant(argument(1)?)?;
        match verb {
            "next" => {
                let next = self.gate.next_at(now).map_or(Value::Null, |at| spelt(at.as_nanos()));
                return same("the next instant", argument(2)?, &next);
            }
            "why" => {
                let why = self.gate.why(now, self.call(argument(2)?)?).map_or(Value::Null, gate);
                return same("the reason", argument(3)?, &why);
            }
            "intervals" => {
                let intervals = self.gate.intervals(now);
                let spelt = |interval: Span| spelt(interval.as_nanos());
                let intervals: Vec<_> =
                    intervals.map(|interval| interval.map_or(Value::Null, spelt)).collect();
                return same("the intervals", argument(2)?, &Value::from(intervals));
            }
            "poll" => {
                let call = *self.call(argument(2)?)?;
                same("the answer", argument(3)?, &self.poll(now, &call))?;
            }
            "polls" => {
                let (call, before) = (*self.call(argument(2)?)?, self.admitted);
                let answer = loop {
                    let answer = self.poll(now, &call);
                    if at(&answer, 0)? != "admit" {
                        break answer;
                    }
                    // A board has no memory for all permits.
                    if self.admitted > before + KEPT {
                        self.permits.pop_last();
                    }
                };
                let answer = json!([spelt(self.admitted - before), answer]);
                same("the result of the polls", argument(3)?, &answer)?;
            }
            "settle" => {
                let permit = self.permits.remove(&number(argument(2)?)?).ok_or("unknown permit")?;
                self.gate.settle(now, permit, reply(argument(3)?)?);
            }
            "settles" => {
                let reply = reply(argument(2)?)?;
                for _ in 0..number(argument(3)?)? {
                    let (_, permit) = self.permits.pop_first().ok_or("no permit")?;
                    self.gate.settle(now, permit, reply);
                }
            }
            "stream" => {
                let permit = number(argument(2)?)?;
                let mut permit = self.permits.remove(&permit).ok_or("unknown permit")?;
                self.gate.learn(now, &mut permit, reply(argument(3)?)?);
                now = instant(argument(4)?)?;
                let used: [u32; LIMITS] = each(argument(5)?, small)?;
                self.gate.correct(now, &mut permit, used.map(Some));
                self.gate.release(permit);
            }
            "retry" => {
                let (call, into) = (*self.call(argument(2)?)?, number(argument(4)?)?);
                let again = self.gate.retry(now, &call, reply(argument(3)?)?).ok();
                if let Some(again) = again {
                    self.calls.insert(into, again);
                }
                same(
                    "the next attempt",
                    argument(5)?,
                    &again.map_or(Value::Null, |a| attempt(&a)),
                )?;
            }
            "calls" => {
                let call = *self.call(argument(2)?)?;
                let times = (span(argument(4)?)?, span(argument(5)?)?);
                let count = number(argument(6)?)?;
                let (admitted, end) = self.calls(now, &call, reply(argument(3)?)?, times, count);
                let answer = json!([spelt(admitted), spelt(end.as_nanos())]);
                same("the result of the calls", argument(7)?, &answer)?;
                now = end;
            }
            "queue" => {
                let (callers, work) = (small(argument(3)?)?, span(argument(4)?)?);
                let count = number(argument(5)?)?;
                let (admitted, end) = self.queue(now, reply(argument(2)?)?, callers, work, count);
                let answer = json!([spelt(admitted), spelt(end.as_nanos())]);
                same("the result of the queue", argument(6)?, &answer)?;
                now = end;
            }
            "retries" => {
                let (mut call, reply) = (*self.call(argument(2)?)?, reply(argument(3)?)?);
                for _ in 0..number(argument(5)?)? {
                    let Ok(again) = self.gate.retry(now, &call, reply) else { break };
                    call = again;
                }
                self.calls.insert(number(argument(4)?)?, call);
                let answer = json!([spelt(call.not_before().as_nanos()), call.attempt()]);
                same("the latest attempt", argument(6)?, &answer)?;
            }
            "concurrency" => self.gate.set_concurrency(positive(argument(2)?)?),
            "forget" => {
                let calls: u16 = small(argument(2)?)?;
                self.gate.forget(calls);
                for _ in 0..calls {
                    self.permits.pop_first();
                }
            }
            "policy" => self.set_policy(now, argument(2)?)?,
            "save" => self.saved = self.record(now)?,
            "restore" => {
                let answer = self.restore(now, event)?;
                same("the record", argument(6)?, &Value::from(answer))?;
            }
            other => return Err(format!("unknown step `{other}`")),
        }
        let record = self.record(now)?;
        let tail = record.last_chunk().map_or(0, |tail| u32::from_le_bytes(*tail));
        let last = list(event)?.len().saturating_sub(1);
        same("the digest", argument(last)?, &Value::from(tail))
    }

    #[inline(never)]
    fn set_policy(&mut self, now: Instant, asked: &Value) -> Read<()> {
        self.policy = asked.clone();
        self.gate.set_policy(policy(asked)?, now);
        Ok(())
    }

    /// Continues from the record after applying `damage`.
    #[inline(never)]
    fn restore(&mut self, now: Instant, event: &Value) -> Read<String> {
        let asked = given(at(event, 5)?, |policy| Ok(policy.clone()))?;
        let asked = asked.unwrap_or_else(|| self.policy.clone());
        let record = damaged(self.saved.clone(), at(event, 4)?)?;
        let (away, seed) = (span(at(event, 2)?)?, number(at(event, 3)?)?);
        match Controller::restore(policy(&asked)?, seed, &record, now, away) {
            Ok(gate) => {
                (self.gate, self.policy) = (gate, asked);
                Ok(String::from("Ok"))
            }
            Err(error) => Ok(format!("{error:?}")),
        }
    }

    /// Calls one after the other, each polled until it is admitted, as far as possible, with the
    /// time of each call and the gap after it.
    fn calls(
        &mut self,
        mut now: Instant,
        call: &Call<LIMITS>,
        reply: Reply<LIMITS>,
        (took, gap): (Span, Span),
        count: u64,
    ) -> (u64, Instant) {
        let mut admitted = 0;
        while admitted < count {
            match self.gate.poll(now, call) {
                Decision::Wait(until) => now = until,
                Decision::Admit(permit) => {
                    self.admitted += 1;
                    now += took;
                    self.gate.settle(now, permit, reply);
                    now += gap;
                    admitted += 1;
                }
                Decision::Full | Decision::Reject(_) => break,
            }
        }
        (admitted, now)
    }

    /// Calls of several callers, who wait in one queue for a server that processes one call at a
    /// time.
    fn queue(
        &mut self,
        mut now: Instant,
        reply: Reply<LIMITS>,
        callers: usize,
        work: Span,
        count: u64,
    ) -> (u64, Instant) {
        let (mut admitted, mut free, mut line) = (0, now, VecDeque::new());
        while admitted < count {
            while line.len() < callers
                && admitted + (line.len() as u64) < count
                && let Decision::Admit(permit) = self.gate.poll(now, &Call::new())
            {
                self.admitted += 1;
                free = free.max(now) + work;
                line.push_back((free, permit));
            }
            let Some((done, permit)) = line.pop_front() else { break };
            now = now.max(done);
            self.gate.settle(now, permit, reply);
            admitted += 1;
        }
        (admitted, now)
    }

    /// The answer to a poll.
    fn poll(&mut self, now: Instant, call: &Call<LIMITS>) -> Value {
        match self.gate.poll(now, call) {
            Decision::Admit(permit) => {
                let number = self.admitted;
                self.admitted += 1;
                self.permits.insert(number, permit);
                json!(["admit", spelt(number)])
            }
            Decision::Wait(until) => json!(["wait", spelt(until.as_nanos())]),
            Decision::Full => json!(["full"]),
            Decision::Reject(Reason::Late(until)) => json!(["late", spelt(until.as_nanos())]),
            Decision::Reject(Reason::OverLimit) => json!(["over-limit"]),
            Decision::Reject(Reason::RetryBudget) => json!(["retry_budget"]),
            Decision::Reject(Reason::TooBig) => json!(["too-big"]),
            Decision::Reject(Reason::Never) => json!(["never"]),
            Decision::Reject(_) => json!(["another"]),
        }
    }

    fn call(&self, name: &Value) -> Read<&Call<LIMITS>> {
        self.calls.get(&number(name)?).ok_or_else(|| format!("unknown call {name}"))
    }

    fn record(&self, now: Instant) -> Read<Vec<u8>> {
        let mut record = vec![0; Self::BYTES];
        let written = self.gate.snapshot(now, &mut record);
        written.map(|_| record).map_err(|error| format!("{error}"))
    }
}

fn gate(gate: Gate) -> Value {
    Value::from(match gate {
        Gate::Pacing => "pacing",
        Gate::Cooldown => "cooldown",
        Gate::Concurrency => "concurrency",
        Gate::RetryBudget => "retry_budget",
        _ => "another",
    })
}

/// `[not before, not after, attempt]`.
fn attempt<const LIMITS: usize>(call: &Call<LIMITS>) -> Value {
    let last = call.not_after();
    let last = if last == Instant::MAX { Value::Null } else { spelt(last.as_nanos()) };
    json!([spelt(call.not_before().as_nanos()), last, call.attempt()])
}

fn reply<const LIMITS: usize>(value: &Value) -> Read<Reply<LIMITS>> {
    if value.is_string() {
        return outcome(value).map(Reply::from);
    }
    let outcome = outcome(field(value, "outcome")?)?;
    let reply: Reply<LIMITS> = match value.get("hints") {
        Some(hints) => Reply::about(outcome, each(hints, hint)?),
        None => outcome.with(hint(value)?),
    };
    let Some(used) = value.get("used") else { return Ok(reply) };
    Ok(reply.using(each(used, small)?))
}

fn stats(stats: &Stats) -> Value {
    let Stats { admitted, waits, waited, full, rejected, ok, throttled, busy, .. } = *stats;
    let Stats { failed, abandoned, exhausted, slower, faster, retries, .. } = *stats;
    json!([
        admitted,
        waits,
        spelt(waited.as_nanos()),
        full,
        rejected,
        ok,
        throttled,
        busy,
        failed,
        abandoned,
        exhausted,
        slower,
        faster,
        retries
    ])
}

/// Applies damage to a record.
fn damaged(mut record: Vec<u8>, damage: &Value) -> Read<Vec<u8>> {
    for blow in damage.as_array().into_iter().flatten() {
        let place: usize = small(at(blow, 1)?)?;
        match text(at(blow, 0)?)? {
            "flip" => {
                let byte = record.get_mut(place / 8).ok_or("no such bit")?;
                *byte ^= 1 << (place % 8);
            }
            "cut" => record.truncate(place),
            "grow" => record.resize(record.len() + place, 0),
            _ => {
                let new = list(blow)?.iter().skip(2).map(small).collect::<Read<Vec<u8>>>()?;
                let room = record.get_mut(place..place + new.len()).ok_or("no such bytes")?;
                room.copy_from_slice(&new);
                let length = record.len().saturating_sub(4);
                let (body, tail) = record.split_at_mut(length);
                tail.copy_from_slice(&fnv1a(body).to_le_bytes());
            }
        }
    }
    Ok(record)
}

/// The checksum of a record, as documented.
fn fnv1a(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0x811C_9DC5, |digest, byte| (digest ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}
