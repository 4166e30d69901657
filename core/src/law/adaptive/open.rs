//! Open: no limit has been met yet.

use core::num::NonZeroU16;

use super::cap::Cap;
use super::log::{Coarse, Log};
use crate::snapshot::fields;
use crate::time::{Instant, Span};

/// Slow start, and a measurement of how fast calls are sent.
///
/// Nothing waits for a rate. At first, a few calls may be in flight, and twice as many after each
/// quarter of a second without a rejection, so that slow calls do not delay others. Growth by time
/// alone also leaves little in flight to be rejected where calls are fast: one more for each
/// response would double the number each round trip, and half of all that was ever sent would meet
/// the limit at once. The rate is measured in blocks of at least 16 calls and one round trip, so
/// that the first rejection finds a rate to begin from. (A block of 16 calls alone would end within
/// a round trip, and measure a burst for a rate.)
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Open {
    /// How many calls could be in flight when doubling began.
    pub(super) wide: u16,
    /// Calls in the present block.
    sends: u16,
    /// The mean interval of the last full block, coarsely; zero before the first.
    measured: i16,
    /// A cooldown is on, or over and not judged yet: one call at a time finds out.
    pub(super) probing: bool,
    /// Whether it began together with all others, after a cooldown or a dark time.
    pub(super) together: bool,
    /// What the server takes at once, where rejections have told.
    pub(super) cap: Option<Cap>,
    /// What was left of the pool before the responses that are looked at together, and how many these are.
    left: u16,
    heard: u16,
    /// How many calls the pool refills within a round trip.
    refilled: u16,
}

/// So many calls are in flight at first.
const FIRST: u16 = 10;
/// So many responses are looked at together.
const SOME: u16 = 16;
/// From here on there is no limit.
const WIDEST: u16 = 1_024;
/// The number of calls in flight doubles each 2^28 ns, which are 268 ms.
const DOUBLING: u32 = 28;
/// So many make any number a thousand.
const MOST_DOUBLINGS: u32 = 10;

impl Open {
    pub(super) const fn new() -> Self {
        Self {
            wide: FIRST,
            sends: 0,
            measured: 0,
            probing: false,
            together: false,
            cap: None,
            left: 0,
            heard: 0,
            refilled: 0,
        }
    }

    /// How many calls may be in flight, so long after doubling began.
    pub(super) fn limit(&self, since: Span) -> Option<NonZeroU16> {
        match (self.probing, self.cap) {
            (true, _) => Some(NonZeroU16::MIN),
            (false, Some(_)) => NonZeroU16::new(self.wide),
            (false, None) => limit(self.wide, since),
        }
    }

    /// Whether more calls may be in flight as time passes.
    pub(super) const fn doubles(&self) -> bool {
        !self.probing && self.cap.is_none()
    }

    /// A response, so long after doubling began. Returns whether it begins anew: with a rejection, from as
    /// many calls as may be in flight. With a known limit of calls in flight, one more is tried now and then.
    pub(super) fn respond(&mut self, since: Span, served: bool, in_flight: u16) -> bool {
        if let Some(cap) = &mut self.cap {
            if served && in_flight.saturating_add(1) >= self.wide {
                self.wide = cap.grow(self.wide);
            }
            return false;
        }
        if !served && !self.probing {
            self.wide = self.limit(since).map_or(WIDEST, NonZeroU16::get);
        }
        !served
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

    /// How many calls the pool refills within a round trip.
    pub(super) const fn refilled(&self) -> u16 {
        self.refilled
    }

    /// The server was too busy for a call while it had `in_flight` others: that is as many as it takes.
    /// Returns whether that may be so.
    pub(super) fn too_busy(&mut self, in_flight: u16, fresh: bool) -> bool {
        if self.probing || in_flight == 0 {
            return false;
        }
        self.cap.get_or_insert(Cap::new()).reject(fresh);
        self.wide = self.wide.min(in_flight);
        true
    }

    /// The first success after a cooldown or a dark time: calls begin again, measured anew.
    pub(super) const fn again() -> Self {
        Self { wide: 2, together: true, ..Self::new() }
    }

    /// Whether nothing was sent that is measured.
    pub(super) const fn is_new(&self) -> bool {
        self.sends == 0 && self.measured == 0
    }

    /// Measures anew.
    pub(super) fn measure_again(&mut self) {
        (self.sends, self.measured) = (0, 0);
    }

    /// The shortest time between the next call and the one after it. A fleet that begins together spaces
    /// its first calls, so that a client that begins a little earlier does not get everything. The distance
    /// halves after each eight calls.
    pub(super) fn gap(&self, first: Log) -> Span {
        let halvings = i32::from(self.sends >> 3);
        let apart = self.together && !self.probing && self.measured == 0 && halvings < 3;
        if apart { first.octaves(halvings.saturating_neg()).span() } else { Span::ZERO }
    }

    /// A call is sent: counts it. `from` is when the present block began. Returns the mean interval of a
    /// block that ends with this call.
    pub(super) fn send(
        &mut self,
        from: &mut Instant,
        now: Instant,
        round_trip: Span,
    ) -> Option<Log> {
        if self.is_new() {
            *from = now;
        }
        self.sends = self.sends.saturating_add(1);
        let lasted = now.saturating_since(*from);
        if self.sends >= 16 && round_trip > Span::ZERO && lasted >= round_trip {
            let measured = (Log::of_span(lasted) - Log::of(self.sends.into())).coarse();
            self.measured = i16::try_from(measured.max(1)).unwrap_or(i16::MAX);
            (*from, self.sends) = (now, 0);
            return Some(Log::of_coarse(self.measured.into()));
        }
        None
    }

    /// Whether there was no call for so long that a burst would look like a slow rate. Waiting for
    /// calls in flight does not count as silence.
    pub(super) fn is_silence(&self, silence: Span, usual: Log, round_trip: Span) -> bool {
        let knows = self.measured != 0 || self.sends > 1;
        knows && silence.halved(1) > round_trip && Log::of_span(silence) > usual.octaves(6)
    }

    /// A usual call costs so many octaves more than before.
    pub(super) fn rescale(&mut self, octaves: Coarse) {
        if self.measured != 0 {
            let moved = octaves.saturating_mul(256).saturating_add(self.measured.into());
            self.measured = i16::try_from(moved.max(1)).unwrap_or(i16::MAX);
        }
    }

    /// The mean interval of the last full block; before the first, that of the calls so far. These may
    /// all have been sent at once, and then half a round trip is as long as they can have taken.
    pub(super) fn interval(&self, from: Instant, now: Instant, round_trip: Span) -> Log {
        const SHORTEST: Span = Span::from_micros(1);
        /// Of less than a block no slower rate is believed: two calls with a day between them are none.
        const SLOWEST: Log = Log::of_span(Span::from_secs(20));
        if self.measured != 0 {
            return Log::of_coarse(self.measured.into());
        }
        let half = round_trip.halved(1);
        let lasted = now.saturating_since(from).max(half).max(SHORTEST);
        (Log::of_span(lasted) - Log::of(self.sends.max(1).into())).min(SLOWEST)
    }
}

/// How many calls may be in flight, of which so many could be when doubling began.
pub(super) fn limit(wide: u16, since: Span) -> Option<NonZeroU16> {
    let wide = u32::from(wide) << doublings(since);
    NonZeroU16::new(u16::try_from(wide).unwrap_or(u16::MAX)).filter(|_| wide < WIDEST.into())
}

/// When that number is doubled next, so long after doubling began; `None` if there is no limit.
pub(super) fn doubles_after(wide: u16, since: Span) -> Option<Span> {
    let doublings = doublings(since);
    let limited = doublings < MOST_DOUBLINGS && u32::from(wide) << doublings < u32::from(WIDEST);
    limited.then(|| Span::from_nanos(u64::from(doublings.saturating_add(1)) << DOUBLING))
}

/// How often the number of calls in flight has doubled.
fn doublings(since: Span) -> u32 {
    u32::try_from(since.as_nanos() >> DOUBLING).unwrap_or(u32::MAX).min(MOST_DOUBLINGS)
}

fields!(Open { wide: u16, sends: u16, measured: i16, probing: bool, together: bool, cap: Option<Cap>, left: u16, heard: u16, refilled: u16 });
