//! Points in time in all the forms that servers give them in.

use super::date::{http_date, rfc_3339};
use crate::signal::text::{Decimal, Text};
use crate::time::Span;

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

impl Profile {
    fn moment(self, number: Decimal) -> Option<Moment> {
        let seconds = || number.times(Span::from_secs(1));
        let millis = || number.times(Span::from_millis(1));
        Some(match self {
            Self::Auto => match number.whole {
                0..1_000_000_000 => Moment::In(seconds()),
                1_000_000_000..100_000_000_000 => Moment::At(seconds()),
                100_000_000_000..100_000_000_000_000 => Moment::At(millis()),
                _ => return None,
            },
            Self::Delta => Moment::In(seconds()),
            Self::DeltaMillis => Moment::In(millis()),
            Self::Epoch => Moment::At(seconds()),
            Self::EpochMillis => Moment::At(millis()),
        })
    }
}

/// A point in time, from now or from the start of 1970.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Moment {
    In(Span),
    At(Span),
}

/// The points in time that one header named, or several that say the same: the latest of each
/// kind.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Moments {
    within: Option<Span>,
    at: Option<Span>,
}

impl Moments {
    pub(super) const NONE: Self = Self { within: None, at: None };

    /// Reads the value of a reset header. Several values, as a client library joins them, are
    /// several points in time; if one of them is garbage, all are.
    pub(super) fn read(value: &[u8], profile: Profile) -> Option<Self> {
        Self::each(value, |text| in_letters(text).or_else(|| profile.moment(text.decimal()?)))
    }

    /// Reads the value of `Retry-After`: as with [`Profile::Auto`], but digits are legal in any
    /// number there, so one that makes no sense as a date is a delay that saturates.
    pub(super) fn read_pause(value: &[u8]) -> Option<Self> {
        Self::each(value, |text| {
            in_letters(text).or_else(|| {
                let number = text.decimal()?;
                Some(Profile::Auto.moment(number).unwrap_or(Moment::In(Span::MAX)))
            })
        })
    }

    /// Reads the value of `Date`, as time since the start of 1970.
    pub(super) fn read_date(value: &[u8]) -> Option<Span> {
        Self::each(value, |text| http_date(text).map(Moment::At))?.at
    }

    /// Reads plain numbers of `unit`s from now.
    pub(super) fn read_delta(value: &[u8], unit: Span) -> Option<Self> {
        Self::each(value, |text| Some(Moment::In(text.decimal()?.times(unit))))
    }

    fn each(value: &[u8], read: impl Fn(&mut Text<'_>) -> Option<Moment>) -> Option<Self> {
        let mut text = Text::new(value);
        let mut moments = Self::NONE;
        loop {
            moments.add(match read(&mut text)? {
                Moment::In(span) => Self::within(span),
                Moment::At(span) => Self { within: None, at: Some(span) },
            });
            if !text.comma()? {
                return Some(moments);
            }
        }
    }

    /// `span` from now.
    pub(super) const fn within(span: Span) -> Self {
        Self { within: Some(span), at: None }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.within = self.within.max(other.within);
        self.at = self.at.max(other.at);
    }

    /// How long it is from `now` (since 1970) until then; zero where it is past. A span wins over
    /// a date, because it needs no clock; a date without a clock is nothing.
    pub(super) fn from(&self, now: Option<Span>) -> Option<Span> {
        self.within.or_else(|| Some(self.at?.saturating_sub(now?)))
    }

    pub(super) const fn is_none(&self) -> bool {
        self.within.is_none() && self.at.is_none()
    }
}

/// Reads a date or a duration, which cannot be taken for a number.
fn in_letters(text: &mut Text<'_>) -> Option<Moment> {
    let start = *text;
    for form in [
        |text: &mut Text<'_>| rfc_3339(text).map(Moment::At),
        |text: &mut Text<'_>| http_date(text).map(Moment::At),
        |text: &mut Text<'_>| duration(text).map(Moment::In),
    ] {
        *text = start;
        if let Some(moment) = form(text) {
            return Some(moment);
        }
    }
    *text = start;
    None
}

/// Reads a duration as Go writes it: `1h2m3.5s`, `12ms`.
fn duration(text: &mut Text<'_>) -> Option<Span> {
    const UNITS: [(&[u8], Span); 8] = [
        (b"ms", Span::from_millis(1)),
        (b"us", Span::from_micros(1)),
        ("\u{B5}s".as_bytes(), Span::from_micros(1)),
        ("\u{3BC}s".as_bytes(), Span::from_micros(1)),
        (b"ns", Span::from_nanos(1)),
        (b"h", Span::from_secs(3_600)),
        (b"m", Span::from_secs(60)),
        (b"s", Span::from_secs(1)),
    ];
    let mut sum = Span::ZERO;
    loop {
        let number = text.decimal()?;
        let (_, unit) = UNITS.iter().find(|(name, _)| text.eat(name).is_some())?;
        sum = sum.saturating_add(number.times(*unit));
        if !text.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Some(sum);
        }
    }
}
