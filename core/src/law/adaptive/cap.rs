//! A limit on calls in flight.

use crate::snapshot::fields;

/// Searches for the server's limit on calls in flight.
///
/// A rejection as busy means that the server accepts no more calls in flight. One more call is
/// tried after K successes for each call in flight. All clients then gain at the same pace, and a
/// client with more calls is rejected more often, so their shares become equal. K doubles with each
/// rejection, and halves if nothing was rejected since the last increase.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Cap {
    /// Successes since the number changed.
    successes: u16,
    /// log2 of K.
    length: u8,
    /// Whether the number grew since the latest rejection.
    grew: bool,
}

/// log2 of K, at least and at most.
const SHORTEST: u8 = 3;
const LONGEST: u8 = 6;

impl Cap {
    pub(super) const fn new() -> Self {
        Self { successes: 0, length: SHORTEST, grew: false }
    }

    /// A success while `wide` calls, the most that are permitted, were in flight. Returns the new
    /// maximum.
    pub(super) fn grow(&mut self, wide: u16) -> u16 {
        self.successes = self.successes.saturating_add(1);
        if self.successes >> (self.length & 15) < wide {
            return wide;
        }
        if self.grew {
            self.length = self.length.saturating_sub(1).max(SHORTEST);
        }
        (self.successes, self.grew) = (0, true);
        wide.saturating_add(1)
    }

    /// A rejection. `fresh` is false if its call was sent before the latest rejection.
    pub(super) fn reject(&mut self, fresh: bool) {
        self.length = self.length.saturating_add(fresh.into()).min(LONGEST);
        (self.successes, self.grew) = (0, false);
    }
}

fields!(Cap { successes: u16, length: u8, grew: bool });

#[cfg(test)]
mod tests {
    use super::*;

    /// How many successes it takes until one more call is tried.
    fn needed(cap: &mut Cap, wide: u16) -> u16 {
        (1..).find(|_| cap.grow(wide) > wide).unwrap()
    }

    #[test]
    fn one_more_call_is_tried_after_successes_whose_number_doubles_with_each_rejection() {
        let mut cap = Cap::new();
        assert_eq!(needed(&mut cap, 5), 8 * 5);
        let mut rejected = |fresh| {
            cap.grow(5);
            cap.reject(fresh);
            needed(&mut cap, 5)
        };
        // A rejection of a call that was sent before the latest one belongs to the same event.
        let after = [true, false, true, true, true].map(&mut rejected);
        assert_eq!(after, [16, 16, 32, 64, 64].map(|each| each * 5));
        // Each increase halves the number if no call was rejected since the previous increase.
        let then = [5, 6, 7, 8, 9].map(|wide| needed(&mut cap, wide));
        assert_eq!(then, [64 * 5, 32 * 6, 16 * 7, 8 * 8, 8 * 9]);
        assert_eq!(cap.grow(0), 1, "a limit of zero ends");
    }
}
