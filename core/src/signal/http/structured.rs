//! The part of structured fields (RFC 9651) that the `RateLimit` fields use: a list of items with
//! parameters, or before draft 08 a dictionary.
//!
//! It is lenient where that costs nothing (numbers of any length saturate), and for a common
//! mistake: Hugging Face puts the name of a policy in the place of a parameter.

use super::dialect::{PARAMETERS, Term};
use super::draft::Draft;
use super::limits::Name;
use crate::signal::text::{Number, Text};

/// A value without its parameters.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bare<'a> {
    /// A non-negative integer or decimal.
    Number(Number<'a>),
    /// A string or a token, or the base64 text of a byte sequence.
    Text(&'a [u8]),
    /// A member of a dictionary (`limit=100`), which has been recorded.
    Member,
    /// A value that no field uses: a negative number, a boolean, a date.
    Other,
}

/// Reads an item, or a member of a dictionary, and records its parameters.
pub(super) fn item<'a>(text: &mut Text<'a>, draft: &mut Draft) -> Bare<'a> {
    let mut value = bare(text);
    if let Bare::Text(key) = value
        && text.peek() == b'='
    {
        parameter(text, key, draft);
        return Bare::Member;
    }
    while text.eat(b';') {
        text.space();
        match text.peek() {
            b'"' => value = bare(text),
            b'a'..=b'z' | b'*' => {
                let key = text.run(is_token);
                parameter(text, key, draft);
            }
            _ => text.fail(),
        }
    }
    value
}

/// Reads a parameter after its key. Unknown parameters are comments.
fn parameter(text: &mut Text<'_>, key: &[u8], draft: &mut Draft) {
    let value = if text.eat(b'=') { bare(text) } else { Bare::Other };
    let Some(term) = PARAMETERS.find(key) else { return };
    match (term, value) {
        (Term::Unit, Bare::Text(name)) => draft.count(name, 0),
        (Term::Partition, Bare::Text(key)) => {
            draft.partition = draft.partition.max(Name::of(key).0)
        }
        (Term::Limit | Term::Left, Bare::Number(count)) => draft.tell_least(term, count.whole),
        (Term::Cost, Bare::Number(count)) => draft.set_cost(count.whole),
        (_, Bare::Number(seconds)) => {
            let nanos = seconds.shifted(9);
            match term {
                Term::Period if nanos > 0 => draft.tell(term, nanos),
                Term::Reset | Term::ResetAfter => draft.tell(Term::ResetAfter, nanos),
                _ => text.fail(),
            }
        }
        _ => text.fail(),
    }
}

fn bare<'a>(text: &mut Text<'a>) -> Bare<'a> {
    match text.peek() {
        b'"' | b':' => return Bare::Text(quoted(text)),
        b'0'..=b'9' => return Bare::Number(text.number()),
        b'A'..=b'Z' | b'a'..=b'z' | b'*' => return Bare::Text(text.run(is_token)),
        b'-' | b'?' | b'@' => {
            text.next();
            text.eat(b'-');
            text.number();
        }
        _ => text.fail(),
    }
    Bare::Other
}

/// Whether a byte may be part of a token: visible characters except `"`, `,`, `;` and `=`.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b';' | b'=')
}

/// Reads the text between two quotes or two colons. Escapes are kept.
fn quoted<'a>(text: &mut Text<'a>) -> &'a [u8] {
    let mark = text.next();
    let mut inside = *text;
    let mut length = 0usize;
    loop {
        let byte = text.next();
        if byte == mark {
            return inside.take(length);
        }
        length = length.wrapping_add(1);
        if byte == b'\\' {
            length = length.wrapping_add(1);
            if !matches!(text.next(), b'"' | b'\\') {
                text.fail();
            }
        } else if !matches!(byte, 0x20..=0x7E) {
            text.fail();
            return &[];
        }
    }
}
