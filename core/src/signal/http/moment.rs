//! Points in time in all formats that servers use.

use super::draft::Part;
use crate::signal::text::{Number, Text};

/// What a number means where a time is expected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Scale {
    /// By its size. Below 10^9, seconds from now: up to 31 years, and as a date it would precede all
    /// of these headers. Then a date in seconds (until the year 2106), and with 12 to 14 digits a date
    /// in milliseconds. Other numbers are invalid.
    BySize,
    /// By its size, but a number that is too large for a date is a delay that saturates.
    Any,
    /// Seconds from now.
    Seconds,
    /// Milliseconds from now.
    Millis,
}

/// Reads a point in time in any format: which number of a limit it is, and the number.
pub(super) fn any(text: &mut Text<'_>, scale: Scale) -> (Part, u32) {
    if text.peek().is_ascii_alphabetic() {
        weekday(text);
        let mut ahead = *text;
        ahead.take(4);
        let pattern = match (text.peek(), ahead.peek()) {
            (b' ', _) => ASCTIME,
            (_, b'-') => RFC_850,
            _ => IMF_FIXDATE,
        };
        return (Part::At, date(text, pattern, pattern == RFC_850));
    }
    let mut start = *text;
    let number = text.number();
    match text.peek() {
        b'-' if number.fraction.is_empty() => (Part::At, rfc_3339(text, number.whole)),
        b'a'..=b'z' | 0x80.. => (Part::After, text.duration(number)),
        _ => match start.some_digits().split_last_chunk::<3>() {
            // A date in milliseconds.
            Some((seconds, millis))
                if matches!(scale, Scale::BySize | Scale::Any)
                    && (9..12).contains(&seconds.len()) =>
            {
                let seconds = Number { fraction: millis, ..Text::new(seconds).number() };
                (Part::At, seconds.shifted(0).saturating_add(1))
            }
            _ => plain(text, &number, scale),
        },
    }
}

/// Reads a number or an IMF-fixdate.
pub(super) fn common(text: &mut Text<'_>, scale: Scale) -> (Part, u32) {
    if text.peek().is_ascii_alphabetic() {
        weekday(text);
        return (Part::At, date(text, IMF_FIXDATE, false));
    }
    let number = text.number();
    plain(text, &number, scale)
}

fn plain(text: &mut Text<'_>, number: &Number<'_>, scale: Scale) -> (Part, u32) {
    let (part, places) = match (scale, number.whole) {
        (Scale::Millis, _) => (Part::After, 0),
        (Scale::Seconds, _) | (_, ..1_000_000_000) => (Part::After, 3),
        (_, ..0xFFFF_FFFE) => (Part::At, 0),
        (Scale::Any, _) => (Part::After, 3),
        (Scale::BySize, _) => {
            text.fail();
            (Part::After, 3)
        }
    };
    (part, number.shifted(places).saturating_add(1))
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
            b'_' => *day = text.digit(),
            b'0'..=b'5' => {
                if let Some(part) = parts.0.get_mut(usize::from(mark.wrapping_sub(b'0'))) {
                    *part = part.wrapping_mul(10).wrapping_add(text.digit());
                }
            }
            mark => text.expect(core::slice::from_ref(mark)),
        }
    }
}

/// Reads an HTTP-date after its weekday. Short years below 70 are in this century, as in POSIX.
/// Anything better would require a clock.
fn date(text: &mut Text<'_>, pattern: &[u8], is_short: bool) -> u32 {
    let mut parts = Parts([0; 6]);
    read(text, &mut parts, pattern);
    let Parts([year, ..]) = &mut parts;
    if is_short {
        *year = year.wrapping_add(if *year < 70 { 2_000 } else { 1_900 });
    }
    since_1970(text, &parts)
}

/// Reads a date-time of RFC 3339 after its year, with `T`, `t` or a space between date and time.
/// Fractions of a second are rounded up.
fn rfc_3339(text: &mut Text<'_>, year: u32) -> u32 {
    let mut parts = Parts([0; 6]);
    let Parts([first, ..]) = &mut parts;
    *first = year;
    read(text, &mut parts, b"-11-22");
    if !matches!(text.next(), b'T' | b't' | b' ') {
        text.fail();
    }
    read(text, &mut parts, b"33:44");
    // Atlassian omits the seconds.
    if text.peek() == b':' {
        read(text, &mut parts, b":55");
    }
    let whole = since_1970(text, &parts);
    let fraction = if text.eat(b'.') { text.some_digits() } else { &[] };
    let local = Number { whole, fraction }.shifted(0);
    let zone = text.next();
    let mut offset = Parts([0; 6]);
    if !matches!(zone, b'Z' | b'z') {
        read(text, &mut offset, b"33:44");
    }
    let offset = time(text, &offset);
    match zone {
        b'+' => local.saturating_sub(offset).max(1),
        b'-' | b'Z' | b'z' => local.saturating_add(offset),
        _ => {
            text.fail();
            0
        }
    }
}

/// The time of the day in seconds. A leap second is the first second of the next minute.
fn time(text: &mut Text<'_>, Parts([_, _, _, hour, minute, second]): &Parts) -> u32 {
    if *hour > 23 || *minute > 59 || *second > 60 {
        text.fail();
    }
    hour.wrapping_mul(60).wrapping_add(*minute).wrapping_mul(60).wrapping_add(*second)
}

/// The seconds from the start of 1970 to a valid date, plus one. Earlier dates are on its first
/// day. Saturates in the year 2106.
fn since_1970(text: &mut Text<'_>, parts: &Parts) -> u32 {
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
    let time = time(text, parts).wrapping_add(1);
    match first.wrapping_add(day).saturating_sub(865_566) {
        days @ ..49_710 => days.wrapping_mul(86_400).wrapping_add(time),
        _ => u32::MAX,
    }
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
