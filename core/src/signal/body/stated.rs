//! A wait that a message states in words: "Please try again in 7m12.5s".

use crate::signal::text::Text;

/// The bytes after the first phrase that a number follows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Stated {
    bytes: [u8; 16],
    length: u8,
    /// Whether the next byte follows the phrase or another byte of the wait.
    reads: bool,
}

impl Stated {
    pub(super) const NONE: Self = Self { bytes: [0; 16], length: 0, reads: false };

    /// A phrase has ended.
    pub(super) fn begin(&mut self) {
        self.reads |= self.length == 0;
    }

    /// Reads a byte in lower case.
    pub(super) fn put(&mut self, byte: u8) {
        self.reads &= self.length > 0 || byte.is_ascii_digit();
        if self.reads
            && let Some(next) = self.bytes.get_mut(usize::from(self.length))
        {
            *next = byte;
            self.length = self.length.wrapping_add(1);
        }
    }

    /// The wait in milliseconds: a duration in Go's format, such as `6.2s`, `7m12.5s` or `634ms`, or a number and a
    /// word, such as `45 seconds`.
    pub(super) fn millis(&self) -> Option<u32> {
        let mut text = Text::new(self.bytes.get(..usize::from(self.length))?);
        let number = text.number();
        let millis = if text.eat(b' ') {
            let word = text.letters();
            let units: [(&[u8], u32); 4] =
                [(b"sec", 1), (b"min", 60), (b"hour", 3_600), (b"day", 86_400)];
            let unit = units.iter().find(|(unit, _)| word.starts_with(unit));
            number.shifted(3).saturating_mul(unit?.1)
        } else {
            text.duration(number).saturating_sub(1)
        };
        (millis > 0).then_some(millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_words_are_read_after_the_first_phrase_that_a_number_follows() {
        let cases = [
            ("6.2s.", Some(6_200)),
            ("634ms", Some(634)),
            ("634.5ms", Some(635)),
            ("7m12.5s, or later", Some(432_500)),
            ("114h18m0s", Some(411_480_000)),
            ("45 seconds.", Some(45_000)),
            ("2 minutes", Some(120_000)),
            ("2m", Some(120_000)),
            ("1 day", Some(86_400_000)),
            ("1h5 months", Some(3_600_000)),
            ("5 months", None),
            ("a few minutes", None),
            ("30", None),
            ("30 calls", None),
            ("0s", None),
            ("s", None),
            ("99999999999h", Some(u32::MAX - 1)),
        ];
        for (text, expected) in cases {
            let mut stated = Stated::NONE;
            stated.begin();
            stated.put(b'x');
            stated.begin();
            text.bytes().for_each(|byte| stated.put(byte));
            stated.begin();
            stated.put(b'9');
            assert_eq!(stated.millis(), expected, "{text}");
        }
    }
}
