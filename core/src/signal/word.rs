//! Words that mean something here, known again by their digests: neither their letters nor their
//! addresses take room.

use crate::digest;

/// The digest of `bytes`; where they are `folded`, the same in any case.
pub(super) const fn digest(bytes: &[u8], folded: bool) -> u32 {
    let (mut rest, mut sum) = (bytes, digest::EMPTY);
    while let [byte, tail @ ..] = rest {
        sum = digest::and(sum, if folded { byte.to_ascii_lowercase() } else { *byte });
        rest = tail;
    }
    sum
}

/// The digests of `words`, for the compiler to work out.
#[expect(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "never at run time")]
pub(super) const fn digests<const COUNT: usize>(words: [&str; COUNT]) -> [u32; COUNT] {
    let (mut sums, mut rest, mut at) = ([0; COUNT], words.as_slice(), 0);
    while let [word, tail @ ..] = rest {
        sums[at] = digest(word.as_bytes(), false);
        (rest, at) = (tail, at + 1);
    }
    sums
}

/// A word, and what it means.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<T> {
    digest: u32,
    length: u8,
    means: T,
}

impl<T: Copy> Word<T> {
    /// A word in lower case.
    pub(super) const fn new(word: &str, means: T) -> Self {
        let bytes = word.as_bytes();
        #[expect(clippy::cast_possible_truncation, reason = "no word here is that long")]
        let length = bytes.len() as u8;
        Self { digest: digest(bytes, true), length, means }
    }
}

/// The first of `words` that `bytes` begin with in any case, as what it means, and the bytes behind
/// it.
pub(super) fn find<'a, T: Copy>(words: &[Word<T>], bytes: &'a [u8]) -> Option<(T, &'a [u8])> {
    words.iter().find_map(|word| {
        let (head, rest) = bytes.split_at_checked(usize::from(word.length))?;
        (digest(head, true) == word.digest).then_some((word.means, rest))
    })
}
