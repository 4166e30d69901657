//! What no honest server sends, and what holds whatever is sent.
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
use tidegate::signal::http::{Answer, Name, Profile, Reading, Unit};
use tidegate::signal::{aws, coap, grpc, http, mqtt};
use tidegate::{Hint, Outcome, Reply, Span};

const DATE: (&str, &str) = ("Date", "Mon, 03 Mar 2025 09:00:00 GMT");

fn read<N: AsRef<[u8]>, V: AsRef<[u8]>>(status: u16, headers: &[(N, V)]) -> Answer {
    let mut reading = Reading::new(status);
    for (name, value) in headers {
        reading.header(name, value);
    }
    reading.finish(None)
}

fn pause(value: &str) -> (Option<Span>, u16) {
    let answer = read(429, &[("Retry-After", value), DATE]);
    (answer.hint.retry_after, answer.ignored)
}

fn reset(profile: Profile, value: &str) -> Option<Span> {
    let mut reading = Reading::with_profile(200, profile);
    reading.header(DATE.0, DATE.1);
    reading.header("X-RateLimit-Remaining", "5");
    reading.header("X-RateLimit-Reset", value);
    let answer = reading.finish(None);
    assert_eq!(answer.ignored, u16::from(answer.hint.reset.is_none()), "{value}");
    answer.hint.reset
}

#[test]
fn a_retry_after_is_read_in_every_form_and_garbage_is_counted() {
    let secs = |seconds| Some(Span::from_secs(seconds));
    for (value, expected) in [
        ("0", secs(0)),
        ("120", secs(120)),
        ("0.5", Some(Span::from_millis(500))),
        // Dates: ahead, past, at a leap second, at the end of the calendar.
        ("Mon, 03 Mar 2025 09:02:00 GMT", secs(120)),
        ("Monday, 03-Mar-25 09:02:00 GMT", secs(120)),
        ("Mon Mar  3 09:02:00 2025", secs(120)),
        ("Mon, 03 Mar 2025 08:59:59 GMT", secs(0)),
        ("Thu, 01 Jan 1970 00:00:00 GMT", secs(0)),
        ("Sun, 06 Nov 0094 08:49:37 GMT", secs(0)),
        ("Mon, 03 Mar 2025 09:00:60 GMT", secs(60)),
        ("Fri, 31 Dec 9999 23:59:59 GMT", Some(Span::MAX.saturating_sub(since_1970()))),
        ("2025-03-03T09:02:00Z", secs(120)),
        // A server that took a date for a delay.
        ("1740992520", secs(120)),
        ("1740992520000", secs(120)),
        // Joined by a client library.
        ("120, 30", secs(120)),
        ("Mon, 03 Mar 2025 09:02:00 GMT, 5", secs(5)),
        ("5, Mon, 03 Mar 2025 09:02:00 GMT", secs(5)),
        // Digits are legal in any number.
        ("99999999999999999999999999999999", Some(Span::MAX)),
        ("", None),
        ("   ", None),
        ("soon", None),
        ("-1", None),
        ("+1", None),
        ("1e3", None),
        ("0x10", None),
        ("1.", None),
        ("NaN", None),
        ("Infinity", None),
        ("120,", None),
        ("120, soon", None),
        ("１２０", None),
        ("120\u{0}", None),
        ("Mon, 32 Mar 2025 09:02:00 GMT", None),
        ("Sat, 29 Feb 2025 09:02:00 GMT", None),
        ("Mon, 00 Mar 2025 09:02:00 GMT", None),
        ("Mon, 03 Mrz 2025 09:02:00 GMT", None),
        ("Mon, 03 Mar 2025 24:00:00 GMT", None),
        ("Mon, 03 Mar 2025 09:60:00 GMT", None),
        ("Mon, 03 Mar 2025 09:02:61 GMT", None),
        ("Mon, 03 Mar 2025 09:02:00 CET", None),
        ("Mon, 03 Mar 2025 09:02:00", None),
        ("Moonday, 03-Mar-25 09:02:00 GMT", None),
        ("Mon, 03 Mar 99999 09:02:00 GMT", None),
        ("2025-03-03T09:02:00", None),
        ("2025-13-03T09:02:00Z", None),
    ] {
        assert_eq!(pause(value), (expected, u16::from(expected.is_none())), "{value:?}");
    }
}

/// The date of [`DATE`].
fn since_1970() -> Span {
    Span::from_secs(1_740_992_400)
}

#[test]
fn a_reset_is_read_by_its_form_and_by_its_size() {
    let secs = |seconds| Some(Span::from_secs(seconds));
    for (value, expected) in [
        ("60", secs(60)),
        ("999999999", secs(999_999_999)),
        ("1000000000", secs(0)),
        ("1740992460", secs(60)),
        ("1740992460.5", Some(Span::from_millis(60_500))),
        ("99999999999", Some(Span::MAX.saturating_sub(since_1970()))),
        ("100000000000", secs(0)),
        ("1740992460000", secs(60)),
        ("1740992400001", Some(Span::from_millis(1))),
        ("100000000000000", None),
        ("99999999999999999999999999", None),
        ("6m0s", secs(360)),
        ("1h2m3.5s", Some(Span::from_millis(3_723_500))),
        ("12ms", Some(Span::from_millis(12))),
        ("7us", Some(Span::from_micros(7))),
        ("7\u{B5}s", Some(Span::from_micros(7))),
        ("7\u{3BC}s", Some(Span::from_micros(7))),
        ("7\u{B0}s", None), // a degree
        ("7ns", Some(Span::from_nanos(7))),
        ("9999999999999h", Some(Span::MAX)),
        ("1m 2s", None),
        ("-6m", None),
        ("5d", None),
        ("2025-03-03T09:01:00Z", secs(60)),
        ("2025-03-03t09:01:00.250z", Some(Span::from_millis(60_250))),
        ("2025-03-03 10:01:00+01:00", secs(60)),
        ("2025-03-03T03:31:00-05:30", secs(60)),
        ("2025-03-03T09:01:00+25:00", None),
        ("2025.5-03-03T09:01:00Z", None),
        ("Mon, 03 Mar 2025 09:01:00 GMT", secs(60)),
        ("tomorrow", None),
    ] {
        assert_eq!(reset(Profile::Auto, value), expected, "{value:?}");
    }
}

#[test]
fn a_profile_says_what_a_number_means() {
    let secs = |seconds| Some(Span::from_secs(seconds));
    assert_eq!(reset(Profile::Delta, "1740992460"), secs(1_740_992_460));
    assert_eq!(reset(Profile::DeltaMillis, "1500"), Some(Span::from_millis(1_500)));
    assert_eq!(reset(Profile::Epoch, "60"), secs(0));
    assert_eq!(reset(Profile::Epoch, "1740992460"), secs(60));
    assert_eq!(reset(Profile::EpochMillis, "1740992460000"), secs(60));
    // What cannot be a number is read by its form under any of them.
    assert_eq!(reset(Profile::EpochMillis, "6m0s"), secs(360));
    assert_eq!(reset(Profile::Delta, "2025-03-03T09:01:00Z"), secs(60));
}

#[test]
fn a_date_needs_a_clock_and_the_response_s_own_comes_first() {
    let mut reading = Reading::new(429);
    reading.header("Retry-After", "Mon, 03 Mar 2025 09:02:00 GMT");
    reading.header("X-RateLimit-Reset", "1740992460");
    let blind = reading.finish(None);
    assert_eq!((blind.hint, blind.ignored), (Hint::NONE, 2));
    let seen = reading.finish(Some(since_1970()));
    assert_eq!(seen.hint.retry_after, Some(Span::from_secs(120)));
    assert_eq!(seen.hint.reset, Some(Span::from_secs(60)));
    reading.header("Date", "Mon, 03 Mar 2025 09:01:30 GMT");
    let told = reading.finish(Some(Span::from_secs(7)));
    assert_eq!(told.hint.retry_after, Some(Span::from_secs(30)));
    assert_eq!((told.hint.reset, told.ignored), (Some(Span::ZERO), 0));
}

#[test]
fn contradictions_end_in_the_stated_order() {
    // The finer pause only where the two differ by rounding.
    for (seconds, millis, expected) in [
        ("2", "1500", 1_500),
        ("2", "1", 2_000),
        ("2", "1000", 2_000),
        ("2", "2600", 2_600),
        ("2", "90000", 90_000),
    ] {
        let answer = read(429, &[("retry-after", seconds), ("retry-after-ms", millis)]);
        assert_eq!(answer.hint.retry_after, Some(Span::from_millis(expected)));
    }
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
fn a_malformed_field_is_ignored_as_a_whole() {
    for value in [
        "",
        ",",
        r#""a";r=1,"#,
        r#""a";r=1,,"b";r=2"#,
        r#""a";r=1 "b";r=2"#,
        r#""a"; r =1"#,
        r#""a";r"#,
        r#""a";r=-1"#,
        r#""a";r=many"#,
        r#""a";r=?1"#,
        r#""a";t=5"#,
        r#""a";r=1;t=-5"#,
        r#""a;r=1"#,
        r#""a\x";r=1"#,
        "\"a\u{7F}\";r=1",
        r#"("a" "b");r=1"#,
        r#""a";r=1;pk=:abc"#,
        r#""a";r=1;R=2"#,
        "5;r=1",
        "limit=5, remaining=x",
        "limit=5; remaining=5",
        "unknown=5",
    ] {
        let answer = read(200, &[("RateLimit", value)]);
        assert_eq!((answer.hint, answer.ignored), (Hint::NONE, 1), "{value}");
        assert_eq!(answer.limits().count(), 0, "{value}");
    }
    for value in [
        r#""a";w=60"#,
        r#""a";q=-5;w=60"#,
        r#""a";q=5;w=0"#,
        r#""a";q=5;w=60;qu=7"#,
        r#""a";q=5;w=x, "b";q=1"#,
        "100;w=60, nonsense",
        "\"100;w=60\"",
    ] {
        let answer = read(200, &[("RateLimit-Policy", value)]);
        assert_eq!((answer.hint, answer.ignored), (Hint::NONE, 1), "{value}");
    }
}

#[test]
fn what_is_legal_though_odd_is_read() {
    for value in [
        r#""a";r=1"#,
        "a;r=1",
        r#"  "a";   r=1  "#,
        r#""a";r=9;r=1"#,
        r#""a";r=1;vendor-note="x;y,z";flag;when=@1740992400;ok=?1;f=-2.5"#,
        r#""a";r=1;pk=:YWJj:"#,
        "\"a\";r=1\t,\t\"b\";r=4",
    ] {
        let answer = read(200, &[("RateLimit", value)]);
        assert_eq!((answer.named("a"), answer.ignored), (Hint::remaining(1), 0), "{value}");
    }
    let huge = r#""a";q=999999999999999999999999;w=99999999999999999999"#;
    let answer = read(200, &[("RateLimit-Policy", huge)]);
    assert_eq!(answer.hint, Hint::quota(u64::MAX, Span::MAX));
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

#[test]
fn what_a_limit_counts_is_told_by_the_words_of_its_name() {
    for (name, unit) in [
        ("tokens", Unit::Tokens),
        ("token-minute", Unit::Tokens),
        ("input-tokens", Unit::InputTokens),
        ("tokens_output", Unit::OutputTokens),
        ("requests", Unit::Requests),
        ("monthly", Unit::Requests),
        ("hour", Unit::Requests),
        ("content-bytes", Unit::Bytes),
        ("concurrent-requests", Unit::InFlight),
        ("input", Unit::Other),
        ("credits", Unit::Other),
    ] {
        let header = format!("X-RateLimit-Remaining-{name}");
        let policy = format!("\"a\";q=9;qu=\"{name}\"");
        assert_eq!(read(200, &[(&header, "5")]).limits().next().unwrap().unit, unit, "{name}");
        let answer = read(200, &[("RateLimit-Policy", &policy)]);
        assert_eq!(answer.limits().next().unwrap().unit, unit, "{name}");
    }
}

#[test]
fn what_a_cache_kept_does_not_tell_of_limits() {
    let headers = |age| [("Age", age), ("RateLimit-Remaining", "0"), ("Retry-After", "5")];
    assert_eq!(read(503, &headers("0")).hint.remaining, Some(0));
    let cached = read(503, &headers("30"));
    assert_eq!(cached.hint, Hint::retry_after(Span::from_secs(5)));
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

/// Names that mean something, in all cases, and names that do not.
fn names() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "Date",
        "age",
        "retry-after",
        "Retry-After-Ms",
        "x-ms-retry-after-ms",
        "x-amz-retry-after",
        "RateLimit",
        "RateLimit-Policy",
        "RateLimit-Limit",
        "ratelimit-remaining",
        "RateLimit-Reset",
        "X-RateLimit-Limit",
        "X-RATELIMIT-REMAINING",
        "X-RateLimit-Reset",
        "X-RateLimit-Reset-After",
        "X-Rate-Limit-Remaining",
        "x-ratelimit-remaining-tokens",
        "x-ratelimit-limit-tokens",
        "anthropic-ratelimit-requests-limit",
        "anthropic-ratelimit-input-tokens-reset",
        "x-ms-ratelimit-remaining-subscription-reads",
        "X-Shopify-Shop-Api-Call-Limit",
        "x-amzn-errortype",
        "Stripe-Should-Retry",
    ]);
    prop_oneof![8 => known.prop_map(str::to_owned), 1 => "[ -~]{0,40}"]
}

/// Values that come near to meaning something, and bytes.
fn values() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "\"a\"",
        "\"b\"",
        "burst",
        ";q=",
        ";w=",
        ";r=",
        ";t=",
        ";qu=",
        ";pk=",
        ":YWJj:",
        "\"bytes\"",
        ", ",
        ",",
        " ",
        ";",
        "=",
        "-",
        ".",
        "/",
        "limit=",
        "remaining=",
        "reset=",
        "0",
        "1",
        "60",
        "100",
        "1740992460",
        "1740992460000",
        "99999999999999999999",
        "Mon, 03 Mar 2025 09:02:00 GMT",
        "Mon, ",
        "03-Mar-25",
        "GMT",
        "2025-03-03T09:02:00",
        "Z",
        "+01:00",
        "6m",
        "12ms",
        "s",
        "h",
        "false",
        "Throttling",
        "#",
        "\u{B5}s",
        "\u{0}",
        "?1",
        "@",
        "(",
        "\\",
    ]);
    prop_oneof![
        6 => prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat().into_bytes()),
        2 => prop::sample::select(vec!["0", "1", "7", "59", "60", "100", "5000", "1740992460"])
            .prop_map(|number| number.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..64),
    ]
}

fn responses() -> impl Strategy<Value = (u16, Vec<(String, Vec<u8>)>)> {
    let status = prop::sample::select(vec![200u16, 202, 403, 404, 429, 500, 503, 529]);
    (status, prop::collection::vec((names(), values()), 0..8))
}

fn clocks() -> impl Strategy<Value = Option<Span>> {
    prop::option::of(any::<u64>().prop_map(Span::from_nanos))
}

fn profiles() -> impl Strategy<Value = Profile> {
    prop::sample::select(vec![
        Profile::Auto,
        Profile::Delta,
        Profile::DeltaMillis,
        Profile::Epoch,
        Profile::EpochMillis,
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn whatever_is_sent_the_hints_do_not_contradict_themselves(
        (status, headers) in responses(), clock in clocks(), profile in profiles(),
    ) {
        let mut reading = Reading::with_profile(status, profile);
        for (name, value) in &headers {
            reading.header(name, value);
        }
        let answer = reading.finish(clock);
        prop_assert_eq!(&answer, &reading.finish(clock));
        for hint in answer.limits().map(|limit| limit.hint).chain([answer.hint]) {
            prop_assert_ne!(hint.limit, Some(0));
            prop_assert_ne!(hint.period, Some(Span::ZERO));
            if let (Some(remaining), Some(limit)) = (hint.remaining, hint.limit) {
                prop_assert!(remaining <= limit);
            }
            if let (Some(reset), Some(period)) = (hint.reset, hint.period) {
                prop_assert!(reset <= period);
            }
            prop_assert!(hint.retry_after.is_none() || answer.outcome != Outcome::Ok);
        }
        // The first limit binds: nothing behind it is used up if it is not.
        let spent: Vec<_> =
            answer.limits().map(|limit| limit.hint.remaining == Some(0)).collect();
        prop_assert!(spent.is_sorted_by(|a, b| a >= b));
        let reply: Reply<2> = answer.into();
        prop_assert_eq!((reply.outcome, reply.hints[0]), (answer.outcome, answer.hint));
    }

    #[test]
    fn the_order_of_the_headers_does_not_matter(
        ((status, headers), shuffled) in responses().prop_flat_map(|(status, headers)| {
            (Just((status, headers.clone())), Just(headers).prop_shuffle())
        }),
        clock in clocks(),
    ) {
        let read = |headers: &[(String, Vec<u8>)]| {
            let mut reading = Reading::new(status);
            for (name, value) in headers {
                reading.header(name, value);
            }
            reading.finish(clock)
        };
        let answer = read(&headers);
        // Limits that there is no room for are those that come last. A header may tell of one, and
        // of one more with every item of its list.
        let most: usize = headers
            .iter()
            .filter(|(name, _)| name.to_ascii_lowercase().contains("limit"))
            .map(|(_, value)| 2 + value.iter().filter(|byte| **byte == b',').count())
            .sum();
        prop_assume!(most <= 8);
        prop_assert_eq!(answer, read(&shuffled));
    }

    #[test]
    fn the_case_of_a_name_does_not_matter(name in names(), value in values()) {
        let upper = read(429, &[(name.to_ascii_uppercase(), &value)]);
        let lower = read(429, &[(name.to_ascii_lowercase(), &value)]);
        prop_assert_eq!(upper, lower);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(
        name in prop::collection::vec(any::<u8>(), 0..50),
        value in prop::collection::vec(any::<u8>(), 0..200),
        code in any::<u32>(),
        max_age in any::<Option<u32>>(),
    ) {
        let _ = read(429, &[(&name, &value)]);
        for name in ["retry-after", "ratelimit", "ratelimit-policy", "x-ratelimit-reset", "date"] {
            let _ = read(429, &[(name, &value)]);
        }
        let _ = (http::retry_after(&value), http::remaining(&value), Name::of(&value));
        let _ = (aws::outcome(&value), coap::max_age(&value));
        let _: (Reply, Reply) =
            (grpc::reply(code, Some(&value)), coap::reply(code as u8, max_age));
        let _ = (mqtt::outcome(code as u8), mqtt::receive_maximum(Some(code as u16)));
    }

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

    #[test]
    fn a_duration_as_go_writes_it_comes_back(nanos in 0..=u64::MAX / 2) {
        let (hours, rest) = (nanos / 3_600_000_000_000, nanos % 3_600_000_000_000);
        let (minutes, rest) = (rest / 60_000_000_000, rest % 60_000_000_000);
        let (seconds, fraction) = (rest / 1_000_000_000, rest % 1_000_000_000);
        let written = format!("{hours}h{minutes}m{seconds}.{fraction:09}s");
        prop_assert_eq!(reset(Profile::Auto, &written), Some(Span::from_nanos(nanos)));
    }
}
