//! Open: no limit has been met yet, except one on calls in flight.

use core::num::NonZeroU16;

use super::log::{Coarse, Log};
use crate::snapshot::fields;
use crate::time::{Instant, Span};

/// Slow start, with a measurement of the rate at which calls are sent.
///
/// No call waits for a rate. At first, a few calls may be in flight. Their number doubles after
/// each quarter of a second without a rejection, so that slow calls do not delay others. Growth by
/// time also leaves few calls in flight to be rejected if calls are fast. One more for each
/// response would double the number each round trip, and half of all calls ever sent would reach
/// the limit at once. The rate is measured in blocks of at least 16 calls and one round trip, so
/// that there is a rate at the first rejection. (A block of only 16 calls could end within a round
/// trip, and would measure a burst instead of a rate.)
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Open {
    /// Number of calls in the present block.
    sends: u16,
    /// The mean interval of the last full block, coarsely; zero before the first.
    measured: i16,
    /// Whether slow start began at the same time as that of all other clients, after a cooldown or
    /// a dark time.
    pub(super) together: bool,
    /// The server's limit on calls in flight, if rejections have shown it.
    pub(super) cap: Option<Cap>,
    /// The pool before the responses that are evaluated together, and the number of these.
    left: u16,
    heard: u16,
    /// The number of calls that the pool refills within a round trip.
    pub(super) refilled: u16,
    /// Whether the latest two responses with a quota had the same one.
    pub(super) told: bool,
    /// Calls in a row that came much sooner than those of the last full block.
    sooner: u8,
    /// The limit on calls in flight when doubling began. Last, so that the fields which begin as zero are whole words.
    pub(super) wide: u16,
}

/// The first limit on calls in flight.
pub(super) const FIRST: u16 = 10;
/// The number of responses that are evaluated together.
const SOME: u16 = 16;
/// From here on there is no limit.
const WIDEST: u16 = 1_024;
/// The number of calls in flight doubles each 2^28 ns, which are 268 ms.
const DOUBLING: u32 = 28;
/// After this many doublings any number exceeds a thousand.
const MOST_DOUBLINGS: u32 = 10;

impl Open {
    pub(super) fn new() -> Self {
        Self { wide: FIRST, ..Self::default() }
    }

    /// The limit on calls in flight, at this time after doubling began.
    pub(super) fn limit(&self, since: Span) -> Option<NonZeroU16> {
        match self.cap {
            Some(_) => NonZeroU16::new(self.wide),
            None => limit(self.wide, since),
        }
    }

    /// A call was served while `in_flight` others were. If the server's limit on calls in flight is
    /// known, one more is tried from time to time.
    pub(super) fn serve(&mut self, in_flight: u16) {
        if let Some(cap) = &mut self.cap
            && in_flight.saturating_add(1) >= self.wide
        {
            self.wide = cap.grow(self.wide);
        }
    }

    /// A call was rejected at this time after doubling began. Returns whether doubling starts again,
    /// from the present limit.
    pub(super) fn reject(&mut self, since: Span) -> bool {
        if self.cap.is_some() {
            return false;
        }
        self.wide = self.limit(since).map_or(WIDEST, NonZeroU16::get);
        true
    }

    /// A response reports that `left` calls remain in the pool, while `calls` were in flight.
    ///
    /// Each call takes one from the pool. If `left` falls by less than the number of responses in a
    /// round trip, the pool has refilled meanwhile, and more calls than that may be in flight.
    /// Responses overtake each other, so at least sixteen are evaluated together. If `left` rises
    /// by more than half of their number, a new window has begun.
    pub(super) fn see_left(&mut self, left: u32, calls: u16) {
        self.heard = self.heard.saturating_add(1);
        if self.heard < calls.max(SOME) {
            return;
        }
        let left = u16::try_from(left).unwrap_or(u16::MAX);
        let risen = left.saturating_sub(self.left);
        let back = self.heard.saturating_add(left).saturating_sub(self.left).min(self.heard);
        self.refilled = match calls < SOME {
            _ if risen > self.heard / 2 => 0,
            true => back.saturating_mul(calls) / SOME,
            false => back,
        };
        (self.left, self.heard) = (left, 0);
    }

    /// The server was too busy for a call while it had `in_flight` others, so that is its limit.
    /// Returns whether that is plausible.
    pub(super) fn too_busy(&mut self, in_flight: u16, fresh: bool) -> bool {
        if in_flight == 0 {
            return false;
        }
        self.cap.get_or_insert(Cap::new()).reject(fresh);
        self.wide = self.wide.min(in_flight);
        true
    }

    /// The state at the first success after a cooldown or a dark time: slow start begins again,
    /// with a new measurement.
    pub(super) fn again() -> Self {
        Self { wide: 2, together: true, ..Self::default() }
    }

    /// The number of calls so far, before the first full block.
    pub(super) fn burst(&self) -> Option<Log> {
        (self.measured == 0).then(|| Log::of(self.sends.max(1).into()))
    }

    /// Whether no measured call was sent.
    pub(super) const fn is_new(&self) -> bool {
        self.sends == 0 && self.measured == 0
    }

    /// Restarts the measurement.
    pub(super) fn measure_again(&mut self) {
        (self.sends, self.measured, self.sooner) = (0, 0, 0);
    }

    /// Handles a call that is sent this long after the previous one. Returns whether the load has risen: eight
    /// calls in a row came after less than a quarter of the mean interval of the last full block, which is
    /// longer than a round trip. (The bound is in whole octaves, which is cheap: an eighth to a quarter.)
    pub(super) fn rises(&mut self, gap: Span, round_trip: Span) -> bool {
        let octave = u32::try_from(self.measured >> 8).unwrap_or(0);
        let fits = |span: Span, octave: u32| span.as_nanos().checked_shr(octave).unwrap_or(0) == 0;
        let is_soon = fits(gap, octave.saturating_sub(2)) && fits(round_trip, octave);
        self.sooner = if is_soon { self.sooner.saturating_add(1) } else { 0 };
        self.sooner >= 8
    }

    /// Counts a call that is sent. `from` is the start of the present block.
    pub(super) fn send(&mut self, from: &mut Instant, now: Instant, round_trip: Span) {
        if self.is_new() {
            *from = now;
        }
        self.sends = self.sends.saturating_add(1);
        let lasted = now - *from;
        if self.sends >= 16 && round_trip > Span::ZERO && lasted >= round_trip {
            let measured = (Log::of_span(lasted) - Log::of(self.sends.into())).coarse();
            self.measured = i16::try_from(measured.max(1)).unwrap_or(i16::MAX);
            (*from, self.sends) = (now, 0);
        }
    }

    /// Whether there was no call for so long that a burst would look like a slow rate. Time with
    /// calls in flight does not count as silence.
    pub(super) fn is_silence(&self, silence: Span, usual: Log, round_trip: Span) -> bool {
        let knows = self.measured != 0 || self.sends > 1;
        knows && silence.halved(1) > round_trip && Log::of_span(silence) > usual.octaves(6)
    }

    /// The usual cost has grown by this many octaves.
    pub(super) fn rescale(&mut self, octaves: Coarse) {
        if self.measured != 0 {
            let moved = octaves.saturating_mul(256).saturating_add(self.measured.into());
            self.measured = i16::try_from(moved.max(1)).unwrap_or(i16::MAX);
        }
    }

    /// The mean interval of the last full block; before the first, that of the calls so far. These
    /// may all have been sent at once; then at most half a round trip is assumed.
    pub(super) fn interval(&self, from: Instant, now: Instant, round_trip: Span) -> Log {
        const SHORTEST: Span = Span::from_micros(1);
        /// Less than a block is no evidence for a slower rate: for example two calls a day apart.
        const SLOWEST: Log = Log::of_span(Span::from_secs(20));
        if self.measured != 0 {
            return Log::of_coarse(self.measured.into());
        }
        let half = round_trip.halved(1);
        let lasted = (now - from).max(half).max(SHORTEST);
        (Log::of_span(lasted) - Log::of(self.sends.max(1).into())).min(SLOWEST)
    }
}

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

/// The limit on calls in flight, if it was `wide` when doubling began.
pub(super) fn limit(wide: u16, since: Span) -> Option<NonZeroU16> {
    let wide = u32::from(wide) << doublings(since);
    NonZeroU16::new(u16::try_from(wide).unwrap_or(u16::MAX)).filter(|_| wide < WIDEST.into())
}

/// When the limit next doubles, at this time after doubling began; `None` after the last doubling. (While a cooldown is
/// probed, or with a known limit, the law does not use it.)
pub(super) fn doubles_after(since: Span) -> Option<Span> {
    let doublings = doublings(since);
    let next = Span::from_nanos(u64::from(doublings.saturating_add(1)) << DOUBLING);
    (doublings < MOST_DOUBLINGS).then_some(next)
}

/// The number of doublings so far.
fn doublings(since: Span) -> u32 {
    u32::try_from(since.as_nanos() >> DOUBLING).unwrap_or(u32::MAX).min(MOST_DOUBLINGS)
}

fields!(Cap { successes: u16, length: u8, grew: bool });
fields!(Open { wide: u16, sends: u16, measured: i16, together: bool, cap: Option<Cap>, left: u16, heard: u16, refilled: u16, told: bool, sooner: u8 });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_doubles_until_it_is_a_thousand() {
        let after = |doublings: u64| Span::from_nanos(doublings << DOUBLING);
        let limits = [0, 8, 9, 10, 99].map(|doublings| limit(2, after(doublings)));
        assert_eq!(limits, [NonZeroU16::new(2), NonZeroU16::new(512), None, None, None]);
        for doublings in 0..12 {
            let next = (doublings < 10).then(|| after(doublings + 1));
            let last = after(doublings + 1) - Span::from_nanos(1);
            assert_eq!([after(doublings), last].map(doubles_after), [next; 2]);
        }
    }

    #[test]
    fn a_new_window_has_begun_if_the_pool_has_risen_by_more_than_half_of_the_responses() {
        // 12 calls were left before. Without a refill, sixteen responses leave none.
        for (left, refilled) in [(0, 4), (4, 8), (20, 16), (21, 0)] {
            let mut open = Open { left: 12, heard: 15, ..Open::new() };
            open.see_left(left, 16);
            assert_eq!((open.refilled, open.heard, open.left), (refilled, 0, left as u16));
        }
    }

    #[test]
    fn a_block_has_sixteen_calls_and_lasts_a_round_trip() {
        let (trip, at) = (Span::from_nanos(1 << 20), Instant::from_nanos);
        for (sends, lasts, trip, ends) in [
            (14, 1 << 20, trip, false),
            (15, (1 << 20) - 1, trip, false),
            (15, 1 << 20, trip, true),
            (15, 1 << 20, Span::ZERO, false),
        ] {
            let (mut from, now) = (at(7), at(7 + lasts));
            let mut open = Open { sends, ..Open::new() };
            open.send(&mut from, now, trip);
            assert_eq!(open.sends, if ends { 0 } else { sends + 1 }, "{sends} in {lasts} ns");
            assert_eq!(open.measured != 0, ends, "{sends} in {lasts} ns");
        }
    }

    #[test]
    fn the_load_rises_if_eight_calls_in_a_row_come_much_sooner_than_before() {
        let (second, nano) = (Span::from_secs(1), Span::from_nanos(1));
        let block = Open { measured: 30 << 8, ..Open::new() };
        for (measured, gap, trip, expected) in [
            (30 << 8, 1 << 28, nano, false),
            (30 << 8, (1 << 28) - 1, nano, true),
            (30 << 8, 0, second, true),
            // Calls that overlap come in bursts.
            (30 << 8, 0, second + second, false),
            // There was no block.
            (0, 0, nano, false),
        ] {
            let mut open = Open { measured, ..block };
            let rises = [(); 8].map(|()| open.rises(Span::from_nanos(gap), trip));
            assert_eq!(rises, [false, false, false, false, false, false, false, expected], "{gap}");
        }
        let mut open = Open { sooner: 7, ..block };
        assert!(!open.rises(second, nano) && open.sooner == 0);
    }

    #[test]
    fn a_silence_is_longer_than_two_round_trips_and_64_intervals() {
        let is_silence = |silence, interval, trip, sends| {
            let open = Open { sends, ..Open::new() };
            let usual = Log::of_span(Span::from_nanos(interval));
            open.is_silence(Span::from_nanos(silence), usual, Span::from_nanos(trip))
        };
        for (silence, interval, trip, sends, expected) in [
            (2 << 20, 1, 1 << 20, 2, false),
            ((2 << 20) + 2, 1, 1 << 20, 2, true),
            (64 << 20, 1 << 20, 1, 2, false),
            (65 << 20, 1 << 20, 1, 2, true),
            (65 << 20, 1 << 20, 1, 1, false),
        ] {
            assert_eq!(is_silence(silence, interval, trip, sends), expected, "{silence} ns");
        }
    }

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
