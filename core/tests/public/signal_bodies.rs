//! What real servers say in bodies, and how it is read: the responses of `signal_bodies.txt`.
//!
//! A response has its source, its status (or several) with the expected reply, its headers, its body, and the limits
//! that do not count calls.

use proptest::prelude::*;
use tidegate::signal::body::{self, Body, MOST_BYTES};
use tidegate::signal::http::Reading;
use tidegate::{Outcome, Reply, Span};

use crate::signal_captures::{named, shown};

fn body_of(text: &[u8], chunk: usize) -> Body {
    let mut body = Body::new();
    text.chunks(chunk).for_each(|chunk| body.feed(chunk));
    body
}

/// What a response says, with and without its body.
fn read(status: u16, headers: &[&str], body: &Body) -> [Reading; 2] {
    let mut without = Reading::new(status);
    for (name, value) in headers.iter().filter_map(|header| header.split_once(':')) {
        without.header(name, value);
    }
    let mut with = without;
    with.body(body);
    let mut twice = with;
    twice.body(body);
    assert_eq!(twice.finish(None), with.finish(None), "the same body again changes something");
    [with, without]
}

#[test]
fn every_captured_body_is_read_correctly() {
    for capture in include_str!("signal_bodies.txt").trim_end().split("\n\n") {
        let lines = capture.lines().filter(|line| !line.starts_with("# "));
        let (text, lines): (Vec<_>, Vec<_>) = lines.partition(|line| line.starts_with(['{', '[']));
        let (told, headers): (Vec<&str>, Vec<&str>) =
            lines.into_iter().partition(|line| line.contains(" = "));
        let (statuses, expected) = told[0].split_once(" = ").expect("a status");
        let text = text[0].as_bytes();
        let body = body_of(text, usize::MAX);
        for chunk in [1, 2, 7, 64] {
            assert_eq!(body_of(text, chunk), body, "{capture}: in chunks of {chunk}");
        }
        if !text.windows(3).any(|part| part == b"://") {
            let spaced = String::from_utf8_lossy(text).replace(',', " ,\n\t").replace(':', " : ");
            let spaced = body_of(spaced.as_bytes(), usize::MAX);
            assert_eq!((spaced.outcome(429), spaced.points()), (body.outcome(429), body.points()));
        }
        for status in statuses.split(' ') {
            let status = status.parse().expect("a status is a number");
            let [with, without] =
                read(status, &headers, &body).map(|mut reading| reading.finish(None));
            assert_eq!(format!("{:?}{}", with.outcome, shown(&with.hint)), expected, "{capture}");
            let limits =
                with.limits().enumerate().map(|(at, limit)| named(&limit, told.get(at + 1)));
            let limits: Vec<_> = limits.collect();
            assert!(
                told.len() == 1 && limits.len() <= 1 || limits == told[1..],
                "{limits:?}: {capture}"
            );
            // The common reading has the same result for the call.
            let reply: Reply = body.refine(status, without.into());
            assert_eq!(body.refine(status, reply), reply, "{capture}");
            let told = |reply: Reply| {
                let [hint] = reply.hints;
                (reply.outcome, hint.retry_after, hint.concurrency)
            };
            assert_eq!(told(reply), told(with.into()), "{capture}");
            assert!(status < 400 || body::is_worth(status, "application/json"), "{capture}");
        }
    }
}

#[test]
fn an_error_code_in_a_successful_response_is_ignored() {
    for text in [
        r#"{"code":"rate_limited","message":"API rate limit exceeded"}"#,
        r#"{"error":{"code":"insufficient_quota"}}"#,
        r#"{"data":{"errors":[{"extensions":{"code":"THROTTLED"}}]}}"#,
    ] {
        assert_eq!(body_of(text.as_bytes(), 3).outcome(200), None, "{text}");
    }
}

#[test]
fn json_bodies_of_possible_throttles_and_of_graphql_are_read() {
    for status in 0..=1_000 {
        let may_throttle = [400, 402, 403, 429].contains(&status) || (500..600).contains(&status);
        for (kind, is_json, is_graphql) in [
            ("application/json; charset=UTF-8", true, false),
            ("application/problem+JSON", true, false),
            ("application/graphql-response+json", true, true),
            ("application/graphql", false, true),
            ("text/html", false, false),
            ("", false, false),
        ] {
            let expected = is_json && (may_throttle || is_graphql);
            assert_eq!(body::is_worth(status, kind), expected, "{status} {kind}");
            let expected = is_json && (status < 300 || may_throttle || is_graphql);
            assert_eq!(body::is_worth_of_graphql(status, kind), expected, "{status} {kind}");
        }
    }
}

#[test]
fn a_body_is_read_up_to_a_maximum_length_and_depth() {
    let code = r#"{"error":{"code":"insufficient_quota"}}"#;
    let far = format!("{{\"a\":\"{}\",{}", "x".repeat(MOST_BYTES), &code[1..]);
    let body = body_of(far.as_bytes(), 100);
    assert!(body.has_ended() && body.outcome(429).is_none());
    let deep = format!("{}{code}", "[".repeat(7_000));
    assert_eq!(body_of(deep.as_bytes(), 100).outcome(429), None);
    // Everything deeper ends with it.
    let after = format!("{{\"a\":{}{},{}", "[".repeat(900), "]".repeat(900), &code[1..]);
    assert_eq!(body_of(after.as_bytes(), 100).outcome(429), Some(Outcome::Exhausted));
    for none in ["<Error><Code>SlowDown</Code></Error>", "", "null", "\"error\"", "error: code"] {
        assert_eq!(body_of(none.as_bytes(), 1), body_of(none.as_bytes(), 2), "{none}");
        assert_eq!(body_of(none.as_bytes(), 1).outcome(429), None, "{none}");
    }
    let (huge, millis) = (r#"{"retry_after":99999999999999.9999}"#, u32::MAX.into());
    assert_eq!(body_of(huge.as_bytes(), 1).retry_after(), Some(Span::from_millis(millis)));
}

proptest! {
    #[test]
    fn any_bytes_are_harmless(text in "[\\[\\]{}\":,\\\\a-z0-9. ]{0,300}", status: u16, chunk in 1..9_usize) {
        let body = body_of(text.as_bytes(), chunk);
        prop_assert_eq!(body, body_of(text.as_bytes(), usize::MAX));
        let reply: Reply = body.refine(status, Outcome::Ok.into());
        prop_assert!(reply.outcome != Outcome::Ok || reply == Outcome::Ok.into());
    }
}
