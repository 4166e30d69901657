//! The part of structured fields (RFC 9651) that the `RateLimit` fields are made of: a list of
//! items with parameters.
//!
//! It is lenient where it costs nothing (numbers of any length saturate) and where a big server
//! errs: Hugging Face puts the name of a policy where a parameter belongs.

use crate::signal::text::{Decimal, Text};
use crate::time::Span;

/// A value without its parameters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Bare<'a> {
    /// An integer or a decimal that is not negative.
    Number(Decimal),
    /// A string or a token, or the base 64 of a byte sequence.
    Text(&'a [u8]),
    /// Something that no field here has a use for: a negative number, a boolean, a date.
    Other,
}

impl<'a> Bare<'a> {
    /// An integer; of a decimal, what is before its point.
    pub(super) const fn count(self) -> Option<u64> {
        if let Self::Number(number) = self { Some(number.whole) } else { None }
    }

    pub(super) fn seconds(self) -> Option<Span> {
        if let Self::Number(number) = self { Some(number.times(Span::from_secs(1))) } else { None }
    }

    pub(super) const fn text(self) -> Option<&'a [u8]> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

/// An item of a list: a value, and those of its parameters that mean something here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<'a> {
    pub(super) value: Bare<'a>,
    /// The quota.
    pub(super) q: Option<Bare<'a>>,
    /// The unit of the quota.
    pub(super) qu: Option<Bare<'a>>,
    /// The time window.
    pub(super) w: Option<Bare<'a>>,
    /// The available quota.
    pub(super) r: Option<Bare<'a>>,
    /// The effective window.
    pub(super) t: Option<Bare<'a>>,
    /// The partition key.
    pub(super) pk: Option<Bare<'a>>,
}

/// The items of a list; a last `None` where the list is malformed from there on, or empty.
pub(super) fn list(value: &[u8]) -> impl Iterator<Item = Option<Item<'_>>> {
    let mut text = Text::new(value);
    let mut more = true;
    core::iter::from_fn(move || {
        more.then(|| {
            let read = item(&mut text).zip(text.comma());
            more = read.is_some_and(|(_, more)| more);
            read.map(|(item, _)| item)
        })
    })
}

/// The members of a dictionary of plain numbers, `limit=100, remaining=50`; a last `None` as of a
/// list.
pub(super) fn dictionary(value: &[u8]) -> impl Iterator<Item = Option<(&[u8], Bare<'_>)>> {
    let mut text = Text::new(value);
    let mut more = true;
    core::iter::from_fn(move || {
        more.then(|| {
            let read = member(&mut text).zip(text.comma());
            more = read.is_some_and(|(_, more)| more);
            read.map(|(member, _)| member)
        })
    })
}

fn member<'a>(text: &mut Text<'a>) -> Option<(&'a [u8], Bare<'a>)> {
    let key = key(text)?;
    text.eat(b"=")?;
    let value = bare(text)?;
    Some((key, value))
}

fn item<'a>(text: &mut Text<'a>) -> Option<Item<'a>> {
    let value = bare(text)?;
    let mut item = Item { value, q: None, qu: None, w: None, r: None, t: None, pk: None };
    while text.eat(b";").is_some() {
        text.run(|byte| byte == b' ');
        if text.peek() == Some(b'"') {
            item.value = bare(text)?;
            continue;
        }
        let key = key(text)?;
        let value = if text.eat(b"=").is_some() { bare(text)? } else { Bare::Other };
        // The last of equal parameters counts; those of no meaning here are comments.
        match key {
            b"q" => item.q = Some(value),
            b"qu" => item.qu = Some(value),
            b"w" => item.w = Some(value),
            b"r" => item.r = Some(value),
            b"t" => item.t = Some(value),
            b"pk" => item.pk = Some(value),
            _ => {}
        }
    }
    Some(item)
}

fn key<'a>(text: &mut Text<'a>) -> Option<&'a [u8]> {
    text.peek().filter(|byte| byte.is_ascii_lowercase() || *byte == b'*')?;
    Some(
        text.run(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.*".contains(&byte)
        }),
    )
}

fn bare<'a>(text: &mut Text<'a>) -> Option<Bare<'a>> {
    match text.peek()? {
        b'"' => string(text).map(Bare::Text),
        b':' => {
            text.next();
            let base_64 = text.run(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
            text.eat(b":")?;
            Some(Bare::Text(base_64))
        }
        b'?' => {
            text.next();
            text.next().filter(|byte| matches!(byte, b'0' | b'1'))?;
            Some(Bare::Other)
        }
        sign @ (b'-' | b'@') => {
            text.next();
            if sign == b'@' {
                let _ = text.eat(b"-");
            }
            text.decimal()?;
            Some(Bare::Other)
        }
        byte if byte.is_ascii_digit() => text.decimal().map(Bare::Number),
        byte if byte.is_ascii_alphabetic() || byte == b'*' => Some(Bare::Text(
            text.run(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(&byte)),
        )),
        _ => None,
    }
}

/// Reads a string between quotes; what is escaped in it stays so.
fn string<'a>(text: &mut Text<'a>) -> Option<&'a [u8]> {
    text.eat(b"\"")?;
    let start = *text;
    let mut length = 0usize;
    loop {
        length = length.saturating_add(match text.next()? {
            b'"' => break,
            b'\\' => {
                text.next().filter(|byte| matches!(byte, b'"' | b'\\'))?;
                2
            }
            0x20..=0x7E => 1,
            _ => return None,
        });
    }
    start.first(length)
}
