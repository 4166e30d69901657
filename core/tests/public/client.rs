//! A client of `adaptive` with a clock, which makes one call at a time.

use tidegate::Permit;
use tidegate::law::{Adaptive, Law};
use tidegate::{AsReply, Call, Controller, Decision, Policy, Span, Verdict};

use crate::{MILLIS, at};

pub(crate) type Gate = Controller<Adaptive>;

pub(crate) const POLICY: Policy<Adaptive> = Policy::new(Adaptive::DEFAULT);

/// Waits as each decision says until a call is admitted.
pub(crate) fn admitted<L: Law, const LIMITS: usize>(
    gate: &mut Controller<L, LIMITS>,
    now: &mut u64,
    call: &Call<LIMITS>,
) -> Permit<LIMITS> {
    loop {
        match gate.poll(at(*now), call) {
            Decision::Admit(permit) => return permit,
            Decision::Wait(until) => *now = until.as_nanos(),
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) struct Client {
    pub(crate) gate: Gate,
    pub(crate) now: u64,
}

impl Client {
    pub(crate) fn new(seed: u64) -> Self {
        Self { gate: Gate::new(POLICY, seed, at(0)), now: 1 }
    }

    pub(crate) fn admitted(&mut self) -> Permit {
        admitted(&mut self.gate, &mut self.now, &Call::new())
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
