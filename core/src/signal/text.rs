//! Bytes read from the left: the small scanner that every text parser here is built on.

/// What is left to read. A copy is a place to come back to.
///
/// It fails for good: nothing is left of a text that is not what it must be, and it is not
/// [`done`](Self::done). So a grammar is written down step by step, and asked about once at its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a> {
    rest: &'a [u8],
    failed: bool,
}

impl<'a> Text<'a> {
    /// `bytes` without the white space before them.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut text = Self { rest: bytes, failed: false };
        text.space();
        text
    }

    /// What is read here is garbage.
    #[inline(never)] // It is called from everywhere.
    pub(super) fn fail(&mut self) {
        *self = Self { rest: &[], failed: true };
    }

    /// Whether all was read, but for white space, and nothing of it was garbage.
    pub(super) fn done(&mut self) -> bool {
        self.space();
        self.rest.is_empty() && !self.failed
    }

    /// The next byte; zero at the end. No grammar here has a use for a zero, so it is garbage where
    /// it was sent.
    pub(super) fn peek(&self) -> u8 {
        self.rest.first().copied().unwrap_or(0)
    }

    /// Reads a byte; zero at the end.
    pub(super) fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        *first
    }

    /// Reads `byte`, if it comes next.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let comes = self.peek() == byte;
        if comes {
            self.next();
        }
        comes
    }

    /// Reads these bytes, which must come next.
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

    /// Reads `count` bytes, or what there is.
    pub(super) fn take(&mut self, count: usize) -> &'a [u8] {
        let (run, rest) = self.rest.split_at_checked(count).unwrap_or((self.rest, &[]));
        self.rest = rest;
        run
    }

    /// Reads letters.
    pub(super) fn letters(&mut self) -> &'a [u8] {
        self.run(|byte| byte.is_ascii_alphabetic())
    }

    /// Reads optional white space (RFC 9110 section 5.6.3).
    pub(super) fn space(&mut self) {
        self.run(|byte| byte == b' ' || byte == b'\t');
    }

    /// Reads the comma between two members of a list, or the end. True where another member must
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

    /// Reads exactly `count` digits; up to nine fit.
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

    /// Reads digits, or digits, a point and digits.
    pub(super) fn number(&mut self) -> Number<'a> {
        let whole = Number { whole: 0, fraction: self.some_digits() };
        let whole = whole.shifted(whole.fraction.len());
        let fraction = if self.eat(b'.') { self.some_digits() } else { &[] };
        Number { whole, fraction }
    }

    /// Reads one digit or more.
    pub(super) fn some_digits(&mut self) -> &'a [u8] {
        let digits = self.run(|byte| byte.is_ascii_digit());
        if digits.is_empty() {
            self.fail();
        }
        digits
    }
}

/// A number that is not negative.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number<'a> {
    /// What is before the point; saturates.
    pub(super) whole: u64,
    /// The digits behind the point.
    pub(super) fraction: &'a [u8],
}

impl Number<'_> {
    /// The number with its point moved to the right, without what is behind it then; saturates.
    /// Nine places make nanoseconds of seconds.
    pub(super) fn shifted(&self, places: usize) -> u64 {
        let mut number = self.whole;
        for place in 0..places {
            let digit = self.fraction.get(place).map_or(0, |digit| digit.wrapping_sub(b'0'));
            // The last few numbers below the largest count as the largest.
            let fits = number < u64::MAX / 10;
            let more = number.wrapping_mul(10).wrapping_add(u64::from(digit));
            number = if fits { more } else { u64::MAX };
        }
        number
    }
}

/// A value of digits and nothing else; the number saturates.
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
    fn a_number_keeps_the_digits_that_are_asked_for_and_saturates() {
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
    fn nothing_is_left_of_a_text_that_failed() {
        let mut text = Text::new(b" 12 34");
        text.expect(b"12 ");
        text.digits(3);
        assert!(!text.done() && !text.comma() && text.peek() == 0);
    }
}
