//! The courier of a key: the task that carries the requests of its member.

use std::sync::{Arc, Weak};

use tidegate::shared::REQUEST_BYTES;
use tidegate::{Instant, Policy, Span, law::AnyLaw};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::LocalError;
use super::leased::Leased;
use super::post::Post;
use crate::desk::Desk;
use crate::lane::Lane;
use crate::timer::Timer;

/// A courier that is this late does not run: its runtime is not driven.
const PATIENCE: Span = Span::from_secs(1);

/// How the keys of a gate share their budgets with other processes.
#[derive(Clone, Debug)]
pub(crate) struct Sharing<const LIMITS: usize, T: Timer> {
    pub(super) post: Arc<Post>,
    /// Starts a courier on tokio. Only the builder for tokio's timer knows that the task is [`Send`].
    pub(super) start: fn(&Handle, Courier<LIMITS, T>),
}

impl<const LIMITS: usize, T: Timer> Sharing<LIMITS, T> {
    /// The budgets have the first limit of a policy.
    pub(crate) fn set_policy(&self, policy: Policy<AnyLaw, LIMITS>) {
        if let Some(law) = policy.laws().first() {
            self.post.set_policy(policy.limits([*law]));
        }
    }

    pub(crate) fn member(&self, now: Instant) -> Box<Leased> {
        Box::new(Leased::new(&self.post.terms, now))
    }
}

impl Leased {
    /// When a waiting task looks again, in case the courier does not run.
    pub(crate) fn look_again(&self, now: Instant) -> Instant {
        self.armed.max(now) + PATIENCE
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

    pub(super) fn trouble(&self) -> Option<LocalError> {
        self.lock().gate.leased.as_ref()?.trouble.clone()
    }

    /// After each event: wakes the courier if it is needed earlier. If it has ended with its runtime, returns another
    /// one.
    pub(crate) fn courier(
        self: &Arc<Self>,
        desk: &mut Desk<LIMITS>,
        now: Instant,
    ) -> Option<(Handle, Courier<LIMITS, T>)> {
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
        let start = due < Instant::MAX && (leased.bell.is_none() || is_overdue);
        let runtime = Handle::try_current().ok().filter(|_| start)?;
        let bell = Arc::new(Notify::new());
        (leased.bell, leased.armed) = (Some(bell.clone()), now);
        Some((runtime, Courier { lane: Arc::downgrade(self), bell }))
    }

    pub(crate) fn start(&self, courier: Option<(Handle, Courier<LIMITS, T>)>) {
        if let (Some((runtime, courier)), Some(sharing)) = (courier, &self.settings.sharing) {
            (sharing.start)(&runtime, courier);
        }
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
        let (mut exchanges, mut latest) = (JoinSet::new(), 0u64);
        let mut heard = None;
        loop {
            let sleep = {
                let Some(lane) = self.lane.upgrade() else { return };
                let Some(Sharing { post, .. }) = &lane.settings.sharing else { return };
                let step = lane.act(|desk, now| {
                    desk.queue.changed();
                    let (leased, waiting) = self.member(desk)?;
                    if let Some((number, answer)) = heard.take() {
                        let is_latest = number == latest;
                        let heard = leased.hear(now, waiting, answer, is_latest);
                        if heard.is_ok() || is_latest {
                            leased.trouble = heard.err().or_else(|| post.is_replaced());
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
                trouble.iter().for_each(|trouble| post.terms.place.report(trouble));
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
