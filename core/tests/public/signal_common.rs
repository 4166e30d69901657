//! The common dialects, compared with the complete reading.

use proptest::prelude::*;
use proptest::sample::select;
use tidegate::signal::http::Reading;
use tidegate::{Reply, Span};

/// The headers of the common dialects.
const COMMON: &str = "date age retry-after retry-after-ms ratelimit ratelimit-policy \
    x-should-retry stripe-should-retry";
const FAMILIES: [&str; 3] = ["ratelimit-", "x-ratelimit-", "x-rate-limit-"];
const NUMBERS: [&str; 4] = ["limit", "remaining", "reset", "reset-after"];

fn is_common(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let rest = FAMILIES.iter().find_map(|family| name.strip_prefix(family));
    COMMON.split(' ').any(|it| it == name) || rest.is_some_and(|rest| NUMBERS.contains(&rest))
}

type Header<'a> = (&'a str, &'a str);

fn full<'a>(status: u16, headers: impl Iterator<Item = Header<'a>>, now: Option<u32>) -> Reply {
    let mut reading = Reading::new(status);
    headers.for_each(|(name, value)| reading.header(name, value));
    reading.finish(now.map(|now| Span::from_secs(u64::from(now)))).into()
}

fn common<'a>(status: u16, headers: impl Iterator<Item = Header<'a>>, now: Option<u32>) -> Reply {
    let mut reading = Reading::common(status);
    headers.for_each(|(name, value)| reading.header(name, value));
    let reply = reading.reply(now);
    assert_eq!(reply, reading.reply(now), "a second look differs");
    reply
}

#[test]
fn a_captured_response_is_read_for_the_common_headers_only() {
    let mut read = 0;
    for capture in include_str!("signal_captures.txt").split("\n\n") {
        let (told, headers): (Vec<_>, Vec<_>) = capture
            .lines()
            .filter(|line| !line.starts_with("# "))
            .partition(|line| line.contains(" = "));
        let headers: Vec<Header<'_>> =
            headers.iter().filter_map(|header| header.split_once(':')).collect();
        // Dates of RFC 3339 do not belong to the common dialects.
        let is_common = |(name, value): &Header<'_>| is_common(name) && !value.contains("-03T");
        let of_them = || headers.iter().copied().filter(is_common);
        for status in told[0].split(" = ").next().unwrap_or_default().split(' ') {
            let status = status.parse().expect("a status is a number");
            let expected = full(status, of_them(), None);
            assert_eq!(common(status, headers.iter().copied(), None), expected, "{capture}");
            read += usize::from(expected != Reply::from(expected.outcome));
        }
    }
    assert!(read > 25, "only {read} responses have a common header");
}

#[test]
fn at_the_edges_of_numbers_and_names_it_says_the_same() {
    const LIMIT: Header<'_> = ("x-ratelimit-limit", "100");
    const LEFT: Header<'_> = ("x-ratelimit-remaining", "40");
    let reset = |value| [LIMIT, LEFT, ("x-ratelimit-reset", value)];
    let list = |value| [("ratelimit-limit", value), ("ratelimit-remaining", "40"), LEFT];
    let two = |[ours, theirs]: [[&'static str; 2]; 2]| {
        [
            ("ratelimit-limit", ours[0]),
            ("ratelimit-remaining", ours[1]),
            ("x-ratelimit-limit", theirs[0]),
            ("x-ratelimit-remaining", theirs[1]),
        ]
    };
    let mut cases: Vec<Vec<Header<'_>>> = Vec::new();
    for time in ["1000000000", "1740992400", "1740992401", "0", "1"] {
        cases.push(reset(time).to_vec());
    }
    for date in ["17", "1740992300", "Sun, 02 Mar 2025 23:59:00 GMT", "tomorrow"] {
        cases.push([&[("date", date)], &reset("1740992500")[..]].concat());
    }
    for date in ["Sun, 02 Foo 2025 23:59:00 GMT", "Sun, 02 Mar 2025 23:59:00 UTC"] {
        cases.push(vec![("date", date), ("retry-after", "Sun, 02 Mar 2025 23:59:30 GMT")]);
        cases.push(vec![("retry-after", date)]);
    }
    cases.extend(["retry-after-s", "retry-afters", "dates"].map(|name| vec![(name, "5")]));
    for age in ["0", "1", "2"] {
        cases.push([&[("age", age)], &reset("60")[..]].concat());
    }
    for quotas in [
        "100;w=60",
        "100;w=0",
        "100;w=0.001",
        "100;w=60;w=60",
        "100, 200;w=60",
        "100;w=60, 200;w=3600",
        "200;w=3600, 100;w=60, 100",
        "100, 200",
    ] {
        cases.push(list(quotas).to_vec());
    }
    for (name, value) in [
        ("ratelimit-policy", "100;w=60;w=60"),
        ("ratelimit-policy", "200;w=3600, 100;w=60;w=60"),
        ("ratelimit", "100"),
    ] {
        cases.push(vec![(name, value)]);
        cases.push(vec![(name, value), ("ratelimit-remaining", "40")]);
    }
    for fine in ["1999", "2000", "2001", "3000", "3001", "5000"] {
        cases.push(vec![("retry-after", "3"), ("retry-after-ms", fine)]);
    }
    for [ours, theirs] in [
        [["10", "0"], ["20", "0"]],
        [["100", "10"], ["1000", "30"]],
        [["100", "3"], ["1000", "100"]],
        [["100", "50"], ["90", "50"]],
        [["7", "7"], ["9", "9"]],
        [["10", "5"], ["20", "10"]],
    ] {
        cases.push(two([ours, theirs]).to_vec());
        cases.push(two([theirs, ours]).to_vec());
    }
    for after in ["0", "0.001", "1"] {
        cases.push(vec![
            ("ratelimit-policy", "\"b\";q=10;w=60"),
            ("ratelimit", "\"b\";r=0"),
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset-after", after),
        ]);
    }
    for headers in cases {
        for (status, now) in [(200, None), (200, Some(NOW)), (429, None), (429, Some(NOW))] {
            let headers = || headers.iter().copied();
            let [common, full] = [common(status, headers(), now), full(status, headers(), now)];
            assert_eq!(common, full, "{status}, {now:?}, {:?}", headers().collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_number_in_the_field_of_services_is_not_a_quota() {
    for value in ["100", "100;w=60"] {
        let [hint] = common(200, [("ratelimit", value)].into_iter(), None).hints;
        assert_eq!((hint.limit, hint.remaining), (None, None), "{value}");
    }
}

#[test]
fn a_date_before_1970_is_in_the_past_and_one_from_2106_on_saturates() {
    // 49 days, in milliseconds.
    let most = Span::from_millis(4_294_967_000);
    for (date, expected) in [
        ("Wed, 31 Dec 1969 23:59:59 GMT", Span::ZERO),
        ("Thu, 01 Jan 1970 00:00:00 GMT", Span::ZERO),
        ("Mon, 03 Mar 2025 09:00:01 GMT", Span::from_secs(1)),
        ("Thu, 31 Dec 2105 23:59:59 GMT", most),
        ("Fri, 31 Dec 9999 23:59:60 GMT", most),
    ] {
        let reply = common(429, [("retry-after", date)].into_iter(), Some(NOW));
        assert_eq!(reply.hints[0].retry_after, Some(expected), "{date}");
    }
}

#[test]
fn a_malformed_value_is_ignored() {
    for value in [
        "Mon, 03 Mar 2025 24:00:00 GMT",
        "Mon, 03 Mar 2025 09:60:00 GMT",
        "Mon, 31 Apr 2025 09:00:00 GMT",
        "Foo, 03 Mar 2025 09:00:00 GMT",
        "Mon, 3 Mar 2025 09:00:00 GMT",
        "1.",
        "-1",
    ] {
        let reply = common(429, [("retry-after", value)].into_iter(), Some(NOW));
        assert_eq!(reply.hints[0].retry_after, None, "{value}");
    }
    for value in [r#""a";r=5;w=0"#, r#""a";r=5"#, r#""a";r"#, r#""a";r=5;"#] {
        let reply = common(200, [("ratelimit", value)].into_iter(), None);
        assert_eq!(reply.hints[0].remaining, None, "{value}");
    }
}

/// A number of up to `most`, with or without thousandths.
fn decimal(most: u32) -> impl Strategy<Value = String> {
    prop_oneof![
        3 => (0..=most).prop_map(|number| number.to_string()),
        1 => (0..=most, 1..=3_usize, 0..1_000_u32)
            .prop_map(|(number, places, thousandths)| format!("{number}.{:.places$}", format!("{thousandths:03}"))),
    ]
}

const MONTH: u32 = 31 * 86_400;
const NOW: u32 = 1_740_992_400;

fn date() -> impl Strategy<Value = String> {
    let time = prop_oneof![NOW - 100..NOW + 5_000, NOW - 20 * 86_400..NOW + 20 * 86_400];
    time.prop_map(|time| {
        let since_1970 = core::time::Duration::from_secs(u64::from(time));
        httpdate::fmt_http_date(std::time::UNIX_EPOCH + since_1970)
    })
}

fn reset() -> impl Strategy<Value = String> {
    let epoch = (NOW - 100..NOW + 5_000).prop_map(|time| time.to_string());
    prop_oneof![3 => decimal(MONTH), 3 => epoch, 1 => date()]
}

fn count() -> impl Strategy<Value = String> {
    prop_oneof![1 => Just("0".to_owned()), 3 => (0..20_u32).prop_map(|count| count.to_string()),
        3 => (0..20_000_u32).prop_map(|count| count.to_string())]
}

/// A limit that counts bytes.
const VOLUME: &str = "\"volume\"";

fn name() -> impl Strategy<Value = String> {
    select(vec!["\"default\"", "\"a b\"", "burst", VOLUME]).prop_map(str::to_owned)
}

fn seconds() -> impl Strategy<Value = String> {
    prop_oneof![Just("60".to_owned()), decimal(MONTH)]
}

fn parameters(keys: [&'static str; 2], value: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let [needed, timed] = keys;
    let extra = select(vec!["", ";pk=:dHJpYWw=:", ";comment=\"x;y,z\"", ";flag", "; other=-1"]);
    (value, proptest::option::of(seconds()), extra)
        .prop_map(move |(value, time, extra)| {
            let time = time.filter(|time| time.parse() != Ok(0.0));
            let time = time.map_or(String::new(), |time| format!(";{timed}={time}"));
            format!(";{needed}={value}{time}{extra}")
        })
        .boxed()
}

fn list(member: BoxedStrategy<String>) -> BoxedStrategy<String> {
    proptest::collection::vec(member, 1..3).prop_map(|members| members.join(", ")).boxed()
}

fn service() -> BoxedStrategy<String> {
    let named = (name(), parameters(["r", "t"], count().boxed()));
    let dictionary = (count(), count(), seconds())
        .prop_map(|(limit, left, reset)| format!("limit={limit}, remaining={left}, reset={reset}"));
    prop_oneof![list(named.prop_map(|(name, told)| name + &told).boxed()), dictionary].boxed()
}

fn policy() -> BoxedStrategy<String> {
    let unit = select(vec!["", ";qu=\"requests\""]);
    let named = (name(), parameters(["q", "w"], count().boxed()), unit);
    let named = named.prop_map(|(name, told, unit)| {
        let (told, unit) = match &*name {
            // No quota with the same number of calls lacks a name.
            VOLUME => (";q=65535;w=10", ";qu=\"content-bytes\""),
            _ => (&*told, unit),
        };
        format!("{name}{told}{unit}")
    });
    prop_oneof![list(named.boxed()), quotas()].boxed()
}

fn quotas() -> BoxedStrategy<String> {
    let quota = (count(), proptest::option::of(1..100_u32));
    let quota = quota.prop_map(|(count, period)| match period {
        Some(period) => format!("{count};w={period}"),
        None => count,
    });
    list(quota.boxed())
}

/// A header of a common dialect.
fn header() -> impl Strategy<Value = (String, String)> {
    let family = || select(FAMILIES.to_vec());
    prop_oneof![
        (Just("Date".to_owned()), date()),
        (Just("Age".to_owned()), Just("0".to_owned())),
        (Just("Retry-After".to_owned()), prop_oneof![decimal(MONTH), date()]),
        (Just("retry-after-ms".to_owned()), (0..9_000_000_u32).prop_map(|time| time.to_string())),
        (Just("x-should-retry".to_owned()), select(vec!["True", "False"]).prop_map(str::to_owned)),
        (Just("RateLimit".to_owned()), service()),
        (Just("RateLimit-Policy".to_owned()), policy()),
        (family().prop_map(|family| format!("{family}Limit")), quotas()),
        (family().prop_map(|family| format!("{family}Remaining")), count()),
        (family().prop_map(|family| format!("{family}Reset")), reset()),
        (family().prop_map(|family| format!("{family}Reset-After")), decimal(MONTH)),
        (Just("X-RateLimit-Limit-Tokens".to_owned()), count()),
        (Just("Content-Type".to_owned()), Just("text/plain".to_owned())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn common_headers_are_read_like_in_the_complete_reading(
        status in select(vec![200, 403, 429, 503, 500]),
        headers in proptest::collection::vec(header(), 0..6),
        clock in proptest::option::of(NOW - 50..NOW + 50),
    ) {
        let headers = || headers.iter().map(|(name, value)| (&**name, &**value));
        let of_them = headers().filter(|(name, _)| is_common(name));
        // There is room for six limits, and each member of a list may be one.
        let of_limits = of_them.clone().filter(|(name, _)| name.to_ascii_lowercase().contains("limit"));
        let members = |(_, value): Header<'_>| value.split(", ").map(|m| 1 + usize::from(m.starts_with(char::is_numeric) && m.contains(";w"))).sum::<usize>();
        prop_assume!(of_limits.map(members).sum::<usize>() <= 6);
        prop_assert_eq!(common(status, headers(), clock), full(status, of_them, clock));
    }
}
