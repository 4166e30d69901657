//! `vegas`: as many calls in flight as the server can process, derived from their latency.

use core::num::NonZeroU16;

use super::record::record;
use crate::gate::Pacing;
use crate::law::{Law, Move, Pace, Sample};
use crate::outcome::Outcome;
use crate::rng::Rng;
use crate::snapshot::fields;
use crate::time::Instant;

/// A concurrency limit controlled by delay: it falls when the client's calls queue at the server,
/// before the queue is full and the server throttles.
///
/// It is for servers that queue. A call that a rate limit throttled ([`Outcome::Throttled`]) says
/// nothing about a queue and has no effect. Combine it with a law for rates, such as `adaptive`:
/// [`Policy::beside`](crate::Policy::beside).
///
/// # Derivation
///
/// TCP Vegas (Brakmo and Peterson, 1995) compares the round trip R with the shortest one seen, b.
/// By Little's law a client with L calls in flight has `L * (1 - b / R)` of them queued and `L * b
/// / R` in progress. Vegas keeps the first number between α and β. This law does the same, round by
/// round, with a *measured* L (the sum of the round trips of a round, divided by its duration), so
/// the number is also right if the concurrency limit does not limit the client. Differences from
/// Vegas, and from `VegasLimit` and `Gradient2Limit` of Netflix' concurrency-limits:
///
/// - **R and b are means of rounds.** The shortest single round trip of a server whose work varies
///   is a third of the mean without any queue. Compared with that, a large concurrency limit looks
///   like a queue and collapses, as `VegasLimit` does with 16 workers and one client. A round has
///   at least 32 calls, and at least four times the limit.
/// - **b allows for the error of a mean.** It is the minimum of `mean + 3/2 error` over the last 32
///   to 64 rounds, and a queue counts beyond one more `error`. The error is the calls' deviation
///   divided by √n. The deviation comes from differences of successive calls: they find nearly the
///   same queue, so the queue is not mistaken for jitter. Older rounds expire, because a route may
///   change or a server may become slower.
/// - **α grows with √L**: `max(1, 3/8 √L)` queued calls. The reserve that keeps many workers busy
///   with random arrivals grows like that (Halfin and Whitt, 1981). Because its share falls with L,
///   the larger of two clients yields first.
/// - **A cut removes the whole queue**, down to L * b / R but not below half, like FAST TCP and
///   unlike Vegas, which subtracts one. Clients of one server see the same queue at the same time,
///   so it drains for a moment, and a late client sees a b without it.
/// - **No queue for long, fast growth**: an eighth in a round with less than half of α queued, else
///   one call. It grows only if calls waited for it and half of it was in use.
/// - **Open at first.** There is no limit until a queue of more than α has also made a round a
///   quarter longer than b, or the server was [`Outcome::Busy`], or a call failed. A server that
///   does not queue never gets a limit. Until then a round counts if it has twice as many calls as
///   are in flight, because the fastest of the calls sent together complete first.
///
/// If a call is throttled as busy or fails, the limit is cut by a quarter, once until the next call
/// is served: an outage is not a queue.
///
/// # Bounds
///
/// The limit is from 1 to 16 383. A round, and thus any latency that a broken clock can show, at
/// most halves it, or adds at most an eighth. A b that was too small expires within 64 rounds. If
/// many clients keep a queue for longer than that, a part of it counts as round trip, as with any
/// Vegas, and the queue may grow until the server throttles. Each client has at least one call in
/// flight, so many clients can cause a queue of one call each.
///
/// ```
/// use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy, law::Vegas};
///
/// let mut gate: Controller<Vegas> = Controller::new(Policy::new(Vegas), 7, Instant::ZERO);
/// // Four callers and a server with one worker: from 10 ms a call to 40 ms, for all stand in line.
/// let mut now = Instant::ZERO;
/// let mut out = std::collections::VecDeque::new();
/// for call in 0..1_000 {
///     let callers = if call < 100 { 1 } else { 4 };
///     while out.len() < callers && let Decision::Admit(permit) = gate.poll(now, &Call::new()) {
///         out.push_back(permit);
///     }
///     now = Instant::from_nanos(now.as_nanos() + 10_000_000);
///     gate.settle(now, out.pop_front().unwrap(), Outcome::Ok);
/// }
/// assert!(out.len() <= 2);
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Vegas;

/// The state of [`Vegas`], at most 48 bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct VegasState {
    round: Round,
    base: Base,
    /// While open, the calls in flight in the latest round. Zero before the first.
    concurrency: u16,
    open: bool,
    /// Whether a throttled call had an effect and none was served since.
    throttled: bool,
}

const _: () = assert!(size_of::<VegasState>() <= 48);

/// The fewest calls in a round.
const ROUND: u16 = 32;
/// The most calls in flight: a quarter of what can be counted.
const MOST: u16 = u16::MAX / 4;
/// After this many rounds the base is renewed.
const ROUNDS: u8 = 32;

/// The calls since the end of the latest round. Times are in microseconds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Round {
    began: Instant,
    sum: u64,
    /// The sum of the differences between successive calls.
    differences: u64,
    latest: u32,
    calls: u16,
    /// Whether any of its calls waited for the concurrency limit.
    rate_limited: bool,
}

/// The result of a round. Calls have 8 bits of fraction.
struct Reading {
    mean: u64,
    /// The random error of the mean.
    error: u64,
    /// Microseconds.
    took: u64,
    calls: u64,
}

impl Round {
    const fn new(now: Instant) -> Self {
        Self { began: now, sum: 0, differences: 0, latest: 0, calls: 0, rate_limited: false }
    }

    fn add(&mut self, sample: &Sample<'_>) {
        let micros = (sample.now - sample.sent).as_nanos() / 1_000;
        let micros = u32::try_from(micros).unwrap_or(u32::MAX);
        if self.calls == 0 {
            // Time without calls in flight does not belong to the round.
            self.began = self.began.max(sample.sent);
        } else {
            let difference = u64::from(micros.abs_diff(self.latest));
            self.differences = self.differences.saturating_add(difference);
        }
        self.latest = micros;
        self.sum = self.sum.saturating_add(micros.into());
        self.calls = self.calls.saturating_add(1);
        self.rate_limited |= sample.rate_limited;
    }

    /// `None` if the clock has not advanced.
    fn read(&self, now: Instant) -> Option<Reading> {
        let took = (now - self.began).as_nanos() / 1_000;
        let calls = u64::from(self.calls);
        let mean = self.sum.checked_div(calls)?;
        let deviation = self.differences.checked_div(calls.checked_sub(1)?)?;
        // Sixteen times the root, for four bits of fraction.
        let root = (u32::from(self.calls) << 8).isqrt();
        let error = deviation.saturating_mul(16).checked_div(root.into())?;
        (took > 0).then_some(Reading { mean, error, took, calls })
    }
}

impl Reading {
    /// The mean number of calls in flight over this time.
    fn in_flight(&self, micros: u64) -> u64 {
        // Below 2^56: calls have 16 bits, and latencies 32.
        let time = self.calls.saturating_mul(micros) << 8;
        time.checked_div(self.took).unwrap_or(0)
    }
}

/// The round trip without a queue: the minimum of the current and the previous period.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Base {
    before: u32,
    latest: u32,
    rounds: u8,
}

impl Base {
    const fn new() -> Self {
        Self { before: u32::MAX, latest: u32::MAX, rounds: 0 }
    }

    fn learn(&mut self, reading: &Reading) -> u64 {
        if self.rounds >= ROUNDS {
            *self = Self { before: self.latest, ..Self::new() };
        }
        self.rounds = self.rounds.saturating_add(1);
        let at_most = reading.mean.saturating_add(reading.error.saturating_mul(3) / 2);
        self.latest = self.latest.min(u32::try_from(at_most).unwrap_or(u32::MAX));
        self.latest.min(self.before).into()
    }
}

impl VegasState {
    fn close_to(&mut self, concurrency: u16) -> Move {
        let concurrency = concurrency.clamp(1, MOST);
        let moved = self.open || concurrency < self.concurrency;
        self.open = false;
        self.concurrency = concurrency;
        if moved { Move::Slower } else { Move::Kept }
    }

    fn throttle(&mut self, now: Instant) -> Move {
        if self.throttled || self.concurrency == 0 {
            return Move::Kept;
        }
        self.throttled = true;
        self.round = Round::new(now);
        self.close_to(self.concurrency.saturating_mul(3) / 4)
    }

    /// Handles the end of a round.
    fn judge(&mut self, reading: &Reading, rate_limited: bool) -> Move {
        let in_flight = reading.in_flight(reading.mean);
        if self.open {
            self.concurrency = whole(in_flight);
            // The fastest of the calls sent together complete first.
            if reading.calls << 8 < in_flight.saturating_mul(2) {
                return Move::Kept;
            }
        }
        let base = self.base.learn(reading);
        let under_way = reading.in_flight(base).min(in_flight);
        let in_line = in_flight.saturating_sub(under_way);
        let root = u64::from(u32::try_from(in_flight).unwrap_or(u32::MAX).isqrt()) << 4;
        let alpha = (root.saturating_mul(3) / 8).max(1 << 8);
        let allowed = alpha.saturating_add(reading.in_flight(reading.error));
        if in_line > allowed {
            if self.open && reading.mean <= base.saturating_add(base / 4) {
                return Move::Kept;
            }
            let fewer = self.concurrency.saturating_sub(1);
            return self.close_to(whole(under_way).max(self.concurrency / 2).min(fewer));
        }
        let in_use = in_flight.saturating_mul(2) >= u64::from(self.concurrency) << 8;
        if self.open || !rate_limited || !in_use || self.concurrency >= MOST {
            return Move::Kept;
        }
        let step =
            if in_line.saturating_mul(2) < allowed { (self.concurrency / 8).max(1) } else { 1 };
        self.concurrency = self.concurrency.saturating_add(step).min(MOST);
        Move::Faster
    }
}

/// Calls rounded up to a whole number.
fn whole(calls: u64) -> u16 {
    u16::try_from(calls.saturating_add(255) >> 8).unwrap_or(u16::MAX).min(MOST)
}

impl Law for Vegas {
    type State = VegasState;

    fn start(&self, now: Instant) -> VegasState {
        let (round, base) = (Round::new(now), Base::new());
        VegasState { round, base, concurrency: 0, open: true, throttled: false }
    }

    #[inline(always)]
    fn pace(&self, state: &VegasState, _: Instant, _: u16, _: bool) -> Pace {
        let concurrency = if state.open { None } else { NonZeroU16::new(state.concurrency) };
        Pace { concurrency, ..Pace::UNLIMITED }
    }

    fn observe(
        &self,
        state: &mut VegasState,
        _: &mut Pacing,
        sample: &Sample<'_>,
        _: &mut Rng,
    ) -> Move {
        if !sample.fresh {
            return Move::Kept;
        }
        match sample.outcome {
            Outcome::Ok => state.throttled = false,
            Outcome::Busy | Outcome::Failed => return state.throttle(sample.now),
            Outcome::Throttled | Outcome::Abandoned | Outcome::Exhausted => return Move::Kept,
        }
        state.round.add(sample);
        if state.round.calls < state.concurrency.saturating_mul(4).max(ROUND) {
            return Move::Kept;
        }
        let round = core::mem::replace(&mut state.round, Round::new(sample.now));
        match round.read(sample.now) {
            Some(reading) => state.judge(&reading, round.rate_limited),
            None => Move::Kept,
        }
    }
}

// After an unknown time, the round and the base say nothing about the path.
fields!(VegasState { concurrency: u16, open: bool, throttled: bool } else |now| {
    round: Round::new(now),
    base: Base::new(),
});
record!(Vegas, VegasState where |_law, state| state.concurrency <= MOST);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;
    use std::vec::Vec;

    /// A client with a clock, and a server whose calls take this long without a queue.
    struct Life {
        state: VegasState,
        now: u64,
        rng: Rng,
    }

    impl Life {
        fn new() -> Self {
            Self { state: Vegas.start(Instant::ZERO), now: 3_600_000_000, rng: Rng::new(1) }
        }

        fn concurrency(&self) -> Option<u16> {
            Vegas.pace(&self.state, Instant::ZERO, 0, false).concurrency.map(NonZeroU16::get)
        }

        fn come_back(&mut self, micros: u64, outcome: Outcome, rate_limited: bool) -> Move {
            let now = Instant::from_nanos(self.now * 1_000);
            let sent = Instant::from_nanos(self.now.saturating_sub(micros) * 1_000);
            let sample = Sample { rate_limited, ..Sample::new(now, sent, outcome) };
            Vegas.observe(&mut self.state, &mut Pacing::new(now), &sample, &mut self.rng)
        }

        /// Makes this many calls, `in_flight` at a time (or as many as the concurrency limit
        /// admits), each as long as `latency` says for the calls in flight.
        fn run(&mut self, calls: u32, in_flight: u16, latency: impl Fn(u64, &mut Rng) -> u64) {
            for _ in 0..calls {
                let concurrency = self.concurrency().unwrap_or(u16::MAX);
                let flying = u64::from(in_flight.min(concurrency));
                let micros = latency(flying, &mut self.rng);
                self.now += micros / flying;
                self.come_back(micros, Outcome::Ok, concurrency <= in_flight);
            }
        }
    }

    /// 100 ms with up to ten calls in flight, and proportionally longer beyond.
    fn ten(in_flight: u64, _: &mut Rng) -> u64 {
        in_flight.max(10) * 10_000
    }

    #[test]
    fn a_client_alone_on_a_server_of_ten_keeps_about_ten_in_flight() {
        let mut life = Life::new();
        life.run(100, 5, ten);
        assert_eq!(life.concurrency(), None, "no limit before there is a queue");
        life.run(20_000, 100, ten);
        let limits: Vec<u16> = (0..200)
            .map(|_| {
                life.run(20, 100, ten);
                life.concurrency().unwrap()
            })
            .collect();
        assert!(limits.iter().all(|concurrency| (9..=13).contains(concurrency)), "{limits:?}");
    }

    #[test]
    fn varying_latency_without_a_queue_has_no_effect() {
        // From 50 to 650 ms. With more calls in flight, runs of luck can be longer.
        let jitter = |_, rng: &mut Rng| {
            let draw = rng.between(Span::ZERO, Span::from_micros(300_000)).as_nanos() / 1_000;
            let other = rng.between(Span::ZERO, Span::from_micros(300_000)).as_nanos() / 1_000;
            50_000 + draw + other
        };
        for in_flight in [1, 3, 10, 100] {
            let mut life = Life::new();
            life.run(50_000, in_flight, jitter);
            assert_eq!(life.concurrency(), None, "{in_flight} in flight");
            // After a failure sets a limit, it grows to what is used, and stays there.
            life.come_back(100_000, Outcome::Failed, false);
            life.run(100_000, in_flight, jitter);
            let concurrency = life.concurrency().unwrap();
            assert!(concurrency * 2 > in_flight, "{concurrency} for {in_flight}");
        }
    }

    #[test]
    fn the_fastest_of_a_hundred_calls_sent_together_are_not_the_base() {
        let mut life = Life::new();
        life.run(32, 100, |_, _| 50_000);
        life.run(5_000, 100, |_, _| 100_000);
        assert_eq!(life.concurrency(), None);
    }

    #[test]
    fn a_slower_server_or_a_longer_route_is_learned_within_two_periods() {
        for factor in [2, 5] {
            let mut life = Life::new();
            life.run(100, 5, ten);
            life.run(5_000, 100, ten);
            let before = life.concurrency().unwrap();
            // As many calls fit into the longer path as into the shorter one, times the factor.
            let far = |in_flight: u64, _: &mut Rng| in_flight.max(10 * factor) * 10_000;
            life.run(20_000, 100, far);
            let concurrency = u64::from(life.concurrency().unwrap());
            assert!(concurrency >= 8 * factor, "from {before} to {concurrency}, factor {factor}");
        }
    }

    #[test]
    fn the_error_of_a_mean_is_that_of_the_differences_between_calls() {
        let at = |micros: u64| Instant::from_nanos(micros * 1_000);
        let mut round = Round::new(at(0));
        for (now, sent) in [(10_000, 0), (20_000, 0)] {
            round.add(&Sample::new(at(now), at(sent), Outcome::Ok));
        }
        // One difference of 10 ms, divided by the root of two.
        let reading = round.read(at(20_000)).unwrap();
        assert_eq!((reading.mean, reading.error), (15_000, 7_272));
    }

    #[test]
    fn an_extreme_round_trip_at_most_halves_the_limit() {
        let mut life = Life::new();
        life.run(100, 5, ten);
        life.run(5_000, 100, ten);
        let before = life.concurrency().unwrap();
        // The clock jumps by a year: all calls in flight seem to have taken that long.
        life.now += 31_536_000_000_000;
        life.come_back(u64::MAX, Outcome::Ok, true);
        life.run(u32::from(before) * 4, 100, ten);
        let hurt = life.concurrency().unwrap();
        assert!(hurt >= before / 2 && hurt <= before + 1, "from {before} to {hurt}");
        life.run(20_000, 100, ten);
        assert!((9..=13).contains(&life.concurrency().unwrap()));
    }
}
