//! A client of `adaptive` with a clock, which makes one call at a time.

use tidegate::Permit;
use tidegate::law::Adaptive;
use tidegate::{AsReply, Call, Controller, Decision, Policy, Span, Verdict};

use crate::{MILLIS, at};

pub(crate) type Gate = Controller<Adaptive>;

pub(crate) const POLICY: Policy<Adaptive> = Policy::new(Adaptive::DEFAULT);

pub(crate) struct Client {
    pub(crate) gate: Gate,
    pub(crate) now: u64,
}

impl Client {
    pub(crate) fn new(seed: u64) -> Self {
        Self { gate: Gate::new(POLICY, seed, at(0)), now: 1 }
    }

    pub(crate) fn admitted(&mut self) -> Permit {
        loop {
            match self.gate.poll(at(self.now), &Call::new()) {
                Decision::Admit(permit) => return permit,
                Decision::Wait(until) => self.now = until.as_nanos(),
                other => panic!("{other:?}"),
            }
        }
    }

    /// A call that takes 50 ms.
    pub(crate) fn call(&mut self, reply: impl AsReply) {
        let permit = self.admitted();
        self.now += 50 * MILLIS;
        self.gate.settle(at(self.now), permit, reply);
    }

    /// How long the next call has to wait.
    pub(crate) fn wait(&self) -> u64 {
        match self.gate.check(at(self.now), &Call::new()) {
            Verdict::Admit => 0,
            Verdict::Wait(until) => until.as_nanos() - self.now,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn interval(&self) -> u64 {
        self.gate.intervals(at(self.now)).next().unwrap().map_or(0, Span::as_nanos)
    }
}
