//! The part of structured fields (RFC 9651) that the `RateLimit` fields use: a list of items with
//! parameters, or before draft 08 a dictionary.
//!
//! It is lenient where that costs nothing (numbers of any length saturate, and a token may begin
//! with any character but a digit), and for a common mistake: Hugging Face puts the name of a
//! policy in the place of a parameter.

use super::draft::{Draft, Part};
use crate::signal::text::{Number, Text};
use crate::signal::word::{Name, Table};

/// Records the unit of a limit, as its name says.
pub(super) type Unit = fn(&mut Draft, &[u8]);

/// A value without its parameters.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bare<'a> {
    /// A non-negative integer or decimal.
    Number(Number<'a>),
    /// A token, or the content of a string or of a byte sequence.
    Text(&'a [u8]),
    /// A member of a dictionary (`limit=100`), which has been recorded.
    Member,
}

/// Reads a value.
fn bare<'a>(text: &mut Text<'a>) -> Bare<'a> {
    match text.peek() {
        b'0'..=b'9' => Bare::Number(text.number()),
        b'"' | b':' => Bare::Text(quoted(text)),
        _ => Bare::Text(token(text)),
    }
}

/// Reads a token: visible characters except `"`, `,`, `;` and `=`.
fn token<'a>(text: &mut Text<'a>) -> &'a [u8] {
    let token =
        text.run(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b';' | b'='));
    if token.is_empty() {
        text.fail();
    }
    token
}

/// Reads the text between two quotes or two colons. Escapes are kept.
fn quoted<'a>(text: &mut Text<'a>) -> &'a [u8] {
    let mark = text.next();
    let mut start = *text;
    loop {
        let end = *text;
        match text.next() {
            byte if byte == mark => return start.before(&end),
            b'\\' => _ = text.next(),
            ..0x20 | 0x7F.. => {
                text.fail();
                return &[];
            }
            _ => {}
        }
    }
}

/// Reads an item, or a member of a dictionary, and records its parameters.
pub(super) fn item<'a>(text: &mut Text<'a>, draft: &mut Draft, unit: Unit) -> Bare<'a> {
    let mut value = bare(text);
    if text.peek() == b'='
        && let Bare::Text(key) = value
    {
        parameter(text, key, draft, unit);
        return Bare::Member;
    }
    while text.eat(b';') {
        text.space();
        if text.peek() == b'"' {
            value = bare(text);
        } else {
            let key = token(text);
            parameter(text, key, draft, unit);
        }
    }
    value
}

/// The members of draft 07 (its `reset` is a time, unlike in header names), the parameters of later drafts, and those of the next draft.
pub(super) static PARAMETERS: Table<Part, 12> = Table::of(&[
    ("limit", Part::Limit),
    ("remaining", Part::Left),
    ("reset", Part::At),
    ("reset-after", Part::After),
    ("q", Part::Limit),
    ("r", Part::Left),
    ("t", Part::After),
    ("w", Part::Period),
    ("qu", Part::Unit),
    ("pk", Part::Partition),
    ("a", Part::Left),
    ("c", Part::Cost),
]);

/// Reads a parameter after its key. Unknown parameters are comments.
fn parameter(text: &mut Text<'_>, key: &[u8], draft: &mut Draft, unit: Unit) {
    let value = if text.eat(b'=') { bare(text) } else { Bare::Member };
    match (PARAMETERS.find(key), value) {
        (None, _) => {}
        (Some(Part::Unit), Bare::Text(name)) => unit(draft, name),
        (Some(Part::Partition), Bare::Text(key)) => draft.put(Part::Partition, Name::of(key).0),
        (Some(part @ (Part::Limit | Part::Left)), Bare::Number(number)) => {
            draft.put_count(part, number.whole);
        }
        (Some(Part::Cost), Bare::Number(number)) => draft.put_time(Part::Cost, number.whole),
        (Some(Part::Period), Bare::Number(number)) => {
            let time = number.shifted(3);
            if time == 0 {
                text.fail();
            }
            draft.put_time(Part::Period, time);
        }
        (Some(Part::At | Part::After), Bare::Number(number)) => {
            draft.put_time(Part::After, number.shifted(3))
        }
        _ => text.fail(),
    }
}
