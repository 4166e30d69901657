//! What no honest server sends. The oracle's vectors (`http.jsonl`) have every form of every value, and the
//! search (`tests/fuzz`) what holds whatever is sent.
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that overflows or panics fails, which is right"
)]

use proptest::prelude::*;
use tidegate::signal::http::{Answer, Name, Reading, Unit};
use tidegate::{Hint, Outcome, Span};

const DATE: (&str, &str) = ("Date", "Mon, 03 Mar 2025 09:00:00 GMT");

fn read<N: AsRef<[u8]>, V: AsRef<[u8]>>(status: u16, headers: &[(N, V)]) -> Answer {
    let mut reading = Reading::new(status);
    for (name, value) in headers {
        reading.header(name, value);
    }
    reading.finish(None)
}

#[test]
fn contradictions_end_in_the_stated_order() {
    // More left than there is; a limit of nothing.
    let answer = read(200, &[("RateLimit-Limit", "10"), ("RateLimit-Remaining", "11")]);
    assert_eq!((answer.hint, answer.ignored), (Hint::NONE.and_limit(10), 1));
    let answer = read(200, &[("RateLimit-Limit", "0"), ("RateLimit-Remaining", "0")]);
    assert_eq!((answer.hint, answer.ignored), (Hint::remaining(0), 1));
    // A reset beyond the period.
    let answer = read(
        200,
        &[("RateLimit-Policy", r#""a";q=10;w=60"#), ("RateLimit", r#""a";r=1;t=999999"#)],
    );
    assert_eq!(answer.hint.reset, Some(Span::from_secs(60)));
    // Two answers to one question.
    let answer = read(
        200,
        &[
            ("X-RateLimit-Remaining", "7"),
            ("X-RateLimit-Remaining", "3, 9"),
            ("X-RateLimit-Limit", "100"),
            ("X-RateLimit-Limit", "60"),
            ("X-RateLimit-Reset", "5"),
            ("X-RateLimit-Reset", "50"),
        ],
    );
    let careful = Hint::remaining(3).and_limit(60).and_reset(Span::from_secs(50));
    assert_eq!((answer.hint, answer.ignored), (careful, 0));
}

#[test]
fn what_comes_twice_counts_the_same_in_either_order() {
    let late = ("Retry-After", "Mon, 03 Mar 2025 09:02:00 GMT");
    let left = ("RateLimit", r#""a";r=5"#);
    let policy = |policy: &'static str| ("RateLimit-Policy", policy);
    let both_ways = |headers: [(&str, &str); 3]| {
        let [one, two, three] = headers;
        let answer = read(429, &[one, two, three]);
        assert_eq!(answer, read(429, &[three, one, two]), "{headers:?}");
        assert_eq!(answer, read(429, &[two, three, one]), "{headers:?}");
        assert_eq!(answer, read(429, &[three, two, one]), "{headers:?}");
        answer
    };
    // The later date, hence the shorter pause: a copy of a date can only be older.
    let dated = both_ways([DATE, ("Date", "Mon, 03 Mar 2025 09:01:00 GMT"), late]);
    assert_eq!(dated.hint.retry_after, Some(Span::from_secs(60)));
    let spans = both_ways([late, ("Retry-After", "5"), DATE]);
    assert_eq!(spans.hint.retry_after, Some(Span::from_secs(5)));
    let code = |code: &'static str| ("x-amzn-errortype", code);
    let throttled = both_ways([code("RequestTimeout"), code("Throttling"), code("Nonsense")]);
    assert_eq!(throttled.outcome, Outcome::Throttled);
    let units = both_ways([left, policy(r#""a";q=9;w=60;qu="bytes""#), policy(r#""a";q=8;w=90"#)]);
    let careful = Hint::quota(8, Span::from_secs(90)).and_remaining(5);
    assert_eq!((units.of(Unit::Requests), units.of(Unit::Bytes)), (careful, Hint::NONE));
    both_ways([left, policy(r#""a";q=9;pk=:YWJj:"#), policy(r#""a";q=9;pk=:ZGVm:"#)]);
    // Of quotas without a name the longest fits best; the other is a limit of its own.
    let quotas =
        both_ways([policy("9;w=60"), policy("9;w=3600"), ("RateLimit", "limit=9, remaining=4")]);
    assert_eq!(quotas.hint, Hint::quota(9, Span::from_secs(3_600)).and_remaining(4));
    assert_eq!(quotas.limits().count(), 2);
    // Of two limits that are used up, the one that stays so longer binds.
    let spent = both_ways([
        ("RateLimit", r#""a";r=0;t=5, "b";r=0;t=50"#),
        ("RateLimit", r#""c";r=0"#),
        ("RateLimit", r#""d";r=0;t=500"#),
    ]);
    let resets: Vec<_> = spent.limits().map(|limit| limit.hint.reset).collect();
    assert_eq!(resets, [Some(500), Some(50), Some(5), None].map(|t| t.map(Span::from_secs)));
}

#[test]
fn a_server_with_too_many_limits_has_four_and_is_counted() {
    let names: Vec<String> = (0..20).map(|n| format!("X-RateLimit-Remaining-Token{n}")).collect();
    let headers: Vec<_> = names.iter().map(|name| (name.as_str(), "7")).collect();
    let answer = read(200, &headers);
    assert_eq!((answer.limits().count(), answer.ignored), (4, 12));
    let many = (0..1_000).map(|n| format!("\"{n}\";r={n}")).collect::<Vec<_>>().join(",");
    let answer = read(200, &[("RateLimit", many)]);
    assert_eq!((answer.limits().count(), answer.hint.remaining), (4, Some(0)));
}

/// Exact to one part in 2^32, however large the numbers are.
#[test]
fn the_lesser_share_binds_whatever_its_size() {
    for (one, other) in [
        ((1, 3), (334, 1_000)),
        ((999_999_999, 1_000_000_000), (1, 1)),
        ((3_333_333_333_333_333_333, 9_999_999_999_999_999_999), (1, 2)),
        ((9_223_372_036_854_775_807, u64::MAX), (2, 3)),
        ((u64::MAX - (1 << 33), u64::MAX), (u64::MAX - 1, u64::MAX)),
        // As much is left of both, which is fewer calls of the first.
        ((5, 10), (50, 100)),
        ((10, 10), (u64::MAX, u64::MAX)),
    ] {
        let field = |name: &str, (left, limit): (u64, u64)| {
            let policy = format!("\"{name}\";q={limit}");
            [("RateLimit", format!("\"{name}\";r={left}")), ("RateLimit-Policy", policy)]
        };
        let [a, b] = field("a", one);
        let [c, d] = field("b", other);
        let answer = read(200, &[a, b, c, d]);
        let first = answer.limits().next().map(|limit| limit.name);
        assert_eq!(first, Some(Name::of("a")), "{one:?} {other:?}");
    }
}

/// Were any of it read more often than a few times, this would take half an hour.
#[test]
fn a_quarter_megabyte_of_anything_is_read_in_one_go() {
    for (unit, expected) in [
        ("9", Some(Span::MAX)),
        ("1m", Some(Span::from_secs(60 * (1 << 17)))),
        ("1, ", None),
        ("1,1", Some(Span::from_secs(11))),
        ("Mon, ", None),
        ("\"a\";r=1,", None),
        ("a=1,", None),
        ("\"", None),
        ("\\", None),
        (";", None),
    ] {
        let value = unit.repeat((1 << 18) / unit.len());
        let answer = read(429, &[("Retry-After", &value)]);
        assert_eq!(answer.hint.retry_after, expected, "{unit}");
        assert_eq!(answer.ignored, u16::from(expected.is_none()), "{unit}");
        for name in ["RateLimit", "RateLimit-Policy", "RateLimit-Limit", "x-amzn-errortype"] {
            assert!(read(200, &[(name, &value)]).ignored <= 1, "{name}: {unit}");
        }
        assert_eq!(read(200, &[(&value, "1")]), read::<&str, &str>(200, &[]), "{unit}");
    }
}

proptest! {
    #[test]
    fn a_policy_and_what_is_left_of_it_come_back_as_they_were_written(
        limit in 1..=999_999_999_999_999u64,
        left in 0..=999_999_999_999_999u64,
        window in 1..=9_999_999u64,
        reset in 0..=9_999_999u64,
        name in "[ !#-\\[\\]-~]{1,30}",
    ) {
        let (left, reset) = (left % (limit + 1), reset % (window + 1));
        let answer = read(200, &[
            ("RateLimit", format!("\"{name}\";r={left};t={reset}")),
            ("RateLimit-Policy", format!("\"{name}\";q={limit};w={window};qu=\"requests\"")),
        ]);
        let quota = Hint::quota(limit, Span::from_secs(window));
        let expected = quota.and_remaining(left).and_reset(Span::from_secs(reset));
        prop_assert_eq!((answer.named(&name), answer.ignored), (expected, 0));
        prop_assert_eq!(answer.of(Unit::Requests), expected);
    }
}
