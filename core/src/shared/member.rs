//! The member: admits calls with its leases, and requests more in time.

use super::link::Link;
use super::message::{Grant, LEASE_MOST, Lease, MOST, MessageError, Report, Request};
use super::slots::Slots;
use super::source::Source;
use super::storage::{Inline, Storage, Values};
use crate::controller::Controller;
use crate::fixed::Ratio;
use crate::gate::{Cooldown, CooldownPolicy, Pacing};
use crate::hint::Hint;
use crate::law::Adaptive;
use crate::outcome::{AsReply, Outcome, Reply};
use crate::permit::Permit;
use crate::policy::Policy;
use crate::queue::Ahead;
use crate::rate::Quota;
use crate::rng::Rng;
use crate::time::{Instant, Span};
use crate::verdict::{Call, Decision, Reason};

/// One of many processes that share a budget. Its methods are those of a [`Controller`], and it
/// decides from its leases.
///
/// It has no clock and no I/O. The caller carries its requests to the
/// [`Coordinator`](super::Coordinator) and the answers back:
///
/// - when [`request_at`](Self::request_at) has come, call [`request`](Self::request) and send what it
///   writes;
/// - pass the answer to [`hear`](Self::hear), or call [`miss`](Self::miss) if none will arrive.
///
/// After [`Decision::Full`], poll again when an answer arrived or was missed, or a call settled.
///
/// `SLOTS` is how many calls can be in flight at once, and `S` where it keeps its lists.
#[derive(Debug)]
pub struct Member<const SLOTS: usize = 64, S: Storage = Inline> {
    number: u64,
    /// Unused leases, the next one first.
    hand: Values<Held, HAND, S>,
    /// Pending reports, the oldest first. Those in a request stay until it is answered.
    reports: Values<Report, REPORTS, S>,
    calls: Slots<Leased, SLOTS, S>,
    cooldown: Cooldown,
    link: Link,
    /// Whether a call had to wait for a lease since the last one left.
    rate_limited: bool,
    /// The member's own law and share, for times without a coordinator.
    own: Controller<Adaptive>,
    share: Pacing,
    alone: Quota,
    rng: Rng,
}

/// As many leases as in two grants.
const HAND: usize = LEASE_MOST * 2;
/// Enough reports for four requests. If there are more, the oldest are dropped and teach nothing.
const REPORTS: usize = LEASE_MOST * 4;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Held {
    permit: u64,
    at: Instant,
    /// When the lease expires.
    ends: Instant,
}

/// The right with which a call in flight was sent.
#[derive(Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum Leased {
    /// A lease from the coordinator.
    Lease { permit: u64, waited: bool },
    /// A permit of the member's own law.
    Own { permit: Permit },
}

impl<const SLOTS: usize, S: Storage> Member<SLOTS, S> {
    /// A new member.
    ///
    /// `number` is its name and its seed: use a different random number for each member. `alone` is
    /// its rate as long as no coordinator has sent its share.
    #[must_use]
    pub fn new(number: u64, alone: Quota, now: Instant) -> Self {
        let policy = Policy::new(Adaptive::DEFAULT).backoff(None);
        Self {
            number,
            hand: Values::new(),
            reports: Values::new(),
            calls: Slots::new(0),
            cooldown: Cooldown::default(),
            link: Link::new(now),
            rate_limited: false,
            own: Controller::new(policy, number, now),
            share: Pacing::new(now),
            alone,
            rng: Rng::new(number),
        }
    }

    /// Sets after which time a call that was not settled loses its place if another call needs it. It must be longer than
    /// the longest call, and is five minutes if it is not set.
    pub const fn set_expiry(&mut self, expiry: Span) {
        self.calls.set_expiry(expiry);
    }

    /// Whether a call may be sent, like [`Controller::poll`]. A lease has a cost of 1. The permit
    /// is a number below 2^48, which a double represents exactly.
    pub fn poll(&mut self, now: Instant, call: &Call) -> Decision<u64> {
        self.link.touch(now);
        self.tidy(now);
        let least = self.cooldown.until().max(call.not_before);
        let earliest = least.max(now);
        if earliest > call.deadline {
            return Decision::Reject(Reason::Late(earliest));
        }
        if self.calls.is_full() {
            self.lose(now);
            if self.calls.is_full() {
                return Decision::Full;
            }
        }
        let Some(held) = self.hand.first().copied() else {
            if self.link.is_down() {
                return self.poll_alone(now, call);
            }
            self.link.lacks();
            self.rate_limited = true;
            return Decision::Full;
        };
        let at = held.at.max(least);
        if at > now {
            self.rate_limited |= at == held.at;
            let late = at > call.deadline;
            return if late { Decision::Reject(Reason::Late(at)) } else { Decision::Wait(at) };
        }
        let leased = Leased::Lease { permit: held.permit, waited: self.rate_limited };
        match self.calls.take(now, leased) {
            Ok(permit) => {
                self.hand.pop_front();
                if !self.rate_limited {
                    self.link.finds(now, at);
                }
                self.rate_limited = false;
                self.link.use_one();
                Decision::Admit(permit)
            }
            Err(_) => Decision::Full, // there is no memory
        }
    }

    /// Settles a call: exactly once for each permit, in any order. Unknown permits are ignored.
    pub fn settle(&mut self, now: Instant, permit: u64, reply: impl AsReply) {
        reply.with_reply(|reply| self.settle_as(now, permit, reply, None));
    }

    /// Settles a call that completed at `at`. `waited` says whether the call waited for its lease.
    fn settle_as(&mut self, at: Instant, permit: u64, reply: &Reply, told: Option<bool>) -> bool {
        let Some(leased) = self.calls.release(permit) else { return false };
        let [hint] = reply.hints;
        let is_pushback = reply.outcome.is_pushback();
        if is_pushback {
            self.link.is_throttled();
        }
        // Other members learn of it a round trip later.
        if (is_pushback || reply.outcome == Outcome::Exhausted)
            && let Some(asked) = hint.cooldown()
        {
            self.cooldown.raise(at, asked, exact(), &mut self.rng);
        }
        match leased {
            Leased::Lease { permit, waited } => {
                let (outcome, waited) = (reply.outcome, told.unwrap_or(waited));
                self.report(Report { permit, at, outcome, waited, hint });
            }
            Leased::Own { permit } => self.own.settle(at, permit, reply),
        }
        self.tidy(at);
        true
    }

    /// Plans the next attempt of a call, like [`Controller::retry`] for `adaptive`.
    ///
    /// # Errors
    /// As for [`Controller::retry`].
    pub fn retry(
        &mut self,
        now: Instant,
        call: &Call,
        reply: impl AsReply,
    ) -> Result<Call, Reason> {
        self.own.retry(now, call, reply)
    }

    /// When [`request`](Self::request) is due if nothing happens until then. `None` if it is not
    /// due until a call is polled or settled.
    #[must_use]
    pub fn request_at(&self) -> Option<Instant> {
        self.link.request_at(self.reports.len())
    }

    /// Writes a request, if one is due, to the beginning of `room`, which has room for
    /// [`REQUEST_BYTES`](super::REQUEST_BYTES), and returns its length. `waiting` is how many calls wait to be
    /// sent.
    ///
    /// A request without an answer expires, and then the next one is due.
    pub fn request(&mut self, now: Instant, waiting: u16, room: &mut [u8]) -> Option<usize> {
        self.tidy(now);
        if self.request_at().is_none_or(|at| at > now) {
            return None;
        }
        if self.link.is_asking() {
            self.miss(now);
            return None;
        }
        let idle = waiting == 0 && self.link.is_idle(now);
        let leaving = idle && self.hand.len().saturating_add(self.reports.len()) <= LEASE_MOST;
        if idle {
            self.give_all_back(now);
        }
        let have = u16::try_from(self.hand.len()).unwrap_or(u16::MAX);
        let want = if idle { 0 } else { self.link.need(waiting).saturating_sub(have).min(MOST) };
        self.write(now, want, leaving, room)
    }

    fn write(&mut self, now: Instant, want: u16, leaving: bool, room: &mut [u8]) -> Option<usize> {
        let request = Request {
            member: self.number,
            sequence: self.link.next_sequence(),
            want,
            alone: self.link.fell_back_from(now),
            leaving,
        };
        let reports = self.reports.iter().take(LEASE_MOST);
        let length = request.write(now, reports, room)?;
        self.link.call(now, want, self.reports.len().min(LEASE_MOST), leaving);
        Some(length)
    }

    /// Writes a last request like [`request`](Self::request), if there was one before. It returns
    /// the available leases and leaves. A pending request is ignored.
    pub fn leave(&mut self, now: Instant, room: &mut [u8]) -> Option<usize> {
        if self.request_at().is_none() || !self.link.has_asked() {
            return None;
        }
        self.miss(now);
        self.give_all_back(now);
        self.write(now, 0, true, room)
    }

    /// Reads an answer. A duplicate answer is ignored, and so is one that arrives more than two seconds after its request.
    ///
    /// # Errors
    /// [`MessageError`] if it is not a valid grant.
    pub fn hear(&mut self, now: Instant, grant: &[u8]) -> Result<(), MessageError> {
        let (grant, leases) = Grant::read(grant, now)?;
        let was_alone = self.link.fell_back_from(now) > 0;
        let Some(asked) = self.link.hear(now, &grant, &mut self.rng) else { return Ok(()) };
        self.reports.remove_first(asked.reports);
        if grant.cooldown > Span::ZERO {
            self.cooldown.raise(now, grant.cooldown, exact(), &mut self.rng);
        }
        // The coordinator did not know of the calls that were sent without a lease. The leases would add to them.
        let returns = self.link.has_fallen_back();
        let mut granted = 0u16;
        for Lease { permit, at } in leases {
            granted = granted.saturating_add(1);
            // In order, regardless of travel times: a later grant is never used before an earlier
            // one.
            let at = self.hand.last().map_or(at, |last| last.at.max(at));
            let held = Held { permit, at, ends: (at + grant.keep) };
            if returns || !self.hand.push(held) {
                self.give_back(now, permit);
            }
        }
        self.link.grant(now, granted);
        self.tidy(now);
        // A returning member gets little until it has confirmed that it receives answers, so its
        // next request should be soon.
        self.link.is_satisfied(was_alone || granted >= asked.want);
        Ok(())
    }

    /// Reports that the pending request will not be answered.
    pub fn miss(&mut self, now: Instant) {
        self.link.miss(now, &mut self.rng);
    }

    /// Whether it currently works without the coordinator, within its share.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        self.link.is_down() && self.hand.is_empty()
    }

    /// The earliest time for a call behind these calls, estimated from the fleet's interval.
    #[must_use]
    pub fn due_behind(&self, now: Instant, call: &Call, ahead: &Ahead) -> Instant {
        let held = if self.available_leases() > 0 { self.next_at() } else { None };
        let held = held.unwrap_or(Instant::ZERO).max(self.cooldown_until());
        let interval = self.fleet().and_then(|(_, interval)| interval).unwrap_or(Span::ZERO);
        let behind = interval * ahead.calls.into();
        now.max(held).max(call.not_before()) + behind
    }

    /// The number of members and the interval of the fleet (`None` if there is none), as last
    /// reported. `None` before the first answer.
    #[must_use]
    pub fn fleet(&self) -> Option<(u16, Option<Span>)> {
        self.link.fleet()
    }

    /// Number of available leases.
    #[must_use]
    pub fn available_leases(&self) -> usize {
        self.hand.len()
    }

    /// Calls in flight.
    #[must_use]
    pub const fn in_flight(&self) -> u16 {
        self.calls.in_flight()
    }

    /// When a waiting call may be sent if no answer arrives until then.
    #[must_use]
    pub fn next_at(&self) -> Option<Instant> {
        let next = self.hand.first().map(|held| held.at.max(self.cooldown.until()));
        next.or_else(|| self.calls.is_full().then(|| self.calls.first_lost()))
    }

    /// Its rate without a coordinator.
    fn share(&self, now: Instant) -> Quota {
        self.link.share(now).unwrap_or(self.alone)
    }

    fn poll_alone(&mut self, now: Instant, call: &Call) -> Decision<u64> {
        let share = self.share(now);
        let least = self.cooldown.until();
        let due = self.share.due(1, Some(share)).map_or(Instant::LAST, |due| due.max(least));
        if due > now {
            let late = due > call.deadline;
            return if late { Decision::Reject(Reason::Late(due)) } else { Decision::Wait(due) };
        }
        let permit = match self.own.poll(now, call) {
            Decision::Admit(permit) => permit,
            Decision::Wait(until) => return Decision::Wait(until),
            Decision::Full => {
                self.lose(now); // for the next poll
                return Decision::Full;
            }
            Decision::Reject(reason) => return Decision::Reject(reason),
        };
        match self.calls.take(now, Leased::Own { permit }) {
            Ok(number) => {
                self.share.charge(now, 1, Some(share));
                self.link.falls_back();
                self.link.use_one();
                Decision::Admit(number)
            }
            Err(Leased::Own { permit }) => {
                self.own.refund(now, permit); // there is no memory
                Decision::Full
            }
            Err(Leased::Lease { .. }) => Decision::Full, // unreachable
        }
    }

    /// Frees the places of lost calls.
    fn lose(&mut self, now: Instant) {
        self.calls.lose(now, |leased| {
            if let Leased::Own { permit } = leased {
                self.own.release(permit);
            }
        });
    }

    /// Returns leases that were not used in time, and those within a cooldown, because they would
    /// all be used at its end.
    fn tidy(&mut self, now: Instant) {
        let until = self.cooldown.until();
        let held = until > now;
        while let Some(front) = self.hand.first()
            && (front.ends <= now || (held && front.at < until))
        {
            self.give_back_next(now);
        }
    }

    fn give_all_back(&mut self, now: Instant) {
        while !self.hand.is_empty() {
            self.give_back_next(now);
        }
    }

    fn give_back_next(&mut self, now: Instant) {
        if let Some(Held { permit, .. }) = self.hand.pop_front() {
            self.give_back(now, permit);
        }
    }

    /// Reports a lease as unused. Its budget is lost: unused calls cannot be sent twice as fast
    /// later.
    fn give_back(&mut self, at: Instant, permit: u64) {
        let outcome = Outcome::Abandoned;
        self.report(Report { permit, at, outcome, waited: false, hint: Hint::NONE });
    }

    fn report(&mut self, report: Report) {
        if self.reports.is_full() {
            self.reports.remove_first(1);
            self.link.forgets_one();
        }
        // Without memory, it teaches nothing.
        self.reports.push(report);
    }
}

/// What servers ask for, without jitter: the coordinator adds it.
fn exact() -> CooldownPolicy {
    CooldownPolicy::new(CooldownPolicy::DEFAULT.ceiling(), Ratio::ZERO).unwrap_or_default()
}

impl<const SLOTS: usize, S: Storage> Source for Member<SLOTS, S> {
    fn poll(&mut self, at: Instant) -> Decision<u64> {
        self.poll(at, &Call::new())
    }

    fn settle(&mut self, at: Instant, permit: u64, reply: Reply, waited: bool, ago: Span) -> bool {
        self.settle_as(at - ago, permit, &reply, Some(waited))
    }

    fn lose(&mut self, now: Instant) {
        self.lose(now);
    }

    fn interval(&self, _: Instant) -> Option<Span> {
        self.link.even_share()
    }

    fn cooldown_until(&self) -> Instant {
        self.cooldown.until()
    }

    fn forfeit(&mut self, _: Instant) {}
}
