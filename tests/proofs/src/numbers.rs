//! The arguments of a step, read one after the other.

use std::num::NonZeroU32;

use crate::law::Record;
use crate::snapshot::{Field, Reader, Writer};
use crate::{Instant, Quota, Ratio, Rng, Span};

/// Records store instants relative to this one, so all from 2 to 2^64 - 3 are exact.
const MIDDLE: Instant = Instant::from_nanos(1 << 63);
/// No state is longer, in bytes.
const ROOM: usize = 256;

pub struct Numbers {
    left: std::vec::IntoIter<u64>,
    short: bool,
}

impl Numbers {
    pub fn of<'a>(words: impl Iterator<Item = &'a str>) -> Option<Self> {
        let numbers: Option<Vec<u64>> = words.map(|word| word.parse().ok()).collect();
        Some(Self { left: numbers?.into_iter(), short: false })
    }

    /// Whether exactly all numbers were read.
    pub fn fit(&self) -> bool {
        !self.short && self.left.len() == 0
    }

    pub fn is_empty(&self) -> bool {
        self.left.len() == 0
    }

    pub fn u64(&mut self) -> u64 {
        self.left.next().unwrap_or_else(|| {
            self.short = true;
            0
        })
    }

    pub fn u32(&mut self) -> u32 {
        self.u64() as u32
    }

    pub fn u16(&mut self) -> u16 {
        self.u64() as u16
    }

    pub fn u8(&mut self) -> u8 {
        self.u64() as u8
    }

    /// A signed number in two's complement.
    pub fn i32(&mut self) -> i32 {
        self.u64() as i32
    }

    pub fn flag(&mut self) -> bool {
        self.u64() != 0
    }

    pub fn span(&mut self) -> Span {
        Span::from_nanos(self.u64())
    }

    pub fn instant(&mut self) -> Instant {
        Instant::from_nanos(self.u64())
    }

    pub fn ratio(&mut self) -> Ratio {
        let (numerator, denominator) = (self.u32(), self.u32());
        Ratio::new(numerator, denominator).unwrap_or(Ratio::ONE)
    }

    pub fn some32(&mut self) -> NonZeroU32 {
        NonZeroU32::new(self.u32()).unwrap_or(NonZeroU32::MIN)
    }

    pub fn quota(&mut self) -> Option<Quota> {
        let (count, period, burst) = (self.u64(), self.span(), self.u32());
        Quota::per(count, period).ok()?.with_burst(burst).ok()
    }

    /// A generator in this state.
    pub fn rng(&mut self) -> Option<Rng> {
        // Its fields are private, but a seed leads to each of its states: SplitMix64 inverted.
        let word = u64::from(self.u32()) | u64::from(self.u32()) << 32;
        let mut mixed = unshift(word, 31).wrapping_mul(0x3196_42B2_D24D_8EC3);
        mixed = unshift(mixed, 27).wrapping_mul(0x96DE_1B17_3F11_9089);
        Some(Rng::new(unshift(mixed, 30).wrapping_sub(0x9E37_79B9_7F4A_7C15)))
    }

    /// A part of a state: one number per element of `bytes`, of that many bytes, or an instant.
    pub fn field<T: Field>(&mut self, bytes: &[Kind]) -> Option<T> {
        let record = self.record(bytes);
        let mut input = Reader::new(&record, MIDDLE, Span::ZERO);
        let value = T::read(&mut input);
        input.is_whole().then_some(value)
    }

    /// A law's state.
    pub fn state<L: Record>(&mut self, law: &L, bytes: &[Kind]) -> Option<L::State> {
        let record = self.record(bytes);
        let mut input = Reader::new(&record, MIDDLE, Span::ZERO);
        law.read(&mut input).filter(|_| input.is_whole())
    }

    fn record(&mut self, kinds: &[Kind]) -> [u8; ROOM] {
        let mut record = [0; ROOM];
        let mut out = Writer::new(&mut record, MIDDLE);
        for kind in kinds {
            match kind {
                Kind::Byte => out.u8(self.u8()),
                Kind::Two => out.u16(self.u16()),
                Kind::Four => out.u32(self.u32()),
                Kind::Eight => out.u64(self.u64()),
                Kind::At => out.instant(self.instant()),
            }
        }
        record
    }
}

/// The type of a number in a record.
#[derive(Clone, Copy)]
pub enum Kind {
    Byte,
    Two,
    Four,
    Eight,
    At,
}

/// The content of a law's state as numbers.
pub fn hinted<L: Record>(law: &L, state: &L::State, kinds: &[Kind]) -> Vec<u64> {
    let mut record = [0; ROOM];
    law.write(state, &mut Writer::new(&mut record, MIDDLE));
    numbers(&record, kinds)
}

/// The content of a part of a state as numbers.
pub fn hinted_field(field: &impl Field, kinds: &[Kind]) -> Vec<u64> {
    let mut record = [0; ROOM];
    field.write(&mut Writer::new(&mut record, MIDDLE));
    numbers(&record, kinds)
}

fn numbers(record: &[u8], kinds: &[Kind]) -> Vec<u64> {
    let mut input = Reader::new(record, MIDDLE, Span::ZERO);
    let read = |kind: &Kind| match kind {
        Kind::Byte => input.u8().into(),
        Kind::Two => input.u16().into(),
        Kind::Four => input.u32().into(),
        Kind::Eight => input.u64(),
        Kind::At => input.instant().as_nanos(),
    };
    kinds.iter().map(read).collect()
}

fn unshift(word: u64, by: u32) -> u64 {
    let mut made = word;
    for _ in 0..=64 / by {
        made = word ^ (made >> by);
    }
    made
}
