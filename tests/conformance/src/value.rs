//! The values of vectors: numbers, lists and words.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Debug;

use serde_json::{Map, Value};
use tidegate::{Hint, Instant, Outcome, Ratio, Span};

pub(crate) type Read<T> = Result<T, String>;

/// The largest number up to which a double holds all integers exactly. Larger ones are written as
/// strings.
const EXACT: u64 = 1 << 53;

pub(crate) fn field<'a>(object: &'a Value, name: &str) -> Read<&'a Value> {
    object.get(name).ok_or_else(|| format!("`{name}` is missing"))
}

pub(crate) fn at(list: &Value, place: usize) -> Read<&Value> {
    list.get(place).ok_or_else(|| format!("{list} has no value {place}"))
}

pub(crate) fn text(value: &Value) -> Read<&str> {
    value.as_str().ok_or_else(|| format!("{value} is not a string"))
}

pub(crate) fn list(value: &Value) -> Read<&Vec<Value>> {
    value.as_array().ok_or_else(|| format!("{value} is not a list"))
}

pub(crate) fn object(value: &Value) -> Read<&Map<String, Value>> {
    value.as_object().ok_or_else(|| format!("{value} is not an object"))
}

/// A number, or a string of digits.
pub(crate) fn number(value: &Value) -> Read<u64> {
    let read = match value {
        Value::String(digits) => digits.parse().ok(),
        other => other.as_u64(),
    };
    read.ok_or_else(|| format!("{value} is not a whole number"))
}

pub(crate) fn small<T: TryFrom<u64>>(value: &Value) -> Read<T> {
    T::try_from(number(value)?).map_err(|_| format!("{value} is too large"))
}

pub(crate) fn flag(value: &Value) -> Read<bool> {
    value.as_bool().ok_or_else(|| format!("{value} is not a boolean"))
}

pub(crate) fn instant(value: &Value) -> Read<Instant> {
    number(value).map(Instant::from_nanos)
}

pub(crate) fn span(value: &Value) -> Read<Span> {
    number(value).map(Span::from_nanos)
}

/// A pair of numerator and denominator.
pub(crate) fn ratio(value: &Value) -> Read<Ratio> {
    let ratio = Ratio::new(small(at(value, 0)?)?, small(at(value, 1)?)?);
    ratio.ok_or_else(|| format!("{value} is not a ratio"))
}

/// The value, unless it is `null`.
pub(crate) fn given<T>(value: &Value, read: impl FnOnce(&Value) -> Read<T>) -> Read<Option<T>> {
    if value.is_null() { Ok(None) } else { read(value).map(Some) }
}

/// A number as written in vectors.
pub(crate) fn spelt(number: u64) -> Value {
    if number <= EXACT { Value::from(number) } else { Value::from(number.to_string()) }
}

pub(crate) fn outcome(value: &Value) -> Read<Outcome> {
    Ok(match text(value)? {
        "ok" => Outcome::Ok,
        "throttled" => Outcome::Throttled,
        "busy" => Outcome::Busy,
        "failed" => Outcome::Failed,
        "abandoned" => Outcome::Abandoned,
        "exhausted" => Outcome::Exhausted,
        other => return Err(format!("unknown outcome `{other}`")),
    })
}

pub(crate) fn hint(value: &Value) -> Read<Hint> {
    let mut hint = Hint::NONE;
    for (key, value) in object(value)? {
        match &**key {
            "after" => hint.retry_after = given(value, span)?,
            "left" => hint.remaining = given(value, number)?,
            "reset" => hint.reset = given(value, span)?,
            "limit" => hint.limit = given(value, number)?,
            "period" => hint.period = given(value, span)?,
            "should_retry" => (hint.may_repeat, hint.no_retry) = (flag(value)?, !flag(value)?),
            "concurrency" => hint.concurrency = flag(value)?,
            _ => {}
        }
    }
    Ok(hint)
}

/// One value for each limit.
pub(crate) fn each<T, const LIMITS: usize>(
    value: &Value,
    read: impl FnMut(&Value) -> Read<T>,
) -> Read<[T; LIMITS]> {
    let values = list(value)?.iter().map(read).collect::<Read<Vec<T>>>()?;
    values.try_into().map_err(|_| format!("{value} has not one value for each limit"))
}

/// Compares both, and describes the difference.
pub(crate) fn same<T: PartialEq + Debug>(what: &str, expected: &T, answer: &T) -> Read<()> {
    if expected == answer {
        return Ok(());
    }
    Err(format!("{what}: the oracle returns {expected:?}, core {answer:?}"))
}
