//! The member of one key: what its calls lease, and the state of its courier.

use std::collections::HashMap;
use std::sync::Arc;

use tidegate::queue::Gate;
use tidegate::shared::{CountedMember, Member, REQUEST_BYTES};
use tidegate::{Call, Decision, Instant, Reason, Reply};
use tokio::sync::Notify;

use super::budgets::{Heap, Terms};
use super::{LocalError, SharingStats};
use crate::gate::random;
use crate::timer::span;

/// How many calls of a key can be in flight in one process.
const PLACES: usize = 256;

pub(crate) struct Leased {
    pub(crate) member: CountedMember<PLACES, Heap>,
    /// What calls have learnt that keep their places until their responses end. A request reports it with the place.
    learnt: HashMap<u64, Reply>,
    /// When the courier checks or was told to.
    pub(super) armed: Instant,
    /// Wakes the latest courier early. `None` if it has ended.
    pub(super) bell: Option<Arc<Notify>>,
    pub(super) trouble: Option<LocalError>,
    /// Whether it has sent its last request. It sends no more requests, except for calls that still wait.
    pub(super) left: bool,
}

impl Leased {
    pub(super) fn new(terms: &Terms, now: Instant) -> Self {
        let mut member = Member::new(random(), terms.alone, now);
        member.set_expiry(span(terms.expiry));
        Self {
            member: CountedMember::new(member),
            learnt: HashMap::new(),
            armed: Instant::MAX,
            bell: None,
            trouble: None,
            left: false,
        }
    }

    /// A lease is one call.
    pub(crate) fn poll<const LIMITS: usize>(
        &mut self,
        now: Instant,
        call: &Call<LIMITS>,
    ) -> Decision<u64> {
        if call.costs().iter().any(|cost| *cost > 1) {
            self.member.count_rejection();
            return Decision::Reject(Reason::TooBig);
        }
        self.member.poll(now, &call.of_limits([1]))
    }

    pub(crate) fn settle<const LIMITS: usize>(
        &mut self,
        now: Instant,
        permit: u64,
        reply: &Reply<LIMITS>,
    ) {
        // After a first report, a second one has no effect.
        let reply = self.learnt.remove(&permit).unwrap_or_else(|| of_one(reply));
        self.member.settle(now, permit, reply);
    }

    pub(crate) fn learn<const LIMITS: usize>(&mut self, permit: u64, reply: &Reply<LIMITS>) {
        self.learnt.insert(permit, of_one(reply));
    }

    /// Whether no call, lease or request is pending.
    pub(crate) fn is_spare(&self) -> bool {
        let member = self.member.member();
        member.in_flight() == 0 && member.available_leases() == 0 && member.request_at().is_none()
    }

    /// When the courier must check next, if so many calls wait.
    pub(super) fn due(&self, waiting: u16) -> Instant {
        let asks = !self.left || waiting > 0;
        self.member.member().request_at().filter(|_| asks).unwrap_or(Instant::MAX)
    }

    /// The request that is due, if any.
    pub(super) fn request(&mut self, now: Instant, waiting: u16) -> Option<Vec<u8>> {
        let mut room = [0; REQUEST_BYTES];
        while self.due(waiting) <= now {
            if let Some(length) = self.member.request(now, waiting, &mut room) {
                return Some(room[..length].to_vec());
            }
            self.trouble = Some(LocalError::new("no answer arrived in time"));
        }
        None
    }

    /// Handles an answer, or its absence. An earlier request than the latest one was given up.
    pub(super) fn hear(
        &mut self,
        now: Instant,
        waiting: u16,
        answer: Result<Vec<u8>, LocalError>,
        is_latest: bool,
    ) -> Result<(), LocalError> {
        let heard = answer.and_then(|grant| {
            let heard = self.member.hear(now, &grant, waiting);
            heard.map_err(|error| LocalError::new(format!("the grant is invalid: {error}")))
        });
        if heard.is_err() && is_latest {
            self.member.miss(now);
        }
        heard
    }

    pub(crate) fn stats(&self) -> SharingStats {
        let (member, tally) = (self.member.member(), self.member.stats());
        SharingStats {
            members: member.fleet().map_or(0, |(members, _)| members),
            available_leases: member.available_leases(),
            troubled: self.trouble.is_some().into(),
            asked: tally.asked,
            missed: tally.missed,
            alone: tally.alone,
            delayed: tally.delayed,
            without: tally.without,
        }
    }
}

impl Drop for Leased {
    fn drop(&mut self) {
        self.bell.iter().for_each(|bell| bell.notify_one());
    }
}

/// The reply about the first limit.
fn of_one<const LIMITS: usize>(reply: &Reply<LIMITS>) -> Reply {
    let hint = reply.hints.first().copied();
    hint.map_or(reply.outcome.into(), |hint| reply.outcome.with(hint))
}
