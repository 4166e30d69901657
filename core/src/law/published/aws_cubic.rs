//! `aws-cubic`: the adaptive mode of the AWS SDKs.

use core::num::{NonZeroU32, NonZeroU64};

use crate::fixed::Ratio;
use crate::gate::Pacing;
use crate::law::{Law, Move, Sample};
use crate::rate::{LawBurst, Quota};
use crate::rng::Rng;
use crate::snapshot::{fields, record};
use crate::time::{Instant, Span};

/// The AWS SDKs' client rate limiter: off until the first throttling response, then a token bucket
/// (which has been filling since the start) whose rate is cut to 0.7 and grows back along a cubic
/// function: fast towards the rate at which it was cut, slowly around it, and fast again beyond.
///
/// Source: botocore 1.44.5 (`retries/adaptive.py`, `throttling.py`, `bucket.py`) and smithy-rs
/// (`client_rate_limiter.rs`), which use floating point with the same constants. The curve is that
/// of CUBIC (RFC 9438 section 4.2). Tests compare it with the vector that the SDKs share, to six
/// digits.
///
/// As in the sources, every throttling response cuts, so twenty in one burst reduce 100 calls a
/// second to the floor of one in two seconds. The rate never exceeds twice the measured rate. If a
/// call is throttled within the first half second, nothing has been measured, and the rate starts
/// from the floor. One difference is required by the contracts: a clock that steps back removes no
/// tokens. A bucket holds whole calls (the sources' may hold 1.5) and 17 592 at most.
///
/// ```
/// use tidegate::{Call, Controller, Decision, Instant, Policy, law::AwsCubic};
///
/// let mut gate: Controller<AwsCubic> = Controller::new(Policy::new(AwsCubic), 7, Instant::ZERO);
/// // Nothing waits before the first throttling response.
/// for _ in 0..20 {
///     assert!(matches!(gate.poll(Instant::ZERO, &Call::new()), Decision::Admit(_)));
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AwsCubic;

/// The state of [`AwsCubic`]. Rates are calls a second with 20 bits of fraction.
///
/// ```
/// use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy, Reason, law::AwsCubic};
///
/// let now = Instant::ZERO;
/// let mut gate: Controller<AwsCubic> = Controller::new(Policy::new(AwsCubic), 7, now);
/// let Decision::Admit(permit) = gate.poll(now, &Call::new()) else { panic!() };
/// assert_eq!(gate.states().next().unwrap().rate_q20(), None); // off
/// gate.settle(now, permit, Outcome::Throttled);
/// // It has measured nothing, and so starts from the floor: a call in two seconds.
/// assert_eq!(gate.states().next().unwrap().rate_q20(), Some((1 << 20) / 2));
/// // A bucket holds a second's worth, but one whole call at least, which three do not fit.
/// assert_eq!(gate.poll(now, &Call::new().cost(3)), Decision::Reject(Reason::TooBig));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AwsCubicState {
    /// The current rate.
    rate: u64,
    /// Whether a throttling response has arrived, so that calls take tokens.
    on: bool,
    /// The tokens in the bucket while no call takes any, with 20 bits of fraction ...
    tokens: u64,
    /// ... and the time up to which they are counted.
    counted: Instant,
    /// The rate at the latest cut: the plateau of the cubic function.
    plateau: u64,
    /// When the latest cut was.
    cut_at: Instant,
    /// The rate of responses, smoothed over half seconds.
    measured: u64,
    /// The current half second of the measurement, counted from the epoch.
    half_second: u64,
    /// Responses since it began.
    responses: u32,
}

const ONE: u64 = 1 << 20;
/// The lowest rate: a call in two seconds.
const FLOOR: u64 = ONE / 2;
/// The share of the rate that a cut keeps.
const BETA: Ratio = Ratio::of(7, 10);
/// The steepness of the cubic function, in calls a second per cubic second.
const SCALE: Ratio = Ratio::of(4, 10);
/// The weight of the latest half second.
const SMOOTH: Ratio = Ratio::of(8, 10);
const HALF_SECOND: NonZeroU64 = NonZeroU64::MIN.saturating_add(499_999_999);
const BILLION: NonZeroU32 = NonZeroU32::MIN.saturating_add(999_999_999);

impl AwsCubicState {
    /// The current rate in calls a second with 20 bits of fraction; `None` until the first
    /// throttling response.
    #[must_use]
    pub const fn rate_q20(&self) -> Option<u64> {
        if self.on { Some(self.rate) } else { None }
    }

    /// Refills the unused bucket.
    fn fill(&mut self, now: Instant) {
        // From empty to full takes a second, or two at the lowest rate.
        let passed = now.saturating_since(self.counted).min(Span::from_secs(2)).as_nanos();
        let passed = Ratio::over(u32::try_from(passed).unwrap_or(u32::MAX), BILLION);
        self.tokens =
            self.tokens.saturating_add(passed.floor_of(self.rate)).min(self.rate.max(ONE));
        self.counted = self.counted.max(now);
    }

    fn measure(&mut self, now: Instant) {
        self.responses = self.responses.saturating_add(1);
        let half_second = now.as_nanos() / HALF_SECOND;
        let Some(passed) = NonZeroU64::new(half_second.saturating_sub(self.half_second)) else {
            return;
        };
        // Twice as many a second as in half a second.
        let latest = u64::from(self.responses).saturating_mul(2 * ONE) / passed;
        let kept = self.measured.saturating_sub(SMOOTH.floor_of(self.measured));
        self.measured = SMOOTH.floor_of(latest).saturating_add(kept);
        self.responses = 0;
        self.half_second = half_second;
    }

    /// The cubic function at `now`: plateau + scale * (t - K)^3, with K = cbrt(plateau * (1 - beta)
    /// / scale).
    fn curve(&self, now: Instant) -> u64 {
        // Seconds with 20 bits of fraction. Half an hour after K the function is at 10^9 calls a
        // second; the bound keeps its square within 64 bits.
        let elapsed = Ratio::of(1 << 20, 1_000_000_000)
            .floor_of(now.saturating_since(self.cut_at).as_nanos());
        let inflection = cube_root_q20(Ratio::of(3, 4).floor_of(self.plateau));
        let distance = elapsed.abs_diff(inflection).min(1_800 * ONE);
        let square = distance.saturating_mul(distance) >> 20;
        let cube = (square >> 20)
            .saturating_mul(distance)
            .saturating_add((square & (ONE - 1)).saturating_mul(distance) >> 20);
        let change = SCALE.floor_of(cube);
        if elapsed >= inflection {
            self.plateau.saturating_add(change)
        } else {
            self.plateau.saturating_sub(change)
        }
    }
}

/// The cube root of a number with 20 bits of fraction, with 20 bits of fraction.
///
/// It is the integer root of the number times 2^40. If the product does not fit, it is scaled by
/// less: three bits for each bit of the root.
fn cube_root_q20(number: u64) -> u64 {
    let (mut up, mut down) = (40u32, 0u32);
    while up > number.leading_zeros() && up > 3 {
        up = up.saturating_sub(3);
        down = down.saturating_add(1);
    }
    cube_root(number << (up & 63)) << (down & 63)
}

/// The integer cube root, rounded down, bit by bit (Hacker's Delight, section 11-2).
fn cube_root(number: u64) -> u64 {
    let (mut rest, mut root) = (number, 0u64);
    let mut shift = 63u32;
    loop {
        root = root.saturating_add(root);
        let step = root.saturating_mul(root.saturating_add(1)).saturating_mul(3).saturating_add(1);
        if rest >> shift >= step {
            rest = rest.saturating_sub(step << shift);
            root = root.saturating_add(1);
        }
        if shift == 0 {
            return root;
        }
        shift = shift.saturating_sub(3);
    }
}

impl Law for AwsCubic {
    type State = AwsCubicState;

    fn start(&self, now: Instant) -> AwsCubicState {
        // The sources start with the last whole second.
        let half_second = now.as_nanos() / HALF_SECOND;
        AwsCubicState {
            rate: ONE,
            on: false,
            tokens: 0,
            counted: now,
            plateau: 0,
            cut_at: now,
            measured: 0,
            half_second: half_second.saturating_sub(half_second % 2),
            responses: 0,
        }
    }

    /// Zero, like its source.
    fn lateness(&self) -> Span {
        Span::ZERO
    }

    fn quota(&self, state: &AwsCubicState) -> Option<Quota> {
        state.rate_q20().map(quota)
    }

    fn observe(
        &self,
        state: &mut AwsCubicState,
        pacing: &mut Pacing,
        sample: &Sample<'_>,
        _: &mut Rng,
    ) -> Move {
        pacing.drain(sample.now, self.quota(state));
        state.measure(sample.now);
        let (before, on) = (state.rate, state.on);
        if !on {
            state.fill(sample.now);
        }
        let aimed = if sample.outcome.is_pushback() {
            let rate = if on { state.measured.min(before) } else { state.measured };
            state.plateau = rate;
            state.cut_at = sample.now;
            state.on = true;
            BETA.floor_of(rate)
        } else {
            state.curve(sample.now)
        };
        state.rate = aimed.min(state.measured.saturating_mul(2)).max(FLOOR);
        match (on, state.on) {
            (true, _) => pacing.resize(quota(before), quota(state.rate)),
            // The level that the bucket reached while it was unused.
            (false, true) => pacing.leave_room(state.tokens, quota(state.rate)),
            (false, false) => {
                state.tokens = state.tokens.min(state.rate.max(ONE));
                return Move::Kept;
            }
        }
        match state.rate.cmp(&before) {
            _ if sample.outcome.is_pushback() => Move::Slower,
            core::cmp::Ordering::Greater => Move::Faster,
            _ => Move::Kept,
        }
    }
}

/// A rate and its bucket: a second's worth, but at least one call.
fn quota(rate: u64) -> Quota {
    Quota::of_law_rate(rate, LawBurst::clamped(rate >> 20))
}

fields!(AwsCubicState {
    rate: u64, on: bool, tokens: u64, counted: Instant, plateau: u64, cut_at: Instant, measured: u64,
} else |now| {
    half_second: now.as_nanos() / HALF_SECOND,
    responses: 0,
});
record!(AwsCubic, AwsCubicState where |_law, state| state.rate >= FLOOR);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Outcome;
    use std::vec::Vec;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    /// Microcalls per second.
    fn micro(rate: u64) -> u64 {
        ((u128::from(rate) * 1_000_000) >> 20) as u64
    }

    #[test]
    fn the_vector_that_the_sdks_share_is_reproduced() {
        // Last maximum 10, throttled at 5 s: the rates from 5 to 11 s (smithy-rs).
        let published =
            [7_000_000, 9_648_936, 10_000_030, 10_453_284, 13_408_697, 21_266_268, 36_425_998];
        let mut state = AwsCubic.start(at(0));
        state.plateau = 10 * ONE;
        state.cut_at = at(5_000);
        for (second, expected) in (5..).zip(published) {
            let rate = micro(state.curve(at(second * 1_000)));
            assert!(
                rate.abs_diff(expected) <= expected / 500_000 + 2,
                "{second} s: {rate}, not {expected}"
            );
        }
    }

    #[test]
    fn measurements_start_with_the_last_whole_second() {
        for (millis, expected) in [(0, 0), (499, 0), (500, 0), (999, 0), (1_000, 2), (1_500, 2)] {
            assert_eq!(AwsCubic.start(at(millis)).half_second, expected, "{millis} ms");
        }
    }

    #[test]
    fn the_cube_root_is_exact_if_the_product_fits() {
        let rooms = (1..1u64 << 24).step_by(4_099);
        for number in rooms.chain([(1 << 23) - 1, 1 << 23, (1 << 24) - 1]) {
            let (root, target) = (u128::from(cube_root_q20(number)), u128::from(number) << 40);
            assert!(root.pow(3) <= target && target < (root + 1).pow(3), "{number}: {root}");
        }
    }

    #[test]
    fn the_cube_root_is_close_to_the_exact_one() {
        for number in [0, 1, 7, 8, 9, 1_000, ONE, 8 * ONE, 10 * ONE, 1_000_000 * ONE, u64::MAX >> 1]
        {
            let root = u128::from(cube_root_q20(number));
            let target = u128::from(number) << 40;
            let slack = root / (1 << 20) + 1;
            assert!(root.pow(3) <= target, "{number}");
            assert!((root + slack).pow(3) >= target, "{number}: {root}");
        }
        for number in [0u64, 1, 7, 8, 26, 27, 28, u64::MAX] {
            let root = u128::from(cube_root(number));
            assert!(root.pow(3) <= number.into() && (root + 1).pow(3) > number.into(), "{number}");
        }
    }

    struct Caller {
        state: AwsCubicState,
        pacing: Pacing,
        now: u64,
    }

    impl Caller {
        /// As recorded with botocore's classes, which count seconds from a distant epoch.
        fn new() -> Self {
            let now = 1_000_000;
            Self { state: AwsCubic.start(at(now)), pacing: Pacing::new(at(now)), now }
        }

        fn replies(&mut self, count: u32, gap: u64, outcome: Outcome) {
            for _ in 0..count {
                self.now += gap;
                let sample = Sample::new(at(self.now), at(self.now), outcome);
                AwsCubic.observe(&mut self.state, &mut self.pacing, &sample, &mut Rng::new(0));
            }
        }

        fn rate(&self) -> u64 {
            micro(self.state.rate_q20().unwrap())
        }
    }

    #[test]
    fn a_throttled_call_before_any_measurement_sets_the_rate_to_the_floor() {
        let mut caller = Caller::new();
        caller.replies(10, 10, Outcome::Ok);
        caller.replies(1, 10, Outcome::Throttled);
        assert_eq!((caller.rate(), caller.state.plateau), (500_000, 0));
        // The bucket filled at one a second for 10 ms and at the lowest rate for 100 ms: 0.06
        // calls, and the other 0.94 take 1.88 s.
        let ready = caller.pacing.ready_at(1, AwsCubic.quota(&caller.state)).unwrap();
        assert_eq!(ready.saturating_since(at(caller.now)).as_millis(), 1_880);
    }

    #[test]
    fn the_bucket_fills_while_it_is_unused() {
        // The sources also let the rate grow before the first throttling response, and fill the
        // bucket at it: one throttled call at a hundred a second leaves 70 a second, and 70 calls
        // at once.
        let mut caller = Caller::new();
        caller.replies(1_000, 10, Outcome::Ok);
        caller.replies(1, 0, Outcome::Throttled);
        let quota = AwsCubic.quota(&caller.state);
        let now = at(caller.now);
        let mut left = 0;
        while caller.pacing.check(now, 1, quota) == crate::Verdict::Admit {
            caller.pacing.charge(now, 1, quota);
            left += 1;
        }
        assert!((69..=70).contains(&left), "{left}");
    }

    #[test]
    fn one_throttled_call_cuts_a_hundred_a_second_to_seventy_and_a_burst_to_the_floor() {
        let mut caller = Caller::new();
        caller.replies(1_000, 10, Outcome::Ok);
        caller.replies(1, 0, Outcome::Throttled);
        assert!(caller.rate().abs_diff(70_000_000) < 1_000_000, "{}", caller.rate());
        let rates: Vec<u64> = (0..20)
            .map(|_| {
                caller.replies(1, 0, Outcome::Throttled);
                caller.rate()
            })
            .collect();
        assert!(rates.windows(2).all(|pair| pair[1] <= pair[0]), "{rates:?}");
        assert_eq!(rates.last(), Some(&500_000));
    }
}
