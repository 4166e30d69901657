//! Known words, stored as digests: neither their letters nor their addresses take memory.

use crate::digest;

/// The digest of `bytes`. If `folded`, it ignores case.
pub(super) const fn digest(bytes: &[u8], folded: bool) -> u32 {
    let (mut rest, mut sum) = (bytes, digest::EMPTY);
    while let [byte, tail @ ..] = rest {
        sum = digest::and(sum, if folded { byte.to_ascii_lowercase() } else { *byte });
        rest = tail;
    }
    sum
}

/// A digest of a name, to recognise a limit without storing its name.
///
/// It is 32-bit FNV-1a, which is not collision resistant. A server with colliding names only
/// confuses its own limits.
///
/// ```
/// use tidegate::signal::http::Name;
///
/// assert_eq!(Name::of("daily"), Name::of(b"daily"));
/// assert_ne!(Name::of("daily"), Name::of("hourly"));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Name(pub(super) u32);

impl Name {
    /// The digest of `name`.
    #[must_use]
    pub fn of(name: impl AsRef<[u8]>) -> Self {
        Self(digest(name.as_ref(), false))
    }

    /// The digest of a part of a header's name, ignoring case.
    pub(super) fn of_header(name: &[u8]) -> Self {
        Self(digest(name, true))
    }

    /// The digest of a lower-case name.
    pub(super) const fn known(name: &str) -> Self {
        Self(digest(name.as_bytes(), false))
    }
}

/// Words and their meanings.
#[derive(Debug)]
pub(super) struct Table<T, const WORDS: usize> {
    digests: [u32; WORDS],
    meanings: [T; WORDS],
}

impl<T: Copy, const WORDS: usize> Table<T, WORDS> {
    /// The table of these words, computed at compile time.
    #[expect(clippy::indexing_slicing, reason = "never at run time")]
    pub(super) const fn of(words: &[(&str, T)]) -> Self {
        assert!(words.len() == WORDS, "a table is as long as its list of words");
        let mut table = Self { digests: [0; WORDS], meanings: [words[0].1; WORDS] };
        let mut at = 0;
        while at < WORDS {
            table.digests[at] = digest(words[at].0.as_bytes(), false);
            table.meanings[at] = words[at].1;
            at = at.wrapping_add(1);
        }
        table
    }

    /// The meaning of the word `bytes`, ignoring case.
    pub(super) fn find(&self, bytes: &[u8]) -> Option<T> {
        self.of_digest(digest(bytes, true))
    }

    /// The meaning of the word with this digest.
    pub(super) fn of_digest(&self, digest: u32) -> Option<T> {
        self.meanings.get(self.digests.iter().position(|word| *word == digest)?).copied()
    }
}

/// Words of at least three letters, of which the longest that begins a text counts, sorted by length.
#[derive(Debug)]
pub(super) struct Prefixes<T, const WORDS: usize> {
    /// How all words begin, a bit for each.
    heads: u32,
    /// By how much each word is longer than the one before it.
    more: [u8; WORDS],
    words: Table<T, WORDS>,
}

impl<T: Copy, const WORDS: usize> Prefixes<T, WORDS> {
    /// The table of these words, computed at compile time.
    #[expect(clippy::indexing_slicing, reason = "never at run time")]
    pub(super) const fn of(words: &[(&str, T)]) -> Self {
        assert!(words.len() == WORDS, "a table is as long as its list of words");
        let (mut more, mut sorted) = ([0u8; WORDS], [words[0]; WORDS]);
        let (mut heads, mut length, mut found) = (0, 0usize, 0usize);
        while found < WORDS {
            let mut at = 0;
            while at < WORDS {
                if words[at].0.len() == length {
                    sorted[found] = words[at];
                    heads |= head(words[at].0.as_bytes());
                    found = found.wrapping_add(1);
                }
                at = at.wrapping_add(1);
            }
            length = length.wrapping_add(1);
            if found < WORDS {
                more[found] = more[found].wrapping_add(1);
            }
        }
        Self { heads, more, words: Table::of(&sorted) }
    }

    /// The meaning of the longest word that is a prefix of `bytes`, ignoring case, and the
    /// remaining bytes.
    pub(super) fn longest<'a>(&self, bytes: &'a [u8]) -> Option<(T, &'a [u8])> {
        if self.heads & head(bytes) == 0 {
            return None;
        }
        let (place, rest) = longest(&self.words.digests, &self.more, bytes)?;
        Some((*self.words.meanings.get(place)?, rest))
    }
}

/// A bit that depends on the first three letters, ignoring case. Few other headers share one with a
/// word of [`Prefixes`]. Zero if there are fewer letters.
const fn head(bytes: &[u8]) -> u32 {
    let [first, second, third, ..] = bytes else { return 0 };
    let sum = (*first as u32).wrapping_add((*second as u32).wrapping_mul(24));
    1u32.wrapping_shl(sum.wrapping_add((*third as u32).wrapping_mul(3)))
}

/// Each byte is digested once, and each word compared once, where its length is reached.
#[inline(never)] // Shared by all tables.
fn longest<'a>(digests: &[u32], more: &[u8], bytes: &'a [u8]) -> Option<(usize, &'a [u8])> {
    let (mut rest, mut sum, mut place, mut found) = (bytes, digest::EMPTY, 0usize, None);
    for (digest, more) in digests.iter().zip(more) {
        if *more > 0 {
            let Some((next, tail)) = rest.split_at_checked(usize::from(*more)) else { break };
            // In lower case: words have letters, digits and dashes, which all have this bit.
            sum = next.iter().fold(sum, |sum, byte| digest::and(sum, byte | 0x20));
            rest = tail;
        }
        if *digest == sum {
            found = Some((place, rest));
        }
        place = place.wrapping_add(1);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WORDS: [(&str, u8); 5] =
        [("abcd", 2), ("cde", 3), ("abcd-f1", 4), ("abc", 1), ("cdeabc", 5)];

    proptest! {
        #[test]
        fn the_longest_word_is_found_whatever_its_case_and_place(
            text in "(abcd-f1|ABCD|Abc|cde|[a-f1-]){0,3}"
        ) {
            // At run time, which is otherwise left to the compiler.
            let (prefixes, table): (Prefixes<_, 5>, Table<_, 5>) =
                (Prefixes::of(&WORDS), Table::of(&WORDS));
            let begins = |word: &str| {
                text.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word))
            };
            let longest = WORDS.iter().filter(|(word, _)| begins(word));
            let longest = longest.max_by_key(|(word, _)| word.len());
            let longest = longest.map(|(word, meaning)| (*meaning, &text.as_bytes()[word.len()..]));
            prop_assert_eq!(prefixes.longest(text.as_bytes()), longest);
            let whole = WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(&text));
            let whole = whole.map(|(_, meaning)| *meaning);
            prop_assert_eq!(table.find(text.as_bytes()), whole);
            let small = digest(text.to_ascii_lowercase().as_bytes(), false);
            prop_assert_eq!(table.of_digest(small), whole);
        }
    }
}
