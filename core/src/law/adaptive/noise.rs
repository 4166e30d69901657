//! Noise: rejections that the rate does not cause.

use super::log::{Coarse, Log};
use super::probe::Probe;
use crate::snapshot::fields;

/// The share of calls that are rejected at every rate, as far as the law can tell: at random, because of the call,
/// or because of strangers.
///
/// At the limit, hits come about K successes apart. If they come much sooner each time, although each cut the rate,
/// the cuts change nothing: a share of the calls is accepted as noise, and the rate returns to where that began.
/// Rejections of that share are forgiven, but only up to that rate, so that two clients that accept each other's
/// rejections stay where they were.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Noise {
    /// The accepted share, in 2^-12.
    share: u16,
    /// The rejections that may be forgiven, in 2^-12.
    credit: u16,
    /// The smoothed number of successes between two hits, in eighths; zero before the first.
    apart: u16,
    /// The interval when the evidence began, coarsely.
    began: i16,
    /// The evidence that hits come too soon, in sixteenths of an octave.
    early: u8,
    /// How much more often successes came in the upper than in the lower part of an epoch, and how much more often
    /// rejections did than successes. 127 is always.
    calls: i8,
    rejected: i8,
}

/// The largest tolerance, in 2^-12.
pub(super) const MOST: u16 = ONE >> 3;

/// One rejection.
const ONE: u16 = 1 << 12;

/// What caused a rejection.
pub(super) enum Cause {
    /// The rate is too high.
    Rate,
    /// It is noise.
    Noise,
    /// It is noise, and so were the latest hits. This was the interval before them.
    NoiseSince(Log),
}

impl Noise {
    /// A call was served.
    pub(super) fn serve(&mut self, probe: &Probe) {
        if self.share > 0 {
            const LARGEST: u16 = 4 * ONE;
            self.credit = self.credit.saturating_add(self.share).min(LARGEST);
            self.calls = nearer(self.calls, side(probe), 4);
        }
    }

    /// The usual cost has grown by this many octaves.
    pub(super) fn rescale(&mut self, octaves: Coarse) {
        let began = octaves.saturating_mul(256).saturating_add(self.began.into());
        self.began = i16::try_from(began).unwrap_or(i16::MAX);
    }

    /// Judges the first rejection of a run, at this interval, if at most this share is noise.
    #[inline(never)] // smaller where registers are few
    pub(super) fn judge(&mut self, interval: Log, probe: &Probe, tolerance: u16) -> Cause {
        /// Before this many successes, an empty bucket rejects several calls.
        const FEW: u16 = 4;
        /// Four octaves: two to three hits after an eighth of K or less.
        const ENOUGH: Coarse = 4 << 4;
        let at = i16::try_from(interval.coarse()).unwrap_or(i16::MAX);
        if self.depends_on_the_rate(probe) {
            (self.share, self.early, self.began) = (self.share / 2, 0, at);
        }
        if self.credit >= ONE && at >= self.began {
            self.credit = self.credit.saturating_sub(ONE);
            return Cause::Noise;
        }
        let successes = probe.successes.min(8_000);
        self.apart = match self.apart {
            0 => successes.saturating_mul(8),
            apart => apart.saturating_sub(apart / 8).saturating_add(successes),
        };
        if successes < FEW {
            return Cause::Rate;
        }
        if self.early == 0 {
            self.began = at;
        }
        // How much sooner than after a quarter of K.
        let sooner =
            Coarse::from(probe.length()).saturating_sub(probe.progress()).saturating_sub(2 << 8);
        let early = Coarse::from(self.early).saturating_add((sooner >> 4).max(-(2 << 4)));
        self.early = u8::try_from(early.max(0)).unwrap_or(u8::MAX);
        if early <= 0 {
            self.share = self.share.saturating_sub(self.share.div_ceil(64));
        }
        if early <= ENOUGH {
            return Cause::Rate;
        }
        self.early = 0;
        let found = crate::fixed::div(u32::from(ONE) * 8, self.apart.into());
        let found = u16::try_from(found).unwrap_or(u16::MAX);
        if self.share.saturating_add(found) > tolerance {
            // That many are never noise.
            return Cause::Rate;
        }
        // Half as much again, because random rejections cluster.
        let share = self.share.saturating_add(found).saturating_add(found / 2);
        (self.share, self.credit) = (share.min(tolerance), self.credit.max(ONE));
        if at > self.began {
            Cause::NoiseSince(Log::of_coarse(self.began.into()))
        } else {
            Cause::Rate
        }
    }

    /// Whether rejections come at the higher rates of each epoch, although successes come at all of them.
    fn depends_on_the_rate(&mut self, probe: &Probe) -> bool {
        const LIMIT: i8 = 56;
        if self.share == 0 {
            return false;
        }
        let more = side(probe).saturating_sub(self.calls.into());
        self.rejected = nearer(self.rejected, more, 3);
        let depends = self.rejected > LIMIT;
        self.rejected = if depends { 0 } else { self.rejected };
        depends
    }
}

/// 127 in the upper part of an epoch, where the rate is near its plateau or above; else -127.
fn side(probe: &Probe) -> i16 {
    if probe.is_high() { 127 } else { -127 }
}

/// A mean that moves by 2^-shift of the distance to the latest value.
fn nearer(mean: i8, latest: i16, shift: u8) -> i8 {
    let mean = i16::from(mean);
    let step = latest.saturating_sub(mean) >> shift;
    i8::try_from(mean.saturating_add(step)).unwrap_or(i8::MAX)
}

fields!(Noise {
    share: u16,
    credit: u16,
    apart: u16,
    began: i16,
    early: u8,
    calls: i8,
    rejected: i8
});
