//! Signals other than HTTP responses: codes, trailers, options, and single values with dates, each
//! compared with an independent parser.

use core::time::Duration;
use std::time::UNIX_EPOCH;

use tidegate::signal::http::{Name, Reading};
use tidegate::signal::{aws, coap, grpc, mqtt};
use tidegate::{Hint, Outcome, Reply, Span};

use tidegate_promises::Input;

/// The largest date in seconds, in the year 2106.
const END: u64 = u32::MAX as u64 - 1;
/// The longest time, in milliseconds.
const LONGEST: u64 = u32::MAX as u64 - 1;
/// How long before a date a clock is, in seconds.
const EARLIER: u64 = 4_000_000;
const NAMES: [&str; 16] = [
    "date",
    "age",
    "retry-after",
    "retry-after-ms",
    "ratelimit",
    "ratelimit-policy",
    "ratelimit-limit",
    "ratelimit-remaining",
    "ratelimit-reset",
    "x-ratelimit-reset",
    "x-ratelimit-reset-after",
    "x-ratelimit-limit-tokens",
    "anthropic-ratelimit-requests-limit",
    "x-shopify-shop-api-call-limit",
    "x-amzn-errortype",
    "stripe-should-retry",
];

/// A kind of signal, and its bytes.
pub fn try_with(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    match input.u8() % 8 {
        // Such bytes are read without a panic, and nothing else is promised.
        1 | 4 if is_odd(input.rest()) => {
            _ = grpc::reply::<1>(14, input.rest(), Some(input.rest()), None)
        }
        0 => aws_code(input.rest()),
        1 => grpc_status(input.u8().into(), input.rest()),
        2 => coap_response(input.u8(), input.rest()),
        3 => mqtt_codes(input.u8()),
        4 => digits(input.rest()),
        5 => written(input),
        6 => date(input.rest()),
        _ => header(input),
    }
}

fn aws_code(code: &[u8]) {
    let told = aws::outcome(code);
    assert!(matches!(told, None | Some(Outcome::Throttled | Outcome::Failed)));
    if !code.iter().any(|byte| b":#".contains(byte)) {
        let dressed = [b"com.amazonaws#", code, b":http://internal.amazon.com/"].concat();
        assert_eq!(aws::outcome(dressed), told);
    }
}

fn grpc_status(code: u32, pushback: &[u8]) {
    let delay = grpc::retry_delay(pushback).or_else(|| grpc::retry_delay_base64(pushback));
    let reply: Reply<2> = grpc::reply(code, b"", Some(pushback), delay);
    let silent: Reply<2> = grpc::reply(code, b"", None, None);
    assert_eq!((reply.outcome, silent.outcome), (grpc::outcome(code), grpc::outcome(code)));
    assert_eq!(silent.hints, [Hint::NONE; 2]);
    let expected = match unsigned(pushback).and_then(|number| i32::try_from(number).ok()) {
        _ if !reply.outcome.is_retryable() => Hint::NONE,
        Some(millis) => Hint::retry_after(Span::from_millis(millis.unsigned_abs().into())),
        None => Hint::NONE.and_no_retry(),
    };
    assert_eq!(reply.hints, [expected; 2], "{pushback:?}");
}

fn coap_response(code: u8, option: &[u8]) {
    let expected = (option.len() <= 4).then(|| {
        let mut number = [0; 4];
        number[4 - option.len()..].copy_from_slice(option);
        u32::from_be_bytes(number)
    });
    let max_age = coap::max_age(option);
    assert_eq!(max_age, expected);
    let reply: Reply = coap::reply(code, max_age);
    let cooldown = reply.outcome.is_pushback();
    let seconds = Span::from_secs(max_age.unwrap_or(60).into());
    assert_eq!(reply.hints[0].retry_after, cooldown.then_some(seconds));
}

fn mqtt_codes(reason: u8) {
    assert!(reason >= 0x80 || mqtt::outcome(reason) == Outcome::Ok);
    assert_ne!(mqtt::outcome(reason), Outcome::Abandoned);
}

/// Digits with optional white space, as the standard library parses them. Saturates.
fn unsigned(value: &[u8]) -> Option<u64> {
    let digits = core::str::from_utf8(value.trim_ascii()).ok()?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().unwrap_or(u64::MAX))
}

/// Whether it is surrounded by white space that no header or trailer can have.
fn is_odd(value: &[u8]) -> bool {
    value.iter().any(|byte| byte.is_ascii_whitespace() && !b" \t".contains(byte))
}

/// Both readings parse plain digits as a number.
fn digits(value: &[u8]) {
    let (mut reading, mut common) = (Reading::new(429), Reading::common(429));
    for name in ["RateLimit-Remaining", "Retry-After"] {
        reading.header(name, value);
        common.header(name, value);
    }
    let reply: Reply = common.reply(None);
    if let Some(number) = unsigned(value) {
        let hint = reading.finish(None).hint;
        // The last few numbers that fit count as the largest one.
        let told = if number < 4_294_967_290 { number } else { LONGEST };
        assert_eq!(hint.remaining, Some(told), "{value:?}");
        if number < 4_294_967 {
            assert_eq!(hint.retry_after, Some(Span::from_secs(number)), "{value:?}");
            assert_eq!(reply.hints, [hint], "{value:?}");
        }
    }
    assert_eq!(Name::of(value), Name::of(value));
}

/// The time from a clock, in seconds, until a reset with this value.
fn reset(value: &[u8], clock: u64) -> Option<Span> {
    let mut reading = Reading::new(200);
    reading.header("X-RateLimit-Remaining", "1");
    reading.header("X-RateLimit-Reset", value);
    let answer = reading.finish(Some(Span::from_secs(clock)));
    assert_eq!(
        answer.ignored,
        u16::from(answer.hint.reset.is_none()),
        "an invalid value is counted"
    );
    answer.hint.reset
}

/// Formatted dates and durations are parsed back.
fn written(mut input: Input<'_>) {
    let (seconds, nanos) = (input.u64() % (END + 1), input.u32() % 1_000_000_000);
    let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds));
    is_read_as(date.as_bytes(), seconds);

    let seconds = seconds % (LONGEST / 1_000);
    let span = Span::from_millis(seconds * 1_000 + u64::from(nanos.div_ceil(1_000_000)));
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    let duration = format!("{hours}h{minutes}m{}.{nanos:09}s", seconds % 60);
    assert_eq!(reset(duration.as_bytes(), 0), Some(span), "{duration}");
    let plain = format!("{seconds}.{nanos:09}");
    let mut reading = Reading::new(200);
    reading.header("X-RateLimit-Reset-After", &plain);
    assert_eq!(reading.finish(None).hint.reset, Some(span), "{plain}");
}

/// A date that is this many seconds after the start of 1970.
fn is_read_as(date: &[u8], seconds: u64) {
    let clock = seconds.saturating_sub(EARLIER);
    assert_eq!(reset(date, clock), Some(Span::from_secs(seconds - clock)), "{date:?}");
}

/// If another parser accepts a date and would format it the same, this one reads the same date.
fn date(value: &[u8]) {
    _ = reset(value, 0);
    let Ok(text) = core::str::from_utf8(value) else { return };
    let Ok(oracle) = httpdate::parse_http_date(text) else { return };
    if httpdate::fmt_http_date(oracle) == text {
        let seconds = oracle.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        is_read_as(value, seconds.min(END));
    }
}

/// A header with any bytes, including line breaks that no response can contain.
fn header(mut input: Input<'_>) {
    let name = input.pick(&NAMES);
    let mut reading = Reading::new(429);
    reading.header(name, input.rest());
    let answer = reading.finish(None);
    // Once for the header, and once for each of its items.
    let items = input.rest().iter().filter(|byte| **byte == b',').count() + 1;
    assert!(usize::from(answer.ignored) <= 1 + items, "it is ignored {} times", answer.ignored);
    assert!(answer.hint.retry_after.is_none() || answer.outcome != Outcome::Ok);
    let mut twice = reading;
    twice.header(name, input.rest());
    let twice = twice.finish(None);
    assert_eq!((twice.outcome, twice.hint), (answer.outcome, answer.hint), "said twice");
}
