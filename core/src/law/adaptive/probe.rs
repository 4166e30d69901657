//! Probing: how the rate grows between two congestion events, and how deep an event cuts.

use super::log::{Coarse, Log, coarse, power};
use crate::snapshot::fields;

/// The cubic function of CUBIC (RFC 9438), in calls instead of time.
///
/// An epoch lasts from one cut to the next and aims at K successes. The rate after n of them is
/// L (n / K - 1)^3 above that of the latest hit: it regains what the cut of L took, stays near the old
/// level around n = K, and then hastens, to the double at about 3 K. Capacity is seen only by crossing
/// it, so an epoch costs a rejection. K says how much that is: long epochs are precise, short ones find
/// a change soon.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Probe {
    /// log2 of K, coarsely.
    length: i16,
    /// n: weighted successes since the cut, with 8 bits of fraction.
    progress: u32,
    /// Successes since the cut.
    pub(super) successes: u16,
    /// Rejections since the cut that were taken for chance.
    pub(super) ignored: u8,
    /// The interval at which the latest hit came.
    base: Log,
}

/// log2 of the lengths: at first, at least after a late hit, at most after a hit in time.
const FIRST: i16 = 4 << 8;
const LATE: i16 = 7 << 8;
const MOST: i16 = 9 << 8;
/// A hit that comes after so many successes is late: the rate could have risen sooner.
const OVERDUE: u16 = 256;
/// log2 of the longest length at all.
const LIMIT: i16 = 16 << 8;

impl Probe {
    pub(super) const fn new() -> Self {
        Self { length: FIRST, progress: 0, successes: 0, ignored: 0, base: Log::ZERO }
    }

    /// L as a logarithm: the inverse of the square root of K, and a quarter at most.
    pub(super) fn depth(&self) -> Coarse {
        Coarse::from(self.length / 2).saturating_neg().min(-(2 << 8))
    }

    /// A success that the law had made wait: by how much the interval shrinks. `weight` is log2 of what
    /// the success counts, and `most` log2 of the greatest growth.
    pub(super) fn grow(&mut self, weight: Coarse, most: Coarse) -> Log {
        self.progress = self.progress.saturating_add(power(weight));
        // 2^8 K, and the distance from it.
        let length = power(self.length.into());
        let distance = self.progress.abs_diff(length);
        if distance == 0 {
            return Log::ZERO;
        }
        const LOG2_OF_3: Coarse = 406;
        let distance = coarse(distance).saturating_sub(coarse(length)).saturating_mul(2);
        let growth = distance
            .saturating_add(LOG2_OF_3)
            .saturating_add(self.depth())
            .saturating_add(weight)
            .saturating_sub(self.length.into());
        Log::of_growth(growth.min(most))
    }

    /// Whether the rate is above the level of the latest hit.
    pub(super) fn is_past_plateau(&self) -> bool {
        self.progress >= power(self.length.into())
    }

    /// log2 of the greatest weight of a success where 2^`flight` calls are in flight: a response
    /// reflects the rate of a round trip ago, so an epoch lasts sixteen round trips.
    pub(super) fn heaviest(&self, flight: Coarse) -> Coarse {
        Coarse::from(self.length).saturating_sub(flight).saturating_sub(4 << 8)
    }

    /// A hit: an epoch ends and another begins. Returns what the interval grows by: L, and more where few
    /// calls have been served since the cut before.
    pub(super) fn cut(&mut self, interval: Log) -> Log {
        if self.successes >= OVERDUE {
            self.length = self.length.saturating_sub(1 << 8).max(LATE).min(self.length);
        } else if self.progress >= power(self.length.saturating_sub(3 << 8).into()) {
            self.length = self.length.saturating_add(1 << 8).min(MOST).max(self.length);
        }
        let depth = power(self.depth().saturating_add(8 << 8));
        let served = crate::fixed::div(65_536, u32::from(self.successes).saturating_add(2));
        self.begin();
        // A hit above the level of the one before takes back three quarters of the way.
        let above = (self.base - interval).max(Log::ZERO).min(Log::OCTAVE.octaves(1));
        let back = above - above.halved().halved();
        self.base = interval + back;
        back + Log::of_cut(depth.max(served))
    }

    /// An epoch begins.
    pub(super) fn begin(&mut self) {
        (self.progress, self.successes, self.ignored) = (0, 0, 0);
    }

    /// Growth begins again at the cut.
    pub(super) fn restart_growth(&mut self) {
        self.progress = 0;
    }

    /// An epoch is no shorter than the calls of a window: within one, silence says nothing.
    pub(super) fn cover(&mut self, calls: u32) {
        let length = i16::try_from(coarse(calls)).unwrap_or(LIMIT);
        self.length = self.length.max(length.min(LIMIT));
    }
}

fields!(Probe { length: i16, progress: u32, successes: u16, ignored: u8, base: Log });
