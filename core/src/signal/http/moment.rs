//! Points in time in all formats that servers use.

use super::dialect::Term;
use super::draft::Draft;
use crate::signal::text::{Number, Text};
use crate::signal::word::Table;

/// What a number in a reset header means.
///
/// Servers disagree, and the header does not say. [`Auto`](Self::Auto) decides by the number's
/// size. It cannot recognise milliseconds from now, which look like seconds: set the profile for a
/// server that sends those.
///
/// With any profile, a value with letters or dashes is recognised by its form: a duration in Go's
/// format (`6m0s`, `12ms`), RFC 3339, or an HTTP-date.
///
/// ```
/// use tidegate::{Span, signal::http::{Profile, Reading}};
///
/// let mut reading = Reading::with_profile(200, Profile::DeltaMillis);
/// reading.header("X-RateLimit-Remaining", "3");
/// reading.header("X-RateLimit-Reset", "1500");
/// assert_eq!(reading.finish(None).hint.reset, Some(Span::from_millis(1_500)));
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Profile {
    /// By size. Below 10^9, seconds from now: up to 31 years, and as a date it would precede all of
    /// these headers. Below 10^11, a date in seconds (until the year 5138). Below 10^14, a date in
    /// milliseconds. Larger numbers are invalid.
    #[default]
    Auto,
    /// Seconds from now: the IETF drafts, Envoy, Kong, Reddit.
    Delta,
    /// Milliseconds from now.
    DeltaMillis,
    /// Seconds since 1970: GitHub, GitLab, X, Discord.
    Epoch,
    /// Milliseconds since 1970.
    EpochMillis,
}

/// The default meaning of a number of this size. `None` if it is invalid.
fn by_size(number: u64) -> Option<Profile> {
    Some(match number {
        0..1_000_000_000 => Profile::Delta,
        1_000_000_000..100_000_000_000 => Profile::Epoch,
        100_000_000_000..100_000_000_000_000 => Profile::EpochMillis,
        _ => return None,
    })
}

/// Reads points in time, of which the latest counts. Client libraries may join several values. If
/// one of them is malformed, all are ignored. `Retry-After` and `Date` have no profile and use
/// [`Profile::Auto`], but a number that is not a valid date is a delay that saturates.
pub(super) fn moments(text: &mut Text<'_>, draft: &mut Draft, profile: Option<Profile>) {
    loop {
        // Nanoseconds have nine more digits than seconds.
        let (mut term, mut places) = (Term::Reset, 9);
        let number = if text.peek().is_ascii_alphabetic() {
            Number { whole: http_date(text), fraction: &[] }
        } else {
            let number = text.number();
            match text.peek() {
                b'-' if number.fraction.is_empty() => rfc_3339(text, number.whole),
                b'a'..=b'z' | 0x80.. => {
                    (term, places) = (Term::ResetAfter, 0);
                    Number { whole: duration(text, number), fraction: &[] }
                }
                _ => {
                    let known = match profile {
                        None => by_size(number.whole).unwrap_or(Profile::Delta),
                        Some(Profile::Auto) => by_size(number.whole).unwrap_or_else(|| {
                            text.fail();
                            Profile::Delta
                        }),
                        Some(profile) => profile,
                    };
                    if matches!(known, Profile::Delta | Profile::DeltaMillis) {
                        term = Term::ResetAfter;
                    }
                    if matches!(known, Profile::DeltaMillis | Profile::EpochMillis) {
                        places = 6;
                    }
                    number
                }
            }
        };
        draft.tell(term, number.shifted(places));
        if !text.comma() {
            break;
        }
    }
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
fn duration<'a>(text: &mut Text<'a>, mut number: Number<'a>) -> u64 {
    let mut sum = 0u64;
    loop {
        let unit = text.run(|byte| matches!(byte, b'a'..=b'z' | 0x80..));
        let Some((places, sixties)) = UNITS.find(unit) else {
            text.fail();
            return 0;
        };
        let mut nanos = number.shifted(usize::from(places));
        for _ in 0..sixties {
            let fits = nanos <= u64::MAX / 60;
            nanos = if fits { nanos.wrapping_mul(60) } else { u64::MAX };
        }
        sum = sum.saturating_add(nanos);
        if !text.peek().is_ascii_digit() {
            return sum;
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

/// Reads an HTTP-date in any of its three formats (RFC 9110 section 5.6.7), in seconds.
///
/// The weekday must be valid, but need not match. A date before 1970 becomes the first day of 1970,
/// which is also in the past.
fn http_date(text: &mut Text<'_>) -> u64 {
    if !matches!(name(text), 1..=7) {
        text.fail();
    }
    let (year, month, day, time);
    if text.eat(b' ') {
        // asctime: Sun Nov  6 08:49:37 1994
        month = name(text);
        text.expect(b" ");
        day = if text.eat(b' ') { text.digits(1) } else { text.digits(2) };
        text.expect(b" ");
        time = clock(text, 3);
        text.expect(b" ");
        year = text.digits(4);
    } else {
        text.expect(b", ");
        day = text.digits(2);
        let mark = if text.peek() == b'-' { b"-" } else { b" " };
        text.expect(mark);
        month = name(text);
        text.expect(mark);
        year = match mark {
            // IMF-fixdate: Sun, 06 Nov 1994 08:49:37 GMT
            b" " => text.digits(4),
            // Sunday, 06-Nov-94 08:49:37 GMT. Two-digit years below 70 are in this century, as in
            // POSIX. Anything better would require a clock.
            _ => {
                let short = text.digits(2);
                short.wrapping_add(if short < 70 { 2_000 } else { 1_900 })
            }
        };
        text.expect(b" ");
        time = clock(text, 3);
        text.expect(b" GMT");
    }
    midnight(text, year, month.wrapping_sub(7), day).wrapping_add(u64::from(time))
}

/// Reads a date-time of RFC 3339 after its year, with `T`, `t` or a space between date and time.
fn rfc_3339<'a>(text: &mut Text<'a>, year: u64) -> Number<'a> {
    text.expect(b"-");
    let month = text.digits(2);
    text.expect(b"-");
    let day = text.digits(2);
    if !matches!(text.next(), b'T' | b't' | b' ') {
        text.fail();
    }
    // Atlassian omits the seconds.
    let minutes = clock(text, 2);
    let seconds = if text.eat(b':') { text.digits(2) } else { 0 };
    if seconds > 60 {
        text.fail();
    }
    let time = minutes.wrapping_mul(60).wrapping_add(seconds);
    let year = u32::try_from(year).unwrap_or(u32::MAX);
    let local = midnight(text, year, month, day).wrapping_add(u64::from(time));
    let fraction = if text.eat(b'.') { text.some_digits() } else { &[] };
    let zone = text.next();
    let offset = if matches!(zone, b'Z' | b'z') { 0 } else { clock(text, 2).wrapping_mul(60) };
    let whole = match zone {
        b'+' => local.saturating_sub(u64::from(offset)),
        b'-' | b'Z' | b'z' => local.wrapping_add(u64::from(offset)),
        _ => {
            text.fail();
            0
        }
    };
    Number { whole, fraction }
}

/// Reads a time of two or three parts, in its smallest unit. A leap second is the first second of
/// the next minute.
fn clock(text: &mut Text<'_>, parts: usize) -> u32 {
    let mut time = 0u32;
    for last in [23, 59, 60].iter().take(parts) {
        if *last > 23 {
            text.expect(b":");
        }
        let part = text.digits(2);
        if part > *last {
            text.fail();
        }
        time = time.wrapping_mul(60).wrapping_add(part);
    }
    time
}

/// The seconds from the start of 1970 to the start of a valid day. Zero for earlier days.
fn midnight(text: &mut Text<'_>, year: u32, month: u32, day: u32) -> u64 {
    let length = match month {
        2 => 28u32.wrapping_add(u32::from(is_leap(year))),
        // 31 days in odd months up to July and in even months from August.
        _ => 30 | ((month ^ (month >> 3)) & 1),
    };
    if year > 9_999 || !(1..=12).contains(&month) || !(1..=length).contains(&day) {
        text.fail();
        return 0;
    }
    u64::from(days(year, month).wrapping_add(day).saturating_sub(719_469)).wrapping_mul(86_400)
}

/// The days before a month, counted from a distant year.
///
/// Years start in March, so that the leap day is last, and the divisions are shifts that are exact
/// up to the year 9999 (Neri and Schneider, "Euclidean affine functions and their application to
/// calendar algorithms", 2022).
pub(super) fn days(year: u32, month: u32) -> u32 {
    let (year, month) =
        if month > 2 { (year, month) } else { (year.saturating_sub(1), month.wrapping_add(12)) };
    let century = hundreds(year);
    let leap_days = (year >> 2).wrapping_sub(century).wrapping_add(century >> 2);
    let before = month.wrapping_mul(979).wrapping_sub(2_919) >> 5;
    year.wrapping_mul(365).wrapping_add(leap_days).wrapping_add(before)
}

fn is_leap(year: u32) -> bool {
    let century = hundreds(year);
    if year == century.wrapping_mul(100) { century & 3 == 0 } else { year & 3 == 0 }
}

fn hundreds(year: u32) -> u32 {
    year.wrapping_mul(5_243) >> 19
}
