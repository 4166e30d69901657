//! What a server requires in addition to its limit: further windows, a limit of calls in flight, and
//! a ban of clients that are throttled too often.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use serde::{Deserialize, Serialize};
use tidegate::Instant;

use super::{Limit, Ruling, Standing, Window, WindowSpec, latest};
use crate::chance::Chance;
use crate::scenario::units::Time;

/// A number of throttled calls after which every call is throttled for a time.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Ban {
    pub after: usize,
    pub within: Time,
    pub length: Time,
    /// Whether each call during the ban starts it anew.
    #[serde(default, skip_serializing_if = "crate::scenario::is_usual")]
    pub extends: bool,
}

/// A limit with further ones. A call takes nothing from any of them if one throttles it.
pub(super) struct Guard {
    limit: Box<dyn Limit>,
    also: Vec<Window>,
    /// The most calls in flight, and the calls a second that they allow.
    flight: Option<(usize, f64)>,
    ban: Option<Ban>,
    inside: BinaryHeap<Reverse<Instant>>,
    strikes: VecDeque<Instant>,
    banned: Instant,
}

impl Guard {
    fn is_full(&self) -> bool {
        self.flight.is_some_and(|(most, _)| self.inside.len() >= most)
    }

    fn limits(&self) -> impl Iterator<Item = &dyn Limit> {
        let also = self.also.iter().map(|window| window as &dyn Limit);
        also.chain([&*self.limit])
    }

    fn strike(&mut self, now: Instant) {
        let Some(ban) = self.ban else { return };
        self.strikes.push_back(now);
        self.strikes.retain(|at| *at + ban.within.span() > now);
        if self.strikes.len() >= ban.after {
            self.strikes.clear();
            self.banned = now + ban.length.span();
        }
    }
}

impl Limit for Guard {
    fn arrive(&mut self, now: Instant, chance: &mut Chance) -> Ruling {
        while self.inside.peek().is_some_and(|leaves| leaves.0 <= now) {
            self.inside.pop();
        }
        if now < self.banned {
            if let Some(ban) = self.ban.filter(|ban| ban.extends) {
                self.banned = now + ban.length.span();
            }
            return Ruling::served(false);
        }
        let fits = !self.is_full() && self.also.iter().all(|window| window.level(now) >= 1.0);
        if fits && self.limit.arrive(now, chance) == Ruling::served(true) {
            for window in &mut self.also {
                window.arrive(now, chance);
            }
            return Ruling::served(true);
        }
        self.strike(now);
        Ruling::served(false)
    }

    fn admitted(&mut self, leaves: Instant) {
        if self.flight.is_some() {
            self.inside.push(Reverse(leaves));
        }
    }

    fn standing(&self, now: Instant) -> Standing {
        let (banned, leaves) = (self.banned - now, self.inside.peek().map(|leaves| leaves.0 - now));
        let counts = self.limits().filter_map(|limit| limit.standing(now).remaining);
        let full = self.limits().filter(|limit| limit.level(now) < 1.0);
        let waits = full.filter_map(|limit| limit.standing(now).next);
        let waits = waits.chain(leaves.filter(|_| self.is_full())).chain([banned]);
        Standing {
            remaining: counts.chain((now < self.banned).then_some(0)).min(),
            next: waits.max(),
            ..self.limit.standing(now)
        }
    }

    fn level(&self, now: Instant) -> f64 {
        let level = self.limits().map(|limit| limit.level(now)).fold(f64::INFINITY, f64::min);
        if now < self.banned { 0.0 } else { level }
    }

    fn capacity(&self, from: Instant, to: Instant) -> f64 {
        let flight = self.flight.map(|(_, rate)| rate * super::seconds(from, to));
        let all = self.limits().map(|limit| limit.capacity(from, to)).chain(flight);
        all.fold(f64::INFINITY, f64::min)
    }

    fn start(&self) -> f64 {
        if self.also.is_empty() { self.limit.start() } else { 0.0 }
    }

    fn burst(&self) -> f64 {
        let flight = self.flight.map(|(most, _)| most as f64);
        self.limits().map(Limit::burst).chain(flight).fold(f64::INFINITY, f64::min)
    }

    fn rate(&self) -> Vec<(Instant, f64)> {
        let others = self.also.iter().map(|window| latest(&window.rate(), Instant::ZERO));
        let least = others.chain(self.flight.map(|it| it.1)).fold(f64::INFINITY, f64::min);
        self.limit.rate().into_iter().map(|(at, rate)| (at, rate.min(least))).collect()
    }
}

impl super::ServerSpec {
    /// The limit with the server's further limits.
    pub(super) fn guarded(&self, limit: Box<dyn Limit>, chance: &mut Chance) -> Box<dyn Limit> {
        if !self.is_guarded() {
            return limit;
        }
        let work = self.work.map_or(f64::EPSILON, |work| work.mean());
        Box::new(Guard {
            limit,
            also: self.also.iter().map(|window| Window::new(window, chance)).collect(),
            flight: self.flight.map(|most| (most as usize, f64::from(most) / work)),
            ban: self.ban,
            inside: BinaryHeap::new(),
            strikes: VecDeque::new(),
            banned: Instant::ZERO,
        })
    }

    fn is_guarded(&self) -> bool {
        !self.also.is_empty() || self.flight.is_some() || self.ban.is_some()
    }

    pub(super) fn guard_fault(&self) -> Option<&'static str> {
        if self.is_guarded() && (self.queue.is_some() || self.autoscaling.is_some()) {
            return Some("`also`, `flight` and `ban` need a bucket or a window");
        }
        if self.flight == Some(0) || self.flight.is_some() && self.work.is_none() {
            return Some("a limit on calls in flight must be at least 1, and needs `work`");
        }
        if self.ban.is_some_and(|ban| ban.after == 0 || ban.length == Time::default()) {
            return Some("a ban must follow at least 1 throttled call, and needs a length");
        }
        self.also.iter().find_map(WindowSpec::fault)
    }
}
