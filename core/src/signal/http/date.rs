//! Dates as servers write them, as time since the start of 1970.

use crate::signal::text::Text;
use crate::time::Span;

const WEEKDAYS: [&[u8]; 14] = [
    b"Monday",
    b"Tuesday",
    b"Wednesday",
    b"Thursday",
    b"Friday",
    b"Saturday",
    b"Sunday",
    b"Mon",
    b"Tue",
    b"Wed",
    b"Thu",
    b"Fri",
    b"Sat",
    b"Sun",
];

/// Each month's name, its length, and the days of a common year before it.
const MONTHS: [(&[u8], u32, u32); 12] = [
    (b"Jan", 31, 0),
    (b"Feb", 28, 31),
    (b"Mar", 31, 59),
    (b"Apr", 30, 90),
    (b"May", 31, 120),
    (b"Jun", 30, 151),
    (b"Jul", 31, 181),
    (b"Aug", 31, 212),
    (b"Sep", 30, 243),
    (b"Oct", 31, 273),
    (b"Nov", 30, 304),
    (b"Dec", 31, 334),
];

/// Reads an HTTP-date in any of its three forms (RFC 9110 section 5.6.7).
///
/// The weekday must be one, but need not be the right one. A date before 1970 is on the first day of
/// 1970, which is past as well; the year 9999 is past the end of time and saturates.
pub(super) fn http_date(text: &mut Text<'_>) -> Option<Span> {
    let weekday = text.run(|byte| byte.is_ascii_alphabetic());
    if !WEEKDAYS.contains(&weekday) {
        return None;
    }
    let (year, month, day, time);
    if text.eat(b", ").is_none() {
        // asctime: Sun Nov  6 08:49:37 1994
        text.eat(b" ")?;
        month = month_name(text)?;
        text.eat(b" ")?;
        day = if text.eat(b" ").is_some() { text.digits(1)? } else { text.digits(2)? };
        text.eat(b" ")?;
        time = clock(text)?;
        text.eat(b" ")?;
        year = text.digits(4)?;
    } else {
        day = text.digits(2)?;
        if text.eat(b" ").is_some() {
            // IMF-fixdate: Sun, 06 Nov 1994 08:49:37 GMT
            month = month_name(text)?;
            text.eat(b" ")?;
            year = text.digits(4)?;
        } else {
            // RFC 850: Sunday, 06-Nov-94 08:49:37 GMT. Two digits of a year below 70 are of this
            // century, as in POSIX; to know better would take a clock.
            text.eat(b"-")?;
            month = month_name(text)?;
            text.eat(b"-")?;
            let short = text.digits(2)?;
            year = short.saturating_add(if short < 70 { 2_000 } else { 1_900 });
        }
        text.eat(b" ")?;
        time = clock(text)?;
        text.eat(b" GMT")?;
    }
    Some(Span::from_secs(since_1970(year, month, day)?.saturating_add(time)))
}

/// Reads a date-time of RFC 3339, with `T`, `t` or a space between date and time.
pub(super) fn rfc_3339(text: &mut Text<'_>) -> Option<Span> {
    let year = text.digits(4)?;
    text.eat(b"-")?;
    let month = text.digits(2)?;
    text.eat(b"-")?;
    let day = text.digits(2)?;
    text.next().filter(|byte| matches!(byte, b'T' | b't' | b' '))?;
    let time = clock(text)?;
    let nanos = match text.eat(b".") {
        Some(()) => text.fraction()?,
        None => 0,
    };
    let local = since_1970(year, month, day)?.saturating_add(time);
    let seconds = match text.next()? {
        b'Z' | b'z' => local,
        sign @ (b'+' | b'-') => {
            let hours = text.digits(2).filter(|hours| *hours < 24)?;
            text.eat(b":")?;
            let minutes = text.digits(2).filter(|minutes| *minutes < 60)?;
            let ahead = u64::from(hours.saturating_mul(60).saturating_add(minutes));
            let ahead = ahead.saturating_mul(60);
            if sign == b'+' { local.saturating_sub(ahead) } else { local.saturating_add(ahead) }
        }
        _ => return None,
    };
    Some(Span::from_secs(seconds).saturating_add(Span::from_nanos(u64::from(nanos))))
}

/// Reads `Jan` to `Dec` as 1 to 12.
fn month_name(text: &mut Text<'_>) -> Option<u32> {
    let name = text.run(|byte| byte.is_ascii_alphabetic());
    (1..).zip(MONTHS).find(|(_, (known, ..))| *known == name).map(|(number, _)| number)
}

/// Reads `hh:mm:ss` as seconds since midnight. A leap second is the next day's first.
fn clock(text: &mut Text<'_>) -> Option<u64> {
    let hours = text.digits(2).filter(|hours| *hours < 24)?;
    text.eat(b":")?;
    let minutes = text.digits(2).filter(|minutes| *minutes < 60)?;
    text.eat(b":")?;
    let seconds = text.digits(2).filter(|seconds| *seconds <= 60)?;
    let minutes = hours.saturating_mul(60).saturating_add(minutes);
    Some(u64::from(minutes.saturating_mul(60).saturating_add(seconds)))
}

/// The seconds from the start of 1970 to the start of this day; none for an earlier year. `None`
/// where there is no such day.
fn since_1970(year: u32, month: u32, day: u32) -> Option<u64> {
    let leap = year.is_multiple_of(400) || (year.is_multiple_of(4) && !year.is_multiple_of(100));
    let (_, (_, length, before)) = (1..).zip(MONTHS).find(|(number, _)| *number == month)?;
    let length = length.saturating_add(u32::from(leap && month == 2));
    if day == 0 || day > length {
        return None;
    }
    let Some(years) = year.checked_sub(1_970) else { return Some(0) };
    // Leap days up to the end of a year; 477 of them had been by the end of 1969.
    let last = year.saturating_sub(1);
    let leap_days = (last / 4).saturating_sub(last / 100).saturating_add(last / 400);
    let days = years
        .saturating_mul(365)
        .saturating_add(leap_days.saturating_sub(477))
        .saturating_add(before)
        .saturating_add(u32::from(leap && month > 2))
        .saturating_add(day.saturating_sub(1));
    Some(u64::from(days).saturating_mul(86_400))
}
