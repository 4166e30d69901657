//! A server's limit on calls in flight, if its rejections look like those of a rate limit.

use core::num::NonZeroU16;

use crate::snapshot::fields;

/// Evidence that the calls in flight are the cause of rejections.
///
/// If the rate is the cause, as many calls are in flight at a rejection as at the success before it, or
/// more and fewer equally often. If the server limits calls in flight, there are more at a rejection.
/// Then their number is limited, and one more is tried from time to time. The rate is cut as usual,
/// except for a rejection of this one more call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Places {
    /// How many calls may be in flight.
    most: u8,
    /// How many others were in flight at the latest success.
    last: u8,
    /// Two for each rejection with more, less one or three for each with as many or fewer.
    evidence: u8,
}

/// Twelve rejections with more calls in flight are enough. With fewer, clients that share a rate are less fair.
const ENOUGH: u8 = 24;
const MOST: u8 = 28;
/// Any number of calls may be in flight.
const NONE: u8 = u8::MAX;
/// One more call is tried after 2^8 successes since a cut, and may be the cause of a rejection until 2^5 later.
const EVERY: u16 = 1 << 8;
const SOON: u16 = 1 << 5;

impl Places {
    pub(super) const fn new() -> Self {
        Self { most: NONE, last: 0, evidence: 0 }
    }

    /// How many calls may be in flight.
    pub(super) fn limit(self) -> Option<NonZeroU16> {
        NonZeroU16::new(self.most.into()).filter(|_| self.most < NONE)
    }

    /// A call was served while `in_flight` others were in flight, after so many successes since the latest cut.
    pub(super) fn serve(&mut self, in_flight: u16, successes: u16) {
        self.last = small(in_flight);
        if self.is_full(self.last) && successes > 0 && successes.is_multiple_of(EVERY) {
            self.most = self.most.saturating_add(1);
        }
    }

    const fn is_full(self, in_flight: u8) -> bool {
        in_flight.saturating_add(1) >= self.most
    }

    /// The first call of a run was rejected while `in_flight` others were in flight, after so many successes since the
    /// latest cut. Returns whether the cause is that one more call was tried.
    pub(super) fn reject(&mut self, in_flight: u16, successes: u16) -> bool {
        let in_flight = small(in_flight);
        let (is_full, more) = (self.is_full(in_flight), in_flight > self.last);
        self.evidence = if more {
            self.evidence.saturating_add(2).min(MOST)
        } else {
            let less = if in_flight < self.last { 3 } else { in_flight.min(1) };
            self.evidence.saturating_sub(less)
        };
        if self.evidence == 0 {
            self.most = NONE;
        } else if in_flight > 0 && (is_full || more && self.evidence >= ENOUGH) {
            self.most = self.most.min(in_flight);
        }
        more && is_full && successes >= EVERY && successes % EVERY < SOON
    }
}

/// A count that stops at 254.
fn small(in_flight: u16) -> u8 {
    u8::try_from(in_flight).unwrap_or(NONE).min(NONE - 1)
}

fields!(Places { most: u8, last: u8, evidence: u8 });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calls_in_flight_are_limited_after_twelve_rejections_with_more_of_them_than_at_successes()
    {
        let mut places = Places::new();
        let mut reject = |last, in_flight| {
            places.serve(last, 0);
            assert!(!places.reject(in_flight, 0));
            places.most
        };
        assert_eq!([(2, 3); 11].map(|(last, in_flight)| reject(last, in_flight)), [NONE; 11]);
        // A rejection with fewer counts against it, and so does one with as many, unless there are none.
        let rejections = [(3, 2), (0, 1), (0, 0), (5, 5), (4, 5), (0, 7), (3, 4)];
        let most = rejections.map(|(last, in_flight)| reject(last, in_flight));
        assert_eq!(most, [NONE, NONE, NONE, NONE, NONE, 7, 4]);
        // What is rejected with fewer calls in flight changes nothing else, until no evidence is left.
        let fewer = [(9, 2); 9].map(|(last, in_flight)| reject(last, in_flight));
        assert_eq!(fewer, [4, 4, 4, 4, 4, 4, 4, 4, NONE]);
    }

    #[test]
    fn one_more_call_is_tried_after_256_successes_and_its_rejection_is_no_cut() {
        let limit = |most| Places { most, last: 0, evidence: ENOUGH };
        for (in_flight, successes, most) in
            [(3, 255, 4), (3, 256, 5), (2, 256, 4), (3, 0, 4), (3, u16::MAX, 4)]
        {
            let mut places = limit(4);
            places.serve(in_flight, successes);
            assert_eq!(places.most, most, "{in_flight} after {successes}");
        }
        for (in_flight, successes, is_cause, most) in [
            (4, 256, true, 4),
            (4, 287, true, 4),
            (4, 288, false, 4),
            (3, 256, false, 3),
            (4, 9, false, 4),
        ] {
            let mut places = limit(5);
            places.serve(1, 0);
            assert_eq!(
                places.reject(in_flight, successes),
                is_cause,
                "{in_flight} after {successes}"
            );
            assert_eq!(places.most, most);
        }
    }
}
