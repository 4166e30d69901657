//! Scans JSON for a few known paths, in chunks and with constant memory.
//!
//! It does not validate: input that is not JSON is read as far as it looks like JSON. A key is any
//! string before a colon, so no stack of container kinds is needed. Arrays add nothing to a path:
//! `errors.extensions.code` is the code of each error.

use super::stated::Stated;
use crate::digest::{self, and};

/// Deeper containers are skipped. Google's violations are the deepest, six or seven levels.
const DEPTH: usize = 8;

/// Phrases in messages for people, in lower case. A failed match restarts with at most one letter,
/// which suffices for these.
const PHRASES: [(&[u8], u8); 12] = [
    (b"secondary rate limit", SECONDARY),
    (b"api rate limit exceeded", PRIMARY),
    (b"rate limit reached", PRIMARY),
    (b"concurren", CONCURRENT),
    (b"perday", DAILY),
    (b"credit balance is too low", EXHAUSTED),
    (b"iothubquotaexceeded", EXHAUSTED),
    (b"request too large", TOO_LARGE),
    (b"try in ", STATED),
    (b"try again in ", STATED),
    (b"try after ", STATED),
    (b"wait ", STATED),
];
pub(super) const SECONDARY: u8 = 1 << 0;
pub(super) const PRIMARY: u8 = 1 << 1;
pub(super) const CONCURRENT: u8 = 1 << 2;
pub(super) const DAILY: u8 = 1 << 3;
pub(super) const EXHAUSTED: u8 = 1 << 4;
pub(super) const TOO_LARGE: u8 = 1 << 5;
/// A wait may follow.
const STATED: u8 = 1 << 6;

/// The state of the scanner.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum At {
    Start,
    Between,
    Text,
    Escape,
    Literal,
    End,
}

/// A string or a literal, as digests instead of letters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Word {
    /// The digest of the text after the last `#`: a problem type, or a code without its namespace.
    pub(super) digest: u32,
    /// The digest of the path that ends with it, if it is a key.
    path: u32,
    whole: u32,
    thousandths: u32,
    /// The part of a number that has been read: none, integer, fraction, or the `s` after it.
    place: u8,
    /// How much of each phrase has matched.
    progress: [u8; PHRASES.len()],
    /// The phrases that it contains, one bit each.
    pub(super) phrases: u8,
    /// The wait that it states.
    pub(super) stated: Stated,
}

const GARBAGE: u8 = u8::MAX;
const SUFFIX: u8 = 6;

impl Word {
    const EMPTY: Self = Self {
        digest: digest::EMPTY,
        path: digest::EMPTY,
        whole: 0,
        thousandths: 0,
        place: 0,
        progress: [0; PHRASES.len()],
        phrases: 0,
        stated: Stated::NONE,
    };

    fn put(&mut self, byte: u8) {
        self.digest = if byte == b'#' { digest::EMPTY } else { and(self.digest, byte) };
        self.path = and(self.path, byte);
        self.count(byte);
        let byte = byte.to_ascii_lowercase();
        self.stated.put(byte);
        for (progress, (phrase, bit)) in self.progress.iter_mut().zip(PHRASES) {
            let fits = phrase.get(usize::from(*progress)) == Some(&byte);
            let begins = phrase.first() == Some(&byte);
            *progress = if fits { progress.wrapping_add(1) } else { u8::from(begins) };
            if usize::from(*progress) == phrase.len() {
                self.phrases |= bit;
                if bit == STATED {
                    self.stated.begin();
                }
            }
        }
    }

    /// Reads a number: digits, a fraction of which three digits are kept, and an `s`.
    fn count(&mut self, byte: u8) {
        let digit = u32::from(byte.wrapping_sub(b'0'));
        self.place = match (self.place, byte) {
            (0 | 1, b'0'..=b'9') => {
                self.whole = self.whole.saturating_mul(10).saturating_add(digit);
                1
            }
            (1, b'.') => 2,
            (place @ 2..=4, b'0'..=b'9') => {
                let worth = match place {
                    2 => 100,
                    3 => 10,
                    _ => 1,
                };
                self.thousandths = self.thousandths.wrapping_add(digit.wrapping_mul(worth));
                place.wrapping_add(1)
            }
            (5, b'0'..=b'9') => 5,
            (1..=5, b's') => SUFFIX,
            _ => GARBAGE,
        };
    }

    /// The integer part and the thousandths.
    pub(super) const fn number(&self) -> Option<(u32, u32)> {
        match self.place {
            1..=SUFFIX => Some((self.whole, self.thousandths)),
            _ => None,
        }
    }
}

/// The scanner.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Scan {
    /// The digest of the path of each open container.
    containers: [u32; DEPTH],
    /// The digest of the path of the next value.
    here: u32,
    word: Word,
    depth: u16,
    at: At,
    /// Whether a word is complete and may be a value.
    pending: bool,
}

impl Scan {
    pub(super) const NEW: Self = Self {
        containers: [digest::EMPTY; DEPTH],
        here: digest::EMPTY,
        word: Word::EMPTY,
        depth: 0,
        at: At::Start,
        pending: false,
    };

    /// Whether the document has ended or is not JSON.
    pub(super) const fn has_ended(&self) -> bool {
        matches!(self.at, At::End)
    }

    /// Reads a byte. Returns a value that ends before it, with the digest of its path.
    pub(super) fn push(&mut self, byte: u8) -> Option<(u32, Word)> {
        match (self.at, byte) {
            (At::End, _) | (At::Start, b' ' | b'\t' | b'\n' | b'\r') => None,
            (At::Start, b'{' | b'[') => self.open(),
            (At::Start, _) => {
                self.at = At::End;
                None
            }
            (At::Text, b'"') => {
                self.at = At::Between;
                None
            }
            (At::Text, b'\\') => {
                self.at = At::Escape;
                None
            }
            (At::Text | At::Escape, _) => {
                self.at = At::Text;
                self.word.put(byte);
                None
            }
            (_, b'"') => self.begin(At::Text),
            (_, b':') => {
                if usize::from(self.depth) < DEPTH {
                    self.here = self.word.path;
                }
                self.pending = false;
                self.at = At::Between;
                None
            }
            (_, b',') => {
                let value = self.value();
                self.here = self.container();
                value
            }
            (_, b'{' | b'[') => self.open(),
            (_, b'}' | b']') => {
                let value = self.value();
                self.depth = self.depth.saturating_sub(1);
                self.here = self.container();
                if self.depth == 0 {
                    self.at = At::End;
                }
                value
            }
            (_, b' ' | b'\t' | b'\n' | b'\r') => {
                self.at = At::Between;
                None
            }
            _ => {
                if self.at == At::Between {
                    self.begin(At::Literal);
                }
                self.word.put(byte);
                None
            }
        }
    }

    fn open(&mut self) -> Option<(u32, Word)> {
        self.depth = self.depth.saturating_add(1);
        if let Some(path) = self.containers.get_mut(usize::from(self.depth)) {
            *path = self.here;
        }
        self.pending = false;
        // Such deep nesting is malicious.
        self.at = if self.depth == u16::MAX { At::End } else { At::Between };
        None
    }

    fn begin(&mut self, at: At) -> Option<(u32, Word)> {
        let container = self.container();
        let path = if container == digest::EMPTY { container } else { and(container, b'.') };
        (self.word, self.at, self.pending) = (Word { path, ..Word::EMPTY }, at, true);
        None
    }

    /// The path of the innermost container.
    fn container(&self) -> u32 {
        self.containers.get(usize::from(self.depth)).copied().unwrap_or(0)
    }

    fn value(&mut self) -> Option<(u32, Word)> {
        self.at = At::Between;
        let is_value = core::mem::take(&mut self.pending) && usize::from(self.depth) < DEPTH;
        is_value.then_some((self.here, self.word))
    }
}
