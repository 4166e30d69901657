//! A wait that a message states in words: "Please try again in 7m12.5s".

/// Reads numbers with units, such as `6.2s`, `7m12.5s`, `634ms` or `45 seconds`, and stops at
/// anything else.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Stated {
    /// The sum of the complete parts, in milliseconds.
    millis: u32,
    /// The number of the present part, in thousandths.
    number: u32,
    at: At,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum At {
    /// Nothing is read.
    Off,
    /// Behind a phrase.
    Begin,
    Integer,
    /// Behind the point; the next digit has this worth in thousandths.
    Fraction(u8),
    Space,
    /// Behind an `m`, which may be `ms`, `m` or `min`.
    M,
    Unit,
}

impl Stated {
    pub(super) const NONE: Self = Self { millis: 0, number: 0, at: At::Off };

    /// A phrase has ended. The first wait counts.
    pub(super) fn begin(&mut self) {
        if self.millis == 0 {
            self.at = At::Begin;
        }
    }

    /// Reads a byte in lower case.
    pub(super) fn put(&mut self, byte: u8) {
        let digit = u32::from(byte.wrapping_sub(b'0'));
        self.at = match (self.at, byte) {
            (At::Off, _) => return,
            (At::Begin | At::Unit, b'0'..=b'9') => self.first(digit),
            (At::M, b'0'..=b'9') => {
                self.add(60);
                self.first(digit)
            }
            (At::Integer, b'0'..=b'9') => {
                self.number =
                    self.number.saturating_mul(10).saturating_add(digit.wrapping_mul(1_000));
                At::Integer
            }
            (At::Integer, b'.') => At::Fraction(100),
            (At::Fraction(worth), b'0'..=b'9') => {
                self.number = self.number.saturating_add(digit.wrapping_mul(worth.into()));
                At::Fraction(worth / 10)
            }
            (At::Integer | At::Fraction(_), b' ') => At::Space,
            (At::Integer | At::Fraction(_) | At::Space, b'm') => At::M,
            (At::Integer | At::Fraction(_) | At::Space, b's') => self.add(1),
            (At::Integer | At::Fraction(_) | At::Space, b'h') => self.add(3_600),
            (At::Integer | At::Fraction(_) | At::Space, b'd') => self.add(86_400),
            (At::M, b's') => {
                self.number = self.number.div_ceil(1_000);
                self.add(1)
            }
            (At::M, b'i') => self.add(60),
            (At::M, b'a'..=b'z') => At::Off,
            (At::M, _) => {
                self.add(60);
                At::Off
            }
            (At::Unit, b'a'..=b'z') => At::Unit,
            _ => At::Off,
        };
    }

    fn first(&mut self, digit: u32) -> At {
        self.number = digit.wrapping_mul(1_000);
        At::Integer
    }

    fn add(&mut self, unit: u32) -> At {
        self.millis = self.millis.saturating_add(self.number.saturating_mul(unit));
        At::Unit
    }

    /// The wait in milliseconds, when the message has ended.
    pub(super) fn millis(mut self) -> Option<u32> {
        if self.at == At::M {
            self.add(60);
        }
        (self.millis > 0).then_some(self.millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units_are_added() {
        let cases = [
            ("6.2s.", Some(6_200)),
            ("634ms", Some(634)),
            ("634.5 ms", Some(635)),
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
            ("99999999999h", Some(u32::MAX)),
        ];
        for (text, expected) in cases {
            let mut stated = Stated::NONE;
            stated.begin();
            text.bytes().for_each(|byte| stated.put(byte));
            assert_eq!(stated.millis(), expected, "{text}");
        }
    }
}
