//! Bytes read from the left: the small scanner that every text parser here is built on.

use crate::fixed::mul_div_floor;
use crate::time::Span;

/// What is left to read. A copy is a place to come back to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a>(&'a [u8]);

impl<'a> Text<'a> {
    /// `bytes` without the white space around them.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.trim_ascii())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    pub(super) fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// Reads `literal`, or nothing.
    pub(super) fn eat(&mut self, literal: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(literal)?;
        Some(())
    }

    /// Reads the longest run of bytes that are `wanted`.
    pub(super) fn run(&mut self, wanted: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self.0.iter().position(|byte| !wanted(*byte)).unwrap_or(self.0.len());
        let (run, rest) = self.0.split_at_checked(end).unwrap_or((self.0, &[]));
        self.0 = rest;
        run
    }

    /// The first `count` bytes, without reading them.
    pub(super) fn first(&self, count: usize) -> Option<&'a [u8]> {
        self.0.get(..count)
    }

    /// Reads optional white space (RFC 9110 section 5.6.3).
    pub(super) fn space(&mut self) {
        self.run(|byte| byte == b' ' || byte == b'\t');
    }

    /// Reads exactly `count` digits.
    pub(super) fn digits(&mut self, count: usize) -> Option<u32> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        let number = digits.iter().try_fold(0u32, |number, byte| {
            Some(number.saturating_mul(10).saturating_add(u32::from(digit(*byte)?)))
        })?;
        self.0 = rest;
        Some(number)
    }

    /// Reads digits; the number saturates.
    pub(super) fn integer(&mut self) -> Option<u64> {
        let run = self.run(|byte| byte.is_ascii_digit());
        if run.is_empty() {
            return None;
        }
        Some(
            run.iter().filter_map(|byte| digit(*byte)).fold(0u64, |number, digit| {
                number.saturating_mul(10).saturating_add(u64::from(digit))
            }),
        )
    }

    /// Reads digits, or digits, a point and digits.
    pub(super) fn decimal(&mut self) -> Option<Decimal> {
        let whole = self.integer()?;
        let billionths = match self.eat(b".") {
            Some(()) => self.fraction()?,
            None => 0,
        };
        Some(Decimal { whole, billionths })
    }

    /// Reads the digits behind a point, as billionths; what is finer is dropped.
    pub(super) fn fraction(&mut self) -> Option<u32> {
        let run = self.run(|byte| byte.is_ascii_digit());
        if run.is_empty() {
            return None;
        }
        let digits = run.iter().copied().chain(core::iter::repeat(b'0')).take(9);
        Some(
            digits.filter_map(digit).fold(0u32, |number, digit| {
                number.saturating_mul(10).saturating_add(u32::from(digit))
            }),
        )
    }

    /// Reads the comma between two members of a list; `None` where there is neither a comma nor
    /// the end. True where another member must follow.
    pub(super) fn comma(&mut self) -> Option<bool> {
        self.space();
        if self.is_empty() {
            return Some(false);
        }
        self.eat(b",")?;
        self.space();
        Some(true)
    }
}

fn digit(byte: u8) -> Option<u8> {
    byte.checked_sub(b'0').filter(|digit| *digit <= 9)
}

/// A number that is not negative: as much as `whole` holds, and billionths of one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Decimal {
    pub(super) whole: u64,
    billionths: u32,
}

impl Decimal {
    /// The number as a span, where one is `unit`; saturates, and drops what is below a nanosecond.
    pub(super) fn times(self, unit: Span) -> Span {
        let rest = mul_div_floor(u64::from(self.billionths), unit.as_nanos(), 1_000_000_000);
        unit.saturating_mul(self.whole).saturating_add(Span::from_nanos(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_keeps_nine_digits_and_saturates() {
        let hour = Span::from_secs(3_600);
        let cases: [(&[u8], Option<Span>); 8] = [
            (b"1.5", Some(Span::from_secs(5_400))),
            (b"0.000000001", Some(Span::from_nanos(3_600))),
            (b"0.0000000019", Some(Span::from_nanos(3_600))),
            (b"7", Some(Span::from_secs(25_200))),
            (b"99999999999999999999999.9", Some(Span::MAX)),
            (b"1.", None),
            (b".5", None),
            (b"-1", None),
        ];
        for (bytes, expected) in cases {
            let read = Text::new(bytes).decimal().map(|number| number.times(hour));
            assert_eq!(read, expected, "{:?}", bytes);
        }
    }
}
