//! The epoch: from one cut to the next, how much to grow and how deep to cut.

use super::interval::Interval;
use super::octaves::{Fine, Octaves, clip, exp2_roughly, log2_of, log2_roughly};
use crate::fixed::{div, div_signed};
use crate::snapshot::fields;
use crate::time::Span;

/// What the law knows of its own probing, counted in its own calls.
///
/// Capacity is seen only by crossing it, so there is one refusal for each epoch of E calls, and a
/// doubling of the capacity is found after about ln 2 / (p * L) calls at a refusal rate of p and a
/// cut of L. An epoch aims at a length of K weighted successes; K doubles from cut to cut up to 128
/// and L shrinks to a sixteenth while the rate is steady.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Epoch {
    /// K: how many weighted successes an epoch aims at.
    length: u16,
    /// L: what a cut takes, in 1/2^16.
    cut: u16,
    /// k: weighted successes so far, with 8 bits of fraction.
    progress: u32,
    /// s: successes since the cut.
    pub(super) successes: u32,
    /// log2 of the interval at the latest hit.
    hit: i16,
    /// Refusals since the cut that were taken for bad luck, or were on their way at the first one.
    pub(super) ignored: u16,
}

/// What a blind client has learnt of its own epochs: their mean length in own calls.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Habit {
    /// With 8 bits of fraction.
    mean: u32,
    /// How many epochs are in the mean, up to 63.
    epochs: u8,
}

const SHORTEST: u16 = 16;
const LONGEST: u16 = 128;
const LONGEST_LOG2: Octaves = 7 << 8;
const CUT_LEAST: u32 = 65_536 / 16;
const CUT_MOST: u32 = 65_536 / 4;
/// Below this cut a client is calm.
const CALM: u32 = 65_536 / 8;
/// A rate within a sixteenth (in the natural logarithm) of the one at the latest hit is the same.
const SAME: Octaves = 23;
/// The interval at which a success has weight one: half a second, as log2 of nanoseconds with 8 bits
/// of fraction.
const ANCHOR: Octaves = 9_443;
/// The slope of log2(weight) over log2(interval) is 3/8 about the anchor, 5/16 from 3 1/2 octaves
/// slower on, 1/2 from 2 1/2 octaves faster on.
const KNEE_SLOW: Octaves = 896;
const KNEE_FAST: Octaves = 640;
const SLOPE_MIDDLE: i32 = 96;
const SLOPE_SLOW: i32 = 80;
const SLOPE_FAST: i32 = 128;
const WEIGHT_LEAST: u32 = 4;
const WEIGHT_MOST: u32 = 16 << 8;
/// The most growth for a success, in 1/2^24: a client survives a refusal rate p only if
/// growth * (1 - p) is above p * cut, so a smaller bound would starve a client that has fallen behind.
pub(super) const GROWTH_MOST: u32 = (1 << 24) / 16;

impl Epoch {
    pub(super) const fn new() -> Self {
        Self { length: SHORTEST, cut: 8_192, progress: 0, successes: 0, hit: 0, ignored: 0 }
    }

    /// A first event: begins from the shortest epoch.
    pub(super) fn restart(&mut self, at: Interval) {
        self.length = SHORTEST;
        self.progress = 0;
        self.successes = 0;
        self.hit = clip(at.log2());
    }

    pub(super) fn lengthen(&mut self) {
        self.length = self.length.saturating_mul(2).min(LONGEST);
    }

    pub(super) fn shorten(&mut self) {
        self.length = (self.length / 2).max(SHORTEST);
    }

    pub(super) fn restart_growth(&mut self) {
        self.progress = 0;
    }

    /// The next cut, in 1/2^16, at a hit at this interval. L shrinks while hits repeat at the same
    /// rate and grows while they do not; an early second hit cuts deep, at most to a half.
    pub(super) fn next_cut(&mut self, at: Interval) -> u32 {
        let moved = at.log2().saturating_sub(self.hit.into()).saturating_abs();
        let cut = u32::from(self.cut);
        let cut = div(cut.saturating_mul(7), if moved < SAME { 10 } else { 5 });
        let cut = cut.clamp(CUT_LEAST, CUT_MOST);
        self.cut = u16::try_from(cut).unwrap_or(u16::MAX);
        let early = div(65_536, self.successes.saturating_add(2));
        early.clamp(cut, 32_768)
    }

    /// The interval of a hit, when the usual call has become `octaves` larger.
    pub(super) fn rescale(&mut self, octaves: i32) {
        self.hit = clip(Octaves::from(self.hit).saturating_add(octaves.saturating_mul(256)));
    }

    /// The smallest cut, for where the capacity is known exactly.
    pub(super) const fn least_cut() -> u32 {
        CUT_LEAST
    }

    /// Begins after a cut, at a hit at this interval.
    pub(super) fn begin(&mut self, hit: Interval) {
        self.hit = clip(hit.log2());
        self.successes = 0;
        self.progress = 0;
        self.ignored = 0;
    }

    /// The capacity has been told: only the smallest cuts from here.
    pub(super) fn settle_at(&mut self, interval: Interval) {
        self.cut = u16::try_from(CUT_LEAST).unwrap_or(u16::MAX);
        self.begin(interval);
        self.lengthen();
    }

    /// The growth for a success of this weight at this interval, in 1/2^24, not above `guard`;
    /// counts it.
    ///
    /// L * w / K until an epoch and a half are over without a refusal, and then up by the sixteenth
    /// power of how far they are over.
    pub(super) fn grow(&mut self, weight: u32, guard: u32, interval: Interval) -> u32 {
        let calm = self.calm(weight);
        let counted = if interval.log2() < ANCHOR.saturating_sub(KNEE_FAST) {
            calm.saturating_add(weight.saturating_sub(calm).saturating_mul(3) / 8)
        } else {
            calm
        };
        self.progress = self.progress.saturating_add(counted);
        let growth = div(calm.saturating_mul(self.cut.into()), self.length.into());
        scaled(growth, self.acceleration()).min(guard)
    }

    /// The weight of a success to a client whose hits repeat at the same rate: down to three quarters
    /// of it.
    ///
    /// Such a client is alone, or the largest one: it sees the bucket as it is, while the hits of a
    /// small client are luck. To be in less of a hurry saves refusals of the one, and leaves room
    /// for the other; in no hurry at all it would be the last to notice that it is not alone. At fast
    /// rates three eighths of what is taken from growth still count towards the end of the epoch,
    /// because there a changed capacity is worth more calls than a refusal is.
    fn calm(&self, weight: u32) -> u32 {
        let calm = weight.saturating_mul(self.cut.into()) / CALM;
        calm.midpoint(weight).min(weight)
    }

    /// How far the epoch is over, to the sixteenth power, with 8 bits of fraction; one before that.
    fn acceleration(&self) -> u32 {
        let whole = self.threshold();
        if self.progress <= whole {
            return 256;
        }
        // Sixteen times as long is out of all bounds, whatever the growth.
        let over = div(self.progress.min(whole.saturating_mul(16)) << 8, whole);
        (0..4).fold(over, |power, _| scaled(power, power))
    }

    /// An epoch and a half, with 8 bits of fraction.
    fn threshold(&self) -> u32 {
        u32::from(self.length).saturating_mul(384)
    }

    /// The most that a success may weigh where several calls are in flight: each crossing costs as
    /// many refusals as are in flight, so an epoch lasts 16 round trips at least.
    pub(super) fn weight_in_flight(&self, in_flight: u32) -> u32 {
        // A weight of one would be rounded down to nothing, and the law would never grow again.
        div(u32::from(self.length) << 4, in_flight).max(2)
    }
}

impl Habit {
    /// Whether no epoch is over yet.
    pub(super) const fn is_new(&self) -> bool {
        self.epochs == 0
    }

    /// Whether a first rate is being searched for.
    pub(super) const fn is_searching(&self) -> bool {
        self.epochs < 2
    }

    /// An epoch of so many own calls is over.
    pub(super) fn note(&mut self, successes: u32) {
        let length = successes.min(60_000).saturating_add(1) << 8;
        let change = length.wrapping_sub(self.mean).cast_signed();
        let change = div_signed(change, u32::from(self.epochs).saturating_add(1));
        self.mean = match self.epochs {
            0 => length,
            _ => self.mean.saturating_add_signed(change).max(256),
        };
        self.epochs = self.epochs.saturating_add(1).min(63);
    }

    /// The weight of a success at this interval, with 8 bits of fraction, from 1/64 to 16.
    ///
    /// A law that is the same at every rate is neutral to fairness: on a shared bucket every client
    /// sees the same share of refusals, whatever its rate, so every split would be stable. Giving
    /// slow clients more weight makes them tolerate more refusals than fast ones, and that is what
    /// draws the rates together. The price is paid in refusals at low rates, so the slope is as
    /// small as fairness allows. It is part of how two clients get on, and not to be tuned alone.
    ///
    /// Half of the distance to the weight that the own mean epoch would ask for is taken back: it
    /// says the same about refusals, and saves a part of them.
    pub(super) fn weight(&self, interval: Interval) -> u32 {
        let distance = interval.log2().saturating_sub(ANCHOR);
        let log = slope(distance);
        let corrected = log.saturating_add(self.correction(log));
        exp2_roughly(corrected).clamp(WEIGHT_LEAST, WEIGHT_MOST)
    }

    fn correction(&self, log: Octaves) -> Octaves {
        const PRIOR: u8 = 8;
        const MOST: Octaves = 3 << 8;
        if self.epochs == 0 {
            return 0;
        }
        let mean = log2_roughly(self.mean.max(256).into()).saturating_sub(8 << 8);
        let distance = log.saturating_sub(LONGEST_LOG2.saturating_sub(mean));
        let epochs = i32::from(self.epochs);
        let weighed =
            div_signed(distance.saturating_mul(epochs), self.epochs.saturating_add(PRIOR).into());
        (weighed >> 1).clamp(-MOST, MOST)
    }
}

/// The weight where the quota is known: proportional to the interval, from 1/32 to 8, and one where
/// the own share is a twentieth of the quota. A known quota is the absolute scale that fairness needs.
///
/// With one at an eighth, five clients of a quota pay 0.7 % of their calls for a Jain index of .997;
/// with a twentieth 0.3 % for .99, and forty clients pay half as much.
pub(super) fn weight_of_quota(interval: Interval, anchor: Octaves) -> u32 {
    let log = interval.log2().saturating_sub(anchor);
    exp2_roughly(log.clamp(-1_280, 768)).max(8)
}

/// A success has weight one at so many intervals of a known quota.
const ANCHOR_OF_QUOTA: Fine = log2_of(20, 1);

/// log2 of twenty intervals of a limit in its period.
pub(super) fn anchor_of_quota(limit: u32, period: Span) -> i16 {
    clip(Interval::of_calls(period, limit).longer(ANCHOR_OF_QUOTA).log2())
}

/// The interval of a limit in its period, which its anchor is of.
pub(super) fn interval_of_quota(anchor: i16) -> Interval {
    Interval::of_log2(anchor.into()).shorter(ANCHOR_OF_QUOTA)
}

/// A number times a factor with 8 bits of fraction, up to 2^28: as a factor that is out of all bounds.
fn scaled(number: u32, factor: u32) -> u32 {
    let product = u64::from(number).wrapping_mul(factor.into()) >> 8;
    u32::try_from(product).unwrap_or(u32::MAX).min(1 << 28)
}

fn slope(distance: Octaves) -> Octaves {
    let middle = distance.clamp(-KNEE_FAST, KNEE_SLOW);
    let slower = distance.saturating_sub(KNEE_SLOW).max(0);
    let faster = distance.saturating_add(KNEE_FAST).min(0);
    let log = middle
        .saturating_mul(SLOPE_MIDDLE)
        .saturating_add(slower.saturating_mul(SLOPE_SLOW))
        .saturating_add(faster.saturating_mul(SLOPE_FAST));
    log >> 8
}

fields!(Habit { mean: u32, epochs: u8 });
fields!(Epoch { length: u16, cut: u16, progress: u32, successes: u32, hit: i16, ignored: u16 });
