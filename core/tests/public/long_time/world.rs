//! A server of ten calls a second, and a client of four workers whose clock shows what it likes.

use tidegate::gate::Permit;
use tidegate::{Call, Decision, Hint, Outcome, Policy, Reply};

use super::Gate;
use crate::{MILLIS, SECOND, at};

/// How often the workers look whether they may go, in true time.
const LOOK: u64 = 10 * MILLIS;
/// How long a call is under way.
const UNDER_WAY: u64 = 50 * MILLIS;
const WORKERS: usize = 4;

/// What happened in one second of true time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Second {
    pub(crate) sent: u64,
    pub(crate) served: u64,
}

/// True time, in which the server lives, and the client's controller, which lives by its own clock.
pub(crate) struct World {
    pub(crate) gate: Gate,
    now: u64,
    /// The server's bucket of ten, in billionths of a call.
    level: u64,
    /// Calls under way, and when each comes back; the oldest last.
    out: Vec<(u64, Permit)>,
    call: Call,
    /// Whether answers tell how many calls are left.
    tells: bool,
}

impl World {
    pub(crate) fn new(name: &str, policy: Policy, shown: u64) -> Self {
        let gate = Gate::new(policy, 7, at(shown));
        // Of the gem's strategies one goes by nothing else.
        let tells = name == "heroku-remaining";
        Self { gate, now: 0, level: 10 * SECOND, out: Vec::new(), call: Call::new(), tells }
    }

    /// True time at present.
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// Sleeps while the server lives on, and wakes to find that all calls came back like this.
    pub(crate) fn sleep(&mut self, nanos: u64, shown: u64, reply: Reply) {
        self.now += nanos;
        self.level = 10 * SECOND;
        for (_, permit) in self.out.drain(..) {
            self.gate.settle(at(shown), permit, reply);
        }
        self.call = Call::new();
    }

    /// Lives for so many seconds of true time; `clock` makes of it what the client's clock shows.
    pub(crate) fn live(&mut self, seconds: u64, clock: impl Fn(u64) -> u64) -> Vec<Second> {
        (0..seconds).map(|_| self.second(&clock)).collect()
    }

    fn second(&mut self, clock: &impl Fn(u64) -> u64) -> Second {
        let mut told = Second::default();
        for _ in 0..SECOND / LOOK {
            self.look(clock, &mut told);
        }
        told
    }

    /// Lives until a call is under way.
    pub(crate) fn live_until_a_call(&mut self, clock: impl Fn(u64) -> u64) {
        while self.out.is_empty() {
            self.look(&clock, &mut Second::default());
        }
    }

    /// Takes back what has come back by now, and sends what may be sent.
    fn look(&mut self, clock: &impl Fn(u64) -> u64, told: &mut Second) {
        self.now += LOOK;
        self.level = (self.level + 10 * LOOK).min(10 * SECOND);
        let shown = at(clock(self.now));
        while let Some((_, permit)) = self.out.pop_if(|(due, _)| *due <= self.now) {
            let served = self.level >= SECOND;
            self.level -= if served { SECOND } else { 0 };
            told.served += u64::from(served);
            let outcome = if served { Outcome::Ok } else { Outcome::Throttled };
            let left = Hint::remaining(self.level / SECOND);
            let reply = outcome.with::<1>(if self.tells { left } else { Hint::NONE });
            self.gate.settle(shown, permit, reply);
            self.call = self.gate.retry(shown, &self.call, reply).unwrap_or_default();
        }
        while self.out.len() < WORKERS {
            match self.gate.poll(shown, &self.call) {
                Decision::Admit(permit) => {
                    told.sent += 1;
                    self.call = Call::new();
                    self.out.insert(0, (self.now + UNDER_WAY, permit));
                }
                Decision::Wait(until) => {
                    assert!(until > shown, "a wait is never zero");
                    return;
                }
                Decision::Full => return,
                Decision::Reject(_) => {
                    self.call = Call::new();
                    return;
                }
            }
        }
    }
}

/// Calls served in these seconds.
pub(crate) fn served(seconds: &[Second]) -> u64 {
    seconds.iter().map(|second| second.served).sum()
}

/// Calls sent in these seconds.
pub(crate) fn sent(seconds: &[Second]) -> u64 {
    seconds.iter().map(|second| second.sent).sum()
}
