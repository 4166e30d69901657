//! Points in time in all the forms that servers give them in.

use super::date::{http_date, rfc_3339};
use super::draft::{Draft, Part};
use crate::signal::text::{Number, Text};

/// What a number in a reset header means.
///
/// Servers disagree, and nothing in the header says which it is. [`Auto`](Self::Auto) tells by the
/// number's size. It cannot tell milliseconds from now, which look like seconds: name the profile
/// where a server sends those.
///
/// Whatever the profile, a value with letters or dashes in it is told by its form: a duration as
/// Go writes it (`6m0s`, `12ms`), RFC 3339, or an HTTP-date.
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
    /// By size. Below 10^9, seconds from now: that is 31 years, and as a date it lies before any
    /// of these headers existed. Below 10^11, a date in seconds (until the year 5138). Below
    /// 10^14, a date in milliseconds. Beyond, nothing that makes sense.
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

/// How many digits nanoseconds have more than these.
const SECONDS: usize = 9;
const MILLIS: usize = 6;

/// Where a number belongs, and its unit; `None` where it makes no sense.
fn meaning(profile: Option<Profile>, number: u64) -> Option<(Part, usize)> {
    Some(match profile.unwrap_or_default() {
        Profile::Auto => match number {
            0..1_000_000_000 => (Part::In, SECONDS),
            1_000_000_000..100_000_000_000 => (Part::At, SECONDS),
            100_000_000_000..100_000_000_000_000 => (Part::At, MILLIS),
            // Digits are legal in any number where no profile rules.
            _ if profile.is_none() => (Part::In, SECONDS),
            _ => return None,
        },
        Profile::Delta => (Part::In, SECONDS),
        Profile::DeltaMillis => (Part::In, MILLIS),
        Profile::Epoch => (Part::At, SECONDS),
        Profile::EpochMillis => (Part::At, MILLIS),
    })
}

/// Reads points in time, of which the latest counts. Several are what a client library joins; if one
/// of them is garbage, all are. `Retry-After` and `Date` have no profile: it is [`Profile::Auto`],
/// but a number that makes no sense as a date is a delay that saturates.
pub(super) fn moments(text: &mut Text<'_>, draft: &mut Draft, profile: Option<Profile>) {
    loop {
        let (part, nanos) = moment(text, profile);
        draft.tell(part, nanos);
        if !text.comma() {
            break;
        }
    }
}

#[inline(never)] // Smaller than within its loop.
fn moment(text: &mut Text<'_>, profile: Option<Profile>) -> (Part, u64) {
    if text.peek().is_ascii_alphabetic() {
        let date = Number { whole: http_date(text), fraction: &[] };
        return (Part::At, date.shifted(SECONDS));
    }
    let number = text.number();
    match text.peek() {
        0 | b' ' | b'\t' | b',' => {
            let Some((part, places)) = meaning(profile, number.whole) else {
                text.fail();
                return (Part::In, 0);
            };
            (part, number.shifted(places))
        }
        b'-' if number.fraction.is_empty() => {
            let year = u32::try_from(number.whole).unwrap_or(u32::MAX);
            (Part::At, rfc_3339(text, year).shifted(SECONDS))
        }
        _ => (Part::In, duration(text, number)),
    }
}

/// Reads a duration as Go writes it behind its first number: `1h2m3.5s`, `12ms`.
fn duration<'a>(text: &mut Text<'a>, mut number: Number<'a>) -> u64 {
    let mut sum = 0u64;
    loop {
        // How far to move the point, and how many times sixty.
        let (places, sixties) = match text.next() {
            b'h' => (SECONDS, 2),
            b'm' if text.peek() != b's' => (SECONDS, 1),
            b's' => (SECONDS, 0),
            first => {
                // Both ways to write the letter for micro take two bytes.
                let micro = match first {
                    0xC2 => text.eat(0xB5),
                    0xCE => text.eat(0xBC),
                    _ => false,
                };
                text.expect(b"s");
                match first {
                    b'm' => (MILLIS, 0),
                    b'n' => (0, 0),
                    _ if micro || first == b'u' => (3, 0),
                    _ => {
                        text.fail();
                        return 0;
                    }
                }
            }
        };
        let mut nanos = number.shifted(places);
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
