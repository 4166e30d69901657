//! Learning from rejections and successes without hints.

use core::num::NonZeroU8;

use super::hinted::{BELOW, is_bare};
use super::log::{Coarse, Log, coarse};
use super::meter::{FEW, Meter};
use super::noise::Cause;
use super::open::{self, Open};
use super::paced::{MOST_DOUBLINGS, Paced};
use super::{AdaptiveState, DARK, Phase, Rate, Run, SLOWEST, Server, Suspect};
use crate::hint::SHORTEST;
use crate::law::{Move, Sample};
use crate::outcome::Outcome;
use crate::rng::Rng;
use crate::time::{Instant, Span};

/// Up to this many successes after a cut, a rejection may be chance.
const REFRACTORY: u16 = 4;

/// The first dark time may be an outage instead of the end of a window if it lasts between a second and this long.
const OUTAGE: Span = Span::from_secs(60);

/// A rejection that says that enough is left for the call counts as much as so many successes.
const ROOM: u8 = 24;

impl AdaptiveState {
    /// A call failed. That says nothing about the rate, and one call may fail each time. So nothing
    /// changes until so many calls have failed in a row that the server is down.
    pub(super) fn fail(&mut self, sample: &Sample<'_>, rng: &mut Rng) -> Move {
        if !sample.fresh {
            return Move::Kept;
        }
        if self.run.server == Server::Serving && !self.is_open() {
            self.event_at = sample.now;
        }
        // The next retry that is served may be that of this call.
        self.suspect = Suspect::None;
        self.note_miss(sample, sample.attempt == 0);
        if sample.attempt > 0 {
            self.own = self.own.saturating_add(1).min(MOST_DOUBLINGS);
        }
        if self.run.server == Server::Outage || sample.attempt > 0 {
            self.back_off(sample.now, Span::ZERO, sample.attempt, rng);
        }
        if self.run.server == Server::Outage { Move::Slower } else { Move::Kept }
    }

    /// The server rejected a call.
    pub(super) fn reject(&mut self, sample: &Sample<'_>, tolerance: u16, rng: &mut Rng) -> Move {
        let (now, busy) = (sample.now, sample.outcome == Outcome::Busy);
        let cooldown = sample.hint.cooldown().unwrap_or(Span::ZERO).min(sample.ceiling);
        let begins = self.run.calls == 0;
        let told = !is_bare(sample) && !sample.hint.has_room(sample.cost) && !self.is_alone(sample);
        if sample.fresh
            && self.run.misses == 0
            && let Phase::Paced(paced) = &self.phase
            && self.places.reject(sample.in_flight, paced.probe.successes)
        {
            return Move::Slower;
        }
        let cuts = sample.fresh && self.is_evident(sample, told, tolerance);
        if cuts {
            (self.suspect, self.score) = (Suspect::None, 0);
        }
        if (cuts || !sample.fresh)
            && let Phase::Open(open) = &mut self.phase
        {
            if open.reject(now - self.event_at) {
                self.event_at = now;
            }
            if busy
                && sample.hint.cooldown().is_none()
                && open.too_busy(sample.in_flight, sample.fresh)
            {
                return if sample.fresh { Move::Slower } else { Move::Kept };
            }
        }
        if !sample.fresh {
            // It belongs to the congestion for which the law has already cut, and shows how deep that
            // cut has to be.
            if let Phase::Paced(paced) = &mut self.phase
                && paced.probe.spans_flight()
            {
                paced.rejected = paced.rejected.saturating_add(1);
            }
            return Move::Kept;
        }
        if cuts {
            // The rejections before it belong to the same event, which is no outage.
            self.run = Run::NONE;
            self.cut(now, now, cooldown);
        }
        let new = told || sample.attempt == 0;
        self.note_miss(sample, new);
        self.own = self.own.saturating_add(u8::from(!new)).min(MOST_DOUBLINGS);
        if !self.is_open() || sample.attempt > 0 {
            self.back_off(now, cooldown, sample.attempt, rng);
        }
        if cuts || !begins && !self.is_open() { Move::Slower } else { Move::Kept }
    }

    /// Whether the server may reject only this third or later attempt: no first one was rejected since a success.
    pub(super) const fn is_alone(&self, sample: &Sample<'_>) -> bool {
        sample.attempt > 1 && self.run.calls == 0
    }

    /// Whether a rejection shows that the rate is too high, and not that the server rejects this call
    /// each time and serves all others. What the server says about its limit does, and so does the first
    /// rejection of a run once there is a rate, unless it may be chance.
    fn is_evident(&mut self, sample: &Sample<'_>, told: bool, tolerance: u16) -> bool {
        let (retry, begins) = (sample.attempt > 0, self.run.calls == 0);
        if let Phase::Open(open) | Phase::Cooldown(open) = &self.phase {
            // The server has already shown that it has a limit.
            let knows = open.together || open.cap.is_some() && sample.in_flight > 0 && !retry;
            return told || self.is_confirmed(sample) || knows && begins;
        }
        // If its retry is rejected too, the rate is the cause.
        if self.suspect != Suspect::None && sample.attempt < 2 {
            return true;
        }
        if retry && !told {
            return false;
        }
        if begins && self.was_slower(sample) {
            self.suspect = Suspect::Throttled;
            return false;
        }
        // What a server says about its limit is never noise.
        let tolerance = if told || self.hinted.knows() { 0 } else { tolerance };
        // If enough is left, it may reject only this call, and another rejection has to confirm it.
        let pending = core::mem::take(&mut self.score) > 0;
        if begins && !pending && self.is_unexplained(sample) {
            self.score = ROOM;
            return false;
        }
        (begins || pending) && !self.is_chance() && (tolerance == 0 || !self.is_noise(tolerance))
    }

    /// Whether this call was the latest one, of a program that tries calls again, and was sent an interval or more after
    /// the client could have sent it (after more than 64, the rate is not that of the program's use). Such a client is slower
    /// than its rate, which is not the cause of a rejection. The interval is longer than a round trip, so the client does
    /// not only wait for its responses.
    fn was_slower(&self, sample: &Sample<'_>) -> bool {
        sample.attempt == 0
            && sample.tries_again
            && !sample.rate_limited
            && self.interval_end <= sample.sent
            && self.interval >= Log::of_span(self.round_trip())
    }

    /// Whether the first rejection of a run is noise. If so were the latest hits, the rate returns.
    fn is_noise(&mut self, tolerance: u16) -> bool {
        let Phase::Paced(paced) = &mut self.phase else { return false };
        let cause = paced.noise.judge(self.interval, &paced.probe, tolerance);
        if let Cause::NoiseSince(interval) = cause {
            paced.probe.begin_at(interval);
            (self.interval, paced.target) = (interval, interval);
        }
        !matches!(cause, Cause::Rate)
    }

    /// Before there is a rate, the rejection of a first attempt is evidence once others confirm it: four
    /// more in a row, or so many that more than a quarter of all calls are rejected; one more if the server
    /// is too busy and the program makes no retries.
    fn is_confirmed(&mut self, sample: &Sample<'_>) -> bool {
        const ROW: u8 = 5;
        /// A rejection counts three times as much as a success. If a retry is served, those before it that were
        /// rejected count six times as much.
        const SCORE: u8 = 48;
        if sample.attempt > 0 || self.run.server == Server::Outage {
            return false;
        }
        let score = if sample.hint.has_room(sample.cost) { ROOM } else { 3 };
        self.score = self.score.saturating_add(score);
        let busy = sample.outcome == Outcome::Busy;
        let latest = if busy { Suspect::Busy } else { Suspect::Throttled };
        let again = self.suspect != Suspect::None;
        self.suspect = latest;
        self.run.calls >= ROW - 1 || self.score >= SCORE || busy && again && !sample.tries_again
    }

    /// Whether a rejection is confirmed by the next response, if it is not to the call's own retry: the
    /// program did not try the call again, or a retry is served. What was rejected once was then one call
    /// too many.
    pub(super) fn confirm(&mut self, sample: &Sample<'_>) -> bool {
        let served = sample.outcome == Outcome::Ok && sample.attempt > 0;
        let confirmed = self.suspect == Suspect::Throttled
            && sample.fresh
            && self.is_open()
            && (served || !sample.tries_again);
        if confirmed {
            let begun = self.run.server != Server::Serving;
            let event = if begun { self.missed_at } else { sample.now };
            self.cut(sample.now, event, Span::ZERO);
            // Calls that were in flight at the same time are no dark time.
            if begun && sample.now - event <= SHORTEST {
                self.run.count(1, self.run.calls.min(1), false);
            }
        }
        confirmed
    }

    /// Cuts the rate for a rejection that arrived at `event`.
    fn cut(&mut self, now: Instant, event: Instant, cooldown: Span) {
        (self.suspect, self.score) = (Suspect::None, 0);
        let (Phase::Open(open) | Phase::Cooldown(open)) = self.phase else {
            return self.hit(event, cooldown, false);
        };
        let target = self.leave_open(&open, now);
        // Until all calls in flight have returned, another call would give no new information.
        self.begin_at(now + self.round_trip());
        self.hit(event, cooldown, true);
        if let (Some(target), Phase::Paced(paced)) = (target, &mut self.phase) {
            paced.target = target;
        }
    }

    /// Another consecutive miss; `new` if it is not that of a call which missed before. A server that
    /// is still busy after several misses is down, not limiting.
    pub(super) fn note_miss(&mut self, sample: &Sample<'_>, new: bool) {
        let Run { misses, calls, .. } = self.run;
        if misses == 0 {
            self.missed_at = sample.now;
        }
        let fails = match sample.outcome {
            Outcome::Busy => misses >= DARK - 1,
            outcome => outcome == Outcome::Failed,
        };
        self.run.count(misses.saturating_add(1), calls.saturating_add(new.into()), fails);
    }

    /// Whether a rejection may be chance. Rejections of a small client come in clusters, while a
    /// real drop of the capacity rejects more than half of its calls. So shortly after a cut a
    /// rejection changes nothing, while at most half of the calls were rejected.
    fn is_chance(&mut self) -> bool {
        let Phase::Paced(paced) = &mut self.phase else { return false };
        let (rejected, served) = (paced.rejected.saturating_add(1), paced.probe.successes);
        if served >= REFRACTORY || u16::from(rejected) > served {
            return false;
        }
        paced.rejected = rejected;
        true
    }

    /// A congestion event: cuts the rate. `cooldown` is what the server asked for, or zero. The `first` one ends slow start.
    pub(super) fn hit(&mut self, now: Instant, cooldown: Span, first: bool) {
        let (flight, quota) = (self.flight(), self.quota());
        let Phase::Paced(paced) = &mut self.phase else { return };
        // A second hit shortly after the first, or after an epoch that was mostly a cooldown.
        let few = paced.probe.successes < 8 || (now - self.meter.from).halved(1) <= cooldown;
        let soon = !first && few;
        let ripe = paced.probe.is_ripe();
        // After a long climb, the limit is where the hit came. If each hit costs a long cooldown, hits must be rare,
        // unless the server tells its quota.
        let gained = match (cooldown > SHORTEST, quota > Log::ZERO) {
            (true, true) => Log::ZERO,
            (true, false) => Log::OCTAVE.octaves(1),
            (false, _) => Log::OCTAVE.halved(),
        };
        self.interval = self.interval + paced.probe.cut(self.interval, flight, gained);
        paced.rejected = 0;
        if self.hinted.is_full() {
            paced.unused = None;
        }
        if paced.rate == Rate::Searched && cooldown > Span::ZERO {
            // Each rejection costs a cooldown: halfway to what was served, on a logarithmic scale.
            let calls = self.meter.calls(self.usual).max(1);
            let served = Log::of_span(self.meter.cycle(now + cooldown)) - Log::of(calls.into());
            let slower = served - self.interval;
            if slower > Log::ZERO {
                self.interval = self.interval + slower.halved();
            } else if self.hinted.knows() {
                // Calls came slowly at last because little was left.
                self.interval = served.max(quota);
            }
        }
        self.meter.turn(now, self.usual, first);
        if let (true, Some(reading)) = (soon, self.meter.reading_before(self.usual)) {
            // Not faster than what was served between the two hits. Once there is a rate, at least half as fast as
            // before, because the client may have had little to send. If the server asks for cooldowns, that is too
            // slow, and the epoch regains half of it.
            let most = if paced.rate == Rate::Searched { SLOWEST } else { Log::OCTAVE };
            let fall = (reading - self.interval).clamp(Log::ZERO, most);
            self.interval = self.interval + fall;
            if cooldown > Span::ZERO {
                paced.probe.fall(fall.halved());
            }
        }
        // If each rejection costs a cooldown, an epoch lasts several cooldowns.
        if cooldown > Span::ZERO {
            let lost = Log::of_span(cooldown.min(Span::from_secs(1))) - self.interval;
            paced.probe.cover_cooldowns(lost.coarse(), ripe);
        }
        self.interval = self.interval.min(SLOWEST);
        paced.target = self.interval;
        self.event_at = now;
    }

    /// The first rejection ends slow start: from now on calls are paced. If the client calls rarely, its rate is not
    /// that of the server: returns the target, one call in four round trips.
    pub(super) fn leave_open(&mut self, open: &Open, now: Instant) -> Option<Log> {
        let sent = open.interval(self.interval_end, now, self.round_trip());
        // Of a burst, the server may have served only a part: halfway to that, on a logarithmic scale.
        let served = Log::of(self.meter.calls(self.usual).max(1).into());
        let rejected = match open.burst() {
            Some(sent) if !self.hinted.knows() => (sent - served).max(Log::ZERO),
            _ => Log::ZERO,
        };
        // With the cut of a quarter that follows, the rate is slightly less than half of what was measured.
        let rarest = Log::of_span(self.round_trip()).octaves(2);
        let rarely = open.burst().is_none() && sent > rarest;
        let slower = if rarely { Log::ZERO } else { Log::of_ratio(7, 4) };
        self.interval = (sent + rejected.halved() + slower).min(SLOWEST);
        self.begin_paced(now);
        rarely.then_some(rarest)
    }

    /// A call was served.
    pub(super) fn success(&mut self, sample: &Sample<'_>, confirmed: bool, rng: &mut Rng) -> Move {
        let retried = sample.fresh && sample.attempt > 0;
        if retried {
            self.own = 0;
        }
        if !self.is_open() {
            self.suspect = Suspect::None;
        } else if self.suspect != Suspect::None {
            // Neither chance nor this call was the cause of its rejections.
            let retries = u8::try_from(sample.attempt).unwrap_or(u8::MAX).saturating_sub(1).min(4);
            self.score = self.score.saturating_add(retries.saturating_mul(6));
        }
        let judged = sample.fresh && self.judge(sample.now);
        let again = sample.fresh && self.begin_again(sample.now);
        self.meter.count(sample.cost);
        if again {
            return Move::Faster;
        }
        if let Phase::Paced(paced) = &mut self.phase {
            paced.noise.serve(&paced.probe);
        }
        if judged {
            return Move::Slower;
        }
        if confirmed && self.run.server == Server::Serving {
            return Move::Kept;
        }
        if sample.fresh && self.run.server != Server::Serving {
            // If the call has not been tried before, the failures of one call were its own.
            let misses = if retried { self.run.misses } else { self.run.calls };
            if misses > 0 {
                self.recover(sample.now, misses, rng);
                return Move::Kept;
            }
            self.run = Run::NONE;
        }
        let Phase::Paced(paced) = &mut self.phase else { return Move::Kept };
        paced.probe.successes = paced.probe.successes.saturating_add(1);
        if paced.probe.successes >= 8 {
            paced.rate = Rate::Found;
        }
        if !sample.rate_limited || self.run.server != Server::Serving {
            return Move::Kept;
        }
        self.grow(sample.now);
        Move::Faster
    }

    /// The rate grows with a success that had waited for it.
    fn grow(&mut self, now: Instant) {
        let (quota, flight) = (self.quota(), self.flight().max(0));
        let exceeds = self.interval <= quota && self.exceeds_quota(now);
        let Phase::Paced(paced) = &mut self.phase else { return };
        paced.refuted |= exceeds;
        let costly = quota > Log::ZERO && paced.probe.spans_cooldowns();
        let quota = if costly { quota + BELOW } else { quota };
        // At most a sixteenth per round trip.
        let most = (-(4 << 8) as Coarse).saturating_sub(flight);
        if self.interval > paced.target {
            let step = Log::of_growth(most.saturating_add(2 << 8));
            self.interval = (self.interval - step).max(paced.target);
        } else {
            let mut weight = weight(self.interval);
            if self.hinted.is_low() && paced.probe.is_past_plateau() {
                weight = weight.saturating_sub(3 << 8);
            }
            const FREE: u8 = 16;
            if paced.unused > NonZeroU8::new(FREE) {
                weight = weight.saturating_add(2 << 8);
            }
            let grown = self.interval - paced.probe.grow(weight, most);
            self.interval = grown.max(quota.min(self.interval)).max(Log::ZERO);
            paced.target = paced.target.min(self.interval);
        }
    }

    /// The first success after a dark time before which nothing was served: other clients had used the whole limit,
    /// and the search for the first rate slowed down meanwhile, which says nothing about the server. Slow start
    /// begins again. Returns whether it does.
    fn begin_again(&mut self, now: Instant) -> bool {
        let searches = matches!(&self.phase, Phase::Paced(Paced { rate: Rate::Searched, .. }));
        if !searches || self.run.server != Server::Dark || !self.meter.is_empty() {
            return false;
        }
        self.meter = Meter::new(now);
        self.phase = Phase::Open(Open::again());
        self.run = Run::NONE;
        self.event_at = now;
        self.begin_at(now);
        true
    }

    /// The first success after as many misses.
    fn recover(&mut self, now: Instant, misses: u8, rng: &mut Rng) {
        if self.run.server == Server::Outage
            && let Phase::Open(open) = &mut self.phase
        {
            // Slow start begins again: an outage says nothing about a limit.
            open.wide = if open.cap.is_none() { open::FIRST } else { open.wide };
            self.event_at = now;
            self.begin_at(now);
        }
        let down = self.run.fails();
        if misses < DARK
            && !down
            && let Phase::Paced(paced) = &mut self.phase
            && let Some(more) = paced.deepen_cut()
        {
            self.interval = (self.interval + more).min(SLOWEST);
            paced.target = self.interval;
        }
        if misses >= if down { DARK } else { 2 } && !self.is_open() {
            if misses >= DARK && !down {
                self.read_meter(now);
            }
            let Phase::Paced(paced) = &mut self.phase else { return };
            if down {
                // The limit was not the cause: start with half of the last good rate, and return to
                // it. An outage is no part of the server's window.
                self.meter.skip(now - self.missed_at, now);
                paced.target = self.interval;
                self.interval = self.interval.octaves(1).min(SLOWEST);
            } else if misses < DARK {
                paced.target = self.interval;
            } else {
                self.interval = paced.target;
            }
            // Growth begins again at the cut.
            paced.probe.progress = 0;
            self.hasten(now, misses, rng);
        }
        if let Phase::Paced(paced) = &mut self.phase {
            paced.probe.successes = paced.probe.successes.saturating_add(1);
        }
        // If several calls missed, it was the server.
        if self.run.calls > 1 {
            self.own = 0;
        }
        self.run = Run::NONE;
        if self.own == 0 {
            self.release = self.fresh_at;
        }
    }

    /// Ends a dark time. If the server's capacity runs out before the end of a window, the right
    /// rate is what was served in a whole cycle of bright and dark time. With enough calls, and dark for a
    /// quarter of the cycle, that reading can be trusted. The target becomes a faster reading that can be
    /// trusted, and falls halfway to a slower one. If the reading can be trusted and was no outage, the cycle is a window,
    /// and epochs last for four of them. So it is if the server describes its limit and a 64th of the cycle was dark. If its
    /// quota is known or it asked for a cooldown, the epoch has at least as many calls instead.
    fn read_meter(&mut self, now: Instant) {
        let dark = now - self.missed_at;
        let read = self.meter.end_dark(now, dark, self.usual);
        let quota = self.quota();
        let Phase::Paced(paced) = &mut self.phase else { return };
        let Some((cycle, calls, again)) = read else {
            paced.target = self.interval;
            return;
        };
        // Plan for the calls to last slightly longer than the window.
        const SPARE: Log = Log::of_ratio(33, 32);
        let reading = Log::of_span(cycle) - Log::of(calls.max(FEW).into()) + SPARE;
        let ripe = calls >= FEW;
        let trusted = ripe && dark > cycle.halved(2);
        let target = self.interval;
        paced.target = if trusted && reading < target {
            reading
        } else if ripe {
            // Halfway between the reading and the law's own rate, on a logarithmic scale. A much slower
            // reading without much dark time only shows that the program made few calls.
            let own = if trusted { target.max(reading.octaves(-1)) } else { target };
            target.max(own + (reading - own).min(Log::OCTAVE).halved())
        } else {
            target.max(reading)
        }
        .min(SLOWEST);
        let window = again || dark < SHORTEST || dark > OUTAGE;
        let knows = self.hinted.knows();
        if quota > Log::ZERO || paced.probe.was_told() {
            if trusted && window || knows {
                paced.probe.cover(calls);
            }
        } else if trusted && (window || dark > cycle.halved(1)) || knows && dark > cycle.halved(6) {
            paced.probe.cover_windows(Log::of_span(cycle), paced.target);
        }
    }

    /// log2 of the number of calls in flight at this rate, coarsely.
    fn flight(&self) -> Coarse {
        const TO_NANOS: Coarse = 10 << 8;
        coarse(self.round_trip).saturating_add(TO_NANOS).saturating_sub(self.interval.coarse())
    }

    /// The interval with the delay of probes: doubled as often, up to four intervals or, if that is longer,
    /// a sixth of the time since the first miss in an outage (at most 20 s), and otherwise a quarter of it
    /// (at least 128 intervals, which count as at least 1 s and at most 20 s).
    pub(super) fn doubled(&self, doublings: u8, now: Instant) -> Log {
        const LEAST: Log = Log::of_span(SHORTEST);
        const MOST: Log = Log::of_span(Span::from_secs(20));
        const SIXTH: Log = Log::of_ratio(6, 1);
        let interval = self.probing_interval(now);
        if doublings == 0 {
            return interval;
        }
        let dark = Log::of_span(now - self.missed_at);
        let least = interval.octaves(7).clamp(LEAST, MOST);
        let most =
            if self.run.fails() { (dark - SIXTH).min(MOST) } else { dark.octaves(-2).max(least) };
        // The next window begins within the length of one.
        let most = match &self.phase {
            Phase::Paced(paced) => {
                paced.probe.window_length().map_or(most, |window| window.min(most))
            }
            _ => most,
        };
        let most = most.max(interval.octaves(2)).min(self.ceiling());
        interval.octaves(doublings.into()).min(most).max(interval)
    }

    /// The interval that doubles: the learned one. Without one, a tenth of a second, or that of the calls that are served
    /// between the retries, if it is shorter.
    fn probing_interval(&self, now: Instant) -> Log {
        const FIRST: Log = Log::of_span(Span::from_millis(100));
        if !self.is_open() {
            return self.interval;
        }
        let mean = self.meter.mean(now, self.usual);
        if self.run.calls == 0 && mean > Log::ZERO { mean.min(FIRST) } else { FIRST }
    }

    /// How often as many misses double the interval: each one in a row, and failures once the server is
    /// down.
    pub(super) fn doublings(&self, misses: u8) -> u8 {
        misses.saturating_sub(if self.run.fails() { DARK - 1 } else { 1 })
    }
}

/// log2 of the weight of a success: the sixteenth root of the interval in halves of a second. A
/// client with few calls must learn more from each call, so that all clients of a server get equal
/// shares.
fn weight(interval: Log) -> Coarse {
    const ONE: Log = Log::of_span(Span::from_millis(500));
    ((interval - ONE).coarse() >> 4).clamp(-(2 << 8), 2 << 8)
}
