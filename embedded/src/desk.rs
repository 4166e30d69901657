//! The desk: the gates and the tasks that wait for them, behind one lock.
//!
//! Whichever task finds that something has changed lets the queue admit and reject what is due, and wakes
//! the tasks that it concerns. The first of those that wait has a timer set for the next change.

use core::cell::RefCell;
use core::task::{Context, Poll, Waker};

use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::RawMutex;
use tidegate::gate::{Permit, WindowPolicy};
use tidegate::queue::{Gate as _, Place, Ticket, Turn};
use tidegate::{Ask, Decision, Instant, Policy, Reason, Reply, Span, Verdict};

use crate::gates::{Gates, Of};
use crate::lanes::{Lane, Lanes};
use crate::log::{debug, trace};
use crate::refusal::Refusal;
use crate::time::{self, wake_at};

/// See the module.
#[allow(missing_debug_implementations, reason = "the throttles have their own")]
pub struct Desk<
    M: RawMutex,
    G: Gates<LIMITS>,
    const KEYS: usize,
    const WAITERS: usize,
    const LIMITS: usize,
> {
    inner: Mutex<M, RefCell<Inner<G, KEYS, WAITERS, LIMITS>>>,
}

struct Inner<G: Gates<LIMITS>, const KEYS: usize, const WAITERS: usize, const LIMITS: usize> {
    gates: Sown<G, LIMITS>,
    lanes: Lanes<G::Key, KEYS, WAITERS, LIMITS>,
}

/// Gates that are made when they are first asked, for neither a clock nor entropy is there when a
/// `static` is made.
enum Sown<G: Gates<LIMITS>, const LIMITS: usize> {
    Seed(Policy<G::Law, LIMITS>, fn() -> u64),
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
    policy: &Policy<G::Law, LIMITS>,
    seed: fn() -> u64,
) -> G {
    G::begin(*policy, seed(), time::now())
}

/// Where a call stands.
#[derive(Debug)]
pub struct Standing {
    priority: u8,
    /// Its place among all calls, from its first attempt on.
    place: Option<Place>,
    /// While it waits.
    ticket: Option<Ticket>,
}

impl Standing {
    pub(crate) const fn new(priority: u8) -> Self {
        Self { priority, place: None, ticket: None }
    }

    /// Its ticket in the queue of its key; `None` where it does not wait, or was sent away.
    fn ticket_in<K, const WAITERS: usize, const LIMITS: usize>(
        &self,
        lane: Option<&mut Lane<K, WAITERS, LIMITS>>,
    ) -> Option<Ticket> {
        let ticket = self.ticket?;
        (lane?.queue.place(ticket) == self.place).then_some(ticket)
    }
}

/// What is later by this is later.
const TICK: Span = Span::from_nanos(1);

/// How often a task without a place in a queue looks for one: nobody can wake it.
const LOOK_AGAIN: Span = Span::from_secs(1);

enum Step {
    Go(Permit),
    No(Refusal),
    Until(Instant),
}

/// What [`Call`](crate::Call) and [`Permit`](crate::Permit) ask of a desk, whatever its types.
pub trait Verbs<const LIMITS: usize> {
    /// What a call is for.
    type Key: Clone + Eq;

    /// A permit, if a call may leave now and nobody waits for one.
    fn take(&self, key: &Self::Key, ask: &Ask<LIMITS>) -> Option<Permit>;

    /// A permit, when it is the call's turn.
    fn stand(
        &self,
        key: &Self::Key,
        ask: &Ask<LIMITS>,
        standing: &mut Standing,
        context: &mut Context<'_>,
    ) -> Poll<Result<Permit, Refusal>>;

    /// Waits no longer.
    fn leave(&self, key: &Self::Key, standing: &mut Standing);

    /// A call has come back. Tells the ask of its next attempt, where it is to be tried again.
    fn settle(
        &self,
        key: &Self::Key,
        permit: Permit,
        reply: Reply<LIMITS>,
        again: Option<&Ask<LIMITS>>,
    ) -> Option<Ask<LIMITS>>;
}

impl<M: RawMutex, G: Gates<LIMITS>, const KEYS: usize, const WAITERS: usize, const LIMITS: usize>
    Desk<M, G, KEYS, WAITERS, LIMITS>
{
    pub(crate) const fn sown(policy: Policy<G::Law, LIMITS>, seed: fn() -> u64) -> Self {
        Self::of(Sown::Seed(policy, seed))
    }

    pub(crate) const fn grown(gates: G) -> Self {
        Self::of(Sown::Grown(gates))
    }

    const fn of(gates: Sown<G, LIMITS>) -> Self {
        Self { inner: Mutex::new(RefCell::new(Inner { gates, lanes: Lanes::new() })) }
    }

    /// Follows another policy from now on, with whoever waits.
    pub(crate) fn set_policy(&self, policy: Policy<G::Law, LIMITS>)
    where
        G::Law: PartialEq,
    {
        self.change((), |gates| gates.set_policy(time::now(), policy));
    }

    /// Opens or narrows the window, for whoever waits too.
    pub(crate) fn set_window(&self, window: WindowPolicy) {
        self.change((), |gates| gates.set_window(window));
    }

    /// Changes the gates, for whoever waits too.
    pub(crate) fn change<R>(&self, otherwise: R, act: impl FnOnce(&mut G) -> R) -> R {
        self.with(otherwise, |gates, lanes| {
            let done = act(gates);
            lanes.each(|key, lane| {
                lane.queue.changed();
                lane.pump(time::now(), &mut Of { gates, key }, None);
            });
            done
        })
    }

    /// Does `act` while nobody else does. A law or a waker that calls back into the throttle which
    /// calls it finds nothing done, and gets `otherwise`.
    pub(crate) fn with<R>(
        &self,
        otherwise: R,
        act: impl FnOnce(&mut G, &mut Lanes<G::Key, KEYS, WAITERS, LIMITS>) -> R,
    ) -> R {
        self.inner.lock(|cell| {
            let Ok(mut inner) = cell.try_borrow_mut() else { return otherwise };
            let Inner { gates, lanes } = &mut *inner;
            match gates.grown() {
                Some(gates) => act(gates, lanes),
                None => otherwise,
            }
        })
    }
}

impl<M: RawMutex, G: Gates<LIMITS>, const KEYS: usize, const WAITERS: usize, const LIMITS: usize>
    Verbs<LIMITS> for Desk<M, G, KEYS, WAITERS, LIMITS>
{
    type Key = G::Key;

    fn take(&self, key: &G::Key, ask: &Ask<LIMITS>) -> Option<Permit> {
        self.with(None, |gates, lanes| {
            if lanes.of(key).is_some_and(|lane| !lane.queue.is_clear()) {
                return None;
            }
            match gates.poll(key, time::now(), ask) {
                Decision::Go(permit) => Some(permit),
                _ => None,
            }
        })
    }

    fn stand(
        &self,
        key: &G::Key,
        ask: &Ask<LIMITS>,
        standing: &mut Standing,
        context: &mut Context<'_>,
    ) -> Poll<Result<Permit, Refusal>> {
        let step = self.with(Step::Until(Instant::MAX), |gates, lanes| {
            match join(gates, lanes, key, ask, standing) {
                Some(step) => step,
                None => wait(gates, lanes, key, ask, standing, context.waker()),
            }
        });
        match step {
            Step::Go(permit) => Poll::Ready(Ok(permit)),
            Step::No(refusal) => Poll::Ready(Err(refusal)),
            Step::Until(at) => {
                wake_at(at, context);
                Poll::Pending
            }
        }
    }

    fn leave(&self, key: &G::Key, standing: &mut Standing) {
        if standing.ticket.is_none() {
            return;
        }
        self.with((), |gates, lanes| {
            let mut lane = lanes.of(key);
            if let Some(ticket) = standing.ticket_in(lane.as_deref_mut())
                && let Some(lane) = lane
            {
                let (now, gate) = (time::now(), &mut Of { gates, key });
                lane.queue.cancel(now, gate, ticket);
                lane.forget(ticket);
                lane.pump(now, gate, None);
            }
        });
        standing.ticket = None;
    }

    fn settle(
        &self,
        key: &G::Key,
        permit: Permit,
        reply: Reply<LIMITS>,
        again: Option<&Ask<LIMITS>>,
    ) -> Option<Ask<LIMITS>> {
        let next = self.with(None, |gates, lanes| {
            let now = time::now();
            let gate = &mut Of { gates, key };
            gate.settle(now, permit, reply);
            let next = again.and_then(|ask| gate.retry(now, ask, reply));
            if let Some(lane) = lanes.of(key) {
                lane.queue.changed();
                lane.pump(now, gate, None);
            }
            next
        });
        match &next {
            Some(next) => debug!("{:?}: attempt {} to come", reply.outcome, next.attempt()),
            None if reply.outcome.is_pushback() => debug!("{:?}", reply.outcome),
            None => {}
        }
        next
    }
}

/// Lets a call that does not wait yet be sent, or join a queue: `None` where it waits.
fn join<G: Gates<LIMITS>, const KEYS: usize, const WAITERS: usize, const LIMITS: usize>(
    gates: &mut G,
    lanes: &mut Lanes<G::Key, KEYS, WAITERS, LIMITS>,
    key: &G::Key,
    ask: &Ask<LIMITS>,
    standing: &mut Standing,
) -> Option<Step> {
    if standing.ticket_in(lanes.of(key)).is_some() {
        return None;
    }
    let now = time::now();
    let late = ask.not_after().saturating_add(TICK);
    if now >= late {
        // Gates that are not there yet refuse nobody.
        return Some(Step::No(Refusal::Late(time::ticking(now))));
    }
    let place = *standing.place.get_or_insert_with(|| lanes.place(standing.priority));
    let is_clear = lanes.of(key).is_none_or(|lane| lane.queue.is_clear());
    let verdict = gates.check(key, now, ask);
    if matches!(verdict, Verdict::Refuse(_)) || (is_clear && verdict == Verdict::Go) {
        match gates.poll(key, now, ask) {
            Decision::Go(permit) => return Some(Step::Go(permit)),
            Decision::Refuse(reason) => return Some(Step::No(Refusal::of(reason))),
            Decision::Wait(_) | Decision::Full => {} // not reached: the gates were asked
        }
    }
    let is_new = ask.attempt() == 0;
    if is_new && lanes.open(key).is_none() {
        lanes.make_room(now, gates);
    }
    let is_full = lanes.waiting() >= WAITERS;
    let Some(lane) = lanes.open(key) else {
        return Some(outside(ask, verdict, now, is_full));
    };
    match lane.queue.join_at(now, &mut Of { gates, key }, *ask, place) {
        Ok(ticket) => {
            trace!("waits: {:?}", verdict);
            standing.ticket = Some(ticket);
            None
        }
        Err(Reason::QueueFull) => Some(outside(ask, verdict, now, true)),
        Err(reason) => Some(Step::No(Refusal::of(reason))),
    }
}

/// Looks whether the turn of a call that waits has come.
fn wait<G: Gates<LIMITS>, const KEYS: usize, const WAITERS: usize, const LIMITS: usize>(
    gates: &mut G,
    lanes: &mut Lanes<G::Key, KEYS, WAITERS, LIMITS>,
    key: &G::Key,
    ask: &Ask<LIMITS>,
    standing: &mut Standing,
    waker: &Waker,
) -> Step {
    let mut lane = lanes.of(key);
    let (Some(ticket), Some(lane)) = (standing.ticket_in(lane.as_deref_mut()), lane) else {
        return Step::Until(Instant::MAX); // not reached: it has joined
    };
    let now = time::now();
    lane.note(ticket, waker);
    if gates.get(key).is_none() {
        // The gates that the queue heard had to go for another key's.
        lane.queue.changed();
    }
    let gate = &mut Of { gates, key };
    lane.pump(now, gate, Some(ticket));
    let step = match lane.queue.take(now, gate, ticket) {
        Turn::Waiting => {
            let late = ask.not_after().saturating_add(TICK);
            return Step::Until(if ask.not_before() > now {
                ask.not_before().min(late)
            } else {
                late
            });
        }
        Turn::Admitted => lane.queue.hand_over(ticket).map(Step::Go),
        Turn::Rejected(reason) => Some(Step::No(Refusal::of(reason))),
        Turn::Unknown => None, // not reached: the ticket is this call's own
    };
    standing.ticket = None;
    lane.forget(ticket);
    step.unwrap_or(Step::Until(now))
}

/// For a call that finds no room to wait. A first attempt hears of it where that is for want of places;
/// others come again when there may be one.
fn outside<const LIMITS: usize>(
    ask: &Ask<LIMITS>,
    verdict: Verdict,
    now: Instant,
    is_full: bool,
) -> Step {
    if ask.attempt() == 0 && is_full {
        return Step::No(Refusal::LineFull);
    }
    let at = match verdict {
        Verdict::Wait(until) => until,
        _ => now.saturating_add(LOOK_AGAIN),
    };
    Step::Until(at.min(ask.not_after().saturating_add(TICK)))
}
