//! Dates against an independent reader and writer of them, the crate `httpdate`.
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that overflows or panics fails, which is right"
)]

use core::time::Duration;
use std::time::UNIX_EPOCH;

use proptest::prelude::*;
use tidegate::Span;
use tidegate::signal::http::Reading;

/// The end of what a span of nanoseconds can hold, in the year 2554.
const END: u64 = u64::MAX / 1_000_000_000;

/// How long after the start of 1970 a reset with this value is.
fn since_1970(value: &str) -> Option<Span> {
    let mut reading = Reading::new(200);
    reading.header("X-RateLimit-Remaining", "1");
    reading.header("X-RateLimit-Reset", value);
    reading.finish(Some(Span::ZERO)).hint.reset
}

fn written(seconds: u64) -> String {
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds))
}

/// Day, month, year and time of an IMF-fixdate, and the month's number.
fn parts(date: &str) -> (&str, &str, &str, &str, usize) {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let month = &date[8..11];
    (&date[5..7], month, &date[12..16], &date[17..25], MONTHS.find(month).unwrap() / 3 + 1)
}

const LONG: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

#[test]
fn every_day_from_1970_to_2101_is_read_as_it_was_written() {
    for day in 0..131 * 365 + 31 {
        let seconds = day * 86_400 + day % 86_400;
        let date = written(seconds);
        assert_eq!(since_1970(&date), Some(Span::from_secs(seconds)), "{date}");
        let (day, _, year, time, month) = parts(&date);
        let date = format!("{year}-{month:02}-{day}T{time}Z");
        assert_eq!(since_1970(&date), Some(Span::from_secs(seconds)), "{date}");
    }
}

proptest! {
    #[test]
    fn all_three_forms_of_a_date_are_one_date(seconds in 0..=END) {
        let date = written(seconds);
        let (day, month, year, time, _) = parts(&date);
        let expected = Some(Span::from_secs(seconds));
        let short = &date[..3];
        let asctime = format!("{short} {month} {:>2} {time} {year}", day.trim_start_matches('0'));
        prop_assert_eq!(since_1970(&asctime), expected, "{}", asctime);
        let long = LONG.iter().find(|long| long.starts_with(short)).unwrap();
        let rfc_850 = format!("{long}, {day}-{month}-{} {time} GMT", &year[2..]);
        let oracle = httpdate::parse_http_date(&rfc_850).map(|date| {
            Span::from_secs(date.duration_since(UNIX_EPOCH).unwrap().as_secs())
        });
        // It checks the weekday, which a year of another century may not fit.
        if let Ok(oracle) = oracle {
            prop_assert_eq!(since_1970(&rfc_850), Some(oracle), "{}", rfc_850);
        }
    }

    #[test]
    fn an_offset_moves_a_date_by_as_much(
        seconds in 86_400..=END - 86_400,
        nanos in 0..1_000_000_000u64,
        minutes in 0..1_440u64,
        east in any::<bool>(),
    ) {
        let date = written(seconds);
        let (day, _, year, time, month) = parts(&date);
        let (sign, utc) = if east {
            ('+', seconds - minutes * 60)
        } else {
            ('-', seconds + minutes * 60)
        };
        let (hours, minutes) = (minutes / 60, minutes % 60);
        let date =
            format!("{year}-{month:02}-{day}T{time}.{nanos:09}{sign}{hours:02}:{minutes:02}");
        let expected = Span::from_secs(utc).saturating_add(Span::from_nanos(nanos));
        prop_assert_eq!(since_1970(&date), Some(expected), "{}", date);
    }

    #[test]
    fn what_the_oracle_refuses_is_refused(
        seconds in 0..=END, place in 3..29usize, byte in 0x20..0x7Fu8,
    ) {
        let mut date = written(seconds).into_bytes();
        date[place] = byte;
        let date = String::from_utf8(date).unwrap();
        // The oracle wants the right weekday too, and knows no leap second.
        let refused = LONG.iter().all(|day| {
            httpdate::parse_http_date(&format!("{}{}", &day[..3], &date[3..])).is_err()
        });
        if refused && !date.contains(":60 ") && &date[12..16] >= "1970" {
            prop_assert_eq!(since_1970(&date), None, "{}", date);
        }
    }
}
