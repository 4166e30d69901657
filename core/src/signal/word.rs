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
    #[expect(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "never at run time"
    )]
    pub(super) const fn of(words: &[(&str, T)]) -> Self {
        assert!(words.len() == WORDS, "a table is as long as its list of words");
        let mut table = Self { digests: [0; WORDS], meanings: [words[0].1; WORDS] };
        let mut at = 0;
        while at < WORDS {
            table.digests[at] = digest(words[at].0.as_bytes(), false);
            table.meanings[at] = words[at].1;
            at += 1;
        }
        table
    }

    /// The meaning of the longest word that is a prefix of `bytes`, ignoring case, and the
    /// remaining bytes.
    pub(super) fn longest<'a>(&self, bytes: &'a [u8]) -> Option<(T, &'a [u8])> {
        let (place, rest) = longest(&self.digests, bytes)?;
        Some((*self.meanings.get(place)?, rest))
    }

    /// The meaning of the word `bytes`, ignoring case.
    pub(super) fn find(&self, bytes: &[u8]) -> Option<T> {
        self.longest(bytes).and_then(|(meaning, rest)| rest.is_empty().then_some(meaning))
    }

    /// The meaning of the word with this digest.
    pub(super) fn of_digest(&self, digest: u32) -> Option<T> {
        self.meanings.get(self.digests.iter().position(|word| *word == digest)?).copied()
    }
}

#[inline(never)] // Shared by all tables.
fn longest<'a>(digests: &[u32], bytes: &'a [u8]) -> Option<(usize, &'a [u8])> {
    let (mut rest, mut sum, mut found) = (bytes, digest::EMPTY, None);
    while let [byte, tail @ ..] = rest {
        sum = digest::and(sum, byte.to_ascii_lowercase());
        rest = tail;
        if let Some(place) = digests.iter().position(|word| *word == sum) {
            found = Some((place, rest));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_word_is_found_whatever_its_case_and_place() {
        // At run time, which is otherwise left to the compiler.
        let table: Table<u8, 4> = Table::of(&[("a", 1), ("ab", 2), ("c", 3), ("abcd", 4)]);
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
            assert_eq!(table.longest(bytes.as_bytes()), longest, "{bytes}");
            assert_eq!(table.find(bytes.as_bytes()), found, "{bytes}");
        }
        assert_eq!(table.of_digest(digest(b"ab", false)), Some(2));
        assert_eq!(table.of_digest(digest(b"abc", false)), None);
    }
}
