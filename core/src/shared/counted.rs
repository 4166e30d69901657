//! A member behind a queue, with counters.

use super::member::Member;
use super::message::MessageError;
use super::storage::{Inline, Storage};
use crate::outcome::{AsReply, Outcome};
use crate::queue::{Ahead, Gate};
use crate::stats::Stats;
use crate::time::{Instant, Span};
use crate::verdict::{Call, Decision, Reason};

/// The counters of a [`CountedMember`]. They saturate.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct MemberStats {
    /// Its calls. Only the coordinator knows how the law changes.
    pub calls: Stats,
    /// Calls that were sent without a lease.
    pub alone: u32,
    /// Calls that waited for an answer of the coordinator and were sent when it arrived.
    pub delayed: u32,
    /// Calls that found no lease when they were first in the queue.
    pub without: u32,
    /// Requests that were sent.
    pub asked: u32,
    /// Answers that did not arrive.
    pub missed: u32,
}

/// A [`Member`] that counts, and admits the calls of a [`Queue`](crate::queue::Queue).
///
/// ```
/// use tidegate::queue::Gate;
/// use tidegate::shared::{CountedMember, Member};
/// use tidegate::{Call, Decision, Instant, Quota};
///
/// let now = Instant::ZERO;
/// let member: Member = Member::new(42, Quota::per_second(1).unwrap(), now);
/// let mut gate = CountedMember::new(member);
/// assert_eq!(gate.poll(now, &Call::new()), Decision::Full);
/// assert_eq!(gate.stats().calls.full, 1);
/// ```
#[derive(Debug)]
pub struct CountedMember<const SLOTS: usize = 64, S: Storage = Inline> {
    member: Member<SLOTS, S>,
    stats: MemberStats,
    /// Whether a call lacks a lease until the next answer.
    lacks: bool,
    /// How many of the calls that lacked a lease are still to be sent.
    behind: u16,
    /// Whether the next call that is sent found no lease.
    found_none: bool,
    /// How many more successes end a failure.
    failing: u8,
}

impl<const SLOTS: usize, S: Storage> CountedMember<SLOTS, S> {
    /// A member with counters at zero.
    #[must_use]
    pub fn new(member: Member<SLOTS, S>) -> Self {
        let stats = MemberStats::default();
        Self { member, stats, lacks: false, behind: 0, found_none: false, failing: 0 }
    }

    /// The member.
    #[must_use]
    pub const fn member(&self) -> &Member<SLOTS, S> {
        &self.member
    }

    /// The counters so far.
    #[must_use]
    pub const fn stats(&self) -> &MemberStats {
        &self.stats
    }

    /// See [`Member::settle`].
    pub fn settle(&mut self, now: Instant, permit: u64, reply: impl AsReply) {
        let before = self.member.in_flight();
        let outcome = reply.with_reply(|reply| {
            self.member.settle(now, permit, *reply);
            reply.outcome
        });
        if self.member.in_flight() < before {
            bump(self.stats.calls.of(outcome));
            outcome.count_down(&mut self.failing);
        }
    }

    /// See [`Member::retry`].
    ///
    /// # Errors
    /// Those of [`Member::retry`].
    pub fn retry(
        &mut self,
        now: Instant,
        call: &Call,
        reply: impl AsReply,
    ) -> Result<Call, Reason> {
        let next = self.member.retry(now, call, reply)?;
        bump(&mut self.stats.calls.retries);
        Ok(next)
    }

    /// [`Member::request`], once [`Member::request_at`] is reached. `None` if the previous request
    /// was abandoned instead.
    pub fn request(&mut self, now: Instant, waiting: u16, room: &mut [u8]) -> Option<usize> {
        // A call that was polled but does not wait also needs a lease, but only until the next
        // answer.
        let length = self.member.request(now, waiting.max(self.lacks.into()), room);
        match length {
            Some(_) => bump(&mut self.stats.asked),
            None => self.has_missed(),
        }
        length
    }

    /// See [`Member::leave`].
    pub fn leave(&mut self, now: Instant, room: &mut [u8]) -> Option<usize> {
        self.member.leave(now, room)
    }

    /// See [`Member::hear`]. `waiting` is how many calls wait.
    ///
    /// # Errors
    /// [`MessageError`] if it is not a valid grant.
    pub fn hear(&mut self, now: Instant, grant: &[u8], waiting: u16) -> Result<(), MessageError> {
        self.member.hear(now, grant)?;
        if self.lacks {
            (self.lacks, self.behind) = (false, waiting.max(1));
        }
        Ok(())
    }

    /// See [`Member::miss`].
    pub fn miss(&mut self, now: Instant) {
        self.member.miss(now);
        self.has_missed();
    }

    /// A member without its coordinator needs no lease.
    fn has_missed(&mut self) {
        bump(&mut self.stats.missed);
        self.lacks &= !self.member.is_alone();
    }
}

impl<const SLOTS: usize, S: Storage> Gate for CountedMember<SLOTS, S> {
    type Permit = u64;

    fn poll(&mut self, now: Instant, call: &Call) -> Decision<u64> {
        // Checked before, because the call with the last lease counts as leased.
        let alone = self.member.is_alone();
        let decision = self.member.poll(now, call);
        let Self { stats, behind, found_none, .. } = self;
        match decision {
            Decision::Admit(_) => {
                bump(&mut stats.calls.admitted);
                add(&mut stats.alone, alone);
                add(&mut stats.delayed, *behind > 0);
                add(&mut stats.without, *found_none);
                (*behind, *found_none) = (behind.saturating_sub(1), false);
            }
            Decision::Wait(_) => {
                bump(&mut stats.calls.waits);
                *behind = 0;
            }
            Decision::Full => {
                bump(&mut stats.calls.full);
                self.lacks |= !alone && usize::from(self.member.in_flight()) < SLOTS;
                *found_none |= self.lacks;
            }
            Decision::Reject(_) => bump(&mut stats.calls.rejected),
        }
        decision
    }

    fn refund(&mut self, now: Instant, permit: u64) {
        self.member.settle(now, permit, Outcome::Abandoned);
    }

    // An answer or a settled call ends the wait; or a lost call, which nothing reports.
    fn ready_at(&self, now: Instant, _: &Call) -> Option<Instant> {
        Some(now + Span::from_secs(1))
    }

    fn due_behind(&self, now: Instant, call: &Call, [ahead]: &[Ahead; 1]) -> Instant {
        self.member.due_behind(now, call, ahead)
    }

    fn count_rejection(&mut self) {
        bump(&mut self.stats.calls.rejected);
    }

    fn is_failing(&self) -> bool {
        self.failing > 0
    }
}

fn bump(count: &mut u32) {
    add(count, true);
}

fn add(count: &mut u32, one: bool) {
    *count = count.saturating_add(one.into());
}
