//! Cooldowns: for how long the server serves nothing.

use super::log::Log;
use super::meter::{FEW, Meter, RIPE};
use super::open::Open;
use super::{AdaptiveState, DARK, Phase, Rate, Run, SLOWEST, Server, Suspect};
use crate::hint::SHORTEST;
use crate::law::{Move, Sample};
use crate::rng::Rng;
use crate::time::{Instant, Span};

impl AdaptiveState {
    /// The server rejected a fresh call and named the time when it serves again. `None` if that is
    /// so soon that it is only pacing.
    pub(super) fn cool_down(
        &mut self,
        sample: &Sample<'_>,
        wait: Span,
        rng: &mut Rng,
    ) -> Option<Move> {
        let now = sample.now;
        let own = match &self.phase {
            Phase::Paced(_) => self.interval.span(),
            _ => self.round_trip(),
        };
        if wait <= SHORTEST || wait <= own + own {
            return None;
        }
        self.leave_out_silence(now);
        let hinted = now + wait;
        // At least a quarter of the time since the first rejection, up to four times as long: a server that counts
        // rejected calls, or extends a ban with each, never serves clients that return as soon as it says.
        let dark =
            if self.run.server != Server::Serving { now - self.missed_at } else { Span::ZERO };
        let wait = wait.max(dark.halved(2).min(wait * 4)).min(self.ceiling().span());
        let end = now + wait;
        let calls = self.meter.calls(self.usual);
        let cycle = Log::of_span(self.meter.cycle(end));
        let mut before = Instant::ZERO;
        let alone = !self.is_open() && self.is_alone(sample);
        if matches!(self.phase, Phase::Cooldown(_)) {
            before = self.interval_end;
        }
        let spread = if let Phase::Open(open) | Phase::Cooldown(open) = self.phase {
            self.phase = Phase::Cooldown(open);
            if self.run.server == Server::Serving {
                self.missed_at = now;
            }
            self.run.count(self.run.misses.max(DARK), self.run.calls, false);
            // A waiting fleet returns over an eighth of the time, or sooner if this client's own
            // calls show how soon the server can serve another one. Fewer than eight never do,
            // because their mean interval includes this wait.
            let each = (cycle - Log::of(calls.into())).span();
            each.max(self.round_trip()).min(wait.halved(3))
        } else {
            if !alone {
                if self.run.calls == 0 || self.suspect != Suspect::None {
                    self.suspect = Suspect::None;
                    self.hit(now, wait, false);
                }
                self.note_miss(sample, true);
                self.run.count(self.run.misses.max(DARK), self.run.calls.max(DARK), false);
            }
            let Phase::Paced(paced) = &self.phase else { return None };
            (cycle - Log::of(calls.max(RIPE).into())).max(paced.target).span()
        };
        self.wait_until(now, end, spread, rng);
        if self.is_open() {
            // When all other clients are back. If the cooldown is longer than the ceiling, clients
            // probe once per ceiling.
            let spread = if hinted > end { wait } else { spread };
            self.interval_end = (hinted + spread).max(before);
        }
        Some(if alone { Move::Kept } else { Move::Slower })
    }

    /// Handles the first success after a cooldown before a rate was found, if that is what it is. Returns whether enough
    /// was served before the cooldown to set the rate.
    pub(super) fn judge(&mut self, now: Instant) -> bool {
        let together = self.interval_end;
        let calls = self.meter.calls(self.usual);
        let Phase::Cooldown(open) = &self.phase else { return false };
        let knows = calls >= FEW || (calls > 0 && open.together);
        // The cooldown was the response to the rejections before it.
        (self.suspect, self.score) = (Suspect::None, 0);
        if !knows {
            self.phase = Phase::Open(Open::again());
            if calls == 0 {
                // Other clients had used the whole limit.
                self.meter = Meter::new(now);
            }
            // The first client that returns must not use the whole limit before the others return.
            // If the end of the cooldown is still far away, it was wrong, because the server
            // already serves calls.
            if together <= now + self.ceiling().span() {
                self.fresh_at = self.fresh_at.max(together);
                self.release = self.release.max(self.fresh_at);
            }
            self.event_at = self.fresh_at.max(now);
            return false;
        }
        let cycle = Log::of_span(self.meter.cycle(now));
        // If there were few calls, one more: the next call was about to be served.
        let calls = if calls < FEW { calls.saturating_add(1) } else { calls };
        self.interval = (cycle - Log::of(calls.into())).min(SLOWEST);
        self.begin_paced(now);
        if let Phase::Paced(paced) = &mut self.phase {
            paced.rate = Rate::Found;
            paced.probe.cover(calls);
        }
        self.run = Run::NONE;
        self.meter = Meter::new(now);
        self.event_at = now;
        self.begin_at(now);
        true
    }

    /// Sends nothing until a random time within `spread` after `end`. No cooldown is longer than
    /// the policy's ceiling: a longer one is cut to a random time shortly before the ceiling.
    fn wait_until(&mut self, now: Instant, end: Instant, spread: Span, rng: &mut Rng) {
        let ceiling = self.ceiling().span();
        let latest = now + ceiling;
        let until = if end < latest {
            (end + rng.between(Span::ZERO, spread)).min(latest)
        } else {
            let eighth = ceiling.halved(3);
            latest - rng.between(Span::ZERO, spread.min(eighth))
        };
        self.begin_at(until);
    }
}
