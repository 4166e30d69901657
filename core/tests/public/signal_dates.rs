//! Every day of 131 years as formatted by the crate `httpdate`. The oracle's vectors have dates of
//! any time in every format.

use core::time::Duration;
use std::time::UNIX_EPOCH;

use tidegate::Span;
use tidegate::signal::http::Reading;

/// How long before a reset with this value a clock is.
fn until(value: &str, clock: u64) -> Option<Span> {
    let mut reading = Reading::new(200);
    reading.header("X-RateLimit-Remaining", "1");
    reading.header("X-RateLimit-Reset", value);
    reading.finish(Some(Span::from_secs(clock))).hint.reset
}

#[test]
fn every_day_from_1970_to_2101_is_read_correctly() {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for day in 0..131 * 365 + 31_u64 {
        let seconds = day * 86_400 + day % 86_400;
        let clock = seconds.saturating_sub(4_000_000);
        let expected = Some(Span::from_secs(seconds - clock));
        let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(until(&date, clock), expected, "{date}");
        let month = MONTHS.find(&date[8..11]).unwrap() / 3 + 1;
        let date = format!("{}-{month:02}-{}T{}Z", &date[12..16], &date[5..7], &date[17..25]);
        assert_eq!(until(&date, clock), expected, "{date}");
    }
}
