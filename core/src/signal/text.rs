//! A small scanner over bytes, which every text parser uses.

use super::word::Table;

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

    /// Reads a digit.
    pub(super) fn digit(&mut self) -> u32 {
        let digit = self.next().wrapping_sub(b'0');
        if digit > 9 {
            self.fail();
        }
        digit.into()
    }

    /// Reads digits with an optional fraction.
    pub(super) fn number(&mut self) -> Number<'a> {
        let digits = self.some_digits();
        let fraction = if self.eat(b'.') { self.some_digits() } else { &[] };
        Number { whole: digits.iter().fold(0, |number, digit| push(number, *digit)), fraction }
    }

    /// Reads a duration in Go's format after its first number: `1h2m3.5s`, `12ms`. Less than a
    /// millisecond is rounded up.
    pub(super) fn duration(&mut self, mut number: Number<'a>) -> u32 {
        let mut sum = 1u32;
        loop {
            let unit = self.run(|byte| matches!(byte, b'a'..=b'z' | 0x80..));
            let Some((places, scale)) = UNITS.find(unit) else {
                self.fail();
                return sum;
            };
            let time = number.shifted(places.into());
            sum = sum.saturating_add(match scale {
                0 => time.min(1),
                scale => time.saturating_mul(scale),
            });
            if !self.peek().is_ascii_digit() {
                return sum;
            }
            number = self.number();
        }
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

/// The units of a duration in Go's format: how many decimal places of a number count, and the
/// milliseconds or the fraction of a millisecond. Both letters for micro take two bytes.
static UNITS: Table<(u8, u32), 8> = Table::of(&[
    ("h", (3, 3_600)),
    ("m", (3, 60)),
    ("s", (3, 1)),
    ("ms", (0, 1)),
    ("us", (0, 0)),
    ("\u{B5}s", (0, 0)),
    ("\u{3BC}s", (0, 0)),
    ("ns", (0, 0)),
]);

/// A non-negative number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number<'a> {
    /// The integer part. Saturates at one below the largest number.
    pub(super) whole: u32,
    /// The digits after the point.
    pub(super) fraction: &'a [u8],
}

impl Number<'_> {
    /// The number with its point moved to the right, rounded up. Saturates. Three places convert
    /// seconds to milliseconds.
    pub(super) fn shifted(&self, places: usize) -> u32 {
        let (mut number, mut digits) = (self.whole, self.fraction.iter());
        for _ in 0..places {
            number = push(number, *digits.next().unwrap_or(&b'0'));
        }
        number.saturating_add(digits.any(|digit| *digit != b'0').into())
    }
}

/// `number` with a digit behind it. Saturates at one below the largest number.
fn push(number: u32, digit: u8) -> u32 {
    let more = number.wrapping_mul(10).wrapping_add(digit.wrapping_sub(b'0').into());
    if number < u32::MAX / 10 { more } else { u32::MAX - 1 }
}

/// A value that consists only of digits. The number saturates.
pub(super) fn digits(value: &[u8]) -> Option<u32> {
    let mut text = Text::new(value);
    let number = text.number();
    (text.done() && number.fraction.is_empty()).then_some(number.whole)
}
