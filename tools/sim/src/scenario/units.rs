//! Numbers with units, as in scenario files: `"100ms"`, `"4/s"`, `"4500/h"`.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};
use tidegate::{Instant, Span};

/// A duration, or a time counted from the start of the world.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Time(Span);

impl Time {
    pub const fn span(self) -> Span {
        self.0
    }

    /// The time as a point, counted from the start of the world.
    pub fn instant(self) -> Instant {
        Instant::ZERO + self.0
    }

    pub fn seconds(self) -> f64 {
        self.0.as_nanos() as f64 / 1e9
    }
}

impl From<Time> for Span {
    fn from(time: Time) -> Self {
        time.span()
    }
}

impl From<Span> for Time {
    fn from(span: Span) -> Self {
        Self(span)
    }
}

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = humantime::parse_duration(text)
            .map_err(|error| format!("\"{text}\" is not a time like \"100ms\": {error}"))?;
        match u64::try_from(parsed.as_nanos()) {
            Ok(nanos) if nanos <= CENTURY => Ok(Self(Span::from_nanos(nanos))),
            _ => Err(format!("\"{text}\" is longer than a century")),
        }
    }
}

/// The largest unit in which it is a whole number, as in `90min`.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        let whole = |unit: &&(u64, &str)| nanos >= unit.0 && nanos.is_multiple_of(unit.0);
        let (size, name) = UNITS.iter().find(whole).copied().unwrap_or((SECOND, "s"));
        write!(f, "{}{name}", nanos / size)
    }
}

const SECOND: u64 = 1_000_000_000;

const UNITS: [(u64, &str); 6] = [
    (3_600 * SECOND, "h"),
    (60 * SECOND, "min"),
    (SECOND, "s"),
    (1_000_000, "ms"),
    (1_000, "us"),
    (1, "ns"),
];

/// The longest time, in nanoseconds. Waits can be added to it without saturating.
const CENTURY: u64 = 3_155_760_000_000_000_000;

/// A rate of calls, exact to a millionth of a call a day.
///
/// In these units a rate per second, minute or hour with up to six decimals is an integer, so a
/// bucket filled at 4500 an hour holds exactly 4500 after an hour.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Rate(u64, Unit);

/// The unit that a rate was written in, so that it is printed in the same.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
enum Unit {
    #[default]
    Second,
    Minute,
    Hour,
    Day,
}

impl Unit {
    const ALL: [Self; 4] = [Self::Second, Self::Minute, Self::Hour, Self::Day];

    /// Its name, and how many of it a day has.
    const fn name(self) -> (&'static str, u64) {
        match self {
            Self::Second => ("s", 86_400),
            Self::Minute => ("min", 1_440),
            Self::Hour => ("h", 24),
            Self::Day => ("d", 1),
        }
    }
}

/// The cost of a call in a bucket that gains [`Rate::grains`] per nanosecond.
pub const GRAINS_PER_CALL: u128 = 86_400_000_000_000 * 1_000_000;

impl Rate {
    pub fn per_second(calls: f64) -> Self {
        Self((calls * 86_400e6) as u64, Unit::Second)
    }

    /// What a bucket gains per nanosecond, if a call costs [`GRAINS_PER_CALL`].
    pub const fn grains(self) -> u128 {
        self.0 as u128
    }

    pub fn as_per_second(self) -> f64 {
        self.0 as f64 / 86_400e6
    }

    /// The rate as calls per period, in lowest terms.
    pub const fn count_and_period(self) -> (u64, Span) {
        // Millionths of a call a day are calls in a million days.
        const MILLION_DAYS_US: u64 = 86_400_000_000 * 1_000_000;
        let (mut divisor, mut rest) = (MILLION_DAYS_US, self.0);
        while rest > 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        (self.0 / divisor, Span::from_micros(MILLION_DAYS_US / divisor))
    }

    /// The mean time between two calls. The longest span for a rate of zero.
    pub const fn interval(self) -> Span {
        match GRAINS_PER_CALL.checked_div(self.0 as u128) {
            Some(nanos) if nanos <= u64::MAX as u128 => Span::from_nanos(nanos as u64),
            _ => Span::MAX,
        }
    }

    /// Whether nothing ever happens at this rate.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why| format!("\"{text}\" is not a rate like \"4/s\" or \"4500/h\": {why}");
        let (number, unit) = text
            .split_once('/')
            .ok_or_else(|| wrong("the unit is missing: use one of /s, /min, /h, /d"))?;
        let unit = Unit::ALL.into_iter().find(|one| one.name().0 == unit.trim_ascii());
        let unit = unit.ok_or_else(|| wrong("the unit must be one of /s, /min, /h, /d"))?;
        let millionths = millionths(number.trim_ascii())
            .ok_or_else(|| wrong("the number must be positive, with at most six decimals"))?;
        match millionths.checked_mul(unit.name().1) {
            Some(rate) if rate <= 1_000_000 * 86_400 * 1_000_000 => Ok(Self(rate, unit)),
            _ => Err(wrong("the maximum is a million calls per second")),
        }
    }
}

/// In the unit that it was written in, as in `4500/h`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, in_a_day) = self.1.name();
        let millionths = self.0 / in_a_day;
        let decimals = format!("{:06}", millionths % 1_000_000);
        let decimals = decimals.trim_end_matches('0');
        let point = if decimals.is_empty() { "" } else { "." };
        write!(f, "{}{point}{decimals}/{name}", millionths / 1_000_000)
    }
}

fn millionths(number: &str) -> Option<u64> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(decimals) || !(1..=6).contains(&decimals.len()) {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let missing = 6 - u32::try_from(decimals.len()).ok()?;
    let decimals: u64 = decimals.parse().ok()?;
    whole.checked_mul(1_000_000)?.checked_add(decimals * 10_u64.pow(missing))
}

/// Reads a string, and says what was expected if the value is not one.
struct Text<T>(&'static str, PhantomData<T>);

impl<T: FromStr<Err = String>> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(Text("a time with a unit, like \"100ms\"", PhantomData))
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(Text("a rate with a unit, like \"4/s\"", PhantomData))
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_exact_in_every_unit() {
        let an_hour = 3_600_000_000_000u128;
        for (text, calls_in_an_hour_in_grains) in [
            ("4500/h", 4_500 * GRAINS_PER_CALL),
            ("1.25/s", 4_500 * GRAINS_PER_CALL),
            ("75/min", 4_500 * GRAINS_PER_CALL),
            ("24/d", GRAINS_PER_CALL),
            ("0.000001/s", GRAINS_PER_CALL * 36 / 10_000),
            ("0/s", 0),
            ("1000000/s", 3_600_000_000 * GRAINS_PER_CALL),
        ] {
            let rate: Rate = text.parse().unwrap();
            assert_eq!(rate.grains() * an_hour, calls_in_an_hour_in_grains, "{text}");
        }
        assert_eq!("4/s".parse::<Rate>().unwrap().interval(), Span::from_millis(250));
        assert_eq!("0/s".parse::<Rate>().unwrap().interval(), Span::MAX);
    }
}
