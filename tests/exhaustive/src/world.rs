//! A controller, its client, and beside them the little that a reference needs to know.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Write;
use std::hash::{Hash, Hasher};

use tidegate::gate::Permit;
use tidegate::law::AnyLaw;
use tidegate::{Ask, Controller, Decision, Instant, Outcome, Reply, Span, Verdict};

use crate::account::Account;
use crate::moves::{Move, replies};
use crate::policies::Small;
use crate::promises;

/// As few as meet each other.
pub const SLOTS: usize = 3;

pub type Gate = Controller<AnyLaw, 1, SLOTS>;

/// A state of everything.
#[derive(Clone, Debug)]
pub struct World<'a> {
    pub policy: &'a Small,
    pub gate: Gate,
    pub now: Instant,
    /// Calls that have left and not come back.
    pub flights: Vec<Flight>,
    /// The call that was refused, as the attempt that comes next.
    pub again: Option<Ask>,
    /// The latest permit that was settled.
    pub settled: u64,
    pub account: Account,
}

/// A call under way.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    pub permit: u64,
    pub since: Instant,
    /// How many cuts there had been.
    pub cuts: u32,
}

impl<'a> World<'a> {
    /// After the policy's prologue, which brings a law to where it is worth looking at.
    pub fn start(policy: &'a Small) -> Result<Self, String> {
        let now = Instant::from_nanos(1_000 * policy.spans[1].as_nanos());
        let mut world = Self {
            policy,
            gate: Controller::new(policy.policy, 7, now),
            now,
            flights: Vec::new(),
            again: None,
            settled: u64::MAX,
            account: Account::new(),
        };
        for (times, steps) in policy.prologue {
            for step in (0..*times).flat_map(|_| *steps) {
                world.happen(*step)?;
            }
        }
        Ok(world)
    }

    /// Lets it happen. `false`: in this state it cannot.
    pub fn happen(&mut self, step: Move) -> Result<bool, String> {
        let short = self.policy.spans[0];
        match step {
            Move::Poll => self.poll(&Ask::new(), 1)?,
            Move::PollTwo => self.poll(&Ask::new().cost(2), 2)?,
            Move::PollHasty => self.poll(&Ask::new().deadline(self.now), 1)?,
            Move::PollRetry => match self.again {
                Some(ask) => self.poll(&ask, 1)?,
                None => return Ok(false),
            },
            Move::Retry => {
                let ask = self.again.unwrap_or_default();
                match self.gate.retry(self.now, &ask, Outcome::Throttled) {
                    Some(again) if again.attempt() < 3 => self.again = Some(again),
                    _ => return Ok(false),
                }
            }
            Move::Pass(which) => self.now = self.now.saturating_add(self.policy.spans[which]),
            Move::PassToNext => match self.gate.next_at(self.now) {
                Some(next) if next > self.now => self.now = next,
                _ => return Ok(false),
            },
            Move::StepBack => {
                self.now =
                    Instant::from_nanos(self.now.as_nanos().saturating_sub(short.as_nanos()));
            }
            Move::SettleFirst(_) | Move::SettleLast(_) if self.flights.is_empty() => {
                return Ok(false);
            }
            Move::SettleFirst(reply) => {
                let flight = self.flights.remove(0);
                self.settle(flight, &replies(short)[reply])?;
            }
            Move::SettleLast(reply) => {
                let Some(flight) = self.flights.pop() else { return Ok(false) };
                self.settle(flight, &replies(short)[reply])?;
            }
            Move::SettleAgain => {
                let before = self.gate.clone();
                self.gate.settle(self.now, Permit::from_raw(self.settled), Outcome::Throttled);
                promises::is_the_same(&before, &self.gate, self.now, "an unknown permit")?;
            }
            Move::Sleep(which) => {
                let away = if which == 0 { Span::ZERO } else { short };
                self.sleep(away)?;
            }
        }
        promises::hold(self)?;
        Ok(true)
    }

    fn poll(&mut self, ask: &Ask, cost: u32) -> Result<(), String> {
        let before = self.gate.clone();
        let verdict = self.gate.check(self.now, ask);
        let decision = self.gate.poll(self.now, ask);
        let same = match (&decision, verdict) {
            (Decision::Go(_), Verdict::Go) | (Decision::Full, Verdict::Full) => true,
            (Decision::Wait(until), Verdict::Wait(said)) => *until == said,
            (Decision::Refuse(reason), Verdict::Refuse(said)) => *reason == said,
            _ => false,
        };
        promises::that(same, || format!("check says {verdict:?}, and poll {decision:?}"))?;
        match decision {
            Decision::Go(permit) => {
                let cuts = self.gate.stats().slower;
                let flight = Flight { permit: permit.into_raw(), since: self.now, cuts };
                self.account.see(self.now);
                self.account.go(self.policy, cost)?;
                self.account.fits(self.policy, &self.flights)?;
                if ask.attempt() > 0 {
                    self.account.retry(self.policy)?;
                    self.again = None;
                }
                self.flights.push(flight);
                Ok(())
            }
            _ => promises::kept_back(&before, self, ask, verdict),
        }
    }

    fn settle(&mut self, flight: Flight, reply: &Reply) -> Result<(), String> {
        let before = self.gate.clone();
        self.gate.settle(self.now, Permit::from_raw(flight.permit), *reply);
        self.settled = flight.permit;
        if reply.outcome != Outcome::Abandoned {
            self.account.see(self.now);
        }
        if reply.outcome == Outcome::Ok {
            self.account.success();
        }
        promises::settled(&before, self, &flight, reply.outcome)
    }

    fn sleep(&mut self, away: Span) -> Result<(), String> {
        let mut record = [0; Gate::SNAPSHOT_BYTES];
        self.gate.snapshot(self.now, &mut record).map_err(|error| error.to_string())?;
        let later = self.now.saturating_add(away);
        let woken = Gate::restore(self.policy.policy, 8, &record, later, away);
        let woken = woken.map_err(|error| format!("its own record is refused: {error}"))?;
        promises::woke(&self.gate, &woken, later)?;
        self.account.see(self.now);
        self.gate = woken;
        self.now = later;
        // What was under way is unknown to it, and its counters begin anew.
        self.flights.clear();
        Ok(())
    }

    /// All that what happens next depends on. The gate's counters are not: they come last in it, and are
    /// left out. (That two of half a million states share one of 2^64 digests is a chance of 10^-8.)
    pub fn digest(&self) -> u64 {
        let Self { gate, now, flights, again, settled, account, .. } = self;
        let mut told = String::with_capacity(2_048);
        _ = write!(told, "{gate:?}");
        told.truncate(told.rfind(", stats: ").unwrap_or(told.len()));
        _ = write!(told, "{now:?} {flights:?} {again:?} {settled} {account:?}");
        let mut hasher = DefaultHasher::new();
        told.hash(&mut hasher);
        hasher.finish()
    }
}
