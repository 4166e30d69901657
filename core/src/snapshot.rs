//! Snapshots: what a controller has learned, as a record of fixed size.
//!
//! A device that sleeps for hours, or an edge worker that is evicted, stores the record and
//! continues from it, without a burst and without learning its rate again. See
//! [`Controller::snapshot`](crate::Controller::snapshot) and
//! [`Controller::restore`](crate::Controller::restore).
//!
//! # The record
//!
//! All numbers are little-endian. Instants are stored as their distance from the snapshot's own
//! instant, so a record does not depend on the epoch of a clock.
//!
//! | bytes | what |
//! |---|---|
//! | 0 | [`VERSION`] |
//! | 1 | how many limits |
//! | 2.. | the gates, then the pacing and law state of each limit |
//! | last 4 | FNV-1a of all before them |
//!
//! A record with another version is rejected. The checksum detects every flipped bit and nearly all
//! other damage. It is not a signature: anyone who can write the record can choose the rate.

use core::num::{NonZeroU8, NonZeroU16};

use crate::digest::fnv1a;
use crate::time::{Instant, Span};

/// The layout that this version of the crate writes and reads.
pub const VERSION: u8 = 3;

/// What is wrong with a record or its buffer.
///
/// ```
/// use tidegate::snapshot::SnapshotError;
/// use tidegate::{Controller, Instant, Policy, Span};
///
/// let policy = Policy::named("adaptive").unwrap();
/// let gate: Controller = Controller::new(policy, 7, Instant::ZERO);
/// let mut record = [0; Controller::<tidegate::law::AnyLaw>::SNAPSHOT_BYTES];
/// let length = gate.snapshot(Instant::ZERO, &mut record).unwrap();
/// let again = |record: &[u8]| {
///     Controller::<tidegate::law::AnyLaw>::restore(policy, 8, record, Instant::ZERO, Span::ZERO)
///         .map(|_| ())
/// };
/// assert_eq!(length, record.len());
/// assert_eq!(again(&record), Ok(()));
/// assert_eq!(again(&record[1..]), Err(SnapshotError::Length));
/// record[9] ^= 1;
/// assert_eq!(again(&record), Err(SnapshotError::Damaged));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SnapshotError {
    /// The slice is shorter than a record, or a record has the wrong length: it was truncated, or another kind of
    /// controller wrote it.
    Length,
    /// The record was written by another version of this crate.
    Version,
    /// The record's checksum does not match its bytes.
    Damaged,
    /// The record has another law, another number of limits, or values that this policy's law
    /// cannot have.
    OtherPolicy,
    /// The table of keys is full of keys under a cooldown.
    NoRoom,
}

impl core::fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Length => "the snapshot has the wrong length",
            Self::Version => "the snapshot was written by another version",
            Self::Damaged => "the snapshot is damaged",
            Self::OtherPolicy => "the snapshot does not match this policy",
            Self::NoRoom => "the table of keys is full of keys under a cooldown",
        })
    }
}

impl core::error::Error for SnapshotError {}

/// Writes a record from its beginning to its end. What does not fit is dropped.
///
/// ```
/// use tidegate::snapshot::{Reader, Writer};
/// use tidegate::{Instant, Span};
///
/// let (then, now) = (Instant::from_nanos(700), Instant::from_nanos(5_000_000));
/// let mut bytes = [0; 16];
/// let mut out = Writer::new(&mut bytes, then);
/// out.u64(42);
/// out.instant(Instant::from_nanos(900));
/// // 200 ns later than the record, regardless of where the clock now starts.
/// let mut input = Reader::new(&bytes, now, Span::ZERO);
/// assert_eq!(input.u64(), 42);
/// assert_eq!(input.instant(), Instant::from_nanos(5_000_200));
/// assert!(input.is_whole());
/// assert_eq!(input.u64(), 0); // past the end
/// assert!(!input.is_whole());
/// ```
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Writer<'a> {
    room: &'a mut [u8],
    now: Instant,
}

impl<'a> Writer<'a> {
    /// Writes into `room`; instants are kept as their distance from `now`.
    pub const fn new(room: &'a mut [u8], now: Instant) -> Self {
        Self { room, now }
    }

    /// The low `bytes` bytes of `value`. Not inlined on small targets, because a record has many fields.
    #[cfg_attr(
        any(target_arch = "arm", target_arch = "riscv32", target_arch = "wasm32"),
        inline(never)
    )]
    fn put(&mut self, value: u64, bytes: usize) {
        let room = core::mem::take(&mut self.room);
        if let Some((place, rest)) = room.split_at_mut_checked(bytes) {
            for (byte, value) in place.iter_mut().zip(value.to_le_bytes()) {
                *byte = value;
            }
            self.room = rest;
        }
    }

    /// Writes one byte.
    pub fn u8(&mut self, value: u8) {
        self.put(value.into(), 1);
    }

    /// Writes two bytes.
    pub fn u16(&mut self, value: u16) {
        self.put(value.into(), 2);
    }

    /// Writes four bytes.
    pub fn u32(&mut self, value: u32) {
        self.put(value.into(), 4);
    }

    /// Writes eight bytes.
    pub fn u64(&mut self, value: u64) {
        self.put(value, 8);
    }

    /// Writes eight bytes: the distance from the record's own instant. The end of time stays the end of time,
    /// because it stands for "never".
    pub fn instant(&mut self, value: Instant) {
        self.u64(match value {
            Instant::MAX => NEVER,
            _ => {
                let ahead = (value - self.now).as_nanos().min(MOST);
                let behind = (self.now - value).as_nanos().min(MOST);
                ahead.wrapping_sub(behind)
            }
        });
    }

    /// Writes one of several kinds of value: its tag, and then what `write` writes. Every kind takes `bytes` bytes.
    pub fn variant(&mut self, bytes: usize, tag: u8, write: impl FnOnce(&mut Writer<'_>)) {
        let room = core::mem::take(&mut self.room);
        let Some((place, rest)) = room.split_at_mut_checked(bytes) else { return };
        self.room = rest;
        let mut out = Writer { room: place, now: self.now };
        out.u8(tag);
        write(&mut out);
    }
}

/// A distance that no two instants of one record have.
const NEVER: u64 = (1 << 63) - 1;
/// The longest distance, either way: 292 years.
const MOST: u64 = NEVER - 1;

/// Reads a record from its beginning to its end. Past the end it reads zeros, and the record is no
/// longer [whole](Self::is_whole).
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Reader<'a> {
    rest: &'a [u8],
    now: Instant,
    /// How long ago the record was written. It may be longer than the present clock has run.
    away: Span,
    whole: bool,
}

impl<'a> Reader<'a> {
    /// Reads a record that was written `away` before `now`.
    #[must_use]
    pub const fn new(record: &'a [u8], now: Instant, away: Span) -> Self {
        Self { rest: record, now, away, whole: true }
    }

    /// Whether the record was long enough and every value was valid.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.whole
    }

    /// Whether nothing is left to read.
    #[cfg(feature = "shared")]
    pub(crate) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Marks the record as invalid.
    pub(crate) const fn reject(&mut self) {
        self.whole = false;
    }

    /// When the record was written, on the present clock, or the clock's start if it was written
    /// earlier.
    pub(crate) fn then(&self) -> Instant {
        self.now - self.away
    }

    /// Reads a number of this many bytes.
    #[cfg_attr(
        any(target_arch = "arm", target_arch = "riscv32", target_arch = "wasm32"),
        inline(never)
    )]
    fn take(&mut self, bytes: usize) -> u64 {
        let Some((number, rest)) = self.rest.split_at_checked(bytes) else {
            self.reject();
            return 0;
        };
        self.rest = rest;
        number.iter().rev().fold(0, |value, byte| (value << 8) | u64::from(*byte))
    }

    /// Reads one byte.
    #[expect(clippy::cast_possible_truncation, reason = "of so many bytes, as in the next two")]
    pub fn u8(&mut self) -> u8 {
        self.take(1) as u8
    }

    /// Reads two bytes.
    #[expect(clippy::cast_possible_truncation, reason = "of so many bytes")]
    pub fn u16(&mut self) -> u16 {
        self.take(2) as u16
    }

    /// Reads four bytes.
    #[expect(clippy::cast_possible_truncation, reason = "of so many bytes")]
    pub fn u32(&mut self) -> u32 {
        self.take(4) as u32
    }

    /// Reads eight bytes.
    pub fn u64(&mut self) -> u64 {
        self.take(8)
    }

    /// Reads eight bytes: an instant on the present clock, or the clock's start if it was earlier.
    pub fn instant(&mut self) -> Instant {
        let (now, away) = (self.now.as_nanos(), self.away.as_nanos());
        Instant::from_nanos(match self.u64() {
            NEVER => u64::MAX,
            ahead @ ..NEVER if ahead >= away => {
                now.saturating_add(ahead.saturating_sub(away)).min(u64::MAX - 1)
            }
            ahead @ ..NEVER => now.saturating_sub(away.saturating_sub(ahead)),
            behind => now.saturating_sub(behind.wrapping_neg().saturating_add(away)),
        })
    }

    /// Reads one of several kinds of value, as written by [`Writer::variant`] in `bytes` bytes.
    /// `None` if `read` does not know the tag.
    pub fn variant<T>(
        &mut self,
        bytes: usize,
        read: impl FnOnce(u8, &mut Reader<'_>) -> Option<T>,
    ) -> Option<T> {
        let (place, rest) = self.rest.split_at_checked(bytes).unwrap_or_default();
        self.rest = rest;
        let mut input = Reader { rest: place, ..*self };
        let tag = input.u8();
        let value = read(tag, &mut input);
        self.whole = input.whole && value.is_some();
        value
    }
}

/// A part of a state, with its own layout.
pub(crate) trait Field: Sized {
    const BYTES: usize;
    fn write(&self, out: &mut Writer<'_>);
    /// Reads a value. If it is invalid, rejects the record and returns any value.
    fn read(input: &mut Reader<'_>) -> Self;
}

macro_rules! numbers {
    ($($number:ident)*) => {$(
        impl Field for $number {
            const BYTES: usize = size_of::<Self>();

            fn write(&self, out: &mut Writer<'_>) {
                out.$number(*self);
            }

            fn read(input: &mut Reader<'_>) -> Self {
                input.$number()
            }
        }
    )*};
}

numbers!(u8 u16 u32 u64);

impl Field for i8 {
    const BYTES: usize = 1;

    fn write(&self, out: &mut Writer<'_>) {
        out.u8(self.cast_unsigned());
    }

    fn read(input: &mut Reader<'_>) -> Self {
        input.u8().cast_signed()
    }
}

impl Field for i16 {
    const BYTES: usize = 2;

    fn write(&self, out: &mut Writer<'_>) {
        out.u16(self.cast_unsigned());
    }

    fn read(input: &mut Reader<'_>) -> Self {
        input.u16().cast_signed()
    }
}

impl Field for bool {
    const BYTES: usize = 1;

    fn write(&self, out: &mut Writer<'_>) {
        out.u8((*self).into());
    }

    fn read(input: &mut Reader<'_>) -> Self {
        let value = input.u8();
        if value > 1 {
            input.reject();
        }
        value == 1
    }
}

impl Field for NonZeroU16 {
    const BYTES: usize = 2;

    fn write(&self, out: &mut Writer<'_>) {
        out.u16(self.get());
    }

    fn read(input: &mut Reader<'_>) -> Self {
        Self::new(input.u16()).unwrap_or_else(|| {
            input.reject();
            Self::MIN
        })
    }
}

impl Field for Option<NonZeroU8> {
    const BYTES: usize = 1;

    fn write(&self, out: &mut Writer<'_>) {
        out.u8(self.map_or(0, NonZeroU8::get));
    }

    fn read(input: &mut Reader<'_>) -> Self {
        NonZeroU8::new(input.u8())
    }
}

impl Field for Span {
    const BYTES: usize = 8;

    fn write(&self, out: &mut Writer<'_>) {
        out.u64(self.as_nanos());
    }

    fn read(input: &mut Reader<'_>) -> Self {
        Self::from_nanos(input.u64())
    }
}

impl Field for Instant {
    const BYTES: usize = 8;

    fn write(&self, out: &mut Writer<'_>) {
        out.instant(*self);
    }

    fn read(input: &mut Reader<'_>) -> Self {
        input.instant()
    }
}

impl<T: Field> Field for Option<T> {
    const BYTES: usize = 1 + T::BYTES;

    fn write(&self, out: &mut Writer<'_>) {
        out.variant(Self::BYTES, self.is_some().into(), |out| {
            if let Some(value) = self {
                value.write(out);
            }
        });
    }

    fn read(input: &mut Reader<'_>) -> Self {
        let value = input.variant(Self::BYTES, |tag, input| match tag {
            0 => Some(None),
            1 => Some(Some(T::read(input))),
            _ => None,
        });
        value.flatten()
    }
}

/// Makes a struct a [`Field`]: its fields in this order. A field that is not named begins as the
/// expression after `else` says, in which `now` is the instant that the record was written at.
macro_rules! fields {
    ($name:ty { $($field:ident: $kind:ty),* $(,)? } $(else |$now:ident| { $($other:ident: $start:expr),* $(,)? })?) => {
        impl $crate::snapshot::Field for $name {
            const BYTES: usize = 0 $(+ <$kind as $crate::snapshot::Field>::BYTES)*;

            fn write(&self, out: &mut $crate::snapshot::Writer<'_>) {
                $($crate::snapshot::Field::write(&self.$field, out);)*
            }

            fn read(input: &mut $crate::snapshot::Reader<'_>) -> Self {
                $(let $now = input.then();)?
                Self {
                    $($field: <$kind as $crate::snapshot::Field>::read(input),)*
                    $($($other: $start,)*)?
                }
            }
        }
    };
}
pub(crate) use fields;

/// The bytes before the fields, and after them.
const HEAD: usize = 2;
const TAIL: usize = 4;

/// The length of a record with this many bytes of fields.
pub(crate) const fn length(fields: usize) -> usize {
    HEAD.saturating_add(fields).saturating_add(TAIL)
}

/// Writes the version, `limits`, what `fields` writes, and the checksum.
pub(crate) fn seal(
    record: &mut [u8],
    now: Instant,
    limits: usize,
    fields: impl FnOnce(&mut Writer<'_>),
) {
    record.fill(0);
    let Some((body, tail)) = record.split_last_chunk_mut::<TAIL>() else { return };
    let mut out = Writer::new(body, now);
    out.u8(VERSION);
    out.u8(u8::try_from(limits).unwrap_or(u8::MAX));
    fields(&mut out);
    *tail = fnv1a(body.iter().copied()).to_le_bytes();
}

/// A reader of the fields of a record that `seal` has written, and that is this long.
pub(crate) fn unseal(
    record: &[u8],
    now: Instant,
    away: Span,
    limits: usize,
    length: usize,
) -> Result<Reader<'_>, SnapshotError> {
    match record.first() {
        Some(&VERSION) => {}
        Some(_) if record.len() == length => return Err(SnapshotError::Version),
        _ => return Err(SnapshotError::Length),
    }
    let (body, tail) = record.split_last_chunk::<TAIL>().ok_or(SnapshotError::Length)?;
    if record.len() != length {
        return Err(SnapshotError::Length);
    }
    if fnv1a(body.iter().copied()).to_le_bytes() != *tail {
        return Err(SnapshotError::Damaged);
    }
    let mut input = Reader::new(body, now, away);
    input.u8(); // the version
    if usize::from(input.u8()) != limits {
        return Err(SnapshotError::OtherPolicy);
    }
    Ok(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The compiler evaluates these where records are declared.
    #[test]
    fn a_record_has_room_for_its_head_and_check() {
        for most in [0, 5] {
            let mut record = std::vec![0; length(most)];
            seal(&mut record, Instant::ZERO, 1, |out| (0..most).for_each(|_| out.u8(7)));
            let mut input = unseal(&record, Instant::ZERO, Span::ZERO, 1, length(most)).unwrap();
            assert!((0..most).all(|_| input.u8() == 7) && input.is_whole());
            assert_eq!(record.len(), 2 + most + 4);
        }
    }
}
