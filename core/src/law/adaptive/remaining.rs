//! Remaining: a bucket whose level the server tells.

use core::num::NonZeroU64;

use super::cost;
use super::interval::Interval;
use super::octaves::{OCTAVE, exp2, log2, log2_roughly};
use super::open::Open;
use super::{AdaptiveState, Call, LONGEST_TOLD, Tier};
use crate::fixed::div_rem;
use crate::law::Move;
use crate::outcome::Outcome;
use crate::rng::Rng;
use crate::snapshot::fields;
use crate::time::Span;

/// Steers by the calls that are left.
///
/// All clients of a bucket are told the same number, and any falling function of it that all of them
/// follow makes their rates equal without a refusal. The law moves its rate towards where the price
/// of a call, threshold over remaining, equals the square root of its interval: a proportional and
/// integral controller, in which half of the change of ln(remaining) damps and the price pulls.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Pool {
    /// The most that were ever left: the size of the bucket, where the server does not tell it.
    pub(super) most: u32,
    /// What was left the last time.
    pub(super) previous: Option<u32>,
}

/// A bucket as the server describes it.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Bucket {
    /// Below this many the price is above one.
    threshold: u32,
    full: u32,
    /// The interval at which the law aims for the threshold.
    anchor: Interval,
}

impl Bucket {
    /// Where only the level is known, its highest stands for the size.
    pub(super) fn of_most(most: u32) -> Self {
        Self {
            threshold: (most / 32).clamp(4, 256),
            full: most.max(64),
            anchor: Interval::of_span(Span::from_secs(1)),
        }
    }

    /// Where the server tells its limit, the bucket is that large and refills in a period.
    pub(super) fn of_quota(limit: u32, period: Span) -> Self {
        Self {
            threshold: (limit / 16).max(4),
            full: limit,
            anchor: Interval::of_calls(period, limit),
        }
    }

    /// With more than half of it left there is nothing to share out.
    pub(super) const fn is_plenty(self, remaining: u32) -> bool {
        remaining > self.full / 2
    }
}

impl Pool {
    pub(super) fn rescale(&mut self, octaves: i32) {
        self.most = cost::rescaled(self.most, octaves);
        self.previous = self.previous.map(|left| cost::rescaled(left, octaves));
    }

    /// The interval for a served call that was told `remaining`. Rates rise only for a call that had
    /// to wait.
    pub(super) fn steer(
        &mut self,
        interval: Interval,
        bucket: Bucket,
        remaining: u32,
        paced: bool,
    ) -> Interval {
        // ln = log2 * 0.693; half of that is 177 / 512. With 16 bits of fraction.
        let level = |left: u32| log2_roughly(u64::from(left).saturating_add(2));
        let damping = self.previous.map_or(0, |previous| {
            let change = level(remaining).saturating_sub(level(previous));
            (change.saturating_mul(177) >> 9).clamp(-64, 64).saturating_mul(256)
        });
        let twice = NonZeroU64::MIN.saturating_add(u64::from(remaining) << 1);
        // No higher than the highest weight: the pull would never end.
        let price = div_rem(u64::from(bucket.threshold) << 9, twice).0.min(2_048);
        let price = i32::try_from(price).unwrap_or(0);
        let weight = root_of_ratio(interval, bucket.anchor);
        let pull = weight.saturating_sub(price).clamp(-1_024, 1_024).saturating_mul(16);
        let step = damping.saturating_add(pull).clamp(-26_214, 14_418);
        self.previous = Some(remaining);
        if step >= 0 && !paced {
            return interval;
        }
        // e^-step, near enough: 1 - x + x^2 / 2 for x in -0.4 to 0.22.
        let square = step.saturating_mul(step) >> 17;
        let factor = 65_536i32.saturating_sub(step).saturating_add(square);
        interval.longer(log2(factor.unsigned_abs().into()).saturating_sub(16 * OCTAVE))
    }
}

impl AdaptiveState {
    /// The server told how many calls are left. `None`: another rule deals with the answer.
    pub(super) fn remaining(
        &mut self,
        call: &Call,
        left: u32,
        quota: Option<(u32, Span)>,
        rng: &mut Rng,
    ) -> Option<Move> {
        let now = call.now;
        let served = call.outcome == Outcome::Ok;
        if let Tier::Open(open) = self.tier {
            // What left before the latest cut tells of a bucket that has been heard of already.
            if !served || !call.fresh || left > 2 {
                return None;
            }
            let sending = open.interval(now, self.round_trip());
            self.pacer.interval = match quota {
                Some((limit, period)) => {
                    sending.max(Interval::of_calls(period, limit)).doubled(2).min(LONGEST_TOLD)
                }
                None => sending.doubled(1),
            };
            self.pacer.target = Interval::MAX;
            self.pacer
                .begin(now.saturating_add(rng.between(Span::ZERO, self.pacer.interval.span())));
            self.epoch.restart(self.pacer.interval);
            self.meter.restart(now, 0);
            self.event.at = now;
            self.tier = Tier::Remaining(Pool { most: left, previous: Some(left) });
            return Some(Move::Slower);
        }
        let mut pool = match self.tier {
            Tier::Remaining(pool) => pool,
            _ => Pool { most: left, previous: None },
        };
        pool.most = pool.most.max(left);
        if !served {
            pool.previous = Some(0);
        }
        self.tier = Tier::Remaining(pool);
        if !served {
            return None;
        }
        if !call.fresh {
            return Some(Move::Held);
        }
        let bucket = match quota {
            Some((limit, period)) => Bucket::of_quota(limit, period),
            None => Bucket::of_most(pool.most),
        };
        if bucket.is_plenty(left) {
            self.tier = Tier::Open(Open::new(now));
            self.event.end();
            return Some(Move::Faster);
        }
        if self.event.misses > 1 {
            let probing = self.event.interval(self.pacer.interval, now);
            self.pacer.interval = probing.min(self.pacer.interval.doubled(2));
        }
        self.event.end();
        self.epoch.successes = self.epoch.successes.saturating_add(1);
        self.meter.count(self.usual.parts_of(call.cost));
        let before = self.pacer.interval;
        self.pacer.interval = pool.steer(before, bucket, left, call.paced).min(LONGEST_TOLD);
        self.tier = Tier::Remaining(pool);
        Some(if self.pacer.interval < before { Move::Faster } else { Move::Held })
    }
}

/// The square root of interval / anchor, with 8 bits of fraction, from 1/16 to 8.
fn root_of_ratio(interval: Interval, anchor: Interval) -> i32 {
    let half = (interval.over(anchor) / 2).clamp(-4 * OCTAVE, 3 * OCTAVE);
    i32::try_from(exp2(half.saturating_add(8 * OCTAVE))).unwrap_or(0)
}

fields!(Pool { most: u32, previous: Option<u32> });
