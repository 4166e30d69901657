//! The desk: the gates and the queue in front of them, behind one lock.
//!
//! Every task that comes, gives up or settles a call also admits and rejects what is due, wakes those
//! tasks, and sets the timer of the task whose call is first then.

use core::cell::RefCell;
use core::task::{Context, Poll};

use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::RawMutex;
use tidegate::gate::{ConcurrencyLimit, Permit};
use tidegate::queue::{self, Place, Step, Ticket, Turn};
use tidegate::{Decision, Instant, Policy, Reason, Reply, Span, Verdict};

use crate::gates::Gates;
use crate::log::{debug, trace};
use crate::places::Places;
use crate::rejection::Rejection;
use crate::time::{self, wake_at};

/// See the module.
#[allow(missing_debug_implementations, reason = "the throttles have their own")]
pub struct Desk<M: RawMutex, G: Gates<LIMITS>, const WAITERS: usize, const LIMITS: usize> {
    inner: Mutex<M, RefCell<Inner<G, WAITERS, LIMITS>>>,
}

struct Inner<G: Gates<LIMITS>, const WAITERS: usize, const LIMITS: usize> {
    gates: Sown<G, LIMITS>,
    queue: Queue<G, WAITERS, LIMITS>,
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

impl<G: Gates<LIMITS>, const LIMITS: usize> Sown<G, LIMITS> {
    fn grown(&mut self) -> Option<&mut G> {
        if let Self::Seed(policy, seed) = self {
            *self = Self::Grown(grow(policy, *seed));
        }
        match self {
            Self::Grown(gates) => Some(gates),
            Self::Seed(..) => None, // not reached
        }
    }
}

/// Apart from where the gates will stand, which the compiler would otherwise fill out of itself: with a
/// `memmove`, which firmware need not have.
#[inline(never)]
fn grow<G: Gates<LIMITS>, const LIMITS: usize>(
    policy: &'static Policy<G::Law, LIMITS>,
    seed: fn() -> u64,
) -> G {
    G::begin(policy, seed(), time::now())
}

/// Where a call stands.
#[derive(Clone, Copy, Debug)]
pub enum Standing {
    /// It has just come, with this priority.
    New(u8),
    /// It has its place in the order, and is not in the queue: it was admitted, its backoff has not ended,
    /// or it is a retry for which the queue has no room.
    Outside(Place),
    /// It is in the queue.
    Queued(Place, Ticket),
}

/// What is later by this is later.
const TICK: Span = Span::from_nanos(1);

/// How often a retry checks whether the queue has room: no event wakes it.
const LOOK_AGAIN: Span = Span::from_secs(1);

/// What [`Call`](crate::Call) and [`Permit`](crate::Permit) ask of a desk, whatever its types.
pub trait Verbs<const LIMITS: usize> {
    /// What a call is for.
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

    /// Waits no longer.
    fn leave(&self, key: &Self::Key, standing: Standing);

    /// A call has come back. Tells the call of its next attempt, where it is to be tried again.
    fn settle(
        &self,
        key: &Self::Key,
        permit: Permit<LIMITS>,
        reply: Reply<LIMITS>,
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
            #[cfg(feature = "sleep")]
            sleep: tidegate::SleepClock::new(),
        };
        Self { inner: Mutex::new(RefCell::new(inner)) }
    }

    /// Follows another policy from now on, with whoever waits.
    pub(crate) fn set_policy(&self, policy: &'static Policy<G::Law, LIMITS>)
    where
        G::Law: PartialEq,
    {
        self.change(|gates| gates.set_policy(time::now(), policy));
    }

    /// Raises or lowers the concurrency limit, and tells whoever waits.
    pub(crate) fn set_concurrency(&self, concurrency: ConcurrencyLimit) {
        self.change(|gates| gates.set_concurrency(time::now(), concurrency));
    }

    /// Changes the gates of any keys. Each task that waits looks what that means for its key.
    pub(crate) fn change(&self, act: impl FnOnce(&mut G)) {
        self.with((), |gates, queue| {
            act(gates);
            queue.changed();
            queue.storage().wake_all();
        });
    }

    /// How many tasks wait.
    pub(crate) fn waiting(&self) -> usize {
        self.with(0, |_, queue| queue.storage().waiting())
    }

    /// Does `act` while nobody else does. A law or a waker that calls back into the throttle which
    /// calls it finds nothing done, and gets `otherwise`.
    pub(crate) fn with<R>(
        &self,
        otherwise: R,
        act: impl FnOnce(&mut G, &mut Queue<G, WAITERS, LIMITS>) -> R,
    ) -> R {
        self.inner.lock(|cell| {
            let Ok(mut inner) = cell.try_borrow_mut() else { return otherwise };
            let Inner { gates, queue, .. } = &mut *inner;
            match gates.grown() {
                Some(gates) => act(gates, queue),
                None => otherwise,
            }
        })
    }

    /// Does `act` with the clock of the sleeps.
    #[cfg(feature = "sleep")]
    pub(crate) fn with_sleep<R>(
        &self,
        otherwise: R,
        act: impl FnOnce(&mut tidegate::SleepClock, Instant) -> R,
    ) -> R {
        self.inner.lock(|cell| match cell.try_borrow_mut() {
            Ok(mut inner) => act(&mut inner.sleep, time::now()),
            Err(_) => otherwise,
        })
    }

    /// The same as `with` for one key, with the present.
    fn with_key<R>(
        &self,
        key: &G::Key,
        otherwise: R,
        act: impl FnOnce(&mut G, &mut Queue<G, WAITERS, LIMITS>, Instant) -> R,
    ) -> R {
        self.with(otherwise, |gates, queue| {
            if queue.storage().choose(key) {
                gates.choose(key);
                queue.changed();
            }
            act(gates, queue, time::now())
        })
    }

    /// Decides what is due, wakes the tasks of these calls except `own`, and sets the timer of the task
    /// whose call is first then. It locks for one decision at a time.
    fn pump(&self, key: &G::Key, own: usize) {
        let decide = |gates: &mut G, queue: &mut Queue<G, WAITERS, LIMITS>, now| {
            let step = queue.poll(now, gates);
            match step {
                Step::Wake(ticket) if ticket.slot() == own => {}
                Step::Wake(ticket) => queue.storage().wake(ticket.slot()),
                Step::Sleep(until) => {
                    if let Some(first) = queue.first(now) {
                        queue.storage().wake_at(first, until.unwrap_or(Instant::MAX));
                    }
                }
            }
            matches!(step, Step::Wake(_))
        };
        while self.with_key(key, false, decide) {}
    }
}

impl<M: RawMutex, G: Gates<LIMITS>, const WAITERS: usize, const LIMITS: usize> Verbs<LIMITS>
    for Desk<M, G, WAITERS, LIMITS>
{
    type Key = G::Key;

    fn take(&self, key: &G::Key, call: &tidegate::Call<LIMITS>) -> Option<Permit<LIMITS>> {
        self.with_key(key, None, |gates, queue, now| {
            if queue.waiting() > 0 {
                return None;
            }
            match gates.poll(now, call) {
                Decision::Admit(permit) => Some(permit),
                _ => None,
            }
        })
    }

    fn stand(
        &self,
        key: &G::Key,
        call: &tidegate::Call<LIMITS>,
        standing: &mut Standing,
        context: &mut Context<'_>,
    ) -> Poll<Result<Permit<LIMITS>, Rejection>> {
        let waker = context.waker();
        let mut wake = call.not_after().saturating_add(TICK);
        let comes = !matches!(standing, Standing::Queued(..));
        let mut slot = WAITERS;
        let mut turn = self.with_key(key, Turn::Waiting, |gates, queue, now| {
            let (place, ticket) = match *standing {
                Standing::New(priority) => (queue.place(priority), None),
                Standing::Outside(place) => (place, None),
                Standing::Queued(place, ticket) => (place, Some(ticket)),
            };
            *standing = Standing::Outside(place);
            // Its own backoff takes no room in the queue.
            if call.not_before() > now {
                wake = call.not_before();
                return Turn::Waiting;
            }
            match ticket.map_or_else(|| queue.join(now, gates, call, place), Ok) {
                Ok(ticket) => {
                    slot = ticket.slot();
                    queue.storage().wait(slot, key, waker);
                    *standing = Standing::Queued(place, ticket);
                }
                // A retry has an answer to lose, so it comes again.
                Err(Reason::QueueFull) if call.attempt() > 0 => {
                    wake = match gates.check(now, call) {
                        Verdict::Reject(reason) => return Turn::Rejected(reason),
                        Verdict::Wait(until) => until,
                        _ => wake.min(now.saturating_add(LOOK_AGAIN)),
                    };
                }
                Err(reason) => return Turn::Rejected(reason),
            }
            Turn::Waiting
        });
        self.pump(key, slot);
        if let Standing::Queued(place, ticket) = *standing {
            turn = self.with_key(key, Turn::Waiting, |_, queue, _| queue.take(ticket));
            if !matches!(turn, Turn::Waiting) {
                *standing = Standing::Outside(place);
            }
        }
        match turn {
            Turn::Admitted(permit) => Poll::Ready(Ok(permit)),
            Turn::Rejected(reason) => Poll::Ready(Err(Rejection::of(reason))),
            Turn::Waiting | Turn::Unknown => {
                if comes {
                    trace!("waits");
                }
                wake_at(wake, waker);
                Poll::Pending
            }
        }
    }

    fn leave(&self, key: &G::Key, standing: Standing) {
        let Standing::Queued(_, ticket) = standing else { return };
        self.with_key(key, (), |gates, queue, now| queue.cancel(now, gates, ticket));
        self.pump(key, WAITERS);
    }

    fn settle(
        &self,
        key: &G::Key,
        permit: Permit<LIMITS>,
        reply: Reply<LIMITS>,
        again: Option<&tidegate::Call<LIMITS>>,
    ) -> Option<tidegate::Call<LIMITS>> {
        #[cfg(feature = "sleep")]
        self.with_sleep((), |sleep, now| sleep.heard(now, reply));
        let next = self.with_key(key, None, |gates, queue, now| {
            gates.settle(now, permit, reply);
            queue.changed();
            again.and_then(|call| gates.retry(now, call, reply))
        });
        // A retry joins before anybody is admitted: `stand` comes next, and pumps.
        if next.is_none() {
            self.pump(key, WAITERS);
        }
        match &next {
            Some(next) => debug!("{:?}: attempt {} to come", reply.outcome, next.attempt()),
            None if reply.outcome.is_pushback() => debug!("{:?}", reply.outcome),
            None => {}
        }
        next
    }
}
