//! The part of structured fields (RFC 9651) that the `RateLimit` fields use: a list of items with
//! parameters, or before draft 08 a dictionary.
//!
//! It is lenient where that costs nothing (numbers of any length saturate), and for a common
//! mistake: Hugging Face puts the name of a policy in the place of a parameter.

use super::draft::{Draft, Part};
use super::limits::Name;
use super::number::Number as Width;
use crate::signal::text::{Number, Text};
use crate::signal::word::Table;

/// Records the unit of a limit, as its name says.
pub(super) type Unit<N> = fn(&mut Draft<N>, &[u8]);

/// A value without its parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bare<'a> {
    /// Its first byte, which says what it is.
    mark: u8,
    /// A number, a token, or the content of a string or of a byte sequence.
    text: &'a [u8],
}

impl<'a> Bare<'a> {
    /// Reads a value.
    pub(super) fn read(text: &mut Text<'a>) -> Self {
        let (mark, mut start) = (text.peek(), *text);
        let text = match mark {
            b'"' | b':' => quoted(text),
            b'A'..=b'Z' | b'a'..=b'z' | b'*' => text.run(is_token),
            // No field uses a negative number, a boolean or a date.
            b'0'..=b'9' | b'-' | b'?' | b'@' => {
                if !mark.is_ascii_digit() {
                    text.next();
                    text.eat(b'-');
                }
                text.number();
                start.before(text)
            }
            _ => {
                text.fail();
                &[]
            }
        };
        Self { mark, text }
    }

    /// Whether it is a non-negative integer or decimal.
    pub(super) fn is_number(&self) -> bool {
        self.mark.is_ascii_digit()
    }

    /// Whether it is a string, a token, or a byte sequence, whose base64 text counts.
    pub(super) fn is_text(&self) -> bool {
        self.mark >= b'A' || matches!(self.mark, b'"' | b':' | b'*')
    }

    /// Whether it is a member of a dictionary (`limit=100`), which has been recorded.
    pub(super) fn is_member(&self) -> bool {
        self.mark == b'='
    }

    pub(super) fn number(&self) -> Number<'a> {
        Text::new(self.text).number()
    }

    /// The digest of the text.
    pub(super) fn name(&self) -> Name {
        Name::of(self.text)
    }
}

/// Reads an item, or a member of a dictionary, and records its parameters.
pub(super) fn item<'a, N: Width>(
    text: &mut Text<'a>,
    draft: &mut Draft<N>,
    unit: Unit<N>,
) -> Bare<'a> {
    let mut value = Bare::read(text);
    if text.peek() == b'=' && value.is_text() {
        parameter(text, value.text, draft, unit);
        value.mark = b'=';
        return value;
    }
    while text.eat(b';') {
        text.space();
        match text.peek() {
            b'"' => value = Bare::read(text),
            b'a'..=b'z' | b'*' => {
                let key = text.run(is_token);
                parameter(text, key, draft, unit);
            }
            _ => text.fail(),
        }
    }
    value
}

/// The members of draft 07, the parameters of later drafts, and those of the next draft.
static PARAMETERS: Table<Part, 12> = Table::of(&[
    ("limit", Part::Limit),
    ("remaining", Part::Left),
    ("reset", Part::After),
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
fn parameter<N: Width>(text: &mut Text<'_>, key: &[u8], draft: &mut Draft<N>, unit: Unit<N>) {
    let value = if text.eat(b'=') { Bare::read(text) } else { Bare { mark: b'?', text: &[] } };
    let Some(part) = PARAMETERS.find(key) else { return };
    match part {
        Part::Unit | Part::Partition if !value.is_text() => text.fail(),
        Part::Unit => unit(draft, value.text),
        Part::Partition => draft.note(part, N::of(value.name().0.into())),
        _ if !value.is_number() => text.fail(),
        _ => {
            let number = value.number();
            let number = match part {
                Part::Limit | Part::Left => N::of(number.whole).complement(),
                Part::Cost => N::of(number.whole),
                _ => N::of(number.shifted(N::TIME_PLACES)),
            };
            if part == Part::Period && number == N::ZERO {
                text.fail();
            }
            draft.put(part, number);
        }
    }
}

/// Whether a byte may be part of a token: visible characters except `"`, `,`, `;` and `=`.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b';' | b'=')
}

/// Reads the text between two quotes or two colons. Escapes are kept.
fn quoted<'a>(text: &mut Text<'a>) -> &'a [u8] {
    let mark = text.next();
    let mut start = *text;
    loop {
        let end = *text;
        match text.next() {
            byte if byte == mark => return start.before(&end),
            b'\\' if matches!(text.next(), b'"' | b'\\') => {}
            b'\\' | ..0x20 | 0x7F.. => {
                text.fail();
                return &[];
            }
            _ => {}
        }
    }
}
