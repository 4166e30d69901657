//! Blind: refusals are all that is known.

use super::cost::PARTS;
use super::epoch::{self, Epoch, Habit};
use super::event::BLACKOUT;
use super::interval::Interval;
use super::octaves::{OCTAVE, log2, log2_of};
use super::retry_after::mix_rates;
use super::{AdaptiveState, Call, Tier};
use crate::fixed::div;
use crate::law::Move;
use crate::outcome::Outcome;
use crate::rng::Rng;
use crate::time::Instant;

/// So many successes after a cut a refusal may still be bad luck.
const REFRACTORY: u32 = 3;

impl AdaptiveState {
    /// A refusal (or, where `down`, a failure).
    pub(super) fn miss(&mut self, call: &Call, down: bool, rng: &mut Rng) -> Move {
        let now = call.now;
        if !call.fresh {
            self.survey(call.outcome);
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
                // Until all that is on its way has come back, another call would tell nothing new.
                self.pacer.begin(now.saturating_add(self.round_trip()));
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
            // A limit refuses; a server that is busy after so many misses in a row is down.
            let busy = call.outcome == Outcome::Busy && self.event.misses >= BLACKOUT;
            self.event.down |= down || busy;
            self.event.miss();
        }
        self.back_off(now, rng);
        Move::Slower
    }

    /// The calls that were on their way at the first refusal met a bucket that was empty already, so
    /// the part of them that is served tells how far the rate was above the capacity.
    fn survey(&mut self, outcome: Outcome) {
        let Tier::Blind(habit) = self.tier else { return };
        if !habit.is_searching() || self.event.misses != 1 || self.event.down {
            return;
        }
        if outcome == Outcome::Throttled {
            self.epoch.ignored = self.epoch.ignored.saturating_add(1);
        }
        let served = self.epoch.successes.saturating_add(1);
        let all = served.saturating_add(self.epoch.ignored.into());
        self.pacer.interval =
            self.pacer.target.longer(log2(all.into()).saturating_sub(log2(served.into())));
    }

    /// Refusals come in clusters, which are a small client's fate and not a dominant one's, while a
    /// real drop of the capacity rejects more than half. So soon after a cut a refusal is let pass, as
    /// long as no more than half of the calls were refused. While a first rate is searched for it is
    /// no luck: the search goes down from above.
    fn is_bad_luck(&mut self) -> bool {
        let refused = u32::from(self.epoch.ignored).saturating_add(1);
        let searching = matches!(self.tier, Tier::Blind(habit) if habit.is_new());
        if searching || self.epoch.successes >= REFRACTORY || refused > self.epoch.successes {
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
        let exact = ripe
            && self.event.previous >= BLACKOUT
            && reading > self.pacer.interval.longer(const { log2_of(5, 4) });
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
    pub(super) fn success(&mut self, call: &Call, rng: &mut Rng) -> Move {
        self.epoch.successes = self.epoch.successes.saturating_add(1);
        self.meter.count(self.usual.parts_of(call.cost));
        if self.is_open() {
            return Move::Held;
        }
        if !call.fresh {
            self.survey(call.outcome);
        }
        if self.event.is_on() && call.fresh {
            self.recover(call.now, rng);
        }
        let habit = match self.tier {
            Tier::Blind(habit) => habit,
            // A server that tells what is left with some answers only.
            Tier::Remaining(_) => Habit::default(),
            _ => return Move::Held,
        };
        if !call.paced || self.event.is_on() {
            return Move::Held;
        }
        let interval = self.pacer.interval;
        let in_flight = interval.count_in(self.round_trip());
        let guard = div(epoch::GROWTH_MOST, in_flight.max(1));
        self.pacer.interval = if interval > self.pacer.target {
            interval.faster(guard << 2).max(self.pacer.target)
        } else {
            let mut weight = match self.quota {
                0 => habit.weight(interval),
                quota => epoch::weight_of_quota(interval, quota.into()),
            };
            if in_flight > 0 {
                weight = weight.min(self.epoch.weight_in_flight(in_flight));
            }
            interval.faster(self.epoch.grow(weight, guard, interval))
        };
        Move::Faster
    }

    /// The first success after misses.
    fn recover(&mut self, now: Instant, rng: &mut Rng) {
        let misses = self.event.misses;
        if misses >= 2 {
            let probing = self.event.interval(self.pacer.interval, now);
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
                    2 => const { log2_of(23, 16) },
                    3 => const { log2_of(3, 2) },
                    _ => 2 * OCTAVE,
                };
                self.pacer.interval = self.pacer.interval.longer(slower).max(self.pacer.target);
                if matches!(self.tier, Tier::Blind(habit) if habit.is_new()) && misses >= BLACKOUT {
                    // The rate that calls left at before says nothing about the server's: the probe
                    // that was served is nearer. The ramp finds out what lies between.
                    self.pacer.interval = self.pacer.interval.max(probing);
                }
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
        if self.meter.served > 4 * PARTS && dark > cycle.halved(2) {
            let parts = self.meter.served.saturating_sub(PARTS);
            let measured = Interval::of_parts(cycle, parts).longer(const { log2_of(33, 32) });
            let mixed = mix_rates(self.pacer.target, measured, parts);
            self.pacer.target = self.pacer.target.max(mixed);
            self.meter.restart(now, PARTS);
        }
    }
}
