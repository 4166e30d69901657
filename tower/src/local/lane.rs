//! One key's calls: a member that leases from the budget, the calls that wait for its leases, and
//! the courier that carries its requests.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tidegate::shared::{CountedMember, Member, MemberStats, REQUEST_BYTES};
use tidegate::{Call, Instant, Quota, Reason, Reply, Span};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::LocalError;
use super::budgets::random;
use super::post::Post;
use crate::desk::{Desk, Lock};
use crate::gate::TAKE_WITHIN;
use crate::timer::{Timer, Tokio, span};

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
    desk: Desk<CountedMember<PLACES>>,
    /// When the courier checks or was told to.
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
    pub(super) available_leases: usize,
    pub(super) members: u16,
    pub(super) trouble: Option<LocalError>,
    /// Whether no call, lease or request is pending.
    pub(super) spare: bool,
}

impl Lane {
    /// A lane. Its courier runs on the runtime of the task that first needs it, or of another when that has ended.
    pub(super) fn new(
        key: Arc<str>,
        post: Arc<Post>,
        alone: Quota,
        expiry: Duration,
        most: u32,
    ) -> Arc<Self> {
        let clock = Tokio::default();
        let mut member = Member::new(random(), alone, clock.now());
        member.set_expiry(span(expiry));
        let member = CountedMember::new(member);
        let desk = Desk::new(member, most, span(clock.patience()), TAKE_WITHIN);
        let state = State { desk, armed: Instant::MAX, bell: None, trouble: None, left: false };
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
        let (state, now) = (self.lock(), self.clock.now());
        let wait = state.desk.peek(now, &self.until(deadline), priority, now);
        wait.map_err(|reason| (reason, now))
    }

    /// Settles a call.
    pub(super) fn settle(&self, permit: u64, reply: &Reply) {
        self.act(|desk, now| desk.change(|member| member.settle(now, permit, reply)));
    }

    /// Settles a call and returns its next attempt, if one is due.
    pub(super) fn retry(
        &self,
        permit: u64,
        reply: &Reply,
        call: &Call,
    ) -> Result<Call, (Reason, Instant)> {
        self.act(|desk, now| {
            desk.change(|member| {
                member.settle(now, permit, reply);
                member.retry(now, call, reply).map_err(|reason| (reason, now))
            })
        })
    }

    pub(super) fn glance(&self) -> Glance {
        let State { desk: Desk { gate, queue, .. }, trouble, .. } = &*self.lock();
        let member = gate.member();
        let (waiting, available_leases) = (queue.waiting(), member.available_leases());
        let in_flight = usize::from(member.in_flight());
        let quiet = waiting == 0 && available_leases == 0 && in_flight == 0;
        Glance {
            tally: *gate.stats(),
            waiting,
            in_flight,
            available_leases,
            members: member.fleet().map_or(0, |(members, _)| members),
            trouble: trouble.clone(),
            spare: quiet && member.request_at().is_none(),
        }
    }

    /// Returns the available leases and sends its last request.
    pub(super) async fn leave(&self) {
        let mut room = [0; REQUEST_BYTES];
        let length = self.with(|state, now| {
            state.left = true;
            state.desk.gate.leave(now, &mut room)
        });
        if let Some(length) = length {
            // The answer is not needed.
            let _ = self.post.carry(Some((&self.key, &room[..length]))).await;
        }
    }

    /// The request that is due, if any.
    fn request(&self) -> Option<Vec<u8>> {
        self.with(|state, now| {
            let mut room = [0; REQUEST_BYTES];
            while state.due() <= now {
                let waiting = state.waiting();
                if let Some(length) = state.desk.gate.request(now, waiting, &mut room) {
                    return Some(room[..length].to_vec());
                }
                state.trouble = Some(LocalError::new("no answer arrived in time"));
                state.desk.queue.changed();
            }
            None
        })
    }

    /// Handles an answer, or its absence.
    fn hear(&self, answer: Result<Vec<u8>, LocalError>) {
        self.with(|state, now| {
            let waiting = state.waiting();
            let heard = state.desk.change(|member| {
                let heard = answer.and_then(|grant| {
                    let heard = member.hear(now, &grant, waiting);
                    heard.map_err(|error| LocalError::new(format!("the grant is invalid: {error}")))
                });
                if heard.is_err() {
                    member.miss(now);
                }
                heard
            });
            state.trouble = heard.err();
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
    fn with<R>(&self, act: impl FnOnce(&mut State, Instant) -> R) -> R {
        let mut state = self.lock();
        let now = self.clock.now();
        state.desk.look_again = state.armed.max(now) + PATIENCE;
        let done = act(&mut state, now);
        let wakes = state.desk.settle_down(now);
        let is_early = state.due() < state.armed;
        if is_early {
            state.armed = state.armed.min(now);
        }
        let is_overdue = state.armed + PATIENCE <= now;
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
        drop(state);
        wakes.wake();
        if let Some((runtime, courier)) = start {
            runtime.spawn(courier.carry());
        }
        done
    }
}

impl Lock for Lane {
    type Permit = u64;
    type Gate = CountedMember<PLACES>;
    type Timer = Tokio;

    fn timer(&self) -> &Tokio {
        &self.clock
    }

    fn act<R>(&self, act: impl FnOnce(&mut Desk<Self::Gate>, Instant) -> R) -> R {
        self.with(|state, now| act(&mut state.desk, now))
    }
}

impl State {
    fn waiting(&self) -> u16 {
        u16::try_from(self.desk.queue.waiting()).unwrap_or(u16::MAX)
    }

    /// When the courier must check next.
    fn due(&self) -> Instant {
        let asks = !self.left || self.desk.queue.waiting() > 0;
        let request = self.desk.gate.member().request_at().filter(|_| asks);
        request.unwrap_or(Instant::MAX)
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
                    exchange =
                        Some(Box::pin(async move { post.carry(Some((&key, &request))).await }));
                }
                let trouble = lane.lock().trouble.clone();
                trouble.inspect(|trouble| lane.post.report(trouble));
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
            let waiting = state.desk.all();
            drop(state);
            waiting.wake();
        }
    }
}
