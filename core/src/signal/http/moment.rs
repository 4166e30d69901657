//! Points in time in all formats that servers use.

use super::draft::{Draft, Part};
use super::number::Number as Width;
use crate::signal::text::{Number, Text};
use crate::signal::word::Table;

/// What a number means where a time is expected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Scale {
    /// By its size. Below 10^9, seconds from now: up to 31 years, and as a date it would precede all
    /// of these headers. Below 10^11, a date in seconds (until the year 5138). Below 10^14, a date in
    /// milliseconds. Larger numbers are invalid.
    BySize,
    /// By its size, but a number that is too large for a date is a delay that saturates.
    Any,
    /// Seconds from now.
    Seconds,
    /// Milliseconds from now.
    Millis,
}

/// Reads a point in time.
pub(super) type Moment<N> = fn(&mut Text<'_>, &mut Draft<N>, Scale);

/// Reads a point in time in any format.
pub(super) fn any(text: &mut Text<'_>, draft: &mut Draft<u64>, scale: Scale) {
    if text.peek().is_ascii_alphabetic() {
        weekday(text);
        let mut parts = Parts([0; 6]);
        let mut ahead = *text;
        ahead.take(4);
        if text.peek() == b' ' {
            read(text, &mut parts, ASCTIME);
        } else if ahead.peek() == b'-' {
            read(text, &mut parts, RFC_850);
            // Two-digit years below 70 are in this century, as in POSIX. Anything better would
            // require a clock.
            let Parts([year, ..]) = &mut parts;
            *year = year.wrapping_add(if *year < 70 { 2_000 } else { 1_900 });
        } else {
            read(text, &mut parts, IMF_FIXDATE);
        }
        return at(draft, since_1970(text, &parts), &[]);
    }
    let number = text.number();
    match text.peek() {
        b'-' if number.fraction.is_empty() => rfc_3339(text, draft, number.whole),
        b'a'..=b'z' | 0x80.. => duration(text, draft, number),
        _ => plain(text, draft, number, scale),
    }
}

/// Reads a number or an IMF-fixdate.
pub(super) fn common(text: &mut Text<'_>, draft: &mut Draft<u32>, scale: Scale) {
    if text.peek().is_ascii_alphabetic() {
        weekday(text);
        let mut parts = Parts([0; 6]);
        read(text, &mut parts, IMF_FIXDATE);
        at(draft, since_1970(text, &parts), &[]);
    } else {
        let number = text.number();
        plain(text, draft, number, scale);
    }
}

/// Records a date in seconds since 1970.
fn at<N: Width>(draft: &mut Draft<N>, whole: u64, fraction: &[u8]) {
    draft.put(Part::At, N::of(Number { whole, fraction }.shifted(N::DATE_PLACES)));
}

fn plain<N: Width>(text: &mut Text<'_>, draft: &mut Draft<N>, number: Number<'_>, scale: Scale) {
    let (time, date) = (N::TIME_PLACES, N::DATE_PLACES);
    let (part, places) = match (scale, number.whole) {
        (Scale::Millis, _) => (Part::After, time.wrapping_sub(3)),
        (Scale::Seconds, _) | (_, ..1_000_000_000) => (Part::After, time),
        (_, ..100_000_000_000) => (Part::At, date),
        (_, ..100_000_000_000_000) if date >= 3 => (Part::At, date.wrapping_sub(3)),
        (Scale::Any, _) => (Part::After, time),
        (Scale::BySize, _) => return text.fail(),
    };
    draft.put(part, N::of(number.shifted(places)));
}

/// The units of a duration in Go's format: how far each moves the decimal point, and its power of
/// sixty. Both letters for micro take two bytes.
static UNITS: Table<(u8, u8), 8> = Table::of(&[
    ("h", (9, 2)),
    ("m", (9, 1)),
    ("s", (9, 0)),
    ("ms", (6, 0)),
    ("us", (3, 0)),
    ("\u{B5}s", (3, 0)),
    ("\u{3BC}s", (3, 0)),
    ("ns", (0, 0)),
]);

/// Reads a duration in Go's format after its first number: `1h2m3.5s`, `12ms`.
fn duration<'a>(text: &mut Text<'a>, draft: &mut Draft<u64>, mut number: Number<'a>) {
    let mut sum = 0u64;
    loop {
        let unit = text.run(|byte| matches!(byte, b'a'..=b'z' | 0x80..));
        let Some((places, sixties)) = UNITS.find(unit) else { return text.fail() };
        let mut nanos = number.shifted(usize::from(places));
        for _ in 0..sixties {
            nanos = nanos.saturating_mul(60);
        }
        sum = sum.saturating_add(nanos);
        if !text.peek().is_ascii_digit() {
            return draft.put(Part::After, sum);
        }
        number = text.number();
    }
}

/// The days of the week and the months, three letters each.
const NAMES: &[u8; 57] = b"MonTueWedThuFriSatSunJanFebMarAprMayJunJulAugSepOctNovDec";

/// Reads the name of a day (1 to 7) or of a month (8 to 19) by three letters.
fn name(text: &mut Text<'_>) -> u32 {
    let [a, b, c, ..] = text.letters() else { return 0 };
    let known = (1..).zip(NAMES.chunks_exact(3)).find(|(_, name)| *name == [*a, *b, *c]);
    known.map_or(0, |(number, _)| number)
}

/// Reads a day of the week, which must be valid but need not match the date.
fn weekday(text: &mut Text<'_>) {
    if !matches!(name(text), 1..=7) {
        text.fail();
    }
}

/// The formats of HTTP-dates (RFC 9110 section 5.6.7) after their weekday. A digit is one of the
/// year, month, day, hour, minute or second; `m` is the name of a month, and `_` a space or the first
/// digit of the day.
const IMF_FIXDATE: &[u8] = b", 22 m 0000 33:44:55 GMT";
const RFC_850: &[u8] = b", 22-m-00 33:44:55 GMT";
const ASCTIME: &[u8] = b" m _2 33:44:55 0000";

/// The year, month, day, hour, minute and second of a date.
#[repr(align(8))] // Cleared by the function that clears limits.
struct Parts([u32; 6]);

/// Reads the parts of a date that `pattern` names.
fn read(text: &mut Text<'_>, parts: &mut Parts, pattern: &[u8]) {
    for mark in pattern {
        let Parts([_, month, day, ..]) = parts;
        match mark {
            b'm' => *month = name(text).wrapping_sub(7),
            b'_' if text.eat(b' ') => {}
            b'_' => *day = text.digits(1),
            b'0'..=b'5' => {
                if let Some(part) = parts.0.get_mut(usize::from(mark.wrapping_sub(b'0'))) {
                    *part = part.wrapping_mul(10).wrapping_add(text.digits(1));
                }
            }
            mark => text.expect(core::slice::from_ref(mark)),
        }
    }
}

/// Reads a date-time of RFC 3339 after its year, with `T`, `t` or a space between date and time.
fn rfc_3339(text: &mut Text<'_>, draft: &mut Draft<u64>, year: u64) {
    let mut parts = Parts([0; 6]);
    let Parts([first, ..]) = &mut parts;
    *first = u32::try_from(year).unwrap_or(u32::MAX);
    read(text, &mut parts, b"-11-22");
    if !matches!(text.next(), b'T' | b't' | b' ') {
        text.fail();
    }
    read(text, &mut parts, b"33:44");
    // Atlassian omits the seconds.
    if text.peek() == b':' {
        read(text, &mut parts, b":55");
    }
    let local = since_1970(text, &parts);
    let fraction = if text.eat(b'.') { text.some_digits() } else { &[] };
    let zone = text.next();
    let mut offset = Parts([0; 6]);
    if !matches!(zone, b'Z' | b'z') {
        read(text, &mut offset, b"33:44");
    }
    let offset = time(text, &offset);
    let whole = match zone {
        b'+' => local.saturating_sub(u64::from(offset)),
        b'-' | b'Z' | b'z' => local.wrapping_add(u64::from(offset)),
        _ => return text.fail(),
    };
    at(draft, whole, fraction);
}

/// The time of the day in seconds. A leap second is the first second of the next minute.
fn time(text: &mut Text<'_>, Parts([_, _, _, hour, minute, second]): &Parts) -> u32 {
    if *hour > 23 || *minute > 59 || *second > 60 {
        text.fail();
    }
    hour.wrapping_mul(60).wrapping_add(*minute).wrapping_mul(60).wrapping_add(*second)
}

/// The seconds from the start of 1970 to a valid date. Earlier dates are on its first day.
fn since_1970(text: &mut Text<'_>, parts: &Parts) -> u64 {
    let Parts([year, month, day, ..]) = *parts;
    if year > 9_999 || !(1..=12).contains(&month) {
        text.fail();
        return 0;
    }
    let first = days(year, month);
    let length = days(year, month.wrapping_add(1)).wrapping_sub(first);
    if !(1..=length).contains(&day) {
        text.fail();
    }
    let days = first.wrapping_add(day).saturating_sub(865_566);
    u64::from(days).wrapping_mul(86_400).wrapping_add(time(text, parts).into())
}

/// The days before a month from 1 to 13, counted from a distant year.
///
/// Years start in March, so that the leap day is last, and the divisions are shifts that are exact
/// up to the year 9999 (Neri and Schneider, "Euclidean affine functions and their application to
/// calendar algorithms", 2022).
fn days(year: u32, month: u32) -> u32 {
    // The calendar repeats after 400 years, so the year before the first one exists.
    let (year, month) = match month {
        1 | 2 => (year.wrapping_add(399), month.wrapping_add(12)),
        _ => (year.wrapping_add(400), month),
    };
    let century = year.wrapping_mul(5_243) >> 19;
    let leap_days = (year >> 2).wrapping_sub(century).wrapping_add(century >> 2);
    let before = month.wrapping_mul(979).wrapping_sub(2_919) >> 5;
    year.wrapping_mul(365).wrapping_add(leap_days).wrapping_add(before)
}
