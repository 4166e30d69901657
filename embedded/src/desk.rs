//! The desk: the gates and the queue in front of them, behind one mutex.
//!
//! Every task that adds, cancels or settles a call also decides the calls that are due, wakes their
//! tasks, and sets the timer for the first call in the queue.
//!
//! The mutex may be a critical section, so it is locked for short steps only. Gates decide and learn on a copy, with
//! the mutex unlocked. The copy is kept if nothing else was decided meanwhile; else all of it is done again.

use core::cell::{Cell, RefCell};
use core::task::{Context, Poll};

use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::RawMutex;
use tidegate::gate::{ConcurrencyLimit, Permit};
use tidegate::queue::{self, Answer, Gate as _, Place, Step, Ticket, Turn};
use tidegate::{CallTime, Decision, Instant, Policy, Reason, Reply, Span, Verdict};

use crate::gates::{Gate, Gates};
use crate::log::{debug, trace};
use crate::places::Places;
use crate::rejection::Rejection;
use crate::time::{self, wake_at};

/// See the module.
#[allow(missing_debug_implementations, reason = "the throttles have their own")]
pub struct Desk<M: RawMutex, G: Gates<LIMITS>, const WAITERS: usize, const LIMITS: usize> {
    inner: Mutex<M, RefCell<Inner<G, WAITERS, LIMITS>>>,
    /// What calls that must be done in time have taken.
    call_time: Mutex<M, Cell<CallTime>>,
}

struct Inner<G: Gates<LIMITS>, const WAITERS: usize, const LIMITS: usize> {
    gates: Sown<G, LIMITS>,
    queue: Queue<G, WAITERS, LIMITS>,
    /// How often something was decided: a copy from before is of no use.
    decided: u32,
    #[cfg(feature = "sleep")]
    sleep: tidegate::SleepClock,
}

type Queue<G, const WAITERS: usize, const LIMITS: usize> =
    queue::Queue<Places<G, WAITERS, LIMITS>, LIMITS>;

/// Gates that are made when they are first asked, for neither a clock nor entropy is there when a
/// `static` is made.
enum Sown<G: Gates<LIMITS>, const LIMITS: usize> {
    Seed(&'static Policy<G::Law, LIMITS>, fn() -> u64),
    Grown(G),
}

/// The locked state: the gates, the queue and the number of decisions.
struct Locked<'a, G: Gates<LIMITS>, const WAITERS: usize, const LIMITS: usize> {
    gates: &'a mut G,
    queue: &'a mut Queue<G, WAITERS, LIMITS>,
    decided: &'a mut u32,
    now: Instant,
}

/// The gates of one key, to decide while the mutex is not locked.
struct Copied<G: Gates<LIMITS>, const LIMITS: usize> {
    /// Or when there may be gates for this key.
    gate: Result<Gate<G::Law, LIMITS>, Instant>,
    decided: u32,
    now: Instant,
}

impl<G: Gates<LIMITS>, const WAITERS: usize, const LIMITS: usize> Locked<'_, G, WAITERS, LIMITS> {
    fn copy(&mut self, key: &G::Key, to: &mut Option<Copied<G, LIMITS>>) {
        let gate = self.gates.get(key, self.now).map(|gate| gate.clone());
        *to = Some(Copied { gate, decided: *self.decided, now: self.now });
    }

    /// Keeps a copy with what was decided on it, if nothing was decided meanwhile.
    fn keep(&mut self, key: &G::Key, copied: &Option<Copied<G, LIMITS>>) -> bool {
        let Some(Copied { gate, decided, now }) = copied else { return true };
        if *decided != *self.decided {
            return false;
        }
        *self.decided = self.decided.wrapping_add(1);
        if let (Ok(gate), Ok(place)) = (gate, self.gates.get(key, *now)) {
            place.clone_from(gate);
        }
        true
    }
}

/// The state of a call.
#[derive(Clone, Copy, Debug)]
pub enum Standing {
    /// New, with this priority.
    New(u8),
    /// It has its place in the order, and is not in the queue: it was admitted, its backoff has not ended,
    /// or it is a retry or an urgent call for which the queue has no room.
    Outside(Place),
    /// It is in the queue.
    Queued(Place, Ticket),
}

/// What is later by this is later.
const TICK: Span = Span::from_nanos(1);

/// How often a call without room in the queue looks for it: no event wakes it.
const LOOK_AGAIN: Span = Span::from_secs(1);

/// What [`Call`](crate::Call) and [`Permit`](crate::Permit) ask of a desk, whatever its types.
pub trait Verbs<const LIMITS: usize> {
    /// The key of a call.
    type Key: Clone + Eq;

    /// A permit, if a call may be sent now and nobody waits for one.
    fn take(&self, key: &Self::Key, call: &tidegate::Call<LIMITS>) -> Option<Permit<LIMITS>>;

    /// A permit, when it is the call's turn.
    fn stand(
        &self,
        key: &Self::Key,
        call: &tidegate::Call<LIMITS>,
        standing: &mut Standing,
        context: &mut Context<'_>,
    ) -> Poll<Result<Permit<LIMITS>, Rejection>>;

    /// Removes a waiting call.
    fn leave(&self, key: &Self::Key, standing: Standing);

    /// Does `act` with what is known of how long calls take.
    fn with_call_time(&self, act: impl FnOnce(&mut CallTime, Instant) -> Instant) -> Instant;

    /// Settles a call, and returns its next attempt if one is due.
    fn settle(
        &self,
        key: &Self::Key,
        permit: Permit<LIMITS>,
        reply: &Reply<LIMITS>,
        again: Option<&tidegate::Call<LIMITS>>,
    ) -> Option<tidegate::Call<LIMITS>>;
}

impl<M: RawMutex, G: Gates<LIMITS>, const WAITERS: usize, const LIMITS: usize>
    Desk<M, G, WAITERS, LIMITS>
{
    pub(crate) const fn sown(policy: &'static Policy<G::Law, LIMITS>, seed: fn() -> u64) -> Self {
        Self::of(Sown::Seed(policy, seed))
    }

    pub(crate) const fn grown(gates: G) -> Self {
        Self::of(Sown::Grown(gates))
    }

    const fn of(gates: Sown<G, LIMITS>) -> Self {
        let queue = Queue::new(Places::new());
        let inner = Inner {
            gates,
            queue,
            decided: 0,
            #[cfg(feature = "sleep")]
            sleep: tidegate::SleepClock::new(),
        };
        let call_time = Mutex::new(Cell::new(CallTime::new()));
        Self { inner: Mutex::new(RefCell::new(inner)), call_time }
    }

    /// Sets another policy, also for waiting calls.
    pub(crate) fn set_policy(&self, policy: &'static Policy<G::Law, LIMITS>)
    where
        G::Law: PartialEq,
    {
        self.change(|gates| gates.set_policy(time::now(), policy));
    }

    /// Sets the concurrency limit, also for waiting calls.
    pub(crate) fn set_concurrency(&self, concurrency: ConcurrencyLimit) {
        self.change(|gates| gates.set_concurrency(time::now(), concurrency));
    }

    /// Changes the gates of any keys. Each task that waits looks what that means for its key.
    pub(crate) fn change(&self, act: impl FnOnce(&mut G)) {
        self.with((), |desk| {
            act(desk.gates);
            *desk.decided = desk.decided.wrapping_add(1);
            desk.queue.changed();
            desk.queue.storage().wake_all();
        });
    }

    /// How many tasks wait.
    pub(crate) fn waiting(&self) -> usize {
        self.with(0, |desk| desk.queue.storage().waiting())
    }

    /// The result of `act` on the gates.
    pub(crate) fn see<R>(&self, otherwise: R, act: impl FnOnce(&G) -> R) -> R {
        self.with(otherwise, |desk| act(desk.gates))
    }

    /// A copy of the key's gates, if there are any.
    pub(crate) fn look(&self, key: &G::Key) -> Option<Gate<G::Law, LIMITS>> {
        self.with(None, |desk| desk.gates.look(key).cloned())
    }

    /// Does `act` while nobody else does. A law or a waker that calls back into the throttle which
    /// calls it finds nothing done, and gets `otherwise`.
    fn with<R>(&self, otherwise: R, act: impl FnOnce(Locked<'_, G, WAITERS, LIMITS>) -> R) -> R {
        self.grow();
        self.inner.lock(|cell| {
            let Ok(mut inner) = cell.try_borrow_mut() else { return otherwise };
            let Inner { gates, queue, decided, .. } = &mut *inner;
            match gates {
                Sown::Grown(gates) => act(Locked { gates, queue, decided, now: time::now() }),
                Sown::Seed(..) => otherwise, // not reached
            }
        })
    }

    /// Makes the gates, if they are still to be made: neither entropy nor a law need be fast.
    #[inline(never)]
    fn grow(&self) {
        let sown = self.inner.lock(|cell| match cell.try_borrow().ok()?.gates {
            Sown::Seed(policy, seed) => Some((policy, seed)),
            Sown::Grown(_) => None,
        });
        if let Some((policy, seed)) = sown {
            let gates = G::begin(policy, seed(), time::now());
            self.inner.lock(|cell| {
                if let Ok(mut inner) = cell.try_borrow_mut()
                    && matches!(inner.gates, Sown::Seed(..))
                {
                    inner.gates = Sown::Grown(gates);
                }
            });
        }
    }

    /// The clock of the sleeps.
    #[cfg(feature = "sleep")]
    pub(crate) fn sleep(&self) -> Option<tidegate::SleepClock> {
        self.inner.lock(|cell| Some(cell.try_borrow().ok()?.sleep.clone()))
    }

    #[cfg(feature = "sleep")]
    pub(crate) fn set_sleep(&self, clock: tidegate::SleepClock) {
        self.inner.lock(|cell| {
            if let Ok(mut inner) = cell.try_borrow_mut() {
                inner.sleep = clock;
            }
        });
    }

    /// The same as `with` for one key, once for all that is done.
    #[inline(never)]
    fn with_key(&self, key: &G::Key, act: &mut dyn FnMut(&mut Locked<'_, G, WAITERS, LIMITS>)) {
        self.with((), |mut desk| {
            if desk.queue.storage().choose(key) {
                desk.queue.changed();
            }
            act(&mut desk);
        });
    }

    /// Makes the gates of a new key, which is a step by itself.
    fn let_in(&self, key: &G::Key) {
        if G::KEYED {
            self.with((), |desk| _ = desk.gates.get(key, desk.now));
        }
    }

    /// The turn of a new call, where it comes after the call's deadline.
    fn turn(&self, key: &G::Key, call: &tidegate::Call<LIMITS>, priority: u8) -> Option<Instant> {
        let (mut copied, mut ahead) = (None, None);
        self.with_key(key, &mut |desk| {
            ahead = desk.queue.ahead(call, priority);
            if ahead.is_some() {
                desk.copy(key, &mut copied);
            }
        });
        let Some(Copied { gate: Ok(gate), now, .. }) = copied else { return None };
        let turn = gate.due_behind(now, call, &ahead?);
        if turn <= call.not_after() {
            return None;
        }
        #[cfg(feature = "stats")]
        self.with_key(key, &mut |desk| {
            if let Ok(gate) = desk.gates.get(key, now) {
                gate.count_rejection();
            }
        });
        Some(turn)
    }

    /// Learns from a response, if there is one. Then, unless another attempt of that call is due, decides what is
    /// due, wakes the tasks of these calls except `own`, whose turn it returns, and sets the timer of the task whose
    /// call is first then.
    #[inline(never)]
    fn work(
        &self,
        key: &G::Key,
        own: usize,
        mut back: Option<Back<'_, LIMITS>>,
    ) -> (Option<tidegate::Call<LIMITS>>, Turn<LIMITS>) {
        let (mut next, mut alarm, mut turn) = (None, None, Turn::Waiting);
        loop {
            let (mut copied, mut head, mut answer) = (None, None, None);
            self.with_key(key, &mut |desk| {
                // A call that is over does not bring a key back that had to go.
                if let Some(Back { again: None, .. }) = back
                    && desk.gates.look(key).is_none()
                {
                    back = None;
                }
                if back.is_none() {
                    match desk.queue.head(desk.now) {
                        Ok(asks) => head = Some(asks),
                        Err(until) => {
                            let first = desk.queue.first(desk.now);
                            let waker = first.and_then(|first| desk.queue.storage().waker(first));
                            alarm = until.zip(waker);
                            return;
                        }
                    }
                }
                desk.copy(key, &mut copied);
            });
            let Some(Copied { gate, now, .. }) = &mut copied else { break };
            match (gate, &back, &head) {
                (Ok(gate), Some(back), _) => {
                    gate.settle(*now, back.permit.twin(), back.reply);
                    next = back.again.and_then(|call| gate.retry(*now, call, back.reply).ok());
                }
                (Ok(gate), None, Some(head)) => answer = Some(head.ask(*now, gate)),
                (Err(until), None, Some(_)) => answer = Some(Answer::wait(*until)),
                _ => {}
            }
            let mut ended = false;
            self.with_key(key, &mut |desk| {
                if !desk.keep(key, &copied) {
                    return;
                }
                back = None;
                let Locked { gates, queue, now, .. } = desk;
                let now = *now;
                let Some((head, answer)) = head.zip(answer.take()) else {
                    queue.changed();
                    // A retry joins before anybody is admitted.
                    ended = next.is_some();
                    return;
                };
                let count = || {
                    if let Ok(gate) = gates.get(key, now) {
                        gate.count_rejection();
                    }
                };
                match queue.conclude(now, head, answer, count) {
                    Step::Wake(ticket) if ticket.slot() == own => turn = queue.take(ticket),
                    Step::Wake(ticket) => queue.storage().wake(ticket.slot()),
                    Step::Sleep(until) => {
                        let waker = head.slot().and_then(|first| queue.storage().waker(first));
                        (alarm, ended) = (until.zip(waker), true);
                    }
                }
            });
            if ended {
                break;
            }
        }
        if let Some((until, waker)) = alarm {
            wake_at(until, &waker);
        }
        (next, turn)
    }
}

/// A call that has come back, and what is tried again.
struct Back<'a, const LIMITS: usize> {
    permit: Permit<LIMITS>,
    reply: &'a Reply<LIMITS>,
    again: Option<&'a tidegate::Call<LIMITS>>,
}

/// The cooldown that the server asks for, for the log.
fn asked<const LIMITS: usize>(reply: &Reply<LIMITS>) -> u64 {
    reply.hints.iter().filter_map(|hint| hint.retry_after).max().map_or(0, millis)
}

/// For the log.
const fn millis(span: Span) -> u64 {
    time::duration(span).as_millis()
}

impl<M: RawMutex, G: Gates<LIMITS>, const WAITERS: usize, const LIMITS: usize> Verbs<LIMITS>
    for Desk<M, G, WAITERS, LIMITS>
{
    type Key = G::Key;

    fn take(&self, key: &G::Key, call: &tidegate::Call<LIMITS>) -> Option<Permit<LIMITS>> {
        self.let_in(key);
        loop {
            let mut copied = None;
            self.with_key(key, &mut |desk| {
                if desk.queue.waiting() == 0 {
                    desk.copy(key, &mut copied);
                }
            });
            let Some(Copied { gate: Ok(gate), now, .. }) = &mut copied else { return None };
            let decision = gate.poll(*now, call);
            let mut kept = true;
            self.with_key(key, &mut |desk| kept = desk.keep(key, &copied));
            match decision {
                _ if !kept => {}
                Decision::Admit(permit) => return Some(permit),
                _ => return None,
            }
        }
    }

    fn stand(
        &self,
        key: &G::Key,
        call: &tidegate::Call<LIMITS>,
        standing: &mut Standing,
        context: &mut Context<'_>,
    ) -> Poll<Result<Permit<LIMITS>, Rejection>> {
        if let Standing::New(priority) = *standing {
            self.let_in(key);
            if let Some(turn) = self.turn(key, call, priority) {
                return Poll::Ready(Err(Rejection::of(Reason::Late(turn))));
            }
        }
        let waker = context.waker();
        let mut wake = call.not_after().saturating_add(TICK);
        let comes = !matches!(standing, Standing::Queued(..));
        let (mut slot, mut full) = (WAITERS, false);
        let mut turn = Turn::Waiting;
        self.with_key(key, &mut |desk| {
            let (place, mut ticket) = match *standing {
                Standing::New(priority) => (desk.queue.place(priority), None),
                Standing::Outside(place) => (place, None),
                Standing::Queued(place, ticket) => (place, Some(ticket)),
            };
            *standing = Standing::Outside(place);
            if let Some(queued) = ticket {
                match desk.queue.take(queued) {
                    Turn::Waiting => {}
                    // An urgent call has taken its place.
                    Turn::Unknown => ticket = None,
                    decided => {
                        turn = decided;
                        return;
                    }
                }
            }
            // Its own backoff takes no room in the queue.
            if call.not_before() > desk.now {
                wake = call.not_before();
                return;
            }
            if ticket.is_none() {
                *desk.decided = desk.decided.wrapping_add(1);
                ticket = desk.queue.enter(call, place);
            }
            match ticket {
                Some(ticket) => {
                    slot = ticket.slot();
                    desk.queue.storage().wait(slot, key, waker);
                    *standing = Standing::Queued(place, ticket);
                }
                // A retry has an answer to lose, and an urgent call is not lost, so they come again.
                None if call.attempt() > 0 || place.priority() > 0 => full = true,
                None => turn = Turn::Rejected(Reason::QueueFull),
            }
        });
        if matches!(turn, Turn::Waiting) {
            turn = self.work(key, slot, None).1;
        }
        if full {
            let now = time::now();
            wake = wake.min(now.saturating_add(LOOK_AGAIN));
            match self.look(key).map(|gate| gate.check(now, call)) {
                Some(Verdict::Reject(reason)) => turn = Turn::Rejected(reason),
                Some(Verdict::Wait(until)) => wake = until,
                _ => {}
            }
        }
        if let Standing::Queued(place, _) = *standing
            && !matches!(turn, Turn::Waiting)
        {
            *standing = Standing::Outside(place);
        }
        match turn {
            Turn::Admitted(permit) => Poll::Ready(Ok(permit)),
            Turn::Rejected(reason) => Poll::Ready(Err(Rejection::of(reason))),
            Turn::Waiting | Turn::Unknown => {
                if comes {
                    trace!("waits, {} ms at most", millis(wake.saturating_since(time::now())));
                }
                wake_at(wake, waker);
                Poll::Pending
            }
        }
    }

    fn leave(&self, key: &G::Key, standing: Standing) {
        let Standing::Queued(_, ticket) = standing else { return };
        self.with_key(key, &mut |desk| {
            *desk.decided = desk.decided.wrapping_add(1);
            if let Turn::Admitted(permit) = desk.queue.withdraw(ticket)
                && let Ok(gate) = desk.gates.get(key, desk.now)
            {
                gate.refund(desk.now, permit);
            }
        });
        _ = self.work(key, WAITERS, None);
    }

    fn with_call_time(&self, act: impl FnOnce(&mut CallTime, Instant) -> Instant) -> Instant {
        self.call_time.lock(|cell| {
            let mut time = cell.get();
            let result = act(&mut time, time::now());
            cell.set(time);
            result
        })
    }

    fn settle(
        &self,
        key: &G::Key,
        permit: Permit<LIMITS>,
        reply: &Reply<LIMITS>,
        again: Option<&tidegate::Call<LIMITS>>,
    ) -> Option<tidegate::Call<LIMITS>> {
        #[cfg(feature = "sleep")]
        if let Some(mut clock) = self.sleep() {
            clock.heard(time::now(), reply);
            self.set_sleep(clock);
        }
        let (next, _) = self.work(key, WAITERS, Some(Back { permit, reply, again }));
        match &next {
            Some(next) => debug!(
                "{:?}, and the server asks for {} ms: attempt {} in {} ms or then",
                reply.outcome,
                asked(reply),
                next.attempt().saturating_add(1),
                millis(next.not_before().saturating_since(time::now()))
            ),
            None if reply.outcome.is_pushback() => {
                debug!("{:?}, and the server asks for {} ms", reply.outcome, asked(reply));
            }
            None => {}
        }
        next
    }
}
