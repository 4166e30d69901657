//! One key's calls: a member that leases from the budget, the calls that wait for its leases, and
//! the courier that carries its requests.

use std::future::{Future, pending};
use std::mem::{replace, take};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;

use tidegate::queue::{Growing, Node, Place, Queue, Step, Ticket, Turn};
use tidegate::shared::{CountedMember, Member, MemberStats, REQUEST_BYTES};
use tidegate::{Call, Instant, Quota, Reason, Reply, Span};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::LocalError;
use super::budgets::random;
use super::post::Post;
use crate::timer::{Timer, Tokio};

/// How many calls of one member can be in flight.
const PLACES: usize = 256;

/// A courier that is this late does not run: its runtime is not driven.
const PATIENCE: Span = Span::from_secs(1);

/// See the module's documentation.
pub(super) struct Lane {
    me: Weak<Self>,
    pub(super) key: Arc<str>,
    pub(super) clock: Tokio,
    post: Arc<Post>,
    state: Mutex<State>,
}

struct State {
    kept: CountedMember<PLACES>,
    queue: Queue<Growing<Vec<Node<1>>, 1>>,
    /// Wakers by the slots of their calls.
    wakers: Vec<Option<Waker>>,
    /// The wakers of calls whose turn has come, and one that is no longer needed. They are woken and dropped after the
    /// lock is released.
    woken: Vec<Waker>,
    spent: Option<Waker>,
    /// When to check the queue without an event, and when the courier checks or was told to.
    until: Instant,
    armed: Instant,
    /// Wakes the latest courier early. `None` if it has ended.
    bell: Option<Arc<Notify>>,
    trouble: Option<LocalError>,
    /// Whether it has sent its last request. It sends no more requests, except for calls that still wait.
    left: bool,
}

/// The state of a lane.
pub(super) struct Glance {
    pub(super) tally: MemberStats,
    pub(super) waiting: usize,
    pub(super) in_flight: usize,
    pub(super) in_hand: usize,
    pub(super) members: u16,
    pub(super) trouble: Option<LocalError>,
    /// Whether no call, lease or request is pending.
    pub(super) spare: bool,
}

impl Lane {
    /// A lane. Its courier runs on the runtime of the task that first needs it, or of another when that has ended.
    pub(super) fn new(key: Arc<str>, post: Arc<Post>, alone: Quota, most: u32) -> Arc<Self> {
        let clock = Tokio::default();
        let kept = CountedMember::new(Member::new(random(), alone, clock.now()));
        let state = State {
            kept,
            queue: Queue::new(Growing::new(Vec::new(), most)),
            wakers: Vec::new(),
            woken: Vec::new(),
            spent: None,
            until: Instant::MAX,
            armed: Instant::MAX,
            bell: None,
            trouble: None,
            left: false,
        };
        Arc::new_cyclic(|me| Self { me: me.clone(), key, clock, post, state: Mutex::new(state) })
    }

    /// A call that must be over by then.
    pub(super) fn until(&self, deadline: Option<tokio::time::Instant>) -> Call {
        Call::new().deadline(deadline.map_or(Instant::MAX, |deadline| self.clock.at(deadline)))
    }

    /// How long a new call would wait at the current rate of all members.
    pub(super) fn peek(
        &self,
        deadline: Option<tokio::time::Instant>,
        priority: u8,
    ) -> Result<Span, (Reason, Instant)> {
        let call = self.until(deadline);
        let (state, now) = (self.lock(), self.clock.now());
        let due = state.queue.turn_of_new(now, &state.kept, &call, priority);
        if due > call.not_after() {
            return Err((Reason::Late(due), now));
        }
        Ok(due.saturating_since(now))
    }

    /// A call joins. Its place is also used for its retries.
    pub(super) fn join(
        &self,
        call: &Call,
        priority: u8,
    ) -> Result<(Ticket, Place), (Reason, Instant)> {
        self.act(|state, now| {
            let place = state.queue.place(priority);
            let ticket = state.queue.join(now, &mut state.kept, call, place);
            ticket.map(|ticket| (ticket, place)).map_err(|reason| (reason, now))
        })
    }

    /// The state of a waiting call, and until when it waits if it is not woken.
    pub(super) fn wait(&self, call: &Call, ticket: Ticket, waker: &Waker) -> (Turn, Instant) {
        self.act(|state, now| {
            state.pump(now);
            let turn = state.queue.take(ticket);
            let slot = ticket.slot();
            if state.wakers.len() <= slot {
                state.wakers.resize(slot + 1, None);
            }
            let next = matches!(turn, Turn::Waiting).then(|| waker.clone());
            let overdue = state.armed.max(now).saturating_add(PATIENCE);
            let until = if next.is_some() { overdue.min(after(call)) } else { now };
            state.spent = replace(&mut state.wakers[slot], next);
            (turn, until)
        })
    }

    /// Gives up a call that has not taken its permit.
    pub(super) fn cancel(&self, ticket: Ticket) {
        self.act(|state, now| state.queue.cancel(now, &mut state.kept, ticket));
    }

    /// Settles a call.
    pub(super) fn settle(&self, permit: u64, reply: &Reply) {
        self.act(|state, now| state.settle(now, permit, reply));
    }

    /// Settles a call and queues its next attempt, if one is due.
    pub(super) fn retry(
        &self,
        permit: u64,
        reply: &Reply,
        call: &Call,
        place: Place,
    ) -> Result<(Call, Ticket), (Reason, Instant)> {
        self.act(|state, now| {
            state.settle(now, permit, reply);
            let next = state.kept.retry(now, call, reply).map_err(|reason| (reason, now))?;
            let ticket = state.queue.join(now, &mut state.kept, &next, place);
            let ticket = ticket.map_err(|reason| (reason, now))?;
            Ok((next, ticket))
        })
    }

    pub(super) fn glance(&self) -> Glance {
        let State { kept, queue, trouble, .. } = &*self.lock();
        let member = kept.member();
        let (waiting, in_hand) = (queue.waiting(), member.in_hand());
        let in_flight = usize::from(member.in_flight());
        let quiet = waiting == 0 && in_hand == 0 && in_flight == 0;
        Glance {
            tally: *kept.stats(),
            waiting,
            in_flight,
            in_hand,
            members: member.fleet().map_or(0, |(members, _)| members),
            trouble: trouble.clone(),
            spare: quiet && member.request_at().is_none(),
        }
    }

    /// Returns the available leases and sends its last request.
    pub(super) async fn leave(&self) {
        let mut room = [0; REQUEST_BYTES];
        let length = self.act(|state, now| {
            state.left = true;
            state.kept.leave(now, &mut room)
        });
        if let Some(length) = length {
            // The answer is not needed.
            let _ = self.post.carry(&self.key, &room[..length]).await;
        }
    }

    /// The request that is due, if any.
    fn request(&self) -> Option<Vec<u8>> {
        self.act(|state, now| {
            let mut room = [0; REQUEST_BYTES];
            while state.request_at().is_some_and(|at| at <= now) {
                let State { kept, queue, trouble, .. } = state;
                let waiting = u16::try_from(queue.waiting()).unwrap_or(u16::MAX);
                if let Some(length) = kept.request(now, waiting, &mut room) {
                    return Some(room[..length].to_vec());
                }
                *trouble = Some(LocalError::new("no answer arrived in time"));
                queue.changed();
            }
            None
        })
    }

    /// Handles an answer, or its absence.
    fn hear(&self, answer: Result<Vec<u8>, LocalError>) {
        self.act(|state, now| {
            let State { kept, queue, trouble, .. } = state;
            queue.changed();
            let heard = answer.and_then(|grant| {
                let waiting = u16::try_from(queue.waiting()).unwrap_or(u16::MAX);
                let heard = kept.hear(now, &grant, waiting);
                heard.map_err(|error| LocalError::new(format!("the grant is invalid: {error}")))
            });
            match heard {
                Ok(()) => *trouble = None,
                Err(error) => {
                    kept.miss(now);
                    *trouble = Some(error);
                }
            }
        });
    }

    /// When the courier checks next.
    fn arm(&self) -> Instant {
        let mut state = self.lock();
        state.armed = state.due();
        state.armed
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `act`, then wakes the tasks whose turn has come, and the courier if it is needed
    /// earlier. If it has ended with its runtime, another one starts.
    fn act<R>(&self, act: impl FnOnce(&mut State, Instant) -> R) -> R {
        let mut state = self.lock();
        let now = self.clock.now();
        let done = act(&mut state, now);
        state.pump(now);
        let is_early = state.due() < state.armed;
        if is_early {
            state.armed = state.armed.min(now);
        }
        let is_overdue = state.armed.saturating_add(PATIENCE) <= now;
        if let Some(bell) = &state.bell
            && (is_early || is_overdue)
        {
            bell.notify_one();
        }
        let start = state.due() < Instant::MAX && (state.bell.is_none() || is_overdue);
        let start = Handle::try_current().ok().filter(|_| start).map(|runtime| {
            let bell = Arc::new(Notify::new());
            (state.bell, state.armed) = (Some(bell.clone()), now);
            (runtime, Courier { lane: self.me.clone(), bell })
        });
        let (woken, spent) = (take(&mut state.woken), state.spent.take());
        drop(state);
        drop(spent);
        woken.into_iter().for_each(Waker::wake);
        if let Some((runtime, courier)) = start {
            runtime.spawn(courier.carry());
        }
        done
    }
}

impl State {
    fn settle(&mut self, now: Instant, permit: u64, reply: &Reply) {
        self.kept.settle(now, permit, reply);
        self.queue.changed();
    }

    /// Decides the calls that are due.
    fn pump(&mut self, now: Instant) {
        loop {
            match self.queue.poll(now, &mut self.kept) {
                Step::Wake(ticket) => {
                    let waker = self.wakers.get_mut(ticket.slot()).and_then(Option::take);
                    self.woken.extend(waker);
                }
                Step::Sleep(at) => {
                    self.until = at.unwrap_or(Instant::MAX);
                    return;
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
        self.kept.member().request_at().filter(|_| asks)
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.bell.iter().for_each(|bell| bell.notify_one());
    }
}

/// The task that carries a lane's requests when they are due, until the lane is dropped or another one has replaced it.
struct Courier {
    lane: Weak<Lane>,
    bell: Arc<Notify>,
}

impl Courier {
    async fn carry(self) {
        type Exchange = Pin<Box<dyn Future<Output = Result<Vec<u8>, LocalError>> + Send>>;
        let mut exchange: Option<Exchange> = None;
        loop {
            let sleep = {
                let Some(lane) = self.lane() else { return };
                if let Some(request) = lane.request() {
                    let (post, key) = (lane.post.clone(), lane.key.clone());
                    // The previous one was abandoned.
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
                    if let Some(lane) = self.lane() {
                        lane.hear(answer);
                    }
                }
                () = sleep => {}
                () = self.bell.notified() => {}
            }
        }
    }

    /// The lane, if this is its courier.
    fn lane(&self) -> Option<Arc<Lane>> {
        self.lane.upgrade().filter(|lane| self.is_of(&lane.lock()))
    }

    fn is_of(&self, state: &State) -> bool {
        state.bell.as_ref().is_some_and(|bell| Arc::ptr_eq(bell, &self.bell))
    }
}

impl Drop for Courier {
    /// Its runtime has ended. The calls that wait on others start another one.
    fn drop(&mut self) {
        let Some(lane) = self.lane.upgrade() else { return };
        let mut state = lane.lock();
        if self.is_of(&state) {
            state.bell = None;
            let waiting: Vec<_> = state.wakers.iter_mut().filter_map(Option::take).collect();
            drop(state);
            waiting.into_iter().for_each(Waker::wake);
        }
    }
}

/// The first instant after the deadline.
fn after(call: &Call) -> Instant {
    call.not_after().saturating_add(Span::from_nanos(1))
}
