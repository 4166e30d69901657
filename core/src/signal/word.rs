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

/// Words of which the longest that begins a text counts, sorted by length.
#[derive(Debug)]
pub(super) struct Prefixes<T, const WORDS: usize> {
    /// The first letters of all words, a bit for each.
    firsts: u32,
    lengths: [u8; WORDS],
    words: Table<T, WORDS>,
}

impl<T: Copy, const WORDS: usize> Prefixes<T, WORDS> {
    /// The table of these words, computed at compile time.
    #[expect(clippy::indexing_slicing, reason = "never at run time")]
    pub(super) const fn of(words: &[(&str, T)]) -> Self {
        assert!(words.len() == WORDS, "a table is as long as its list of words");
        let (mut lengths, mut sorted) = ([0; WORDS], [words[0]; WORDS]);
        let (mut firsts, mut length, mut found) = (0, 0u8, 0);
        while found < WORDS {
            let mut at = 0;
            while at < WORDS {
                if words[at].0.len() == length as usize {
                    (lengths[found], sorted[found]) = (length, words[at]);
                    firsts |= first(words[at].0.as_bytes());
                    found = found.wrapping_add(1);
                }
                at = at.wrapping_add(1);
            }
            length = length.wrapping_add(1);
        }
        Self { firsts, lengths, words: Table::of(&sorted) }
    }

    /// The meaning of the longest word that is a prefix of `bytes`, ignoring case, and the
    /// remaining bytes.
    pub(super) fn longest<'a>(&self, bytes: &'a [u8]) -> Option<(T, &'a [u8])> {
        if self.firsts & first(bytes) == 0 {
            return None;
        }
        let (place, rest) = longest(&self.words.digests, &self.lengths, bytes)?;
        Some((*self.words.meanings.get(place)?, rest))
    }
}

/// The bit of the first letter, ignoring case.
const fn first(bytes: &[u8]) -> u32 {
    match bytes {
        [first, ..] => 1u32.wrapping_shl(*first as u32),
        [] => 0,
    }
}

/// Each byte is digested once, and each word compared once, where its length is reached.
#[inline(never)] // Shared by all tables.
fn longest<'a>(digests: &[u32], lengths: &[u8], bytes: &'a [u8]) -> Option<(usize, &'a [u8])> {
    let (mut rest, mut sum, mut read) = (bytes, digest::EMPTY, 0u8);
    let (mut place, mut found) = (0usize, None);
    for (length, digest) in lengths.iter().zip(digests) {
        while read < *length {
            let [byte, tail @ ..] = rest else { return found };
            sum = digest::and(sum, byte.to_ascii_lowercase());
            rest = tail;
            read = read.wrapping_add(1);
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

    #[test]
    fn the_longest_word_is_found_whatever_its_case_and_place() {
        // At run time, which is otherwise left to the compiler.
        let words = [("ab", 2), ("c", 3), ("abcd", 4), ("a", 1)];
        let (prefixes, table): (Prefixes<_, 4>, Table<_, 4>) =
            (Prefixes::of(&words), Table::of(&words));
        for (bytes, longest, found) in [
            ("a", Some((1, "")), Some(1)),
            ("ABc", Some((2, "c")), None),
            ("abcD", Some((4, "")), Some(4)),
            ("C", Some((3, "")), Some(3)),
            ("cab", Some((3, "ab")), None),
            ("x", None, None),
            ("", None, None),
        ] {
            let longest = longest.map(|(meaning, rest): (u8, &str)| (meaning, rest.as_bytes()));
            assert_eq!(prefixes.longest(bytes.as_bytes()), longest, "{bytes}");
            assert_eq!(table.find(bytes.as_bytes()), found, "{bytes}");
        }
        assert_eq!(table.of_digest(digest(b"ab", false)), Some(2));
        assert_eq!(table.of_digest(digest(b"abc", false)), None);
    }
}
