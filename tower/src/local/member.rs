//! The member of one key, from which its calls lease, and its courier: the task that carries its requests.

use std::sync::{Arc, Weak};

use tidegate::queue::Gate;
use tidegate::shared::{CountedMember, Member, REQUEST_BYTES};
use tidegate::{Call, Decision, Instant, Reason, Span};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::budget::Heap;
use super::post::{Answer, Post};
use super::{LocalError, SharingStats};
use crate::desk::Desk;
use crate::gate::random;
use crate::lane::Lane;
use crate::timer::{Timer, span};

/// How many calls of a key can be in flight in one process.
const PLACES: usize = 256;

/// A courier that is this late does not run: its runtime is not driven.
const PATIENCE: Span = Span::from_secs(1);

/// How the keys of a gate share their budgets with other processes.
#[derive(Clone, Debug)]
pub(crate) struct Sharing<const LIMITS: usize, T: Timer> {
    pub(crate) post: Arc<Post>,
    /// Starts a courier on tokio. Only the builder for tokio's timer knows that the task is [`Send`].
    pub(super) start: fn(&Handle, Courier<LIMITS, T>),
}

pub(crate) struct Leased {
    pub(crate) member: CountedMember<PLACES, Heap>,
    /// When the courier checks or was told to.
    armed: Instant,
    /// Wakes the latest courier early. `None` if it has ended.
    bell: Option<Arc<Notify>>,
    pub(super) trouble: Option<LocalError>,
    /// Whether it has sent its last request. It sends no more requests, except for calls that still wait.
    left: bool,
}

impl Leased {
    pub(crate) fn new<const LIMITS: usize, T: Timer>(
        sharing: &Sharing<LIMITS, T>,
        now: Instant,
    ) -> Self {
        let place = &sharing.post.place;
        let mut member = Member::new(random(), place.alone, now);
        member.set_expiry(span(place.share.expiry));
        Self {
            member: CountedMember::new(member),
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

    /// Whether no call, lease or request is pending.
    pub(crate) fn is_spare(&self) -> bool {
        let member = self.member.member();
        member.in_flight() == 0 && member.available_leases() == 0 && member.request_at().is_none()
    }

    /// When the courier must check next, if so many calls wait.
    fn due(&self, waiting: u16) -> Instant {
        let asks = !self.left || waiting > 0;
        self.member.member().request_at().filter(|_| asks).unwrap_or(Instant::MAX)
    }

    /// When a waiting task looks again, in case the courier does not run.
    pub(crate) fn look_again(&self, now: Instant) -> Instant {
        self.armed.max(now) + PATIENCE
    }

    /// The request that is due, if any.
    fn request(&mut self, now: Instant, waiting: u16) -> Option<Vec<u8>> {
        let mut room = [0; REQUEST_BYTES];
        while self.due(waiting) <= now {
            if let Some(length) = self.member.request(now, waiting, &mut room) {
                return Some(room[..length].to_vec());
            }
            self.trouble.get_or_insert_with(|| LocalError::new("no answer arrived in time"));
        }
        None
    }

    /// Handles an answer. Returns its trouble, or the error that there is no valid grant.
    fn hear(
        &mut self,
        now: Instant,
        waiting: u16,
        answer: Answer,
    ) -> Result<Option<LocalError>, LocalError> {
        let (grant, replaced) = answer?;
        let heard = self.member.hear(now, &grant, waiting);
        heard.map_err(|error| LocalError::new(format!("the grant is invalid: {error}")))?;
        Ok(replaced)
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

impl<const LIMITS: usize> Desk<LIMITS> {
    /// The member, and the number of calls that wait.
    fn member(&mut self) -> Option<(&mut Leased, u16)> {
        let waiting = u16::try_from(self.queue.waiting()).unwrap_or(u16::MAX);
        Some((self.gate.leased.as_mut()?, waiting))
    }
}

impl<const LIMITS: usize, T: Timer> Lane<LIMITS, T> {
    /// Returns the available leases and sends its last request.
    pub(super) async fn leave(self: &Arc<Self>, post: &Post) {
        let mut room = [0; REQUEST_BYTES];
        let length = self.change(|gate, now| {
            let leased = gate.leased.as_mut()?;
            leased.left = true;
            leased.member.leave(now, &mut room)
        });
        if let Some(length) = length {
            // The answer is not needed.
            let _ = post.carry(&self.key, &room[..length]).await;
        }
    }

    /// After each event: wakes the courier if it is needed earlier. If it has ended with its runtime, returns the start
    /// of another one.
    pub(crate) fn courier(
        self: &Arc<Self>,
        desk: &mut Desk<LIMITS>,
        now: Instant,
    ) -> Option<impl FnOnce() + use<LIMITS, T>> {
        let (leased, waiting) = desk.member()?;
        let due = leased.due(waiting);
        let is_early = due < leased.armed;
        if is_early {
            leased.armed = leased.armed.min(now);
        }
        let is_overdue = leased.armed + PATIENCE <= now;
        if let Some(bell) = &leased.bell
            && (is_early || is_overdue)
        {
            bell.notify_one();
        }
        let is_missing = due < Instant::MAX && (leased.bell.is_none() || is_overdue);
        let runtime = Handle::try_current().ok().filter(|_| is_missing)?;
        let start = self.settings.sharing.as_ref()?.start;
        let bell = Arc::new(Notify::new());
        (leased.bell, leased.armed) = (Some(bell.clone()), now);
        let courier = Courier { lane: Arc::downgrade(self), bell };
        Some(move || start(&runtime, courier))
    }
}

/// Carries a lane's requests when they are due, until the lane is dropped or another courier has replaced it.
pub(crate) struct Courier<const LIMITS: usize, T: Timer> {
    lane: Weak<Lane<LIMITS, T>>,
    bell: Arc<Notify>,
}

impl<const LIMITS: usize, T: Timer> Courier<LIMITS, T> {
    pub(super) async fn carry(self) {
        // Answers to requests that were given up may still arrive.
        let (mut exchanges, mut latest, mut served) = (JoinSet::new(), 0u64, 0);
        let mut heard = None;
        loop {
            let sleep = {
                let Some(lane) = self.lane.upgrade() else { return };
                let Some(Sharing { post, .. }) = &lane.settings.sharing else { return };
                let step = lane.act(|desk, now| {
                    desk.queue.changed();
                    let (leased, waiting) = self.member(desk)?;
                    if let Some((number, answer)) = heard.take() {
                        match leased.hear(now, waiting, answer) {
                            Ok(trouble) => (leased.trouble, served) = (trouble, number),
                            Err(why) if number > served => {
                                if number == latest {
                                    leased.member.miss(now);
                                }
                                leased.trouble = Some(why);
                            }
                            Err(_) => {}
                        }
                    }
                    let request = leased.request(now, waiting);
                    leased.armed = leased.due(waiting);
                    // A sleep without an end is none of tokio's.
                    let until = leased.armed.min(now + Span::from_secs(3_600));
                    Some((request, leased.trouble.clone(), until))
                });
                let Some((request, trouble, until)) = step else { return };
                if let Some(request) = request {
                    latest += 1;
                    let (post, key, number) = (post.clone(), lane.key.clone(), latest);
                    exchanges.spawn(async move { (number, post.carry(&key, &request).await) });
                }
                trouble.iter().for_each(|trouble| post.place.report(trouble));
                lane.settings.timer.sleep_until(until)
            };
            tokio::select! {
                Some(Ok(answer)) = exchanges.join_next() => heard = Some(answer),
                () = sleep => {}
                () = self.bell.notified() => {}
            }
        }
    }

    /// The member, if this is its courier.
    fn member<'a>(&self, desk: &'a mut Desk<LIMITS>) -> Option<(&'a mut Leased, u16)> {
        desk.member().filter(|(leased, _)| {
            leased.bell.as_ref().is_some_and(|bell| Arc::ptr_eq(bell, &self.bell))
        })
    }
}

impl<const LIMITS: usize, T: Timer> Drop for Courier<LIMITS, T> {
    /// Its runtime has ended. The calls that wait on others start another one.
    fn drop(&mut self) {
        let Some(lane) = self.lane.upgrade() else { return };
        let mut desk = lane.lock();
        let Some((leased, _)) = self.member(&mut desk) else { return };
        leased.bell = None;
        let waiting = desk.all();
        drop(desk);
        waiting.wake();
    }
}
