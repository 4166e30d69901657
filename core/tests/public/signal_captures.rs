//! What real servers send, and how it is read: the responses of `signal_captures.txt`.
//!
//! A response has its source, its status (or several) with the expected reply, and its headers. If there are several
//! limits, or one that does not count calls, they follow, the binding one first.

use core::time::Duration;

use tidegate::signal::http::{Answer, Limit, Name, Reading, Unit};
use tidegate::{Hint, Reply, Span};

pub fn shown(hint: &Hint) -> String {
    let count = |name, count: Option<u64>| count.map(|count| format!(" {name} {count}"));
    let time = |name, time: Option<Span>| {
        time.map(|time| format!(" {name} {:?}", Duration::from_nanos(time.as_nanos())))
    };
    let parts = [
        count("limit", hint.limit),
        time("period", hint.period),
        count("left", hint.remaining),
        time("reset", hint.reset),
        time("retry-after", hint.retry_after),
        hint.may_repeat.then(|| " retry".to_owned()),
        hint.no_retry.then(|| " no-retry".to_owned()),
        hint.concurrency.then(|| " concurrency".to_owned()),
    ];
    parts.into_iter().flatten().collect()
}

/// A limit with its name. The name is a digest, so it is recognised by the expected name: `NAME` or
/// `NAME of PARTITION`.
pub fn named(limit: &Limit, expected: Option<&&str>) -> String {
    let told = expected.and_then(|line| line.split_once(" = ")).map_or("", |(told, _)| told);
    let (name, partition) = told.split_once(" of ").map_or((told, None), |(a, b)| (a, Some(b)));
    let known = limit.name == Name::of(name)
        && partition.is_none_or(|partition| limit.partition == Some(Name::of(partition)));
    let name = if known { told } else { "another" };
    let cost = limit.cost.map_or(String::new(), |cost| format!(" cost {cost}"));
    format!("{name} = {:?}{}{cost}", limit.unit, shown(&limit.hint))
}

fn read(status: &str, headers: &[&str]) -> Answer {
    let mut reading = Reading::new(status.parse().expect("a status is a number"));
    for (name, value) in headers.iter().filter_map(|header| header.split_once(':')) {
        reading.header(name, value);
    }
    reading.finish(None)
}

#[test]
fn every_captured_response_is_read_correctly() {
    for capture in include_str!("signal_captures.txt").split("\n\n") {
        let lines = capture.lines().filter(|line| !line.starts_with("# "));
        let (told, headers): (Vec<_>, Vec<_>) = lines.partition(|line| line.contains(" = "));
        let (statuses, expected) = told[0].split_once(" = ").expect("a status");
        for status in statuses.split(' ') {
            let answer = read(status, &headers);
            let mut hint = format!("{:?}{}", answer.outcome, shown(&answer.hint));
            if answer.ignored > 0 {
                hint += &format!(" ignored {}", answer.ignored);
            }
            assert_eq!(hint, expected, "{capture}");
            let same = told.len() == 1 && answer.limits().all(|limit| limit.hint == answer.hint);
            assert!(!same || answer.limits().count() <= 1, "{capture}");
            let limits = answer.limits().filter(|_| !same).enumerate();
            let limits = limits.map(|(at, limit)| named(&limit, told.get(at + 1)));
            assert_eq!(limits.collect::<Vec<_>>(), told[1..], "{capture}");
        }
    }
}

#[test]
fn an_answer_gives_the_hint_and_the_cost_of_the_limit_that_is_asked_for() {
    let answer = |status, headers: &[(&str, &str)]| {
        let mut reading = Reading::new(status);
        headers.iter().for_each(|(name, value)| reading.header(name, value));
        reading.finish(None)
    };
    let headers = [
        ("x-ratelimitbysize-remaining-minute", "499968"),
        ("ratelimitbysize-query-cost", "32"),
        ("x-ratelimit-remaining-requests", "59"),
    ];
    for (status, used) in [(200, Some(32)), (429, None)] {
        let answer = answer(status, &headers);
        assert_eq!(answer.cost_of(Unit::Tokens), Some(32));
        assert_eq!(answer.cost_of(Unit::Requests), None);
        let tokens = answer.limits().find(|limit| limit.unit == Unit::Tokens).unwrap();
        assert_eq!(answer.cost_of(tokens.name), Some(32));
        assert_eq!(answer.of(Unit::Tokens).remaining, Some(499_968));
        assert_eq!(answer.of(Unit::Requests).remaining, Some(59));
        assert_eq!(answer.of(Unit::Other), Hint::NONE);
        let reply: Reply<3> = answer.about([Unit::Requests, Unit::Tokens, Unit::Other]);
        assert_eq!(reply.outcome, answer.outcome);
        assert_eq!(reply.hints.map(|hint| hint.remaining), [Some(59), Some(499_968), None]);
        assert_eq!(reply.used, [None, used, None]);
    }
    let headers = [
        ("RateLimit-Policy", r#""second";q=10;w=1, "day";q=1000;w=86400"#),
        ("RateLimit", r#""second";r=4;t=1, "day";r=900;t=3600"#),
        ("Retry-After", "7"),
    ];
    let answer = answer(429, &headers);
    for (name, remaining) in [("second", Some(4)), ("day", Some(900)), ("week", None)] {
        assert_eq!(answer.named(name).remaining, remaining);
        let [hint] = answer.about([Name::of(name)]).hints;
        let seven = Some(Span::from_secs(7));
        assert_eq!((hint.remaining, hint.retry_after), (remaining, seven), "{name}");
        assert_eq!(answer.cost_of(Name::of(name)), None);
    }
}
