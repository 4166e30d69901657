//! Probing: how the rate grows between two congestion events, and how much an event cuts.

use super::log::{Coarse, Log, coarse, power};
use crate::snapshot::fields;

/// The cubic function of CUBIC (RFC 9438), over calls instead of time.
///
/// An epoch lasts from one cut to the next and aims at K successes. The rate after n of them is L
/// (n / K - 1)^3 above that of the latest hit: it regains the cut of L, stays near the old level
/// around n = K, and then grows faster, to double the level at about 3 K. The capacity is only
/// found by exceeding it, so an epoch costs a rejection. K is a compromise: long epochs are
/// precise, short ones find a change soon. If a cooldown reduced the rate by more than L, the epoch
/// regains half of that instead.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Probe {
    /// log2 of the K that was learned, from hits or from a window that the server described.
    length: u8,
    /// log2 of the shortest time of an epoch, in quarters of an octave: that of several windows. Zero if unknown.
    window: u8,
    /// log2 of the smallest K of this epoch, in sixteenths of an octave: that of several cooldowns.
    least: u8,
    /// log2 of a sixteenth of the calls in flight at the cut, in sixteenths of an octave. An epoch
    /// is longer by this factor, because a response reflects the rate of a round trip ago.
    flight: u8,
    /// n: weighted successes since the cut, with 8 bits of fraction.
    pub(super) progress: u32,
    /// Successes since the cut.
    pub(super) successes: u16,
    /// How far below its plateau the epoch began, in sixteenths of an octave; zero means L.
    gap: u8,
    /// log2 of the minimum length of an epoch, in cooldowns.
    cooldowns: u8,
    /// The interval at the latest hit.
    base: Log,
}

/// log2 of the first and the longest length that hits teach.
const FIRST: u8 = 4;
const MOST: u8 = 8;
/// log2 of the longest length.
const LIMIT: Coarse = 16 << 8;
/// log2 of the minimum and maximum number of cooldowns per epoch.
const FEWEST_COOLDOWNS: u8 = 1;
const MOST_COOLDOWNS: u8 = 6;
/// Above the plateau, an epoch of more cooldowns counts as one of 2^3, or a higher limit would be found late.
const TAIL_COOLDOWNS: u8 = 3;

impl Probe {
    pub(super) fn new() -> Self {
        Self { length: FIRST, cooldowns: FEWEST_COOLDOWNS, ..Self::default() }
    }

    /// log2 of the present K, coarsely.
    pub(super) fn length(&self) -> i16 {
        self.learned().max(self.least())
    }

    /// log2 of the smallest K of this epoch, coarsely.
    fn least(&self) -> i16 {
        i16::from(self.least) << 4
    }

    /// log2 of the K of growth above the plateau, coarsely.
    fn tail(&self) -> Coarse {
        let more = Coarse::from(self.cooldowns.saturating_sub(TAIL_COOLDOWNS)) << 8;
        Coarse::from(self.least()).saturating_sub(more).max(self.learned().into())
    }

    /// log2 of the learned K, coarsely: at least that of several windows at the rate of the latest hit.
    /// Clients of a window meet its end at the same time. So epochs of clients with few and with many calls have to
    /// last equally long, or those with few calls would not regain in time what a hit takes.
    fn learned(&self) -> i16 {
        let taught = self.in_proportion(self.length);
        if self.window == 0 {
            return taught;
        }
        let windows = Coarse::from(self.window) << 6;
        let calls = windows.saturating_sub(self.base.coarse()).clamp(0, LIMIT);
        taught.max(i16::try_from(calls).unwrap_or(i16::MAX))
    }

    /// log2 of a K of 2^`length`, in proportion to the calls in flight, coarsely.
    fn in_proportion(&self, length: u8) -> i16 {
        i16::from(length).saturating_mul(256).saturating_add(self.flight())
    }

    /// log2 of a sixteenth of the calls in flight at the cut, coarsely.
    fn flight(&self) -> i16 {
        i16::from(self.flight) << 4
    }

    /// L as a logarithm: the inverse of the square root of the learned K. A K that a window taught counts as at most
    /// 256. Otherwise, a client with more calls in a window would be cut less than the others, and keep them.
    pub(super) fn depth(&self) -> Coarse {
        Coarse::from(self.learned().min(self.in_proportion(MOST)) / 2).saturating_neg()
    }

    /// The epoch begins this far below its plateau, instead of L.
    pub(super) fn fall(&mut self, below: Log) {
        self.gap = u8::try_from(below.coarse() >> 4).unwrap_or(u8::MAX);
    }

    /// log2 of the fraction by which the rate is below the plateau when the epoch begins.
    fn rise(&self) -> Coarse {
        // log2 of log(2) / 16.
        const SIXTEENTH: Coarse = -1_159;
        match self.gap {
            0 => self.depth(),
            gap => coarse(gap.into()).saturating_add(SIXTEENTH).max(self.depth()),
        }
    }

    /// Handles a success that had waited for the law. Returns by how much the interval shrinks.
    /// `weight` is log2 of the weight of the success, and `most` log2 of the greatest growth.
    pub(super) fn grow(&mut self, weight: Coarse, most: Coarse) -> Log {
        self.progress = self.progress.saturating_add(power(weight));
        // 2^8 K, and the distance from it.
        let length = power(self.length().into());
        let distance = self.progress.abs_diff(length);
        if distance == 0 {
            return Log::ZERO;
        }
        let scale = if self.progress < length { self.length().into() } else { self.tail() };
        const LOG2_OF_3: Coarse = 406;
        /// Above the plateau, L is at least this, or a higher limit would be found late.
        const SIXTEENTH: Coarse = -(4 << 8);
        let distance =
            coarse(distance).saturating_sub(8 << 8).saturating_sub(scale).saturating_mul(2);
        let growth = distance
            .saturating_add(LOG2_OF_3)
            .saturating_add(if self.progress < length {
                self.rise()
            } else {
                self.depth().max(SIXTEENTH)
            })
            .saturating_add(weight)
            .saturating_sub(scale);
        Log::of_growth(growth.min(most))
    }

    /// log2 of n, coarsely.
    pub(super) fn progress(&self) -> Coarse {
        coarse(self.progress >> 8)
    }

    /// Whether a quarter of K or more was served, so that the rate is near that of the latest hit or above.
    pub(super) fn is_high(&self) -> bool {
        self.progress >= power(self.length().saturating_sub(2 << 8).into())
    }

    /// Whether the rate is above that of the latest hit.
    pub(super) fn is_past_plateau(&self) -> bool {
        self.progress >= power(self.length().into())
    }

    /// A hit while 2^`flight` calls are in flight: ends an epoch and begins another. Returns the
    /// growth of the interval: L, and at most `gained` of what the rate has gained since the previous hit.
    pub(super) fn cut(&mut self, interval: Log, flight: Coarse, gained: Log) -> Log {
        if self.is_ripe() {
            self.length = self.length.max(self.length.saturating_add(1).min(MOST));
        } else {
            // The window that set a longer one did not cause this hit.
            self.length = self.length.min(MOST);
        }
        self.flight = u8::try_from(flight.saturating_sub(4 << 8).max(0) >> 4).unwrap_or(u8::MAX);
        let depth = power(self.depth().saturating_add(8 << 8));
        self.begin();
        // A hit above the level of the previous one takes back three quarters of the gain.
        let above = (self.base - interval).max(Log::ZERO).min(gained);
        let back = above - above.halved().halved();
        self.base = interval + back;
        back + Log::of_cut(depth)
    }

    /// Whether each rejection costs a cooldown of so many calls that epochs are longer.
    pub(super) const fn spans_cooldowns(&self) -> bool {
        self.least > FIRST << 4
    }

    /// Whether the epoch is longer because of the calls in flight.
    pub(super) const fn spans_flight(&self) -> bool {
        self.flight > 0
    }

    /// What the interval grows by after `rejected` rejections since the cut. If their share is larger than the cut:
    /// halfway between the two, on a logarithmic scale. Otherwise zero.
    pub(super) fn deepen(&self, rejected: u8) -> Log {
        let rejected = u32::from(rejected);
        let all = rejected.saturating_add(self.successes.into()).saturating_add(1);
        let part = Log::of_cut(crate::fixed::div(rejected << 16, all));
        let taken = Log::of_cut(power(self.depth().saturating_add(8 << 8)));
        (part - taken).max(Log::ZERO).halved()
    }

    /// Begins an epoch at its plateau.
    pub(super) fn begin_at(&mut self, interval: Log) {
        self.begin();
        self.base = interval;
    }

    /// Begins an epoch.
    pub(super) fn begin(&mut self) {
        (self.progress, self.successes, self.gap) = (0, 0, 0);
    }

    /// An epoch has about as many calls as a window, because silence within a window is no evidence.
    pub(super) fn cover(&mut self, calls: u32) {
        let length = coarse(calls).min(LIMIT) >> 8;
        self.length = self.length.max(u8::try_from(length).unwrap_or(0));
    }

    /// The length of the server's window, if it is known.
    pub(super) fn window_length(&self) -> Option<Log> {
        let octaves = (Coarse::from(self.window) << 6).saturating_sub(2 << 8);
        (self.window > 0).then(|| Log::of_coarse(octaves))
    }

    /// Whether a rejection has asked for a cooldown.
    pub(super) const fn was_told(&self) -> bool {
        self.least > 0
    }

    /// An epoch lasts for four windows of this length, and its plateau is this interval. That is for clients that are
    /// told nothing: they find the end of a window only by exceeding it, all at the same time.
    pub(super) fn cover_windows(&mut self, window: Log, interval: Log) {
        self.window = u8::try_from(window.octaves(2).coarse() >> 6).unwrap_or(u8::MAX);
        self.base = interval;
    }

    /// Whether an eighth of K or more was served.
    pub(super) fn is_ripe(&self) -> bool {
        self.progress >= power(self.length().saturating_sub(3 << 8).into())
    }

    /// If each rejection costs a cooldown of 2^`lost` calls, an epoch lasts at least two
    /// cooldowns, and up to 64 as hits repeat.
    pub(super) fn cover_cooldowns(&mut self, lost: Coarse, ripe: bool) {
        if ripe {
            self.cooldowns = self.cooldowns.saturating_add(3).min(MOST_COOLDOWNS);
        }
        let least = lost.saturating_add(Coarse::from(self.cooldowns) << 8).max(0);
        self.least = u8::try_from(least >> 4).unwrap_or(u8::MAX);
    }
}

fields!(Probe {
    length: u8,
    window: u8,
    least: u8,
    flight: u8,
    progress: u32,
    successes: u16,
    gap: u8,
    cooldowns: u8,
    base: Log
});
