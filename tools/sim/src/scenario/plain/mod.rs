//! Parses scenarios without the TOML library, for the page: its first figures should not wait for a
//! parser that is larger than the simulator.
//!
//! It parses the plain subset of the format with the same results as [`Scenario::parse`]. For
//! anything else it returns `None`, and the caller uses the complete parser, which reads the file
//! or reports its errors.

mod value;

use toml::Spanned;

use super::units::{Rate, Time};
use super::{Clients, Demand, Scenario, check, from_25_to_75_ms, one_second};
use crate::chance::Spread;
use crate::server::{BucketSpec, HintSpec, Honesty, Outage, ServerSpec, Step, WindowSpec};
use value::{Table, Value};

impl Scenario {
    /// Parses a scenario in the plain subset. `None` otherwise.
    pub fn plain(text: &str) -> Option<Self> {
        let mut table = Table::read(text)?;
        let scenario = Self::from_table(&mut table)?;
        (table.is_empty() && check::check(&scenario).is_ok()).then_some(scenario)
    }
}

/// A type that can be read from a table. Keys that remain in the table are unknown.
trait FromTable: Sized {
    fn from_table(table: &mut Table) -> Option<Self>;
}

/// A type that can be read from a value.
trait FromValue: Sized {
    fn from_value(value: Value) -> Option<Self>;
}

impl<T: FromTable> FromValue for T {
    fn from_value(value: Value) -> Option<Self> {
        let Value::Table(mut table) = value else { return None };
        let whole = T::from_table(&mut table)?;
        table.is_empty().then_some(whole)
    }
}

impl Table<'_> {
    /// The value of a key. `Some(None)` if the key is missing.
    fn get<T: FromValue>(&mut self, key: &str) -> Option<Option<T>> {
        match self.take(key) {
            Some(value) => T::from_value(value).map(Some),
            None => Some(None),
        }
    }

    fn need<T: FromValue>(&mut self, key: &str) -> Option<T> {
        self.get(key)?
    }

    fn or_default<T: FromValue + Default>(&mut self, key: &str) -> Option<T> {
        self.get(key).map(Option::unwrap_or_default)
    }
}

impl FromTable for Scenario {
    fn from_table(table: &mut Table) -> Option<Self> {
        Some(Self {
            name: String::new(),
            title: table.need("title")?,
            end: table.need("end")?,
            bin: table.get("bin")?.unwrap_or_else(one_second),
            measure_from: table.or_default("measure_from")?,
            peak_from: table.get("peak_from")?,
            stop_when_work_is_done: table.or_default("stop_when_work_is_done")?,
            stop_at_remaining: None,
            stop_after_calls: None,
            offered: table.get("offered")?,
            latency: table.get("latency")?.unwrap_or_else(from_25_to_75_ms),
            laws: Vec::new(),
            server: table.need("server")?,
            clients: table.need("clients")?,
            stretches: Vec::new(),
            convergences: Vec::new(),
        })
    }
}

impl FromTable for ServerSpec {
    fn from_table(table: &mut Table) -> Option<Self> {
        Some(Self {
            bucket: table.get("bucket")?,
            window: table.get("window")?,
            queue: None,
            autoscaling: None,
            outages: table.or_default("outages")?,
            faults: Vec::new(),
            strangers: table.get("strangers")?,
            work: None,
            hints: table.or_default("hints")?,
        })
    }
}

impl FromTable for BucketSpec {
    fn from_table(table: &mut Table) -> Option<Self> {
        Some(Self {
            burst: table.need("burst")?,
            start: table.get("start")?,
            rate: table.need("rate")?,
            steps: table.or_default("steps")?,
        })
    }
}

impl FromTable for Step {
    fn from_table(table: &mut Table) -> Option<Self> {
        Some(Self { at: table.need("at")?, rate: table.need("rate")? })
    }
}

impl FromTable for WindowSpec {
    fn from_table(table: &mut Table) -> Option<Self> {
        let (limit, width) = (table.need("limit")?, table.need("width")?);
        Some(Self { limit, width, phase: table.get("phase")?, start: table.get("start")? })
    }
}

impl FromTable for Outage {
    fn from_table(table: &mut Table) -> Option<Self> {
        Some(Self { from: table.need("from")?, to: table.need("to")? })
    }
}

impl FromTable for HintSpec {
    fn from_table(table: &mut Table) -> Option<Self> {
        Some(Self {
            retry_after: table.or_default("retry_after")?,
            remaining: table.or_default("remaining")?,
            reset: table.or_default("reset")?,
            ..Self::default()
        })
    }
}

impl FromTable for Clients {
    fn from_table(table: &mut Table) -> Option<Self> {
        Some(Self {
            processes: table.get("processes")?.unwrap_or(1),
            threads: table.get("threads")?.unwrap_or(1),
            demand: table.or_default("demand")?,
            from: table.or_default("from")?,
            to: table.get("to")?,
            steady: table.or_default("steady")?,
            law: table.get("law")?,
            deadline: table.get("deadline")?,
            timeout: table.get("timeout")?,
            counted: table.or_default("counted")?,
        })
    }
}

impl<T> FromValue for Honesty<T> {
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Text("absent") => Some(Self::Absent),
            Value::Text("honest") => Some(Self::Honest),
            _ => None,
        }
    }
}

impl FromValue for Demand {
    fn from_value(value: Value) -> Option<Self> {
        let Value::Table(mut table) = value else {
            return matches!(value, Value::Text("closed")).then_some(Self::Closed);
        };
        let demand = if let Some(calls) = table.get("work")? {
            Self::Work(calls)
        } else if let Some(rate) = table.get("poisson")? {
            Self::Poisson(rate)
        } else {
            Self::Think(table.need("think")?)
        };
        table.is_empty().then_some(demand)
    }
}

impl FromValue for Spread {
    fn from_value(value: Value) -> Option<Self> {
        let Value::Table(mut table) = value else { return None };
        let spread = if let Some(time) = table.get("constant")? {
            Self::Constant(time)
        } else {
            let [least, most] = *table.need::<Vec<Time>>("uniform")? else { return None };
            Self::Uniform(least, most)
        };
        table.is_empty().then_some(spread)
    }
}

impl<T: FromValue> FromValue for Spanned<T> {
    fn from_value(value: Value) -> Option<Self> {
        Some(Self::new(0..0, T::from_value(value)?))
    }
}

impl<T: FromValue> FromValue for Vec<T> {
    fn from_value(value: Value) -> Option<Self> {
        let Value::List(list) = value else { return None };
        list.into_iter().map(T::from_value).collect()
    }
}

impl FromValue for String {
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Text(text) = value { Some(text.into()) } else { None }
    }
}

impl FromValue for bool {
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Word("true") => Some(true),
            Value::Word("false") => Some(false),
            _ => None,
        }
    }
}

impl FromValue for u64 {
    fn from_value(value: Value) -> Option<Self> {
        let Value::Word(word) = value else { return None };
        // A TOML number does not start with zero, unless it is zero.
        let number = !word.starts_with('0') || word.len() == 1;
        digits(word).filter(|value| number && *value <= i64::MAX as Self)
    }
}

impl FromValue for u32 {
    fn from_value(value: Value) -> Option<Self> {
        u64::from_value(value)?.try_into().ok()
    }
}

/// A number with few digits. It and the power of ten are exact as doubles, so their quotient is the
/// nearest double, as in any parser.
impl FromValue for f64 {
    fn from_value(value: Value) -> Option<Self> {
        let Value::Word(word) = value else { return None };
        let (whole, decimals) = word.split_once('.').unwrap_or((word, "0"));
        if word.len() > 14 || decimals.is_empty() || (whole.starts_with('0') && whole.len() > 1) {
            return None;
        }
        let mut one = 1_u64;
        decimals.bytes().for_each(|_| one *= 10);
        Some((digits(whole)? * one + digits(decimals)?) as Self / one as Self)
    }
}

impl FromValue for Rate {
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Text(text) = value { Self::read(text).ok() } else { None }
    }
}

/// One or more whole numbers with units.
impl FromValue for Time {
    fn from_value(value: Value) -> Option<Self> {
        const UNITS: [(&str, u64); 7] = [
            ("ns", 1),
            ("us", 1_000),
            ("ms", 1_000_000),
            ("s", 1_000_000_000),
            ("min", 60_000_000_000),
            ("h", 3_600_000_000_000),
            ("d", 86_400_000_000_000),
        ];
        let Value::Text(text) = value else { return None };
        let mut sum = 0_u64;
        for part in text.split(' ') {
            let (number, unit) =
                part.split_at_checked(part.find(|c: char| !c.is_ascii_digit())?)?;
            let unit = UNITS.iter().find(|known| known.0 == unit)?.1;
            sum = sum.checked_add(digits(number)?.checked_mul(unit)?)?;
        }
        let within_a_century = sum <= super::units::CENTURY;
        within_a_century.then(|| tidegate::Span::from_nanos(sum).into())
    }
}

fn digits(text: &str) -> Option<u64> {
    let digit = |number: u64, byte: u8| {
        let digit = byte.is_ascii_digit().then_some(byte - b'0')?;
        number.checked_mul(10)?.checked_add(digit.into())
    };
    if text.is_empty() { None } else { text.bytes().try_fold(0, digit) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_plain_parser_agrees_with_the_complete_one() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
        let (mut read, mut left) = (0, Vec::new());
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            match Scenario::plain(&text) {
                Some(scenario) => {
                    let whole = Scenario::parse(&text, "", "").unwrap();
                    assert_eq!(without_spans(&scenario), without_spans(&whole), "{name}");
                    read += 1;
                }
                None => left.push(name),
            }
        }
        // The others use stretches, a long-tailed latency, another kind of server, or faults.
        assert!(read > 30 && left.len() < 30, "{read} are read, but not {left:?}");
        assert!(!left.iter().any(|name| name == "day" || name == "e-5"), "{left:?}");
    }

    /// The debug output of a scenario without positions in the file.
    fn without_spans(scenario: &Scenario) -> String {
        let text = format!("{scenario:?}");
        let parts = text.split("span: ").map(|part| match part.split_once(", ") {
            Some((span, rest)) if span.contains("..") => rest,
            _ => part,
        });
        parts.collect()
    }
}
