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

/// Reads an HTTP-date in any of its three forms (RFC 9110 section 5.6.7), in seconds.
///
/// The weekday must be one, but need not be the right one. A date before 1970 is on the first day of
/// 1970, which is past as well.
pub(super) fn http_date(text: &mut Text<'_>) -> u64 {
    if !matches!(name(text), 1..=7) {
        text.fail();
    }
    let mut ahead = *text;
    let rfc_850 = matches!(ahead.take(5), [.., b'-']);
    let form: &[u8] = if text.peek() == b' ' {
        // asctime: Sun Nov  6 08:49:37 1994
        b" N e h:m:s Y"
    } else if rfc_850 {
        // Sunday, 06-Nov-94 08:49:37 GMT
        b", d-N-y h:m:s GMT"
    } else {
        // IMF-fixdate: Sun, 06 Nov 1994 08:49:37 GMT
        b", d N Y h:m:s GMT"
    };
    let date = Date::read(text, form);
    date.midnight(text).wrapping_add(date.time)
}

/// Reads a date-time of RFC 3339 behind its year, with `T`, `t` or a space between date and time.
pub(super) fn rfc_3339<'a>(text: &mut Text<'a>, year: u32) -> Number<'a> {
    let date = Date { year, ..Date::read(text, b"-n-dth:m:s") };
    let local = date.midnight(text).wrapping_add(date.time);
    let fraction = if text.eat(b'.') { text.some_digits() } else { &[] };
    let zone = text.next();
    if matches!(zone, b'Z' | b'z') {
        return Number { whole: local, fraction };
    }
    let offset = Date::read(text, b"h:m").time.wrapping_mul(60);
    let whole = match zone {
        b'+' => local.saturating_sub(offset),
        b'-' => local.wrapping_add(offset),
        _ => {
            text.fail();
            0
        }
    };
    Number { whole, fraction }
}

/// A date, and the time since its midnight in the smallest unit that was read.
#[derive(Clone, Copy, Debug, Default)]
struct Date {
    year: u32,
    month: u32,
    day: u32,
    time: u64,
}

impl Date {
    /// Reads what `form` says, letter by letter; what is none of these stands for itself.
    fn read(text: &mut Text<'_>, form: &[u8]) -> Self {
        let mut date = Self::default();
        for step in form {
            let end = match step {
                b'Y' => {
                    date.year = text.digits(4);
                    continue;
                }
                // Two digits of a year below 70 are of this century, as in POSIX; to know better
                // would take a clock.
                b'y' => {
                    let short = text.digits(2);
                    date.year = short.wrapping_add(if short < 70 { 2_000 } else { 1_900 });
                    continue;
                }
                b'N' => {
                    date.month = name(text).wrapping_sub(7);
                    continue;
                }
                b'n' => {
                    date.month = text.digits(2);
                    continue;
                }
                b'd' => {
                    date.day = text.digits(2);
                    continue;
                }
                b'e' => {
                    date.day = if text.eat(b' ') { text.digits(1) } else { text.digits(2) };
                    continue;
                }
                b't' => {
                    if !matches!(text.next(), b'T' | b't' | b' ') {
                        text.fail();
                    }
                    continue;
                }
                b'h' => 24,
                b'm' => 60,
                // A leap second is the next minute's first.
                b's' => 61,
                _ => {
                    text.expect(&[*step]);
                    continue;
                }
            };
            let number = text.digits(2);
            if number >= end {
                text.fail();
            }
            date.time = date.time.wrapping_mul(60).wrapping_add(u64::from(number));
        }
        date
    }

    /// The seconds from the start of 1970 to the start of this day; none for an earlier one.
    ///
    /// It counts years from March on, so that a leap day comes last, and divides by shifts, which are
    /// exact up to the year 9999 (Neri and Schneider, "Euclidean affine functions and their application
    /// to calendar algorithms", 2022).
    fn midnight(self, text: &mut Text<'_>) -> u64 {
        let Self { year, month, day, .. } = self;
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
        let (year, month) = if month > 2 {
            (year, month)
        } else {
            (year.saturating_sub(1), month.wrapping_add(12))
        };
        let century = hundreds(year);
        let leap_days = (year >> 2).wrapping_sub(century).wrapping_add(century >> 2);
        let before = month.wrapping_mul(979).wrapping_sub(2_919) >> 5;
        let days = year.wrapping_mul(365).wrapping_add(leap_days).wrapping_add(before);
        u64::from(days.wrapping_add(day).saturating_sub(719_469)).wrapping_mul(86_400)
    }
}
