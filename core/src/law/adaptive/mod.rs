//! `adaptive`: one law for every rate, and for whatever the server tells.

mod epoch;
mod event;
mod interval;
mod meter;
mod open;
mod pacer;
mod period;
mod remaining;

use epoch::{Epoch, Habit};
use event::{BLACKOUT, Event};
use interval::Interval;
use meter::Meter;
use open::Open;
use pacer::Pacer;
use period::{Next, Share, Told};
use remaining::{Bucket, Pool};

use crate::fixed::Ratio;
use crate::gate::Pace;
use crate::hint::Hint;
use crate::law::{Law, Move, Sample};
use crate::outcome::Outcome;
use crate::rate::Quota;
use crate::rng::Rng;
use crate::time::{Instant, Span};
use crate::verdict::Verdict;

#[doc = include_str!("../../../docs/adaptive.md")]
///
/// # Example
///
/// ```
/// use tidegate::{Ask, Controller, Decision, Instant, Outcome, Policy, law::Adaptive};
///
/// let mut gate: Controller<Adaptive> =
///     Controller::new(Policy::new(Adaptive::DEFAULT), 7, Instant::ZERO);
/// // Open: nothing waits before the first refusal.
/// let now = Instant::from_nanos(1);
/// let Decision::Go(first) = gate.poll(now, &Ask::new()) else { panic!() };
/// let Decision::Go(second) = gate.poll(now, &Ask::new()) else { panic!() };
/// let later = Instant::from_nanos(100_000_000);
/// gate.settle(later, first, Outcome::Ok);
/// gate.settle(later, second, Outcome::Throttled);
/// assert!(matches!(gate.poll(later, &Ask::new()), Decision::Wait(_)));
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Adaptive {
    quota: Option<Quota>,
}

impl Adaptive {
    /// The law that knows nothing but what the server tells.
    pub const DEFAULT: Self = Self { quota: None };

    /// The law that also knows the limit which all clients share. It does not keep to that limit by
    /// itself, for its share may be less; the limit is the scale by which it grows.
    #[must_use]
    pub const fn with_quota(quota: Quota) -> Self {
        Self { quota: Some(quota) }
    }
}

/// What [`Adaptive`] remembers: 128 bytes at most.
///
/// ```
/// use tidegate::law::{Adaptive, AdaptiveState, Law, Move, Sample};
/// use tidegate::{Instant, Outcome, Rng, Span, gate::Pace};
///
/// let (law, start) = (Adaptive::DEFAULT, Instant::ZERO);
/// let (mut state, mut pace, mut rng): (AdaptiveState, _, _) =
///     (law.start(start), Pace::new(start), Rng::new(1));
/// // It has no rate until it is refused: no interval, and nothing that waits.
/// law.released(&mut state, &mut pace, start, &mut rng);
/// assert_eq!(law.interval(&state, start), None);
/// let now = Instant::from_nanos(100_000_000);
/// let refused = Sample::new(now, start, Outcome::Throttled);
/// assert_eq!(law.observe(&mut state, &mut pace, &refused, &mut rng), Move::Slower);
/// // One call had left in 100 ms; refused at the very first, the law halves that rate.
/// assert_eq!(law.interval(&state, now), Some(Span::from_millis(200)));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AdaptiveState {
    pacer: Pacer,
    event: Event,
    epoch: Epoch,
    meter: Meter,
    tier: Tier,
    /// The smoothed round trip in microseconds; zero before the first answer.
    round_trip: u32,
    /// log2 of eight intervals of the limit that all clients share; zero where it is not known.
    quota: i16,
}

const _: () = assert!(size_of::<AdaptiveState>() <= 128);

/// What the law may use, and what it keeps for that.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Tier {
    /// No refusal yet.
    Open(Open),
    /// Refusals are all that is known.
    Blind(Habit),
    /// The server tells how many calls are left.
    Remaining(Pool),
    /// It also tells when there will be more.
    Period(Share),
}

/// After this many intervals of silence the old rate is old news.
const IDLE: u64 = 64;
/// So many successes after a cut a refusal may still be bad luck.
const REFRACTORY: u32 = 3;

impl AdaptiveState {
    fn round_trip(&self) -> Span {
        Span::from_micros(self.round_trip.into())
    }

    fn see_round_trip(&mut self, sample: &Sample) {
        let micros = sample.now.saturating_since(sample.sent).as_nanos() / 1_000;
        let latest = u32::try_from(micros).unwrap_or(u32::MAX);
        self.round_trip = if self.round_trip == 0 {
            latest
        } else {
            let change = i64::from(latest).saturating_sub(self.round_trip.into()) / 16;
            let smoothed = i64::from(self.round_trip).saturating_add(change);
            u32::try_from(smoothed).unwrap_or(u32::MAX)
        };
    }

    const fn is_open(&self) -> bool {
        matches!(self.tier, Tier::Open(_))
    }

    /// Whether calls are drawn from slots.
    const fn has_slots(&self) -> bool {
        matches!(self.tier, Tier::Blind(_))
    }

    /// The interval in force.
    fn interval(&self, now: Instant) -> Span {
        self.event.interval(self.pacer.interval, now).span()
    }

    fn back_off(&mut self, now: Instant, rng: &mut Rng) {
        let interval = self.interval(now);
        self.pacer.back_off(now, interval, rng);
    }

    /// A refusal (or, where `down`, a failure).
    fn miss(&mut self, sample: &Sample, down: bool, rng: &mut Rng) -> Move {
        let now = sample.now;
        if !sample.fresh {
            return Move::Held;
        }
        if let Tier::Open(open) = self.tier {
            let interval = open.interval(now, self.round_trip());
            self.pacer.interval = interval;
            self.pacer.begin(now);
            self.epoch.restart(interval);
            self.event.previous = 0;
            self.event.down |= down;
            self.tier = Tier::Blind(Habit::default());
            if !down {
                self.cut(now, false);
            }
            self.event.misses = 1;
        } else {
            if !self.event.is_on() {
                if !down && self.is_bad_luck() {
                    self.back_off(now, rng);
                    self.event.misses = 1;
                    return Move::Held;
                }
                self.epoch.lengthen();
                if !down {
                    self.cut(now, true);
                }
            }
            self.event.down |= down;
            self.event.miss();
        }
        self.back_off(now, rng);
        Move::Slower
    }

    /// Refusals come in clusters, which are a small client's fate and not a dominant one's, while a
    /// real drop of the capacity rejects more than half. So soon after a cut a refusal is let pass, as
    /// long as no more than half of the calls were refused.
    fn is_bad_luck(&mut self) -> bool {
        let refused = u32::from(self.epoch.ignored).saturating_add(1);
        if self.epoch.successes >= REFRACTORY || refused > self.epoch.successes {
            return false;
        }
        self.epoch.ignored = self.epoch.ignored.saturating_add(1);
        true
    }

    /// A new congestion: the cut itself.
    fn cut(&mut self, now: Instant, end_of_epoch: bool) {
        let ripe = self.meter.is_ripe();
        let cut = self.epoch.next_cut(self.pacer.interval);
        let reading = self.meter.reading(now);
        let quarter_more = Ratio::of(5, 4);
        let exact = ripe
            && self.event.previous >= BLACKOUT
            && reading > self.pacer.interval.times(quarter_more);
        let (hit, cut) =
            if exact { (reading, Epoch::least_cut()) } else { (self.pacer.interval, cut) };
        if ripe || !self.meter.set {
            self.meter.restart(now, 0);
        }
        self.meter.set = true;
        if let (Tier::Blind(habit), true) = (&mut self.tier, end_of_epoch) {
            habit.note(self.epoch.successes);
        }
        self.epoch.begin(hit);
        self.pacer.interval = hit.after_cut(cut);
        self.pacer.target = self.pacer.interval;
        self.event.at = now;
    }

    /// A call was served, and the server said nothing that would make it another tier's.
    fn success(&mut self, sample: &Sample, rng: &mut Rng) -> Move {
        self.epoch.successes = self.epoch.successes.saturating_add(1);
        self.meter.served = self.meter.served.saturating_add(1);
        if self.is_open() {
            return Move::Held;
        }
        if self.event.is_on() && sample.fresh {
            self.recover(sample.now, rng);
        }
        let Tier::Blind(habit) = self.tier else { return Move::Held };
        if !sample.paced || self.event.is_on() {
            return Move::Held;
        }
        let interval = self.pacer.interval;
        let in_flight = (u64::from(self.round_trip).saturating_mul(256_000))
            .checked_div(interval.bits())
            .unwrap_or(0);
        let guard = (1u64 << 20).checked_div(in_flight.max(1)).unwrap_or(0);
        self.pacer.interval = if interval > self.pacer.target {
            interval.faster(guard.saturating_mul(4).min(1 << 23)).max(self.pacer.target)
        } else {
            let mut weight = match self.quota {
                0 => habit.weight(interval),
                quota => epoch::weight_of_quota(interval, quota.into()),
            };
            if in_flight > 0 {
                weight = weight.min(self.epoch.weight_in_flight(in_flight));
            }
            interval.faster(self.epoch.grow(weight, guard))
        };
        Move::Faster
    }

    /// The first success after misses.
    fn recover(&mut self, now: Instant, rng: &mut Rng) {
        let misses = self.event.misses;
        if misses >= 2 {
            self.pacer.target = self.pacer.interval;
            if self.event.down {
                // The limit was not the reason: half of the good rate, and ramp back to it.
                self.pacer.interval = self.pacer.interval.doubled(1);
            } else {
                if misses < 4 {
                    self.epoch.shorten();
                } else {
                    self.read_meter_after_blackout(now);
                }
                let slower = match misses {
                    2 => Ratio::of(23, 16),
                    3 => Ratio::of(3, 2),
                    _ => Ratio::of(4, 1),
                };
                self.pacer.interval = self.pacer.interval.times(slower).max(self.pacer.target);
            }
            self.epoch.restart_growth();
            self.pacer.hasten(now, rng);
        }
        self.event.end();
    }

    /// After a blackout the meter may lower the rate to return to.
    fn read_meter_after_blackout(&mut self, now: Instant) {
        let cycle = self.meter.cycle(now);
        let dark = now.saturating_since(self.event.at);
        if self.meter.served > 4 && dark > Span::from_nanos(cycle.as_nanos() / 4) {
            let calls = self.meter.served.saturating_sub(1);
            let measured = Interval::of_calls(cycle, calls).times(Ratio::of(33, 32));
            self.pacer.target = self.pacer.target.max(measured);
            self.meter.restart(now, 1);
        }
    }

    /// A long Retry-After is a blackout whose end is told.
    fn blackout(&mut self, now: Instant, wait: Span, rng: &mut Rng) {
        let end = now.saturating_add(wait).min(longest_hold(now));
        if let Tier::Open(_) = self.tier {
            self.epoch.restart(self.pacer.interval);
            self.tier = Tier::Blind(Habit::default());
        }
        let cycle = self.meter.cycle(end).max(Span::from_micros(1));
        let measured = match self.meter.served {
            0 => Interval::of_span(cycle).doubled(1),
            served => Interval::of_calls(cycle, served),
        };
        let mixed = if self.meter.set && self.pacer.interval > Interval::MIN {
            mix_rates(self.pacer.interval, measured, self.meter.served)
        } else {
            measured
        };
        self.pacer.interval = mixed.times(Ratio::of(33, 32));
        self.pacer.target = self.pacer.interval;
        self.epoch.settle_at(self.pacer.interval);
        self.meter.restart(end, 0);
        self.event = Event { at: end, misses: 0, previous: 4, down: self.event.down };
        self.pacer.hold_until(end, self.pacer.interval.span().min(cycle), rng);
    }

    /// The server told what is left of a period, and for how long.
    fn period(&mut self, sample: &Sample, told: Told, rng: &mut Rng) -> Move {
        let now = sample.now;
        let served = sample.outcome == Outcome::Ok;
        let mut share = match self.tier {
            Tier::Period(share) => share,
            _ => Share::new(),
        };
        let next = share.hear(now, told, served, rng);
        self.tier = Tier::Period(share);
        self.event.end();
        let before = self.pacer.interval;
        match next {
            Next::Pace(interval, draw) => {
                self.pacer.interval = interval;
                self.pacer.due_after(now, draw);
            }
            Next::Pause(interval, end) => {
                self.pacer.interval = interval;
                self.pacer.hold_until(end.min(longest_hold(now)), interval.span(), rng);
            }
        }
        if !served && sample.fresh {
            Move::Slower
        } else if self.pacer.interval < before {
            Move::Faster
        } else {
            Move::Held
        }
    }

    /// The server told how many calls are left. `None`: another rule deals with the answer.
    fn remaining(&mut self, sample: &Sample, left: u32, rng: &mut Rng) -> Option<Move> {
        let now = sample.now;
        let served = sample.outcome == Outcome::Ok;
        if let Tier::Open(open) = self.tier {
            if !served || left > 2 {
                return None;
            }
            let sending = open.interval(now, self.round_trip());
            self.pacer.interval = match quota_of(&sample.hint) {
                Some((limit, period)) => sending.max(Interval::of_calls(period, limit)).doubled(2),
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
            self.tier = Tier::Remaining(pool);
            return None;
        }
        if !sample.fresh {
            self.tier = Tier::Remaining(pool);
            return Some(Move::Held);
        }
        let bucket = match quota_of(&sample.hint) {
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
        self.meter.served = self.meter.served.saturating_add(1);
        let before = self.pacer.interval;
        self.pacer.interval = pool.steer(before, bucket, left, sample.paced);
        self.tier = Tier::Remaining(pool);
        Some(if self.pacer.interval < before { Move::Faster } else { Move::Held })
    }
}

/// No wish of a server holds a client longer than this at a time: whoever tells of next year is asked
/// again within the hour.
fn longest_hold(now: Instant) -> Instant {
    now.saturating_add(Span::from_secs(3_600))
}

/// The limit and its period, where the server tells both.
fn quota_of(hint: &Hint) -> Option<(u32, Span)> {
    let limit = u32::try_from(hint.limit?).unwrap_or(u32::MAX);
    let period = hint.period?;
    (limit > 0 && period > Span::ZERO).then_some((limit, period))
}

/// The weighted mean of two rates, given as intervals: the measured one weighs a quarter to three
/// quarters, by how much was served.
fn mix_rates(own: Interval, measured: Interval, served: u32) -> Interval {
    let weight = u64::from(served).saturating_mul(16).clamp(64, 192);
    let own = own.max(measured.times(Ratio::HALF));
    // own * 256 / (256 - weight + weight * own / measured), with the quotient in 1/2^16.
    let down = 48u32.saturating_sub(own.bits().leading_zeros().min(48)).min(16);
    let quotient = ((own.bits() >> down) << 16)
        .checked_div((measured.bits() >> down).max(1))
        .unwrap_or(1 << 16)
        .min(1 << 24);
    let divisor =
        (256u64.saturating_sub(weight) << 16).saturating_add(weight.saturating_mul(quotient));
    let ratio = Ratio::new(1 << 24, u32::try_from(divisor).unwrap_or(u32::MAX));
    own.times(ratio.unwrap_or(Ratio::ONE))
}

impl Law for Adaptive {
    type State = AdaptiveState;

    fn start(&self, now: Instant) -> AdaptiveState {
        AdaptiveState {
            pacer: Pacer::new(),
            event: Event::new(now),
            epoch: Epoch::new(),
            meter: Meter::new(now),
            tier: Tier::Open(Open::new(now)),
            round_trip: 0,
            quota: self.quota.map_or(0, |quota| {
                let limit = u32::try_from(quota.count()).unwrap_or(u32::MAX);
                epoch::eight_intervals(limit, quota.period())
            }),
        }
    }

    /// None: the law releases call by call.
    fn quota(&self, _: &AdaptiveState) -> Option<Quota> {
        None
    }

    fn interval(&self, state: &AdaptiveState, now: Instant) -> Option<Span> {
        if state.is_open() { None } else { Some(state.interval(now)) }
    }

    fn check(&self, state: &AdaptiveState, now: Instant) -> Verdict {
        if state.is_open() { state.pacer.check_hold(now) } else { state.pacer.check(now) }
    }

    fn released(&self, state: &mut AdaptiveState, _: &mut Pace, now: Instant, rng: &mut Rng) {
        let round_trip = state.round_trip();
        if let Tier::Open(open) = &mut state.tier {
            open.released(now, round_trip);
            return;
        }
        let interval = state.interval(now);
        let slots = state.has_slots();
        if slots && !state.event.is_on() && state.pacer.silence(now) > interval.saturating_mul(IDLE)
        {
            state.epoch.skip_to_acceleration();
        }
        state.pacer.advance(now, interval, slots, rng);
    }

    fn observe(
        &self,
        state: &mut AdaptiveState,
        _: &mut Pace,
        sample: &Sample,
        rng: &mut Rng,
    ) -> Move {
        state.see_round_trip(sample);
        if sample.outcome == Outcome::Failed {
            return state.miss(sample, true, rng);
        }
        let hint = &sample.hint;
        let left = hint.remaining.map(|left| u32::try_from(left).unwrap_or(u32::MAX));
        let quota = quota_of(hint);
        if let Some((limit, period)) = quota {
            state.quota = epoch::eight_intervals(limit, period);
        }
        if let (Some(remaining), Some(reset), Some((limit, period))) = (left, hint.reset, quota) {
            let told = Told { limit, period, remaining, reset: reset.min(period) };
            return state.period(sample, told, rng);
        }
        if let (Some(wait), true) = (sample.hint.retry_after, sample.outcome.is_pushback()) {
            let due = sample.fresh && !state.event.is_on();
            let own = match state.is_open() {
                true => state.round_trip(),
                false => state.pacer.interval.span(),
            };
            if due && wait > own.saturating_mul(2) && wait > Span::from_millis(500) {
                state.blackout(sample.now, wait, rng);
                return Move::Slower;
            }
        }
        if let Some(left) = left
            && let Some(moved) = state.remaining(sample, left, rng)
        {
            return moved;
        }
        if sample.outcome == Outcome::Ok {
            state.success(sample, rng)
        } else {
            state.miss(sample, false, rng)
        }
    }
}
