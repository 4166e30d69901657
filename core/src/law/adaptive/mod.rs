//! `adaptive`: one law for every rate and every hint.

mod blind;
mod cooldown;
mod cost;
mod hinted;
mod log;
mod meter;
mod noise;
mod open;
mod paced;
mod places;
mod probe;
mod state;

use core::num::NonZeroU16;

pub use hinted::Basis;

use cost::Usual;
use hinted::Hinted;
use log::Log;
use meter::Meter;
use open::Open;
use paced::Paced;
use places::Places;
use state::{DARK, Phase, Rate, Run, Server, Suspect};

use crate::fixed::Ratio;
use crate::gate::Pacing;
use crate::law::{Law, Move, Pace, Sample, Sent};
use crate::mean_cost::MeanCost;
use crate::outcome::Outcome;
use crate::rate::Quota;
use crate::rng::Rng;
use crate::time::{Instant, LATENESS, Span};

#[doc = include_str!("../../../docs/adaptive.md")]
///
/// # Example
///
/// ```
/// use tidegate::{Call, Controller, Decision, Hint, Instant, Outcome, Policy, law::Adaptive};
///
/// let mut gate: Controller<Adaptive> =
///     Controller::new(Policy::new(Adaptive::DEFAULT), 7, Instant::ZERO);
/// // Open: nothing waits for a rate before the first rejection.
/// let now = Instant::from_nanos(1);
/// let Decision::Admit(first) = gate.poll(now, &Call::new()) else { panic!() };
/// let Decision::Admit(second) = gate.poll(now, &Call::new()) else { panic!() };
/// let later = Instant::from_nanos(100_000_000);
/// gate.settle(later, first, Outcome::Ok);
/// // The server says that no call is left. (Without that, another rejection has to confirm the first:
/// // the server may reject this one call each time.)
/// gate.settle(later, second, Outcome::Throttled.with(Hint::remaining(0)));
/// assert!(matches!(gate.poll(later, &Call::new()), Decision::Wait(_)));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Adaptive {
    quota: Option<Quota>,
    /// In 2^-12.
    tolerance: u16,
}

impl Default for Adaptive {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Adaptive {
    /// The law without a known limit.
    pub const DEFAULT: Self = Self { quota: None, tolerance: 64 };

    /// The law with a known limit that all clients share. From the first call on, the pacing enforces this limit,
    /// including its burst. The client's share may be smaller, and is learned.
    #[must_use]
    pub const fn with_quota(quota: Quota) -> Self {
        Self { quota: Some(quota), ..Self::DEFAULT }
    }

    /// The law for a server that rejects up to this share of calls whatever the rate, at random or because other
    /// clients of its limit never slow down. The law measures the share, and then slows down less for it: little if it
    /// is about one in a hundred. At most an eighth; [`DEFAULT`](Self::DEFAULT) has 1/64.
    ///
    /// Where the rate is the cause, up to this share may be rejected in addition, in return for a rate that is higher
    /// by as much.
    ///
    /// ```
    /// use tidegate::{Policy, Ratio, law::Adaptive};
    ///
    /// let beside_strangers = Adaptive::DEFAULT.tolerance(Ratio::new(1, 8).unwrap());
    /// let policy = Policy::adaptive().limits([beside_strangers]);
    /// # assert_ne!(policy.laws(), Policy::adaptive().laws());
    /// ```
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "it fits")]
    pub const fn tolerance(self, share: Ratio) -> Self {
        let share = share.floor_of_small(1 << 12);
        let tolerance = if share < noise::MOST as u64 { share as u16 } else { noise::MOST };
        Self { tolerance, ..self }
    }

    /// The interval of the configured quota; zero if there is none.
    fn shortest(&self, state: &AdaptiveState) -> Log {
        self.quota.map_or(Log::ZERO, |quota| {
            let unit = Log::of_span(quota.interval());
            state.usual.of_call(unit).clamp(Log::ZERO, SLOWEST)
        })
    }
}

/// What [`Adaptive`] remembers: 152 bytes at most.
///
/// ```
/// use tidegate::law::{Adaptive, AdaptiveState, Law, Move, Sample, Sent};
/// use tidegate::{Hint, Instant, Outcome, Rng, Span, gate::Pacing};
///
/// let (law, start) = (Adaptive::DEFAULT, Instant::ZERO);
/// let (mut state, mut pacing, mut rng): (AdaptiveState, _, _) =
///     (law.start(start), Pacing::new(start), Rng::new(1));
/// // It has no rate before the first rejection: no interval, and nothing that waits.
/// law.sent(&mut state, &Sent::new(start), &mut rng);
/// assert_eq!(law.interval(&state, start, None), None);
/// let now = Instant::from_nanos(100_000_000);
/// let (mut rejected, none_left) = (Sample::new(now, start, Outcome::Throttled), Hint::remaining(0));
/// rejected.hint = &none_left;
/// assert_eq!(law.observe(&mut state, &mut pacing, &rejected, &mut rng), Move::Slower);
/// // One call was sent in 100 ms. It was rejected, so the law begins at three sevenths of that rate.
/// let interval = law.interval(&state, now, None).unwrap();
/// assert_eq!((interval.as_nanos() + 500_000) / 1_000_000, 233);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AdaptiveState {
    phase: Phase,
    meter: Meter,
    /// End of the present interval; while open, the start of the present block of calls.
    interval_end: Instant,
    /// The earliest time of the next retry, by pacing or a cooldown.
    release: Instant,
    /// The learned time between two usual calls.
    interval: Log,
    /// Start of the latest congestion event; while open, the start of the doubling of slow start.
    event_at: Instant,
    /// The smoothed round trip, in units of 1024 ns; zero before the first response.
    round_trip: u32,
    /// The policy's longest cooldown, coarsely, as of the latest response that was more than a
    /// success.
    ceiling: i16,
    run: Run,
    /// Misses of retries since the last retry was served, and how often they double the time to the next
    /// one.
    own: u8,
    suspect: Suspect,
    /// Three for each rejection of a first attempt (24 if it says that enough is left) and six for each of a retry of a
    /// call that is served at last, less one for each success. Once there is a rate, only what says that enough is left.
    score: u8,
    /// The same for a call that has not been tried, which the failures of another call do not delay.
    /// While open, when the latest call was sent.
    fresh_at: Instant,
    /// When the first miss of the latest run arrived.
    missed_at: Instant,
    mean: MeanCost,
    usual: Usual,
    places: Places,
    hinted: Hinted,
}

const _: () = assert!(size_of::<AdaptiveState>() <= 152);

/// The longest interval, about 52 days: that of sixty clients that share one call per day.
const SLOWEST: Log = Log::ZERO.octaves(52);

impl AdaptiveState {
    const fn is_open(&self) -> bool {
        !matches!(self.phase, Phase::Paced(_))
    }

    fn round_trip(&self) -> Span {
        Span::from_nanos(u64::from(self.round_trip) << 10)
    }

    fn see_round_trip(&mut self, took: Span) {
        let latest = u32::try_from(took.as_nanos() >> 10).unwrap_or(u32::MAX);
        let change = latest.abs_diff(self.round_trip) / 16;
        self.round_trip = match self.round_trip {
            0 => latest,
            before if latest > before => before.saturating_add(change),
            before => before.saturating_sub(change),
        };
    }

    fn ceiling(&self) -> Log {
        Log::of_coarse(self.ceiling.into())
    }

    /// The present time between two usual calls. A share is never more than the whole quota.
    fn interval(&self, now: Instant) -> Log {
        self.doubled(self.doublings(self.run.calls), now).max(self.quota())
    }

    /// The earliest time of a call: zero for at once.
    fn due(&self, now: Instant, in_flight: u16, is_retry: bool) -> Instant {
        let release = if is_retry { self.release } else { self.fresh_at };
        let is_due = release <= now || self.has_room(in_flight);
        if is_due { Instant::ZERO } else { release }
    }

    /// How many calls may be in flight.
    fn concurrency(&self, now: Instant) -> Option<NonZeroU16> {
        let since = now - self.event_at;
        let (limit, left) = match &self.phase {
            Phase::Open(open) => {
                let limit = open.limit(since);
                let starts = limit.is_some() && open.cap.is_none();
                (limit, self.hinted.calls_left(open.refilled, starts))
            }
            Phase::Cooldown(_) => return Some(NonZeroU16::MIN),
            Phase::Paced(paced) => {
                let search = paced.wide().and_then(|wide| open::limit(wide, since));
                (search, self.places.limit())
            }
        };
        match (limit, left) {
            (Some(limit), Some(left)) => Some(limit.min(left)),
            (limit, left) => limit.or(left),
        }
    }

    fn widens_at(&self, now: Instant) -> Option<Instant> {
        let after = open::doubles_after(now - self.event_at)?;
        Some(self.event_at + after)
    }

    /// After a silence of 16 calls or more, the silence is excluded from the measurement. After a long one, nothing is
    /// made up, because clients woken by the same event would otherwise each send several calls.
    fn leave_out_silence(&mut self, now: Instant) {
        let round_trip = self.round_trip();
        match &mut self.phase {
            Phase::Open(open) => {
                let silence = now - self.fresh_at;
                let usual = open.interval(self.interval_end, self.fresh_at, round_trip);
                if open.is_silence(silence, usual, round_trip) {
                    self.meter = Meter::new(now);
                    open.measure_again();
                } else if open.is_new() && self.meter.is_empty() {
                    // The first call.
                    self.meter = Meter::new(now);
                    self.event_at = now;
                }
            }
            Phase::Paced(_) => {
                let silence = now - self.interval_end.max(self.release);
                // A timer that is late is no silence, however fast the calls are.
                let interval = self.interval(now);
                if silence > LATENESS && silence > interval.octaves(4).span() {
                    self.meter.skip(silence, now);
                    if silence > interval.octaves(6).span() {
                        self.interval_end = now;
                    }
                }
            }
            Phase::Cooldown(_) => {}
        }
    }

    /// A call is sent: updates the usual cost, and with it the interval.
    fn see_cost(&mut self, cost: u32) {
        let octaves = self.usual.see(&mut self.mean, cost);
        if octaves == 0 {
            return;
        }
        match &mut self.phase {
            Phase::Open(open) | Phase::Cooldown(open) => open.rescale(octaves),
            Phase::Paced(paced) => {
                self.interval = self.interval.octaves(octaves).min(SLOWEST);
                paced.target = paced.target.octaves(octaves).min(SLOWEST);
                paced.noise.rescale(octaves);
            }
        }
    }
}

impl Law for Adaptive {
    type State = AdaptiveState;

    fn start(&self, now: Instant) -> AdaptiveState {
        AdaptiveState {
            phase: Phase::Open(Open::new()),
            meter: Meter::new(now),
            interval_end: now,
            release: Instant::ZERO,
            interval: Log::ZERO,
            event_at: now,
            round_trip: 0,
            ceiling: i16::MAX,
            run: Run::NONE,
            own: 0,
            suspect: Suspect::None,
            score: 0,
            fresh_at: Instant::ZERO,
            missed_at: now,
            mean: MeanCost::default(),
            usual: Usual::default(),
            places: Places::new(),
            hinted: Hinted::new(),
        }
    }

    /// The configured quota is the pacing's. What is learned is not part of it: the law releases individual calls.
    #[inline(always)]
    fn pace(&self, state: &AdaptiveState, now: Instant, in_flight: u16, is_retry: bool) -> Pace {
        Pace {
            quota: self.quota,
            not_before: state.due(now, in_flight, is_retry),
            rejection: None,
            concurrency: state.concurrency(now),
            widens_at: state.widens_at(now),
        }
    }

    fn interval(&self, state: &AdaptiveState, now: Instant, cost: Option<u32>) -> Option<Span> {
        if state.is_open() {
            return None;
        }
        let usual = state.interval(now);
        Some(cost.map_or(usual, |cost| state.usual.interval_of(cost, usual)).span())
    }

    fn shorten(&self, state: &mut AdaptiveState, latest: Instant) {
        state.release = state.release.min(latest);
        state.fresh_at = state.fresh_at.min(latest);
        state.interval_end = state.interval_end.min(latest);
    }

    fn sent(&self, state: &mut AdaptiveState, sent: &Sent, rng: &mut Rng) {
        let &Sent { now, cost, attempt, .. } = sent;
        state.see_cost(cost);
        state.leave_out_silence(now);
        let round_trip = state.round_trip();
        let shortest = self.shortest(state);
        if let Phase::Open(open) = &mut state.phase {
            // The program may call far more often than before. What was served during its light use says nothing about
            // the limit.
            let rises = open.rises(now - state.fresh_at, round_trip);
            if rises && open.limit(now - state.event_at).is_none() && !open.together {
                state.meter = Meter::new(now);
                open.measure_again();
            }
            open.send(&mut state.interval_end, now, round_trip);
        }
        if let Phase::Paced(paced) = &mut state.phase {
            // A faster rate was never tried.
            paced.target = paced.target.max(shortest);
            state.interval = state.interval.max(shortest);
            state.advance(sent, rng);
        } else {
            state.fresh_at = now;
            state.release = state.release.max(state.fresh_at);
            if attempt > 0 && state.suspect == Suspect::Throttled {
                // If this retry is served, the limit was the cause. Until then, another one says no more.
                state.release = state.release.max(now + round_trip);
            }
            if state.run.server == Server::Outage {
                state.back_off(now, Span::ZERO, 0, rng);
            }
        }
        if attempt > 0 && state.own > 0 {
            state.delay_retries(now, Span::ZERO, attempt, rng);
        }
    }

    fn corrected(&self, state: &mut AdaptiveState, now: Instant, charged: u32, used: Option<u32>) {
        let used = used.unwrap_or(0);
        if state.is_open() || charged == used {
            return;
        }
        let difference = charged.abs_diff(used);
        let span = state.usual.interval_of(difference, state.interval(now)).span();
        state.shift(now, span, used > charged);
    }

    #[cfg_attr(
        any(target_arch = "arm", target_arch = "riscv32", target_arch = "wasm32"),
        inline(never)
    )]
    fn observe(
        &self,
        state: &mut AdaptiveState,
        _: &mut Pacing,
        sample: &Sample<'_>,
        rng: &mut Rng,
    ) -> Move {
        let now = sample.now;
        let served = sample.outcome == Outcome::Ok;
        state.score = state.score.saturating_sub(served.into());
        if served {
            state.see_round_trip(now - sample.sent);
        }
        state.event_at = if state.is_open() { state.event_at.min(now) } else { state.event_at };
        if served {
            match &mut state.phase {
                Phase::Open(open) => open.serve(sample.in_flight),
                Phase::Paced(paced) => state.places.serve(sample.in_flight, paced.probe.successes),
                Phase::Cooldown(_) => {}
            }
        }
        // Most responses of most servers contain no hints.
        let tells = sample.hint.describes_limit() || state.hinted.knows();
        if !served || tells {
            // Rounded down, and down again, because a logarithm may convert back to slightly more.
            let ceiling = Log::of_span(sample.ceiling).coarse().saturating_sub(1);
            state.ceiling = i16::try_from(ceiling).unwrap_or(i16::MAX);
        }
        let confirmed = state.confirm(sample);
        let or_slower = |moved| if confirmed { Move::Slower } else { moved };
        if sample.outcome == Outcome::Failed {
            return or_slower(state.fail(sample, rng));
        }
        if tells {
            state.hear(sample);
        }
        if served {
            return or_slower(state.success(sample, confirmed, rng));
        }
        if let Some(wait) = sample.hint.cooldown()
            && sample.fresh
        {
            // The rest of the wait: responses of leased calls are processed late.
            let wait = sample.hinted_at() + wait - now;
            if let Some(moved) = state.cool_down(sample, wait, rng) {
                return moved;
            }
        }
        or_slower(state.reject(sample, self.tolerance, rng))
    }
}
