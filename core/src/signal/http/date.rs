//! Dates as servers write them, as time since the start of 1970.

use crate::signal::text::{Number, Text};

/// The days of the week and the months, three letters each.
const NAMES: &[u8] = b"MonTueWedThuFriSatSunJanFebMarAprMayJunJulAugSepOctNovDec";

/// Reads the name of a day, 1 to 7, or of a month, 8 to 19. Three letters tell.
fn name(text: &mut Text<'_>) -> u32 {
    let word = text.letters();
    let known = (1..).zip(NAMES.chunks_exact(3)).find(|(_, name)| word.starts_with(name));
    known.map_or(0, |(number, _)| number)
}

/// Reads the name of a month as 1 to 12; other numbers are no month.
fn month_name(text: &mut Text<'_>) -> u32 {
    name(text).wrapping_sub(7)
}

/// Reads an HTTP-date in any of its three forms (RFC 9110 section 5.6.7), in seconds.
///
/// The weekday must be one, but need not be the right one. A date before 1970 is on the first day of
/// 1970, which is past as well.
pub(super) fn http_date(text: &mut Text<'_>) -> u64 {
    if !(1..=7).contains(&name(text)) {
        text.fail();
    }
    let (year, month, day, time);
    if text.eat(b' ') {
        // asctime: Sun Nov  6 08:49:37 1994
        month = month_name(text);
        text.expect(b" ");
        day = if text.eat(b' ') { text.digits(1) } else { text.digits(2) };
        text.expect(b" ");
        time = clock(text);
        text.expect(b" ");
        year = text.digits(4);
    } else {
        text.expect(b", ");
        day = text.digits(2);
        if text.eat(b'-') {
            // RFC 850: Sunday, 06-Nov-94 08:49:37 GMT. Two digits of a year below 70 are of this
            // century, as in POSIX; to know better would take a clock.
            month = month_name(text);
            text.expect(b"-");
            let short = text.digits(2);
            year = short.wrapping_add(if short < 70 { 2_000 } else { 1_900 });
        } else {
            // IMF-fixdate: Sun, 06 Nov 1994 08:49:37 GMT
            text.expect(b" ");
            month = month_name(text);
            text.expect(b" ");
            year = text.digits(4);
        }
        text.expect(b" ");
        time = clock(text);
        text.expect(b" GMT");
    }
    midnight(text, year, month, day).wrapping_add(time)
}

/// Reads a date-time of RFC 3339 behind its year and the first dash, with `T`, `t` or a space
/// between date and time.
pub(super) fn rfc_3339<'a>(text: &mut Text<'a>, year: u32) -> Number<'a> {
    let month = text.digits(2);
    text.expect(b"-");
    let day = text.digits(2);
    if !matches!(text.next(), b'T' | b't' | b' ') {
        text.fail();
    }
    let local = midnight(text, year, month, day).wrapping_add(clock(text));
    let fraction = if text.eat(b'.') { text.some_digits() } else { &[] };
    let whole = match text.next() {
        b'Z' | b'z' => local,
        b'+' => local.saturating_sub(minutes(text)),
        b'-' => local.wrapping_add(minutes(text)),
        _ => {
            text.fail();
            0
        }
    };
    Number { whole, fraction }
}

/// Reads `hh:mm:ss` as seconds since midnight. A leap second is the next day's first.
fn clock(text: &mut Text<'_>) -> u64 {
    let minutes = minutes(text);
    text.expect(b":");
    minutes.wrapping_add(below(text, 61))
}

/// Reads `hh:mm` as seconds.
fn minutes(text: &mut Text<'_>) -> u64 {
    let hours = below(text, 24);
    text.expect(b":");
    hours.wrapping_mul(60).wrapping_add(below(text, 60)).wrapping_mul(60)
}

/// Reads two digits of a number below `end`.
fn below(text: &mut Text<'_>, end: u32) -> u64 {
    let number = text.digits(2);
    if number >= end {
        text.fail();
    }
    u64::from(number)
}

/// The seconds from the start of 1970 to the start of this day; none for an earlier one.
///
/// It counts years from March on, so that a leap day comes last, and divides by shifts, which are
/// exact up to the year 9999 (Neri and Schneider, "Euclidean affine functions and their application
/// to calendar algorithms", 2022).
fn midnight(text: &mut Text<'_>, year: u32, month: u32, day: u32) -> u64 {
    let hundreds = |year: u32| year.wrapping_mul(5_243) >> 19;
    let century = hundreds(year);
    let turn = year == century.wrapping_mul(100);
    let leap = if turn { century & 3 == 0 } else { year & 3 == 0 };
    let length = match month {
        2 => 28u32.wrapping_add(u32::from(leap)),
        // 31 days in every other month, in odd ones to July, in even ones from August on.
        _ => 30 | ((month ^ (month >> 3)) & 1),
    };
    if year > 9_999 || !(1..=12).contains(&month) || !(1..=length).contains(&day) {
        text.fail();
        return 0;
    }
    let (year, month) =
        if month > 2 { (year, month) } else { (year.saturating_sub(1), month.wrapping_add(12)) };
    let century = hundreds(year);
    let leap_days = (year >> 2).wrapping_sub(century).wrapping_add(century >> 2);
    let before = month.wrapping_mul(979).wrapping_sub(2_919) >> 5;
    let days = year.wrapping_mul(365).wrapping_add(leap_days).wrapping_add(before);
    u64::from(days.wrapping_add(day).saturating_sub(719_469)).wrapping_mul(86_400)
}
