//! `google.rpc.RetryInfo`, one of the details of a status.

use crate::time::Span;

/// How long to wait before the next attempt: the first `google.rpc.RetryInfo` among the details of an
/// encoded `google.rpc.Status`. `None` if there is none.
///
/// Malformed parts are skipped or end the search. It takes time proportional to the bytes, regardless of the lengths
/// that they claim.
///
/// ```
/// use tidegate::{Span, signal::grpc};
///
/// let status = b"\x08\x08\x1a\x30\n(type.googleapis.com/google.rpc.RetryInfo\x12\x04\n\x02\x08\x1e";
/// assert_eq!(grpc::retry_delay(status), Some(Span::from_secs(30)));
/// assert_eq!(grpc::retry_delay(b"\x08\x08"), None);
/// ```
#[must_use]
pub fn retry_delay(status: &[u8]) -> Option<Span> {
    of_status(status.iter().copied())
}

/// The same of the trailer `grpc-status-details-bin` as it is sent: in base64, with or without padding.
///
/// ```
/// use tidegate::{Span, signal::grpc};
///
/// let trailer = b"CAgaMAoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIECgIIHg";
/// assert_eq!(grpc::retry_delay_base64(trailer), Some(Span::from_secs(30)));
/// ```
#[must_use]
pub fn retry_delay_base64(trailer: &[u8]) -> Option<Span> {
    of_status(Base64 { text: trailer.iter(), bits: 0, count: 0 }.fuse())
}

/// The name of the type. Any URL may precede it.
const NAME: &[u8] = b"google.rpc.RetryInfo";

/// A detail is field 3 of the status.
fn of_status(mut bytes: impl Iterator<Item = u8>) -> Option<Span> {
    let mut status = Message { bytes: &mut bytes, left: u64::MAX, is_whole: true };
    while let Some(field) = status.field() {
        let delay = match field {
            Field { number: 3, value: Value::Bytes(length) } => status.read(length, of_any)?,
            field => status.skip(field).map(|()| None)?,
        };
        if delay.is_some() {
            return delay;
        }
    }
    None
}

/// The type in field 1 and the message in field 2, in any order.
fn of_any<I: Iterator<Item = u8>>(any: &mut Message<'_, I>) -> Option<Span> {
    let (mut is_named, mut delay) = (false, None);
    while let Some(field) = any.field() {
        match field {
            Field { number: 1, value: Value::Bytes(length) } => {
                is_named = any.read(length, is_retry_info)?;
            }
            Field { number: 2, value: Value::Bytes(length) } => {
                delay = any.read(length, of_retry_info)?;
            }
            field => any.skip(field)?,
        }
    }
    delay.filter(|_| is_named)
}

/// The duration in field 1.
fn of_retry_info<I: Iterator<Item = u8>>(info: &mut Message<'_, I>) -> Option<Span> {
    let mut delay = None;
    while let Some(field) = info.field() {
        match field {
            Field { number: 1, value: Value::Bytes(length) } => {
                delay = info.read(length, of_duration)?;
            }
            field => info.skip(field)?,
        }
    }
    delay
}

/// Seconds in field 1 and nanoseconds in field 2. `None` if negative.
fn of_duration<I: Iterator<Item = u8>>(duration: &mut Message<'_, I>) -> Option<Span> {
    let (mut seconds, mut nanos) = (0, 0);
    while let Some(field) = duration.field() {
        match field {
            Field { number: 1, value: Value::Number(number) } => seconds = number,
            Field { number: 2, value: Value::Number(number) } => nanos = number,
            field => duration.skip(field)?,
        }
    }
    if i64::try_from(seconds).is_err() || nanos >= 1_000_000_000 {
        return None;
    }
    Some(Span::from_secs(seconds) + Span::from_nanos(nanos))
}

/// Whether the URL of a type ends with [`NAME`] after a slash.
fn is_retry_info<I: Iterator<Item = u8>>(address: &mut Message<'_, I>) -> bool {
    // The rest of the name to match. `None` if it cannot match before another slash.
    let mut rest = None;
    while let Some(byte) = address.byte() {
        rest = match (byte, rest.and_then(<[u8]>::split_first)) {
            (b'/', _) => Some(NAME),
            (_, Some((first, rest))) if *first == byte => Some(rest),
            _ => None,
        };
    }
    rest.is_some_and(<[u8]>::is_empty)
}

/// A Protocol Buffers message, read once from its first byte to its last.
struct Message<'a, I> {
    bytes: &'a mut I,
    /// The number of bytes left, according to its length.
    left: u64,
    /// Whether it consists of valid fields.
    is_whole: bool,
}

struct Field {
    number: u64,
    value: Value,
}

enum Value {
    Number(u64),
    /// The length of the bytes that follow.
    Bytes(u64),
}

impl<I: Iterator<Item = u8>> Message<'_, I> {
    fn byte(&mut self) -> Option<u8> {
        let left = self.left.checked_sub(1)?;
        let byte = self.bytes.next()?;
        self.left = left;
        Some(byte)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in [0, 7, 14, 21, 28, 35, 42, 49, 56, 63] {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).wrapping_shl(shift);
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// The next field. `None` at the end.
    fn field(&mut self) -> Option<Field> {
        if self.left == 0 {
            return None;
        }
        let field = self.next_field();
        self.is_whole = field.is_some();
        field
    }

    fn next_field(&mut self) -> Option<Field> {
        let tag = self.number()?;
        let value = match tag & 7 {
            0 => Value::Number(self.number()?),
            1 => Value::Bytes(8),
            2 => Value::Bytes(self.number()?),
            5 => Value::Bytes(4),
            _ => return None,
        };
        Some(Field { number: tag >> 3, value })
    }

    /// A nested message. Bytes that `read` does not consume are skipped. `None` if it is truncated.
    fn read<R>(&mut self, length: u64, read: impl FnOnce(&mut Message<'_, I>) -> R) -> Option<R> {
        self.left = self.left.checked_sub(length)?;
        let mut message = Message { bytes: self.bytes, left: length, is_whole: true };
        let result = read(&mut message);
        for _ in 0..message.left {
            message.bytes.next()?;
        }
        message.is_whole.then_some(result)
    }

    fn skip(&mut self, field: Field) -> Option<()> {
        match field.value {
            Value::Number(_) => Some(()),
            Value::Bytes(length) => self.read(length, |_| ()),
        }
    }
}

/// The decoded bytes of base64 text, up to the first invalid character.
struct Base64<'a> {
    text: core::slice::Iter<'a, u8>,
    /// The latest bits. The lowest `count` have not been read.
    bits: u32,
    count: u32,
}

impl Iterator for Base64<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        while self.count < 8 {
            let digit = match *self.text.next()? {
                letter @ b'A'..=b'Z' => letter.wrapping_sub(b'A'),
                letter @ b'a'..=b'z' => letter.wrapping_sub(b'a').wrapping_add(26),
                digit @ b'0'..=b'9' => digit.wrapping_sub(b'0').wrapping_add(52),
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            self.bits = self.bits << 6 | u32::from(digit);
            self.count = self.count.saturating_add(6);
        }
        self.count = self.count.saturating_sub(8);
        let [byte, ..] = self.bits.wrapping_shr(self.count).to_le_bytes();
        Some(byte)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    /// A length-delimited field.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
    }

    fn any(name: &str, value: &[u8]) -> Vec<u8> {
        field(3, &[field(1, name.as_bytes()), field(2, value)].concat())
    }

    fn base64(bytes: &[u8]) -> Vec<u8> {
        const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = Vec::new();
        for chunk in bytes.chunks(3) {
            let bits = (0..3).fold(0, |bits, i| bits << 8 | u32::from(*chunk.get(i).unwrap_or(&0)));
            text.extend((0..=chunk.len()).map(|i| DIGITS[(bits >> (18 - 6 * i)) as usize & 63]));
        }
        text
    }

    const INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";
    const HALF_A_SECOND: &[u8] = b"\n\x06\x10\x80\xca\xb5\xee\x01";

    #[test]
    fn a_delay_is_found_anywhere() {
        let half = Some(Span::from_millis(500));
        let info = any(INFO, HALF_A_SECOND);
        let other = any("type.googleapis.com/google.rpc.ErrorInfo", b"\n\x04\x08\x07\x10\x01");
        let begin = [
            b"\x08\x08",
            &field(2, b"slow down")[..],
            b"\x2d\x01\x02\x03\x04",
            b"\x29\x01\x02\x03\x04\x05\x06\x07\x08",
        ]
        .concat();
        let reversed = field(3, &[field(2, HALF_A_SECOND), field(1, INFO.as_bytes())].concat());
        let cases = [
            (info.clone(), half),
            ([&begin[..], &other, &info].concat(), half),
            ([&begin[..], &reversed, b"\x08"].concat(), half),
            // The first one counts.
            ([&info[..], &any(INFO, b"\n\x02\x08\x07")].concat(), half),
            (any("/google.rpc.RetryInfo", b"\n\x02\x08\x07"), Some(Span::from_secs(7))),
            (any("a/b/google.rpc.RetryInfo", b"\n\x00"), Some(Span::ZERO)),
            (any(INFO, b"\n\x0a\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), Some(Span::MAX)),
            (any("google.rpc.RetryInfo", HALF_A_SECOND), None),
            (any("type.googleapis.com/google.rpc.RetryInfos", HALF_A_SECOND), None),
            (any("type.googleapis.com/xgoogle.rpc.RetryInfo", HALF_A_SECOND), None),
            (other, None),
            (any(INFO, b""), None),
            // A truncated or oversized detail, followed by a valid one.
            ([any(INFO, b"\n\x02\x08\x80"), info.clone()].concat(), half),
            ([b"\x1a\x04\n\x7f\x08\x08", &info[..]].concat(), half),
            // A negative delay, and more than a billion nanoseconds.
            (any(INFO, b"\n\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), None),
            (any(INFO, b"\n\x06\x10\x80\x94\xeb\xdc\x03"), None),
        ];
        for (status, delay) in cases {
            assert_eq!(retry_delay(&status), delay, "{status:x?}");
            let text = base64(&status);
            assert_eq!(retry_delay_base64(&text), delay, "{status:x?}");
            assert_eq!(retry_delay_base64(&[&text[..], b"=="].concat()), delay, "{status:x?}");
        }
    }

    #[test]
    fn truncated_or_oversized_messages_are_ignored() {
        let whole = any(INFO, HALF_A_SECOND);
        for length in 0..whole.len() {
            assert_eq!(retry_delay(&whole[..length]), None, "{length}");
        }
        // A field without end, a number without end, and a group.
        let long = b"\x1a\xff\xff\xff\xff\xff\xff\xff\xff\x7f";
        for begin in [&long[..], &[0xff; 11], b"\x0b"] {
            let status = [begin, &whole].concat();
            assert_eq!(retry_delay(&status), None, "{status:x?}");
        }
    }

    #[test]
    fn base64_is_decoded_to_the_original_bytes() {
        let bytes: Vec<u8> = (0..=255).flat_map(|byte| [byte, !byte, byte ^ 0x55, 7]).collect();
        for length in 0..bytes.len() {
            let text = base64(&bytes[..length]);
            let decoded = Base64 { text: text.iter(), bits: 0, count: 0 };
            assert!(decoded.eq(bytes[..length].iter().copied()), "{length}");
        }
    }

    #[test]
    fn base64_ends_at_the_first_invalid_character() {
        let text = base64(&any(INFO, HALF_A_SECOND));
        let (begin, end) = text.split_at(30);
        for mark in ["-", " ", ",", "="] {
            assert_eq!(retry_delay_base64(&[begin, mark.as_bytes(), end].concat()), None);
        }
    }
}
