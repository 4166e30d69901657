//! A small scanner over bytes, which every text parser uses.

/// The rest of the text. A copy can be used to return to a position.
///
/// An error is permanent: the rest becomes empty, and the text is not [`done`](Self::done). So a
/// grammar is written step by step and checked once at its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a> {
    rest: &'a [u8],
    failed: bool,
}

impl<'a> Text<'a> {
    /// `bytes` without leading white space.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut text = Self { rest: bytes, failed: false };
        text.space();
        text
    }

    /// Marks the text as malformed.
    #[inline(never)] // It has many callers.
    pub(super) fn fail(&mut self) {
        *self = Self { rest: &[], failed: true };
    }

    /// Whether everything except white space was read without an error.
    pub(super) fn done(&mut self) -> bool {
        self.space();
        self.rest.is_empty() && !self.failed
    }

    /// The next byte. Zero at the end. No grammar here accepts a zero byte, so one in the text is
    /// an error.
    pub(super) fn peek(&self) -> u8 {
        self.rest.first().copied().unwrap_or(0)
    }

    /// Reads a byte. Zero at the end.
    pub(super) fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        *first
    }

    /// Reads `byte` if it is next.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let comes = self.peek() == byte;
        if comes {
            self.next();
        }
        comes
    }

    /// Reads these bytes, which must be next.
    pub(super) fn expect(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if !self.eat(*byte) {
                self.fail();
            }
        }
    }

    /// Reads the longest run of bytes that are `wanted`.
    pub(super) fn run(&mut self, wanted: fn(u8) -> bool) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| !wanted(*byte)).unwrap_or(self.rest.len());
        self.take(end)
    }

    /// Reads `count` bytes, or the rest if it is shorter.
    pub(super) fn take(&mut self, count: usize) -> &'a [u8] {
        let (run, rest) = self.rest.split_at_checked(count).unwrap_or((self.rest, &[]));
        self.rest = rest;
        run
    }

    /// Reads up to where `end` is.
    pub(super) fn before(&mut self, end: &Self) -> &'a [u8] {
        self.take(self.rest.len().wrapping_sub(end.rest.len()))
    }

    /// Reads letters.
    pub(super) fn letters(&mut self) -> &'a [u8] {
        self.run(|byte| byte.is_ascii_alphabetic())
    }

    /// Reads optional white space (RFC 9110 section 5.6.3).
    pub(super) fn space(&mut self) {
        self.run(|byte| byte == b' ' || byte == b'\t');
    }

    /// Reads the comma between two members of a list, or the end. True if another member must
    /// follow.
    pub(super) fn comma(&mut self) -> bool {
        self.space();
        let more = !self.rest.is_empty();
        if more {
            self.expect(b",");
            self.space();
        }
        more
    }

    /// Reads exactly `count` digits, at most nine.
    pub(super) fn digits(&mut self, count: u32) -> u32 {
        let mut number = 0u32;
        for _ in 0..count {
            let digit = self.next().wrapping_sub(b'0');
            if digit > 9 {
                self.fail();
            }
            number = number.wrapping_mul(10).wrapping_add(u32::from(digit));
        }
        number
    }

    /// Reads digits with an optional fraction.
    pub(super) fn number(&mut self) -> Number<'a> {
        let whole = Number { whole: 0, fraction: self.some_digits() };
        let whole = whole.shifted(whole.fraction.len());
        let fraction = if self.eat(b'.') { self.some_digits() } else { &[] };
        Number { whole, fraction }
    }

    /// Reads at least one digit.
    pub(super) fn some_digits(&mut self) -> &'a [u8] {
        let digits = self.run(|byte| byte.is_ascii_digit());
        if digits.is_empty() {
            self.fail();
        }
        digits
    }
}

/// A non-negative number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number<'a> {
    /// The integer part. Saturates.
    pub(super) whole: u64,
    /// The digits after the point.
    pub(super) fraction: &'a [u8],
}

impl Number<'_> {
    /// The number with its point moved to the right, without the remaining fraction. Saturates.
    /// Nine places convert seconds to nanoseconds.
    pub(super) fn shifted(&self, places: usize) -> u64 {
        let mut number = self.whole;
        for place in 0..places {
            let digit = self.fraction.get(place).map_or(0, |digit| digit.wrapping_sub(b'0'));
            // The last few values below the maximum become the maximum.
            let fits = number < u64::MAX / 10;
            let more = number.wrapping_mul(10).wrapping_add(u64::from(digit));
            number = if fits { more } else { u64::MAX };
        }
        number
    }
}

/// A value that consists only of digits. The number saturates.
pub(super) fn digits(value: &[u8]) -> Option<u64> {
    let mut text = Text::new(value);
    let number = text.number();
    let whole = number.fraction.is_empty();
    (text.done() && whole).then_some(number.whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_keeps_the_requested_digits_and_saturates() {
        let cases: [(&[u8], Option<u64>); 8] = [
            (b"1.5", Some(1_500_000_000)),
            (b"0.000000001", Some(1)),
            (b"0.0000000019", Some(1)),
            (b"7", Some(7_000_000_000)),
            (b"99999999999999999999999.9", Some(u64::MAX)),
            (b"1.", None),
            (b".5", None),
            (b"-1", None),
        ];
        for (bytes, expected) in cases {
            let mut text = Text::new(bytes);
            let read = text.number().shifted(9);
            assert_eq!(text.done().then_some(read), expected, "{bytes:?}");
        }
    }

    #[test]
    fn the_rest_of_a_malformed_text_is_empty() {
        let mut text = Text::new(b" 12 34");
        text.expect(b"12 ");
        text.digits(3);
        assert!(!text.done() && !text.comma() && text.peek() == 0);
    }
}
