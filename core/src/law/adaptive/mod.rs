//! `adaptive`: one law for every rate, and for whatever the server tells.

mod blind;
mod cost;
mod epoch;
mod event;
mod interval;
mod meter;
mod octaves;
mod open;
mod pacer;
mod period;
mod record;
mod remaining;
mod retry_after;

use cost::Usual;
use epoch::{Epoch, Habit};
use event::Event;
use interval::Interval;
use meter::Meter;
use octaves::Octaves;
use open::Open;
use pacer::Pacer;
use period::{Share, Told};
use remaining::Pool;

use crate::gate::Pace;
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
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
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
/// law.released(&mut state, &mut pace, start, 1, &mut rng);
/// assert_eq!(law.interval(&state, start), None);
/// let now = Instant::from_nanos(100_000_000);
/// let refused = Sample::new(now, start, Outcome::Throttled);
/// assert_eq!(law.observe(&mut state, &mut pace, &refused, &mut rng), Move::Slower);
/// // One call had left in 100 ms; refused at the very first, the law halves that rate.
/// let interval = law.interval(&state, now).unwrap();
/// assert_eq!((interval.as_nanos() + 500_000) / 1_000_000, 200);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AdaptiveState {
    pacer: Pacer,
    event: Event,
    epoch: Epoch,
    meter: Meter,
    tier: Tier,
    usual: Usual,
    /// The smoothed round trip in 1024 ns, for a division by 1000 is a long one where the hardware has
    /// none; zero before the first answer.
    round_trip: u32,
    /// log2 of twenty intervals of the limit that all clients share; zero where it is not known.
    quota: i16,
}

const _: () = assert!(size_of::<AdaptiveState>() <= 128);

/// What the law may use, and what it keeps for that.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
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

/// What the tiers see of a call that has come back.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Call {
    now: Instant,
    cost: u32,
    outcome: Outcome,
    fresh: bool,
    paced: bool,
}

/// After 64 intervals of silence a client begins its grid anew.
const IDLE_LOG2: u32 = 6;

impl AdaptiveState {
    fn round_trip(&self) -> Span {
        Span::from_nanos(u64::from(self.round_trip) << 10)
    }

    fn see_round_trip(&mut self, took: Span) {
        let latest = u32::try_from(took.as_nanos() >> 10).unwrap_or(u32::MAX);
        self.round_trip = match self.round_trip {
            0 => latest,
            before if latest > before => before.saturating_add((latest.abs_diff(before)) / 16),
            before => before.saturating_sub((latest.abs_diff(before)) / 16),
        };
    }

    /// A call leaves: what a usual call is may change, and with it all that is counted in them.
    fn see_cost(&mut self, cost: u32) {
        let octaves = self.usual.see(cost);
        if octaves == 0 {
            return;
        }
        self.pacer.interval = self.pacer.interval.rescaled(octaves);
        self.pacer.target = self.pacer.target.rescaled(octaves);
        self.epoch.rescale(octaves);
        self.meter.served = cost::rescaled(self.meter.served, octaves);
        if self.quota != 0 {
            let moved = octaves.saturating_mul(256);
            self.quota = octaves::clip(Octaves::from(self.quota).saturating_add(moved).max(1));
        }
        match &mut self.tier {
            Tier::Open(open) => open.rescale(octaves),
            Tier::Period(share) => share.rescale(octaves),
            Tier::Remaining(pool) => pool.rescale(octaves),
            Tier::Blind(_) => {}
        }
    }

    /// Whether a reset tells of a period that the server does not state. None or a whole
    /// second may stand for any time up to that, for most servers have no shorter words.
    fn is_periodic(&self, reset: Span) -> bool {
        matches!(self.tier, Tier::Period(_)) || (reset != SHORTEST_WISH && reset != Span::ZERO)
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

    /// Leaves a long silence that ends now out of what was measured; whether there was one.
    fn leave_out_silence(&mut self, now: Instant, interval: Span) -> bool {
        let silence = self.pacer.silence(now);
        let long = silence.halved(IDLE_LOG2) > interval;
        if long {
            self.meter.skip(silence, now);
        }
        long
    }

    fn back_off(&mut self, now: Instant, rng: &mut Rng) {
        let interval = self.interval(now);
        self.pacer.back_off(now, interval, rng);
    }
}

/// One second is the shortest wish that most servers can utter, so it may stand for any wait up to
/// that: on a bucket that refills 60 times a second it tells nothing of a period.
const SHORTEST_WISH: Span = Span::from_secs(1);

/// No call that took more than it was charged for keeps the next one back for longer.
const LONGEST_DEBT: Span = Span::from_secs(86_400);

/// No wish of a server holds a client longer than this at a time, but for the spread of a fleet, which
/// is no longer either: whoever tells of next year is asked again.
const LONGEST_HOLD: Span = Span::from_secs(3_600);

/// Whatever a server tells of its limit, a client calls about once a day.
const LONGEST_TOLD: Interval = Interval::of_span(Span::from_secs(86_400));

fn longest_hold(now: Instant) -> Instant {
    now.saturating_add(LONGEST_HOLD)
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
            usual: Usual::new(),
            round_trip: 0,
            quota: self.quota.map_or(0, |quota| {
                let limit = u32::try_from(quota.count()).unwrap_or(u32::MAX);
                epoch::anchor_of_quota(limit, quota.period())
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

    fn released(
        &self,
        state: &mut AdaptiveState,
        _: &mut Pace,
        now: Instant,
        cost: u32,
        rng: &mut Rng,
    ) {
        state.see_cost(cost);
        let round_trip = state.round_trip();
        if let Tier::Open(open) = &mut state.tier {
            open.released(now, state.usual.parts_of(cost), round_trip);
            return;
        }
        let interval = state.usual.interval_of(cost, state.interval(now));
        let slots = state.has_slots();
        if state.leave_out_silence(now, interval) {
            // Without what is caught up after a short gap: those whom the same event wakes would send
            // several calls each, and a refusal of these tells nothing of the rate.
            state.pacer.begin(now);
        }
        state.pacer.advance(now, interval, slots, rng);
    }

    fn corrected(&self, state: &mut AdaptiveState, now: Instant, charged: u32, used: u32) {
        if state.is_open() {
            return;
        }
        let difference = state.usual.interval_of(charged.abs_diff(used), state.interval(now));
        if used > charged {
            state.pacer.postpone(difference.min(LONGEST_DEBT));
        } else {
            state.pacer.advance_by(now, difference);
        }
    }

    #[cfg_attr(
        any(target_arch = "arm", target_arch = "riscv32", target_arch = "wasm32"),
        inline(never)
    )]
    fn observe(
        &self,
        state: &mut AdaptiveState,
        _: &mut Pace,
        sample: &Sample<'_>,
        rng: &mut Rng,
    ) -> Move {
        let Sample { now, sent, cost, outcome, fresh, paced, .. } = *sample;
        let call = &Call { now, cost, outcome, fresh, paced };
        state.see_round_trip(now.saturating_since(sent));
        if sample.outcome == Outcome::Failed {
            state.untold(sent, now, rng);
            return state.miss(call, true, rng);
        }
        let hint = sample.hint;
        let left = hint.remaining.map(|left| state.usual.calls_in(left));
        let limit = hint.limit.map(|limit| state.usual.calls_in(limit));
        // Where the server tells both.
        let quota =
            limit.zip(hint.period).filter(|(limit, period)| *limit > 0 && *period > Span::ZERO);
        if let Some((limit, period)) = quota {
            state.quota = epoch::anchor_of_quota(limit, period);
        }
        if let (Some(remaining), Some(reset), Some(limit @ 1..)) = (left, hint.reset, limit)
            && (hint.period.is_some() || state.is_periodic(reset))
        {
            let name = u32::try_from(hint.limit.unwrap_or(0)).unwrap_or(u32::MAX);
            let retry_after = hint.retry_after.filter(|_| outcome.is_pushback());
            let told = Told { name, limit, period: hint.period, remaining, reset, retry_after };
            return state.period(call, told, sample.told_at(), rng);
        }
        state.untold(sent, now, rng);
        if let (Some(wait), true) = (sample.hint.retry_after, sample.outcome.is_pushback()) {
            // What is left of it: whoever leases lives ahead of the server.
            let wait = sample.told_at().saturating_add(wait).saturating_since(now);
            let due = sample.fresh && !state.event.is_on();
            let own = match state.is_open() {
                true => state.round_trip(),
                false => state.pacer.interval.span(),
            };
            if due && wait > own.saturating_add(own) && wait > SHORTEST_WISH {
                state.blackout(sample.now, wait, rng);
                return Move::Slower;
            }
        }
        if let Some(left) = left
            && let Some(moved) = state.remaining(call, left, quota, rng)
        {
            return moved;
        }
        if sample.outcome == Outcome::Ok {
            state.success(call, rng)
        } else {
            state.miss(call, false, rng)
        }
    }
}
