//! A server of ten calls a second, and a client of four workers with any clock.

use tidegate::Permit;
use tidegate::{Call, Decision, Hint, Outcome, Policy, Reply};
use tidegate_limits::{Bucket, Limit};

use super::Gate;
use crate::{MILLIS, SECOND, at};

/// How often the workers poll, in true time.
const LOOK: u64 = 10 * MILLIS;
const UNDER_WAY: u64 = 50 * MILLIS;
const WORKERS: usize = 4;

/// The calls of one second of true time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Second {
    pub(crate) sent: u64,
    pub(crate) served: u64,
}

/// True time, the server, and the client's controller with its own clock.
pub(crate) struct World {
    pub(crate) gate: Gate,
    now: u64,
    /// The server's bucket of ten.
    limit: Bucket,
    /// Calls in flight with their completion times, the oldest last.
    out: Vec<(u64, Permit)>,
    call: Call,
    /// Whether responses report the remaining calls.
    tells: bool,
}

impl World {
    pub(crate) fn new(name: &str, policy: Policy, shown: u64) -> Self {
        let gate = Gate::new(policy, 7, at(shown));
        // One of the gem's strategies depends only on the remaining calls.
        let tells = name == "heroku-remaining";
        let limit = Bucket::new(10, SECOND, 10);
        Self { gate, now: 0, limit, out: Vec::new(), call: Call::new(), tells }
    }

    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// Sleeps while the server continues. On waking, all calls complete with this reply.
    pub(crate) fn sleep(&mut self, nanos: u64, shown: u64, reply: Reply) {
        self.now += nanos;
        for (_, permit) in self.out.drain(..) {
            self.gate.settle(at(shown), permit, reply);
        }
        self.call = Call::new();
    }

    /// Runs for this many seconds of true time. `clock` converts it to the client's clock.
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

    pub(crate) fn live_until_a_call(&mut self, clock: impl Fn(u64) -> u64) {
        while self.out.is_empty() {
            self.look(&clock, &mut Second::default());
        }
    }

    /// Settles completed calls, and sends calls that are admitted.
    fn look(&mut self, clock: &impl Fn(u64) -> u64, told: &mut Second) {
        self.now += LOOK;
        let shown = at(clock(self.now));
        while let Some((_, permit)) = self.out.pop_if(|(due, _)| *due <= self.now) {
            let served = self.limit.take(self.now, 1);
            told.served += u64::from(served);
            let outcome = if served { Outcome::Ok } else { Outcome::Throttled };
            let left = Hint::remaining(self.limit.remaining());
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

pub(crate) fn served(seconds: &[Second]) -> u64 {
    seconds.iter().map(|second| second.served).sum()
}

pub(crate) fn sent(seconds: &[Second]) -> u64 {
    seconds.iter().map(|second| second.sent).sum()
}
