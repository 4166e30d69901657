//! Reads the bytes of a try from left to right.

use tidegate::{Instant, Span};

const SECOND: u64 = 1_000_000_000;

/// The remaining bytes of a try. Past the end every number is zero, so any bytes are a valid try.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[must_use]
    pub const fn rest(self) -> &'a [u8] {
        self.0
    }

    pub fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        bytes
    }

    fn number(&mut self, bytes: usize) -> u64 {
        self.bytes(bytes).iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    pub fn u8(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or(0)
    }

    pub fn u16(&mut self) -> u16 {
        self.number(2) as u16
    }

    pub fn u32(&mut self) -> u32 {
        self.number(4) as u32
    }

    pub fn u64(&mut self) -> u64 {
        self.number(8)
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.u8()) % from.len()]
    }

    /// A number of any size. Common ones need few bytes.
    pub fn count(&mut self) -> u64 {
        match self.u8() {
            255 => u64::MAX - u64::from(self.u8()),
            254 => self.u64(),
            253 => u64::from(self.u32()),
            252 => u64::from(self.u16()),
            small => u64::from(small),
        }
    }

    /// The same, truncated to 32 bits.
    pub fn small(&mut self) -> u32 {
        u32::try_from(self.count()).unwrap_or(u32::MAX)
    }

    /// A span of any length, in common units or in nanoseconds.
    pub fn span(&mut self) -> Span {
        let kind = self.u8();
        let count = u64::from(kind / 8);
        match kind % 8 {
            0 => Span::from_nanos(count),
            1 => Span::from_millis(count * 10),
            2 => Span::from_millis(u64::from(self.u16())),
            3 => Span::from_secs(count),
            4 => Span::from_secs(u64::from(self.u16())),
            5 => Span::from_nanos(u64::from(self.u32())),
            6 => Span::from_nanos(u64::MAX - count * SECOND),
            _ => Span::from_nanos(self.u64()),
        }
    }

    /// An instant near zero, near the maximum, or anywhere.
    pub fn instant(&mut self) -> Instant {
        Instant::from_nanos(self.span().as_nanos())
    }
}
