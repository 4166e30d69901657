//! Any HTTP response: a status, a clock and headers.

use tidegate::signal::http::{Answer, Name, Reading, Unit, Which};
use tidegate::{Call, Controller, Decision, Hint, Instant, Outcome, Policy, Reply, Span, Verdict};

use tidegate_promises::Input;

const STATUSES: [u16; 8] = [200, 429, 503, 403, 404, 202, 500, 529];
const UNITS: [Unit; 4] = [Unit::Requests, Unit::Tokens, Unit::InputTokens, Unit::Bytes];
/// The number of limits that a reading can hold.
const ROOM: usize = 8;

const LAWS: [&str; 4] = ["adaptive", "aimd", "backoff", "vegas"];

/// The longest that a response may make a new client wait: two hours after a throttled call (one
/// for the cooldown, one to spread a fleet), and 30 hours after a success, a day and a quarter of
/// it.
const MOST_THROTTLED: Span = Span::from_secs(7_200);
const MOST_SERVED: Span = Span::from_secs(108_000);

type Header<'a> = (&'a [u8], &'a [u8]);

/// A status, a clock, and then one header per line.
pub fn try_with(bytes: &[u8]) {
    let (status, clock, lines) = parts(bytes);
    let headers: Vec<Header<'_>> = lines.map(header).collect();
    response(status, clock, &headers);
    common(status, clock, &headers);
}

/// The status, the clock, and the lines of the headers.
pub fn parts(bytes: &[u8]) -> (u16, Option<Span>, impl Iterator<Item = &[u8]>) {
    let mut input = Input::new(bytes);
    let kind = input.u8();
    let status = match STATUSES.get(usize::from(kind & 15)) {
        Some(status) => *status,
        None => input.u16(),
    };
    let clock = match kind >> 4 & 3 {
        0 => None,
        1 => Some(Span::from_secs(1_740_992_400)),
        2 => Some(Span::ZERO),
        _ => Some(Span::from_nanos(input.u64())),
    };
    (status, clock, input.rest().split(|byte| *byte == b'\n'))
}

/// The common dialects only.
fn common(status: u16, clock: Option<Span>, headers: &[Header<'_>]) {
    let seconds = |clock: Span| u32::try_from(clock.as_nanos() / 1_000_000_000).ok();
    let mut reading = Reading::common(status);
    for (name, value) in headers {
        reading.header(name, value);
    }
    let reply: Reply = reading.reply(clock.and_then(seconds));
    assert_eq!(reply, reading.reply(clock.and_then(seconds)), "a read changes the state");
    sound(reply.outcome, reply.hints[0]);
    LAWS.iter().for_each(|law| does_not_stop_a_client_for_good(law, reply));
}

/// `Name: value`
fn header(line: &[u8]) -> Header<'_> {
    match line.iter().position(|byte| *byte == b':') {
        Some(colon) => (&line[..colon], &line[colon + 1..]),
        None => (line, b""),
    }
}

fn read<'a>(status: u16, headers: impl Iterator<Item = &'a Header<'a>>) -> Reading {
    let mut reading = Reading::new(status);
    for (name, value) in headers {
        reading.header(name, value);
    }
    reading
}

fn response(status: u16, clock: Option<Span>, headers: &[Header<'_>]) {
    let mut reading = read(status, headers.iter());
    let answer = reading.finish(clock);
    assert_eq!(answer, reading.finish(clock), "a read changes the state");
    consistent(&answer);
    LAWS.iter().for_each(|law| does_not_stop_a_client_for_good(law, answer.into()));

    // The last limits are dropped if there are too many, and then the order does matter.
    if told_at_most(headers) <= ROOM {
        let backwards = read(status, headers.iter().rev()).finish(clock);
        assert_eq!(answer, backwards, "the result depends on the order of headers");
        let (one, two) = headers.split_at(headers.len() / 2);
        let turned = read(status, two.iter().chain(one)).finish(clock);
        assert_eq!(answer, turned, "the result depends on the order of headers");
    }

    let mut shouted = Reading::new(status);
    for (name, value) in headers {
        shouted.header(name.to_ascii_uppercase(), value);
    }
    assert_eq!(answer, shouted.finish(clock), "the result depends on the case of a name");
}

/// The most limits that the headers can describe: one each, plus one per further list item.
fn told_at_most(headers: &[Header<'_>]) -> usize {
    let is_of_limits =
        |name: &[u8]| name.to_ascii_lowercase().windows(5).any(|part| part == b"limit");
    let of_limits = headers.iter().filter(|(name, _)| is_of_limits(name));
    of_limits.map(|(_, value)| 2 + value.iter().filter(|byte| **byte == b',').count()).sum()
}

fn consistent(answer: &Answer) {
    for hint in answer.limits().map(|limit| limit.hint).chain([answer.hint]) {
        sound(answer.outcome, hint);
    }
    assert!(answer.limits().count() <= 4);
    // The first limit binds: no later limit is exhausted if the first is not.
    let spent: Vec<_> = answer.limits().map(|limit| limit.hint.remaining == Some(0)).collect();
    assert!(spent.is_sorted_by(|a, b| a >= b), "an exhausted limit comes after one that is not");

    let reply: Reply<2> = (*answer).into();
    assert_eq!((reply.outcome, reply.hints[0]), (answer.outcome, answer.hint));
    let name = answer.limits().next().map_or(Name::of(""), |limit| limit.name);
    for which in UNITS.map(Which::from).into_iter().chain([Which::from(name)]) {
        let reply: Reply<1> = answer.about([which]);
        assert_eq!(reply.outcome, answer.outcome);
        let [hint] = reply.hints;
        assert_eq!(
            (hint.retry_after, hint.no_retry, hint.may_repeat, hint.concurrency),
            (
                answer.hint.retry_after,
                answer.hint.no_retry,
                answer.hint.may_repeat,
                answer.hint.concurrency
            )
        );
    }
}

pub(crate) fn sound(outcome: Outcome, hint: Hint) {
    assert_ne!(hint.limit, Some(0), "a limit of zero");
    assert_ne!(hint.period, Some(Span::ZERO), "a period of zero");
    if let (Some(remaining), Some(limit)) = (hint.remaining, hint.limit) {
        assert!(remaining <= limit, "more calls remain than the limit");
    }
    if let (Some(reset), Some(period)) = (hint.reset, hint.period) {
        assert!(reset <= period, "the reset is later than the period");
    }
    assert!(
        hint.retry_after.is_none() || outcome != Outcome::Ok,
        "a served call with a Retry-After"
    );
}

/// Checks how long a client waits after this first reply.
pub(crate) fn does_not_stop_a_client_for_good(law: &str, reply: Reply) {
    let policy = Policy::named(law).expect("a known law");
    let (start, now) = (Instant::ZERO, Instant::from_nanos(50_000_000));
    let mut gate: Controller = Controller::new(policy, 7, start);
    let Decision::Admit(permit) = gate.poll(start, &Call::new()) else {
        panic!("the first call of {law} waits")
    };
    gate.settle(now, permit, reply);
    let call = match reply.outcome {
        Outcome::Ok => Call::new(),
        _ => gate.retry(now, &Call::new(), reply).unwrap_or_default(),
    };
    match gate.check(now, &call) {
        Verdict::Admit => {}
        Verdict::Wait(until) => {
            let wait = until - now;
            let most = if reply.outcome.is_pushback() { MOST_THROTTLED } else { MOST_SERVED };
            assert!(wait <= most, "{law} waits {wait:?} after {reply:?}");
        }
        other => panic!("{law} returns {other:?}"),
    }
}
