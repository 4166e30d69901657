//! One key's calls: a member that leases from the budget, the calls that wait for its leases, and the courier
//! that carries its requests.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;

use tidegate::gate::Permit;
use tidegate::queue::{Ahead, Gate, Growing, Node, Place, Queue, Step, Ticket, Turn};
use tidegate::shared::{Member, REQUEST_BYTES};
use tidegate::{Call, Decision, Instant, Outcome, Quota, Reason, Reply, Span};
use tokio::sync::Notify;

use super::LocalError;
use super::budgets::random;
use super::post::Post;
use crate::timer::{Timer, Tokio};

/// How many calls of one member can be in flight.
const PLACES: usize = 256;

/// See the module.
pub(super) struct Lane {
    pub(super) key: Arc<str>,
    clock: Tokio,
    post: Arc<Post>,
    state: Mutex<State>,
    /// Wakes the courier early.
    bell: Arc<Notify>,
}

struct State {
    kept: Kept,
    queue: Queue<Growing<Vec<Node<1>>, 1>>,
    /// By the slots of their calls.
    wakers: Vec<Option<Waker>>,
    /// When to look at the queue if nothing happens until then, and when the courier looks.
    until: Instant,
    armed: Instant,
    trouble: Option<LocalError>,
    /// Whether it has said good-bye for good: it asks no more, unless for calls that wait all the same.
    left: bool,
}

/// A member, and what is counted of it.
struct Kept {
    member: Member<PLACES>,
    tally: Tally,
    /// Whether a call lacks a lease until the next answer, and how many of those that did are to be sent yet;
    /// and whether the next that is sent has found none.
    lacks: bool,
    behind: u16,
    found_none: bool,
}

/// What is counted of a member.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) counts: tidegate::Stats,
    pub(super) alone: u32,
    pub(super) delayed: u32,
    pub(super) without: u32,
    pub(super) asked: u32,
    pub(super) missed: u32,
}

/// The state of a lane.
pub(super) struct Glance {
    pub(super) tally: Tally,
    pub(super) waiting: usize,
    pub(super) in_flight: usize,
    pub(super) in_hand: usize,
    pub(super) members: u16,
    pub(super) trouble: Option<LocalError>,
    /// Whether nothing is under way, leased, or asked for.
    pub(super) spare: bool,
}

impl Kept {
    fn decide(&mut self, now: Instant, call: &Call) -> Decision<u64> {
        // Asked before: what leaves with the last lease leaves with a lease.
        let alone = self.member.is_alone();
        let decision = self.member.poll(now, call);
        let counts = &mut self.tally.counts;
        match &decision {
            Decision::Admit(_) => {
                bump(&mut counts.admitted);
                add(&mut self.tally.alone, u32::from(alone));
                add(&mut self.tally.delayed, u32::from(self.behind > 0));
                self.behind = self.behind.saturating_sub(1);
                add(&mut self.tally.without, u32::from(self.found_none));
                self.found_none = false;
            }
            Decision::Wait(_) => {
                self.behind = 0;
                bump(&mut counts.waits);
            }
            Decision::Full => {
                bump(&mut counts.full);
                self.lacks |= !alone && usize::from(self.member.in_flight()) < PLACES;
                self.found_none |= self.lacks;
            }
            Decision::Reject(_) => counts.rejected += 1,
        }
        decision
    }

    /// A call without the coordinator needs no lease.
    fn misses(&mut self) {
        bump(&mut self.tally.missed);
        self.lacks &= !self.member.is_alone();
    }

    fn settle(&mut self, now: Instant, permit: u64, reply: &Reply) {
        self.member.settle(now, permit, reply);
        let counts = &mut self.tally.counts;
        bump(match reply.outcome {
            Outcome::Ok => &mut counts.ok,
            Outcome::Throttled => &mut counts.throttled,
            Outcome::Busy => &mut counts.busy,
            Outcome::Failed => &mut counts.failed,
            Outcome::Abandoned => &mut counts.abandoned,
            Outcome::Exhausted => &mut counts.exhausted,
        });
    }
}

impl Gate for Kept {
    fn poll(&mut self, now: Instant, call: &Call) -> Decision<Permit> {
        match self.decide(now, call) {
            Decision::Admit(raw) => Decision::Admit(Permit::of_lease(raw)),
            Decision::Wait(until) => Decision::Wait(until),
            Decision::Full => Decision::Full,
            Decision::Reject(reason) => Decision::Reject(reason),
        }
    }

    fn refund(&mut self, now: Instant, permit: Permit) {
        self.member.settle(now, permit.lease(), Outcome::Abandoned);
    }

    // An answer or a call that settles ends it.
    fn ready_at(&self, now: Instant, _: &Call) -> Option<Instant> {
        Some(now.saturating_add(Span::from_secs(1)))
    }

    fn due_behind(&self, now: Instant, call: &Call, [ahead]: &[Ahead; 1]) -> Instant {
        self.member.due_behind(now, call, ahead)
    }

    fn count_rejection(&mut self) {
        bump(&mut self.tally.counts.rejected);
    }
}

impl Lane {
    /// A lane whose courier runs on the runtime of this task.
    pub(super) fn new(key: Arc<str>, post: Arc<Post>, alone: Quota, most: u32) -> Arc<Self> {
        let clock = Tokio::default();
        let kept = Kept {
            member: Member::new(random(), alone, clock.now()),
            tally: Tally::default(),
            lacks: false,
            behind: 0,
            found_none: false,
        };
        let state = State {
            kept,
            queue: Queue::new(Growing::new(Vec::new(), most)),
            wakers: Vec::new(),
            until: Instant::MAX,
            armed: Instant::MAX,
            trouble: None,
            left: false,
        };
        let bell = Arc::new(Notify::new());
        let lane = Arc::new(Self { key, clock, post, state: Mutex::new(state), bell });
        tokio::spawn(carry(Arc::downgrade(&lane), lane.bell.clone()));
        lane
    }

    /// A call joins. Its place is for its retries too.
    pub(super) fn join(&self, call: &Call) -> Result<(Ticket, Place), (Reason, Instant)> {
        self.act(|state, now| {
            let place = state.queue.place(0);
            let ticket = state.queue.join(now, &mut state.kept, call, place);
            ticket.map(|ticket| (ticket, place)).map_err(|reason| (reason, now))
        })
    }

    /// The state of a waiting call.
    pub(super) fn wait(&self, ticket: Ticket, waker: &Waker) -> (Turn, Instant) {
        self.act(|state, now| {
            state.pump(now).drain(..).for_each(Waker::wake);
            let turn = state.queue.take(ticket);
            let slot = ticket.slot();
            if state.wakers.len() <= slot {
                state.wakers.resize(slot + 1, None);
            }
            state.wakers[slot] = matches!(turn, Turn::Waiting).then(|| waker.clone());
            (turn, now)
        })
    }

    /// A call that has not taken its permit is given up.
    pub(super) fn cancel(&self, ticket: Ticket) {
        self.act(|state, now| state.queue.cancel(now, &mut state.kept, ticket));
    }

    /// A call has ended.
    pub(super) fn settle(&self, permit: u64, reply: &Reply) {
        self.act(|state, now| state.settle(now, permit, reply));
    }

    /// The same, and the next attempt waits, if one is due.
    pub(super) fn retry(
        &self,
        permit: u64,
        reply: &Reply,
        call: &Call,
        place: Place,
    ) -> Result<(Call, Ticket), (Reason, Instant)> {
        self.act(|state, now| {
            state.settle(now, permit, reply);
            let next = state.kept.member.retry(now, call, reply).map_err(|reason| (reason, now))?;
            let ticket = state.queue.join(now, &mut state.kept, &next, place);
            let ticket = ticket.map_err(|reason| (reason, now))?;
            bump(&mut state.kept.tally.counts.retries);
            Ok((next, ticket))
        })
    }

    pub(super) fn glance(&self) -> Glance {
        let State { kept, queue, trouble, .. } = &*self.lock();
        let (waiting, in_hand) = (queue.waiting(), kept.member.in_hand());
        let in_flight = usize::from(kept.member.in_flight());
        let quiet = waiting == 0 && in_hand == 0 && in_flight == 0;
        Glance {
            tally: kept.tally,
            waiting,
            in_flight,
            in_hand,
            members: kept.member.fleet().map_or(0, |(members, _)| members),
            trouble: trouble.clone(),
            spare: quiet && kept.member.request_at().is_none(),
        }
    }

    /// Returns the available leases and says goodbye.
    pub(super) async fn leave(&self) {
        let mut room = [0; REQUEST_BYTES];
        let length = self.act(|state, now| {
            state.left = true;
            state.kept.member.leave(now, &mut room)
        });
        if let Some(length) = length {
            // Nobody waits for the answer.
            let _ = self.post.carry(&self.key, &room[..length]).await;
        }
    }

    /// The request that is due, if one is.
    fn request(&self) -> Option<Vec<u8>> {
        self.act(|state, now| {
            let mut room = [0; REQUEST_BYTES];
            while state.request_at().is_some_and(|at| at <= now) {
                let State { kept, queue, trouble, .. } = state;
                // A call that asked and does not wait needs one too, but only until the next answer.
                let waiting = u16::try_from(queue.waiting()).unwrap_or(u16::MAX);
                let waiting = waiting.max(kept.lacks.into());
                if let Some(length) = kept.member.request(now, waiting, &mut room) {
                    bump(&mut kept.tally.asked);
                    return Some(room[..length].to_vec());
                }
                kept.misses();
                *trouble = Some(LocalError::new("no answer has come in time"));
                queue.changed();
            }
            None
        })
    }

    /// An answer has come, or none will.
    fn hear(&self, answer: Result<Vec<u8>, LocalError>) {
        self.act(|state, now| {
            let State { kept, queue, trouble, .. } = state;
            queue.changed();
            let heard = answer.and_then(|grant| {
                let heard = kept.member.hear(now, &grant);
                heard.map_err(|error| LocalError::new(format!("no grant has come: {error}")))
            });
            match heard {
                Ok(()) => {
                    *trouble = None;
                    if std::mem::take(&mut kept.lacks) {
                        kept.behind = u16::try_from(queue.waiting()).unwrap_or(u16::MAX).max(1);
                    }
                }
                Err(error) => {
                    kept.member.miss(now);
                    kept.misses();
                    *trouble = Some(error);
                }
            }
        });
    }

    /// When the courier is to look again.
    fn arm(&self) -> Instant {
        let mut state = self.lock();
        state.armed = state.due();
        state.armed
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `act`, then wakes the tasks whose turn has come, and the courier if it is needed
    /// earlier.
    fn act<R>(&self, act: impl FnOnce(&mut State, Instant) -> R) -> R {
        let mut state = self.lock();
        let now = self.clock.now();
        let done = act(&mut state, now);
        let mut woken = state.pump(now);
        if state.due() < state.armed {
            state.armed = Instant::ZERO;
            self.bell.notify_one();
        }
        drop(state);
        woken.drain(..).for_each(Waker::wake);
        done
    }
}

impl State {
    fn settle(&mut self, now: Instant, permit: u64, reply: &Reply) {
        self.kept.settle(now, permit, reply);
        self.queue.changed();
    }

    /// Decides the calls that are due, and returns their wakers.
    fn pump(&mut self, now: Instant) -> Vec<Waker> {
        let mut woken = Vec::new();
        loop {
            match self.queue.poll(now, &mut self.kept) {
                Step::Wake(ticket) => {
                    woken.extend(self.wakers.get_mut(ticket.slot()).and_then(Option::take));
                }
                Step::Sleep(at) => {
                    self.until = at.unwrap_or(Instant::MAX);
                    return woken;
                }
            }
        }
    }

    /// When the lane must be polled next.
    fn due(&self) -> Instant {
        self.request_at().map_or(self.until, |at| at.min(self.until))
    }

    /// When a request is due.
    fn request_at(&self) -> Option<Instant> {
        let asks = !self.left || self.queue.waiting() > 0;
        self.kept.member.request_at().filter(|_| asks)
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.bell.notify_one();
    }
}

fn bump(count: &mut u32) {
    add(count, 1);
}

/// Adds one; saturates.
fn add(count: &mut u32, more: u32) {
    *count = count.saturating_add(more);
}

/// Carries a lane's requests when they are due, until the lane is dropped.
async fn carry(lane: Weak<Lane>, bell: Arc<Notify>) {
    type Exchange = Pin<Box<dyn Future<Output = Result<Vec<u8>, LocalError>> + Send>>;
    let mut exchange: Option<Exchange> = None;
    loop {
        let sleep = {
            let Some(lane) = lane.upgrade() else { return };
            if let Some(request) = lane.request() {
                let (post, key) = (lane.post.clone(), lane.key.clone());
                // The one before was given up.
                exchange = Some(Box::pin(async move { post.carry(&key, &request).await }));
            }
            let until = lane.arm();
            let (clock, is_due) = (lane.clock, until < Instant::MAX);
            async move {
                match is_due {
                    true => clock.sleep_until(until).await,
                    false => pending().await,
                }
            }
        };
        let answer = async {
            match &mut exchange {
                Some(exchange) => exchange.await,
                None => pending().await,
            }
        };
        tokio::select! {
            answer = answer => {
                exchange = None;
                if let Some(lane) = lane.upgrade() {
                    lane.hear(answer);
                }
            }
            () = sleep => {}
            () = bell.notified() => {}
        }
    }
}
