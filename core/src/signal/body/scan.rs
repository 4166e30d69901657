//! JSON as it arrives: the few paths that matter, in constant memory.
//!
//! It is no parser: what is not JSON is read as far as it looks like it. A key is what a colon follows, so
//! objects and lists need no stack of their kinds. An array adds nothing to a path: `errors.extensions.code`
//! is the code of each error.

use crate::digest::{self, and};

/// Containers further in are skipped. Google's violations are the innermost, six or seven deep.
const DEPTH: usize = 8;

/// Phrases of messages that are written for people, in lower case. A search that fails begins anew with one
/// letter at most, which is enough for these.
const PHRASES: [(&[u8], u8); 5] = [
    (b"secondary rate limit", SECONDARY),
    (b"api rate limit exceeded", PRIMARY),
    (b"concurren", CONCURRENT),
    (b"perday", DAILY),
    (b"credit balance is too low", UNPAID),
];
pub(super) const SECONDARY: u8 = 1 << 0;
pub(super) const PRIMARY: u8 = 1 << 1;
pub(super) const CONCURRENT: u8 = 1 << 2;
pub(super) const DAILY: u8 = 1 << 3;
pub(super) const UNPAID: u8 = 1 << 4;

/// Where the scanner is.
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

/// A text or a literal, known by what it means and not by its letters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Word {
    /// The digest of what follows the last `#`: a problem type or a code without its namespace.
    pub(super) digest: u32,
    /// The digest of the path that ends in it, if it is a key.
    path: u32,
    whole: u32,
    thousandths: u32,
    /// What is read of a number: nothing, its whole part, its fraction, the `s` behind it.
    place: u8,
    /// How much of each phrase has been read.
    progress: [u8; PHRASES.len()],
    /// Which phrases are in it, a bit each.
    pub(super) phrases: u8,
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
    };

    fn put(&mut self, byte: u8) {
        self.digest = if byte == b'#' { digest::EMPTY } else { and(self.digest, byte) };
        self.path = and(self.path, byte);
        self.count(byte);
        let byte = byte.to_ascii_lowercase();
        for (progress, (phrase, bit)) in self.progress.iter_mut().zip(PHRASES) {
            let fits = phrase.get(usize::from(*progress)) == Some(&byte);
            let begins = phrase.first() == Some(&byte);
            *progress = if fits { progress.wrapping_add(1) } else { u8::from(begins) };
            if usize::from(*progress) == phrase.len() {
                self.phrases |= bit;
            }
        }
    }

    /// Reads a number: digits, a fraction of which three digits count, and an `s`.
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

    /// The number and its thousandths.
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
    /// The digest of the path of each container that is open.
    containers: [u32; DEPTH],
    /// The same of the value that comes next.
    here: u32,
    word: Word,
    depth: u16,
    at: At,
    /// Whether the word is read and may be a value.
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

    /// Whether the document has ended, or is none.
    pub(super) const fn has_ended(&self) -> bool {
        matches!(self.at, At::End)
    }

    /// Reads a byte. The answer is a value that ends before it, with the digest of its path.
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
        // Nobody nests so deep who does not mean harm.
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
