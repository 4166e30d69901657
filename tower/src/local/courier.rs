//! The courier of a key: the task that carries the requests of its member.

use std::future::pending;
use std::sync::{Arc, Weak};

use tidegate::shared::REQUEST_BYTES;
use tidegate::{Instant, Policy, Quota, Span, law::AnyLaw};
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
    pub(super) alone: Quota,
    /// Starts a courier on tokio. Only the builder for tokio's timer knows that the task is [`Send`].
    pub(super) start: fn(&Handle, Courier<LIMITS, T>),
}

impl<const LIMITS: usize, T: Timer> Sharing<LIMITS, T> {
    /// The same with budgets of this policy, for another gate.
    pub(crate) fn of_policy(mut self, policy: Policy<AnyLaw, LIMITS>) -> Self {
        if let Some(policy) = of_one(policy) {
            self.post = Arc::new(self.post.again(policy));
        }
        self
    }

    pub(crate) fn set_policy(&self, policy: Policy<AnyLaw, LIMITS>) {
        if let Some(policy) = of_one(policy) {
            self.post.set_policy(policy);
        }
    }

    /// The member of a key.
    pub(crate) fn member(&self, now: Instant) -> Box<Leased> {
        Box::new(Leased::new(self.alone, self.post.expiry(), now))
    }
}

/// The policy with the first limit.
fn of_one<const LIMITS: usize>(policy: Policy<AnyLaw, LIMITS>) -> Option<Policy<AnyLaw>> {
    Some(policy.limits([*policy.laws().first()?]))
}

impl<const LIMITS: usize> Desk<LIMITS> {
    /// Lets a waiting task look again if the courier does not run.
    pub(crate) fn watch_courier(&mut self, now: Instant) {
        if let Some(leased) = &self.gate.leased {
            self.look_again = leased.armed.max(now) + PATIENCE;
        }
    }

    fn waiting(&self) -> u16 {
        u16::try_from(self.queue.waiting()).unwrap_or(u16::MAX)
    }
}

impl<const LIMITS: usize, T: Timer> Lane<LIMITS, T> {
    /// Changes the member. Gets the number of calls that wait.
    fn of_member<R>(
        self: &Arc<Self>,
        act: impl FnOnce(&mut Leased, u16, Instant) -> R,
    ) -> Option<R> {
        self.act(|desk, now| {
            let waiting = desk.waiting();
            desk.change(|source| Some(act(source.leased.as_mut()?, waiting, now)))
        })
    }

    /// Returns the available leases and sends its last request.
    pub(super) async fn leave(self: &Arc<Self>, post: &Post) {
        let mut room = [0; REQUEST_BYTES];
        let length = self.of_member(|leased, _, now| {
            leased.left = true;
            leased.member.leave(now, &mut room)
        });
        if let Some(length) = length.flatten() {
            // The answer is not needed.
            let _ = post.carry(Some((&self.key, &room[..length]))).await;
        }
    }

    /// The latest trouble.
    pub(super) fn trouble(&self) -> Option<LocalError> {
        self.look(|desk, _| desk.gate.leased.as_ref()?.trouble.clone())
    }

    /// The request that is due, if any.
    fn request(self: &Arc<Self>) -> Option<Vec<u8>> {
        self.of_member(|leased, waiting, now| {
            let mut room = [0; REQUEST_BYTES];
            while leased.due(waiting) <= now {
                if let Some(length) = leased.member.request(now, waiting, &mut room) {
                    return Some(room[..length].to_vec());
                }
                leased.trouble = Some(LocalError::new("no answer arrived in time"));
            }
            None
        })?
    }

    /// Handles an answer, or its absence. An earlier request than the latest one was given up.
    fn hear(self: &Arc<Self>, answer: Result<Vec<u8>, LocalError>, is_latest: bool, post: &Post) {
        self.of_member(|leased, waiting, now| {
            let heard = answer.and_then(|grant| {
                let heard = leased.member.hear(now, &grant, waiting);
                heard.map_err(|error| LocalError::new(format!("the grant is invalid: {error}")))
            });
            if heard.is_err() {
                if !is_latest {
                    return;
                }
                leased.member.miss(now);
            }
            leased.trouble = heard.err().or_else(|| post.is_replaced());
        });
    }

    /// After each event: wakes the courier if it is needed earlier. If it has ended with its runtime, returns another
    /// one.
    pub(crate) fn courier(
        self: &Arc<Self>,
        desk: &mut Desk<LIMITS>,
        now: Instant,
    ) -> Option<(Handle, Courier<LIMITS, T>)> {
        let waiting = desk.waiting();
        let Some(leased) = &mut desk.gate.leased else { return None };
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
        loop {
            let sleep = {
                let Some((lane, post)) = self.lane() else { return };
                if let Some(request) = lane.request() {
                    let (post, key) = (post.clone(), lane.key.clone());
                    latest += 1;
                    let number = latest;
                    exchanges
                        .spawn(async move { (number, post.carry(Some((&key, &request))).await) });
                }
                lane.trouble().inspect(|trouble| post.report(trouble));
                let until = lane.of_member(|leased, waiting, _| {
                    leased.armed = leased.due(waiting);
                    leased.armed
                });
                let until = until.filter(|until| *until < Instant::MAX);
                until.map(|until| Box::pin(lane.settings.timer.sleep_until(until)))
            };
            let sleep = async {
                match sleep {
                    Some(sleep) => sleep.await,
                    None => pending().await,
                }
            };
            tokio::select! {
                Some(Ok((number, answer))) = exchanges.join_next() => {
                    if let Some((lane, post)) = self.lane() {
                        lane.hear(answer, number == latest, &post);
                    }
                }
                () = sleep => {}
                () = self.bell.notified() => {}
            }
        }
    }

    /// The lane, if this is its courier.
    fn lane(&self) -> Option<(Arc<Lane<LIMITS, T>>, Arc<Post>)> {
        let lane = self.lane.upgrade()?;
        let post = lane.settings.sharing.as_ref()?.post.clone();
        let is_mine = lane.look(|desk, now| {
            let leased = self.member(desk)?;
            leased.armed = leased.armed.max(now);
            Some(())
        });
        is_mine.map(|()| (lane, post))
    }

    /// The member, if this is its courier.
    fn member<'a>(&self, desk: &'a mut Desk<LIMITS>) -> Option<&'a mut Leased> {
        let Some(leased) = &mut desk.gate.leased else { return None };
        let is_mine = leased.bell.as_ref().is_some_and(|bell| Arc::ptr_eq(bell, &self.bell));
        is_mine.then_some(leased)
    }
}

impl<const LIMITS: usize, T: Timer> Drop for Courier<LIMITS, T> {
    /// Its runtime has ended. The calls that wait on others start another one.
    fn drop(&mut self) {
        let Some(lane) = self.lane.upgrade() else { return };
        let waiting = lane.look(|desk, _| {
            self.member(desk)?.bell = None;
            Some(desk.all())
        });
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    }
}
