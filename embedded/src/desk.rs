//! The desk: the gates and the queue in front of them, behind one mutex.
//!
//! Every task that adds, cancels or settles a call also decides the calls that are due, wakes their
//! tasks, and sets the timer for the first call in the queue.
//!
//! The mutex may be a critical section, so it is locked for short steps only. Gates decide and learn on a copy, with
//! the mutex unlocked. The copy is kept if nothing else was decided meanwhile. Otherwise the step is repeated.

use core::cell::{Cell, RefCell};
use core::num::NonZeroU16;
use core::task::{Context, Poll, Waker};

use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::RawMutex;
use tidegate::gate::Permit;
use tidegate::queue::{self, Head, Place, Step, Storage, Ticket, Turn};
use tidegate::{CallTime, Decision, Instant, Policy, Reason, Reply, Span};

use crate::gates::{Gate, Gates};
use crate::log::{debug, trace};
use crate::places::Places;
use crate::rejection::Rejection;
use crate::time::{self, wake_at};

/// See the module's documentation.
#[allow(missing_debug_implementations, reason = "the throttles have their own")]
pub struct Desk<M: RawMutex, G: Gates<LIMITS>, const WAITERS: usize, const LIMITS: usize> {
    inner: Mutex<M, RefCell<Inner<G, WAITERS, LIMITS>>>,
    /// How long calls with a deadline for their response took.
    call_time: Mutex<M, Cell<CallTime>>,
}

struct Inner<G: Gates<LIMITS>, const WAITERS: usize, const LIMITS: usize> {
    gates: Sown<G, LIMITS>,
    queue: Queue<G, WAITERS, LIMITS>,
    /// Number of decisions: a copy from before the last one is outdated.
    decided: u32,
    #[cfg(feature = "sleep")]
    sleep: tidegate::SleepClock,
}

type Queue<G, const WAITERS: usize, const LIMITS: usize> =
    queue::Queue<Places<G, WAITERS, LIMITS>, LIMITS>;

/// Gates that are created at first use: a `static` is created when neither clock nor entropy is
/// available.
enum Sown<G: Gates<LIMITS>, const LIMITS: usize> {
    Seed(&'static Policy<G::Law, LIMITS>, fn() -> u64),
    Grown(G),
}

impl<G: Gates<LIMITS>, const LIMITS: usize> Sown<G, LIMITS> {
    #[inline(never)]
    fn grow(&mut self, policy: &'static Policy<G::Law, LIMITS>, seed: fn() -> u64) {
        *self = Self::Grown(G::begin(policy, seed(), time::now()));
    }
}

/// The locked state: the gates, the queue and the number of decisions.
struct Locked<'a, G: Gates<LIMITS>, const WAITERS: usize, const LIMITS: usize> {
    gates: &'a mut G,
    queue: &'a mut Queue<G, WAITERS, LIMITS>,
    decided: &'a mut u32,
    now: Instant,
}

impl<G: Gates<LIMITS>, const WAITERS: usize, const LIMITS: usize> Locked<'_, G, WAITERS, LIMITS> {
    /// Something was decided: earlier copies are outdated.
    const fn outdate(&mut self) {
        *self.decided = self.decided.wrapping_add(1);
    }
}

/// The state of a call.
#[derive(Debug)]
pub struct Standing<const LIMITS: usize> {
    place: Place,
    stage: Stage<LIMITS>,
}

#[derive(Debug)]
enum Stage<const LIMITS: usize> {
    /// It has not joined the queue: its place has only a priority.
    New,
    /// It is in the queue, as long as the queue knows its ticket. Else its backoff has not ended, or it is a
    /// retry or an urgent call for which the queue has no room.
    Waiting(Ticket),
    /// It may be sent, or is in flight.
    Admitted(Permit<LIMITS>),
}

/// The ticket that no call has.
const NO_TICKET: Ticket = Ticket::from_raw(u64::MAX);

impl<const LIMITS: usize> Standing<LIMITS> {
    /// The state of a call of this priority that has not joined.
    pub(crate) const fn new(priority: u8) -> Self {
        Self { place: Place::new(priority, 0), stage: Stage::New }
    }

    /// Takes the permit, if the call is admitted. Its next attempt can have the same place.
    pub(crate) const fn take(&mut self) -> Option<Permit<LIMITS>> {
        match core::mem::replace(&mut self.stage, Stage::Waiting(NO_TICKET)) {
            Stage::Admitted(permit) => Some(permit),
            _ => None,
        }
    }
}

/// The smallest difference in time.
const TICK: Span = Span::from_nanos(1);

/// How often a call without room in the queue tries again: no event wakes it.
const LOOK_AGAIN: Span = Span::from_secs(1);

/// What [`Call`](crate::Call) and [`Permit`](crate::Permit) need of a desk, independent of its
/// types.
pub trait Verbs<const LIMITS: usize> {
    /// The key of a call.
    type Key: Clone + Eq;

    /// Returns a permit if a call of this priority may be sent now and none that precedes it waits.
    fn take(
        &self,
        key: &Self::Key,
        call: &tidegate::Call<LIMITS>,
        priority: u8,
    ) -> Option<Permit<LIMITS>>;

    /// Ready when the call is admitted.
    fn stand(
        &self,
        key: &Self::Key,
        call: &tidegate::Call<LIMITS>,
        standing: &mut Standing<LIMITS>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Rejection>>;

    /// Removes a waiting call, or gives up one in flight.
    fn leave(&self, key: &Self::Key, standing: &mut Standing<LIMITS>);

    /// Calls `act` with the statistics on how long calls take.
    fn with_call_time(&self, act: impl FnOnce(&mut CallTime, Instant) -> Instant) -> Instant;

    /// Settles a call. If another attempt is due, the call becomes that attempt; returns whether it
    /// did.
    fn settle(
        &self,
        key: &Self::Key,
        permit: Permit<LIMITS>,
        reply: Option<&Reply<LIMITS>>,
        again: Option<&mut tidegate::Call<LIMITS>>,
    ) -> bool;
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
    pub(crate) fn set_concurrency(&self, limit: NonZeroU16) {
        self.change(|gates| gates.set_concurrency(limit));
    }

    /// Changes the gates of any keys. Each waiting task checks what changed for its key.
    pub(crate) fn change(&self, act: impl FnOnce(&mut G)) {
        self.with((), |mut desk| {
            act(desk.gates);
            desk.outdate();
            desk.queue.changed();
            desk.queue.storage().wake_all();
        });
    }

    /// Number of waiting tasks.
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

    /// Calls `act` with the desk locked. If a law or a waker calls back into the throttle that is
    /// calling it, nothing is done and it gets `otherwise`.
    fn with<R>(&self, otherwise: R, act: impl FnOnce(Locked<'_, G, WAITERS, LIMITS>) -> R) -> R {
        self.inner.lock(|cell| {
            let Ok(mut inner) = cell.try_borrow_mut() else { return otherwise };
            let Inner { gates, queue, decided, .. } = &mut *inner;
            if let Sown::Seed(policy, seed) = *gates {
                gates.grow(policy, seed);
            }
            match gates {
                Sown::Grown(gates) => act(Locked { gates, queue, decided, now: time::now() }),
                Sown::Seed(..) => otherwise, // unreachable
            }
        })
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

    /// Like `with`, for one key, and compiled once for all uses.
    #[inline(never)]
    fn with_key(&self, key: &G::Key, act: &mut dyn FnMut(&mut Locked<'_, G, WAITERS, LIMITS>)) {
        self.with((), |mut desk| {
            if desk.queue.storage().choose(key) {
                desk.queue.changed();
            }
            act(&mut desk);
        });
    }

    /// Creates the gates of a new key, as a separate step.
    fn let_in(&self, key: &G::Key) {
        if G::KEYED {
            self.with((), |desk| _ = desk.gates.get(key, desk.now));
        }
    }

    /// Learns from a response, if there is one. Unless that call is to be tried again, decides the
    /// calls that are due, wakes their tasks except that of `round.own`, and sets the timer of the
    /// first task in the queue.
    #[inline(never)]
    fn work(&self, key: &G::Key, round: &mut Round<'_, LIMITS>) {
        let mut decision = Decided::<G, LIMITS>::default();
        loop {
            let mut alarm = None;
            let mut goes_on = false;
            self.with_key(key, &mut |desk| {
                goes_on = match decision.before == Some(*desk.decided) {
                    true => decision.keep(key, desk, round),
                    false => decision.begin(key, desk, round, &mut alarm),
                }
            });
            if let Some((until, waker)) = alarm {
                wake_at(until, &waker);
            }
            if !goes_on {
                return;
            }
            decision.make(round);
        }
    }
}

/// A call that joins or is settled, while all due calls are decided.
struct Round<'a, const LIMITS: usize> {
    /// The slot of the joining call, and its decision.
    own: usize,
    turn: Turn<Permit<LIMITS>>,
    /// When the gates open for the first call, if that is what it waits for.
    waits_until: Option<Instant>,
    /// The settled call, and its next attempt.
    back: Option<Back<'a, LIMITS>>,
    next: Option<tidegate::Call<LIMITS>>,
}

/// A settled call.
struct Back<'a, const LIMITS: usize> {
    permit: Permit<LIMITS>,
    /// None if it was abandoned.
    reply: Option<&'a Reply<LIMITS>>,
    /// The call to try again, if any.
    again: Option<&'a tidegate::Call<LIMITS>>,
}

impl<'a, const LIMITS: usize> Round<'a, LIMITS> {
    const fn new(own: usize, back: Option<Back<'a, LIMITS>>) -> Self {
        Self { own, turn: Turn::Waiting, waits_until: None, back, next: None }
    }
}

/// One decision, on a copy of the gates.
struct Decided<G: Gates<LIMITS>, const LIMITS: usize> {
    /// The number of decisions before; none if nothing is decided.
    before: Option<u32>,
    now: Instant,
    gate: Option<Gate<G::Law, LIMITS>>,
    /// The first call, unless a call is settled.
    head: Option<Head<LIMITS>>,
}

impl<G: Gates<LIMITS>, const LIMITS: usize> Default for Decided<G, LIMITS> {
    fn default() -> Self {
        Self { before: None, now: Instant::ZERO, gate: None, head: None }
    }
}

impl<G: Gates<LIMITS>, const LIMITS: usize> Decided<G, LIMITS> {
    /// Finds what to decide, and copies the gates. If there is nothing, returns false, with when to
    /// wake which task.
    fn begin<const WAITERS: usize>(
        &mut self,
        key: &G::Key,
        desk: &mut Locked<'_, G, WAITERS, LIMITS>,
        round: &mut Round<'_, LIMITS>,
        alarm: &mut Option<(Instant, Waker)>,
    ) -> bool {
        // A finished call does not recreate the gates of an evicted key.
        if let Some(Back { again: None, .. }) = round.back
            && desk.gates.look(key).is_none()
        {
            round.back = None;
        }
        if round.back.is_none() {
            let is_failing = desk.gates.look(key).is_some_and(queue::Gate::is_failing);
            match desk.queue.head(desk.now, is_failing) {
                Ok(head) => self.head = Some(head),
                Err(until) => {
                    let first = desk.queue.first(is_failing);
                    let waker = first.and_then(|first| desk.queue.storage().waker(first));
                    *alarm = until.zip(waker);
                    return false;
                }
            }
        }
        (self.before, self.now) = (Some(*desk.decided), desk.now);
        match desk.gates.get(key, desk.now) {
            Ok(gate) => copy(&mut self.gate, gate),
            Err(until) => {
                if let Some(head) = &mut self.head {
                    head.wait(until);
                }
            }
        }
        true
    }

    /// Makes the decision.
    fn make(&mut self, round: &mut Round<'_, LIMITS>) {
        let Some(gate) = &mut self.gate else { return };
        if let Some(Back { permit, reply, again }) = &round.back {
            match reply {
                Some(reply) => {
                    gate.settle(self.now, permit.twin(), *reply);
                    round.next = again.and_then(|call| gate.retry(self.now, call, *reply).ok());
                }
                None => gate.release(permit.twin()),
            }
        } else if let Some(head) = &mut self.head {
            round.waits_until = head.ask(self.now, gate);
        }
    }

    /// Keeps the decision, since no other was made meanwhile. Returns whether there may be more to
    /// decide.
    fn keep<const WAITERS: usize>(
        &mut self,
        key: &G::Key,
        desk: &mut Locked<'_, G, WAITERS, LIMITS>,
        round: &mut Round<'_, LIMITS>,
    ) -> bool {
        desk.outdate();
        if let Some(gate) = &self.gate
            && let Ok(place) = desk.gates.get(key, self.now)
        {
            overwrite(place, gate);
        }
        self.gate = None;
        if round.back.take().is_some() {
            desk.queue.changed();
            // A retry joins before any call is admitted.
            return round.next.is_none();
        }
        let Some(head) = self.head.take() else { return true };
        let count = || {
            if let Ok(gate) = desk.gates.get(key, desk.now) {
                queue::Gate::count_rejection(gate);
            }
        };
        match desk.queue.conclude(head, count) {
            Step::Wake(ticket) if ticket.slot() == round.own => {
                round.turn = desk.queue.take(ticket);
            }
            Step::Wake(ticket) => desk.queue.storage().wake(ticket.slot()),
            Step::Sleep(_) => {}
        }
        true
    }
}

/// Copies gates. It is a separate function, so that the copy is written in place.
#[inline(never)]
fn copy<T: Clone>(to: &mut Option<T>, gates: &T) {
    *to = Some(gates.clone());
}

/// The same, over existing gates.
#[inline(never)]
fn overwrite<T: Clone>(place: &mut T, gates: &T) {
    *place = gates.clone();
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

    fn take(
        &self,
        key: &G::Key,
        call: &tidegate::Call<LIMITS>,
        priority: u8,
    ) -> Option<Permit<LIMITS>> {
        self.let_in(key);
        loop {
            let (mut copy, mut decided, mut at) = (None, 0, Instant::ZERO);
            self.with_key(key, &mut |desk| {
                if desk.queue.storage().ahead(priority).iter().all(|ahead| ahead.calls == 0) {
                    copy = desk.gates.get(key, desk.now).ok().map(|gate| gate.clone());
                    (decided, at) = (*desk.decided, desk.now);
                }
            });
            let mut gate = copy?;
            let decision = gate.poll(at, call);
            let mut kept = true;
            self.with_key(key, &mut |desk| {
                kept = decided == *desk.decided;
                if kept {
                    desk.outdate();
                    if let Ok(place) = desk.gates.get(key, at) {
                        place.clone_from(&gate);
                    }
                }
            });
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
        standing: &mut Standing<LIMITS>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Rejection>> {
        let waker = context.waker();
        let comes = matches!(standing.stage, Stage::New);
        if comes {
            self.let_in(key);
        }
        let mut wake = call.not_after().saturating_add(TICK);
        let mut round = Round::new(WAITERS, None);
        let mut full = false;
        self.with_key(key, &mut |desk| {
            let ticket = match standing.stage {
                Stage::Waiting(ticket) => ticket,
                _ => {
                    standing.place = desk.queue.place(standing.place.priority());
                    NO_TICKET
                }
            };
            let mut ticket = match desk.queue.take(ticket) {
                Turn::Waiting => Some(ticket),
                // It joins, or an urgent call has taken its slot.
                Turn::Unknown => None,
                decided => {
                    round.turn = decided;
                    return;
                }
            };
            standing.stage = Stage::Waiting(NO_TICKET);
            // A call in its backoff takes no room in the queue.
            if call.not_before() > desk.now {
                wake = call.not_before();
                return;
            }
            if ticket.is_none() {
                desk.outdate();
                ticket = desk.queue.enter(call, standing.place);
            }
            match ticket {
                Some(ticket) => {
                    round.own = ticket.slot();
                    desk.queue.storage().wait(round.own, key, waker);
                    standing.stage = Stage::Waiting(ticket);
                }
                None if desk.now > call.not_after() => {
                    round.turn = Turn::Rejected(Reason::Late(desk.now));
                }
                // A retry has a result to lose and an urgent call must not be lost, so both try
                // again.
                None if call.attempt() > 0 || standing.place.priority() > 0 => {
                    desk.queue.changed();
                    full = true;
                }
                None => round.turn = Turn::Rejected(Reason::QueueFull),
            }
        });
        if matches!(round.turn, Turn::Waiting) {
            self.work(key, &mut round);
        }
        if full {
            let later = time::now().saturating_add(LOOK_AGAIN);
            wake = wake.min(round.waits_until.unwrap_or(later));
        }
        match round.turn {
            Turn::Admitted(permit) => {
                standing.stage = Stage::Admitted(permit);
                Poll::Ready(Ok(()))
            }
            Turn::Rejected(reason) => {
                standing.stage = Stage::Waiting(NO_TICKET);
                Poll::Ready(Err(Rejection::of(reason)))
            }
            Turn::Waiting | Turn::Unknown => {
                if comes {
                    trace!("waits, {} ms at most", millis(wake.saturating_since(time::now())));
                }
                wake_at(wake, waker);
                Poll::Pending
            }
        }
    }

    fn leave(&self, key: &G::Key, standing: &mut Standing<LIMITS>) {
        let ticket = match standing.stage {
            Stage::Waiting(ticket) if ticket != NO_TICKET => ticket,
            _ => {
                if let Some(permit) = standing.take() {
                    self.settle(key, permit, None, None);
                }
                return;
            }
        };
        self.with_key(key, &mut |desk| {
            desk.outdate();
            if let Turn::Admitted(permit) = desk.queue.withdraw(ticket)
                && let Ok(gate) = desk.gates.get(key, desk.now)
            {
                gate.refund(desk.now, permit);
            }
        });
        self.work(key, &mut Round::new(WAITERS, None));
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
        reply: Option<&Reply<LIMITS>>,
        again: Option<&mut tidegate::Call<LIMITS>>,
    ) -> bool {
        #[cfg(feature = "sleep")]
        if let (Some(mut clock), Some(reply)) = (self.sleep(), reply) {
            clock.heard(time::now(), reply);
            self.set_sleep(clock);
        }
        let back = Back { permit, reply, again: again.as_deref() };
        let mut round = Round::new(WAITERS, Some(back));
        self.work(key, &mut round);
        let next = round.next;
        match (&next, reply) {
            (Some(next), Some(reply)) => debug!(
                "{:?}, and the server asks for {} ms: attempt {} in {} ms or then",
                reply.outcome,
                asked(reply),
                next.attempt().saturating_add(1),
                millis(next.not_before().saturating_since(time::now()))
            ),
            (None, Some(reply)) if reply.outcome.is_pushback() => {
                debug!("{:?}, and the server asks for {} ms", reply.outcome, asked(reply));
            }
            _ => {}
        }
        match (again, next) {
            (Some(call), Some(next)) => {
                *call = next;
                true
            }
            _ => false,
        }
    }
}
