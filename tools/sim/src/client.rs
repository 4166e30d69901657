//! A client's threads. Each has at most one outstanding call.

use std::rc::Rc;

use tidegate::{Hint, Instant, Outcome, Span};

use crate::PLAIN;
use crate::chance::{Chance, Stream};
use crate::scenario::units::{Rate, Time};
use crate::scenario::{Clients, Demand};
use crate::server::Refusal;
use crate::throttle::{Call, Response};

/// Threads start at random within this time.
const START_WITHIN: Span = Span::from_millis(20);

/// A thread that was off restarts within this time.
const ON_WITHIN: Span = Span::from_millis(200);

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum State {
    Idle,
    /// Its call waits until it is admitted.
    Waiting,
    /// Its call waits until another call of its process has returned.
    Parked,
    Away,
    Gone,
}

impl State {
    pub const fn has_call(self) -> bool {
        matches!(self, Self::Waiting | Self::Parked | Self::Away)
    }
}

#[derive(Clone, Debug)]
pub struct Thread {
    pub process: u32,
    pub state: State,
    /// Its current call, if it has one.
    pub call: Call,
    pub begun: Instant,
    /// When the current attempt first polled the throttle.
    pub asked: Instant,
    /// Of its attempt that is in flight or was completed last.
    pub permit: u64,
    pub response: Response,
    pub to: Instant,
    pub chance: Chance,
    /// How its call is refused, if it can never be served.
    pub bad: Option<Refusal>,
    pub group: Rc<Clients>,
    /// How many of its calls must still be served.
    left: u64,
    /// When the latest call of an open loop arose.
    arisen: Instant,
    /// How many calls of a round have ended.
    round: u32,
}

impl Thread {
    /// The thread with `number` in the world and `own` in its process.
    pub fn new(group: &Rc<Clients>, process: u32, number: u32, own: u32, seed: u64) -> Self {
        let blank = Instant::ZERO;
        let (outcome, hint) = (Outcome::Abandoned, Hint::NONE);
        let response = Response { outcome, hint, sent: blank, waited: Span::ZERO };
        Self {
            process,
            state: State::Idle,
            call: Call::new(own, Instant::MAX),
            begun: blank,
            asked: blank,
            permit: 0,
            response,
            to: group.to.map_or(Instant::MAX, |to| to.instant()),
            chance: Chance::new(seed, Stream::Thread(number)),
            bad: None,
            group: Rc::clone(group),
            left: if let Demand::Work(calls) = group.demand { calls } else { u64::MAX },
            arisen: group.from.instant(),
            round: 0,
        }
    }

    pub fn first(&mut self, from: Instant) -> Instant {
        if !PLAIN
            && self.group.steady
            && let Demand::Poisson(rate) = self.group.demand
        {
            self.arise(rate);
            return self.arisen;
        }
        from + self.chance.between(Span::ZERO, START_WITHIN)
    }

    /// The next call of an open loop arises, at this rate before the steps.
    fn arise(&mut self, rate: Rate) {
        let mut next = self.arisen + self.chance.exponential(rate.interval());
        for step in &self.group.steps {
            if next >= step.at.instant() {
                let from = self.arisen.max(step.at.instant());
                next = from + self.chance.exponential(step.rate.interval());
            }
        }
        self.arisen = next;
    }

    pub fn begin(&mut self, now: Instant) {
        let arises = matches!(self.group.demand, Demand::Poisson(_) | Demand::Cron { .. });
        self.begun = if arises { self.arisen.min(now) } else { now };
        let ends = |deadline: Time| self.begun + deadline.span();
        let deadline = self.group.deadline.map_or(Instant::MAX, ends);
        self.call = Call::new(self.call.thread, deadline);
        self.bad = self.group.bad.filter(|bad| self.chance.unit() < bad.share).map(|bad| bad.reply);
        self.asked = now;
    }

    /// When the client abandons an attempt whose response would arrive at `back`, if it does.
    pub fn gives_up(&self, back: Instant) -> Option<Instant> {
        let until = self.response.sent + self.group.timeout?.span();
        (until < back).then_some(until)
    }

    /// Ends the call and returns when the next one begins. `None` if that was the last. A call that
    /// was not served does not count as work.
    pub fn next(&mut self, now: Instant, served: bool) -> Option<Instant> {
        self.left -= u64::from(served);
        if self.left == 0 {
            return None;
        }
        Some(match self.group.demand {
            _ if PLAIN => now,
            Demand::Closed | Demand::Work(_) => now,
            Demand::Poisson(rate) => {
                self.arise(rate);
                now.max(self.arisen)
            }
            Demand::Cron { calls, every } => {
                self.round = (self.round + 1) % calls;
                if self.round == 0 {
                    self.arisen += every.span();
                }
                now.max(self.arisen)
            }
            Demand::Think(mean) => now + self.chance.exponential(mean.span()),
            Demand::OnOff { on, off } => {
                let cycle = (on.span() + off.span()).as_nanos();
                let phase = now.as_nanos() % cycle;
                if phase < on.span().as_nanos() {
                    now
                } else {
                    let rest = Span::from_nanos(cycle - phase);
                    let late = self.chance.between(Span::ZERO, ON_WITHIN);
                    now + rest + late
                }
            }
        })
    }

    pub fn has_fixed_work(&self) -> bool {
        matches!(self.group.demand, Demand::Work(_))
    }
}
