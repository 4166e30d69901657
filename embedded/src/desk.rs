//! The desk: the gates and the line in front of them, behind one lock.
//!
//! Only the first in line asks the gates, and only it has a timer set for what they answer. Whoever
//! leaves the line, with a permit or without, wakes the next; so does a call that comes back.

use core::cell::RefCell;
use core::task::{Context, Poll};

use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::RawMutex;
use tidegate::gate::{Permit, WindowPolicy};
use tidegate::{Ask, Decision, Instant, Policy, Reply, Span, Verdict};

use crate::gates::Gates;
use crate::line::{Line, Ticket};
use crate::log::{debug, trace};
use crate::refusal::Refusal;
use crate::time::{self, wake_at};

/// See the module.
#[allow(missing_debug_implementations, reason = "the throttles have their own")]
pub struct Desk<M: RawMutex, G: Gates<LIMITS>, const WAITERS: usize, const LIMITS: usize> {
    inner: Mutex<M, RefCell<Inner<G, WAITERS, LIMITS>>>,
}

struct Inner<G: Gates<LIMITS>, const WAITERS: usize, const LIMITS: usize> {
    gates: Sown<G, LIMITS>,
    line: Line<G::Key, WAITERS>,
}

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
#[derive(Debug, Default)]
pub struct Standing {
    ticket: Option<Ticket>,
    /// What the gates told it, as the first in line.
    told: Option<Told>,
    waits: bool,
}

/// What the gates told, and how many calls had left then: with each that leaves, the gates forget whom
/// they kept back, and want to be asked again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Told {
    verdict: Verdict,
    gone: u32,
}

/// What is later by this is later.
const TICK: Span = Span::from_nanos(1);

/// How often a retry without a place in line looks for one: nobody can wake it.
const LOOK_AGAIN: Span = Span::from_secs(1);

enum Step<const LIMITS: usize> {
    Go(Permit<LIMITS>),
    No(Refusal),
    Until(Instant),
}

/// What [`Call`](crate::Call) and [`Permit`](crate::Permit) ask of a desk, whatever its types.
pub trait Verbs<const LIMITS: usize> {
    /// What a call is for.
    type Key: Clone + Eq;

    /// A permit, if a call may leave now and nobody waits for one.
    fn take(&self, key: &Self::Key, ask: &Ask<LIMITS>) -> Option<Permit<LIMITS>>;

    /// A permit, when it is the call's turn.
    fn stand(
        &self,
        key: &Self::Key,
        ask: &Ask<LIMITS>,
        standing: &mut Standing,
        context: &mut Context<'_>,
    ) -> Poll<Result<Permit<LIMITS>, Refusal>>;

    /// Waits no longer.
    fn leave(&self, key: &Self::Key, standing: &mut Standing);

    /// A call has come back. Tells the ask of its next attempt, where it is to be tried again.
    fn settle(
        &self,
        key: &Self::Key,
        permit: Permit<LIMITS>,
        reply: Reply<LIMITS>,
        again: Option<&Ask<LIMITS>>,
    ) -> Option<Ask<LIMITS>>;
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
        Self { inner: Mutex::new(RefCell::new(Inner { gates, line: Line::new() })) }
    }

    /// Follows another policy from now on, with whoever waits.
    pub(crate) fn set_policy(&self, policy: &'static Policy<G::Law, LIMITS>)
    where
        G::Law: PartialEq,
    {
        self.with((), |gates, line| {
            gates.set_policy(time::now(), policy);
            line.wake_all();
        });
    }

    /// Opens or narrows the window, and tells whoever waits.
    pub(crate) fn set_window(&self, window: WindowPolicy) {
        self.with((), |gates, line| {
            gates.set_window(time::now(), window);
            line.wake_all();
        });
    }

    /// Does `act` while nobody else does. A law or a waker that calls back into the throttle which
    /// calls it finds nothing done, and gets `otherwise`.
    pub(crate) fn with<R>(
        &self,
        otherwise: R,
        act: impl FnOnce(&mut G, &mut Line<G::Key, WAITERS>) -> R,
    ) -> R {
        self.inner.lock(|cell| {
            let Ok(mut inner) = cell.try_borrow_mut() else { return otherwise };
            let Inner { gates, line } = &mut *inner;
            match gates.grown() {
                Some(gates) => act(gates, line),
                None => otherwise,
            }
        })
    }
}

impl<M: RawMutex, G: Gates<LIMITS>, const WAITERS: usize, const LIMITS: usize> Verbs<LIMITS>
    for Desk<M, G, WAITERS, LIMITS>
{
    type Key = G::Key;

    fn take(&self, key: &G::Key, ask: &Ask<LIMITS>) -> Option<Permit<LIMITS>> {
        self.with(None, |gates, line| {
            if line.is_for(key) {
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
    ) -> Poll<Result<Permit<LIMITS>, Refusal>> {
        let waker = context.waker();
        let before = standing.told;
        let step = self.with(Step::Until(Instant::MAX), |gates, line| {
            let ticket = *standing.ticket.get_or_insert_with(|| line.ticket());
            let step = ask_gates(gates, line, key, ask, ticket, standing);
            // Whom its own backoff keeps back is in nobody's way.
            let waits = matches!(step, Step::Until(_)) && ask.not_before() <= time::now();
            standing.waits = waits && line.join(key, ticket, waker);
            let step = match step {
                Step::Until(_) if waits && !standing.waits => outside(gates, key, ask),
                step => step,
            };
            if !standing.waits {
                line.leave(ticket);
            }
            if !matches!(step, Step::Until(_)) {
                // The next attempt is another question.
                standing.told = None;
                line.wake_first(key);
            }
            step
        });
        match step {
            Step::Go(permit) => Poll::Ready(Ok(permit)),
            Step::No(refusal) => Poll::Ready(Err(refusal)),
            Step::Until(at) => {
                if let Some(told) = standing.told.filter(|told| before != Some(*told)) {
                    trace!("waits: {:?}", told.verdict);
                }
                wake_at(at, context);
                Poll::Pending
            }
        }
    }

    fn leave(&self, key: &G::Key, standing: &mut Standing) {
        let Some(ticket) = standing.ticket.filter(|_| standing.waits) else { return };
        standing.waits = false;
        self.with((), |_, line| {
            line.leave(ticket);
            line.wake_first(key);
        });
    }

    fn settle(
        &self,
        key: &G::Key,
        permit: Permit<LIMITS>,
        reply: Reply<LIMITS>,
        again: Option<&Ask<LIMITS>>,
    ) -> Option<Ask<LIMITS>> {
        let next = self.with(None, |gates, line| {
            let now = time::now();
            gates.settle(key, now, permit, reply);
            line.wake_first(key);
            again.and_then(|ask| gates.retry(key, now, ask, reply))
        });
        match &next {
            Some(next) => debug!("{:?}: attempt {} to come", reply.outcome, next.attempt()),
            None if reply.outcome.is_pushback() => debug!("{:?}", reply.outcome),
            None => {}
        }
        next
    }
}

/// For a call that finds no place in line. A first attempt is told so; a later one has answers to
/// lose, so it comes again when somebody may have left.
fn outside<G: Gates<LIMITS>, const LIMITS: usize>(
    gates: &G,
    key: &G::Key,
    ask: &Ask<LIMITS>,
) -> Step<LIMITS> {
    if ask.attempt() == 0 {
        return Step::No(Refusal::LineFull);
    }
    let now = time::now();
    let at = match gates.check(key, now, ask) {
        Verdict::Wait(until) => until,
        _ => now.saturating_add(LOOK_AGAIN),
    };
    Step::Until(at.min(ask.not_after().saturating_add(TICK)))
}

/// What the gates say to a call in line. The gates count what they are asked and what they answer, so
/// they are asked by the first alone, and again only where they would answer something else.
fn ask_gates<G: Gates<LIMITS>, const WAITERS: usize, const LIMITS: usize>(
    gates: &mut G,
    line: &Line<G::Key, WAITERS>,
    key: &G::Key,
    ask: &Ask<LIMITS>,
    ticket: Ticket,
    standing: &mut Standing,
) -> Step<LIMITS> {
    let now = time::now();
    // From then on it is too late.
    let late = ask.not_after().saturating_add(TICK);
    let verdict = gates.check(key, now, ask);
    let refused = matches!(verdict, Verdict::Refuse(_));
    if !refused && now >= late {
        // Gates that are not there yet refuse nobody.
        return Step::No(Refusal::Late(time::ticking(now)));
    }
    if !refused && ask.not_before() > now {
        return Step::Until(ask.not_before().min(late));
    }
    let ahead = line.ahead(key, ticket);
    if !refused && ahead > 0 {
        standing.told = None;
        if matches!(verdict, Verdict::Go) && !standing.waits {
            // The first may sleep on what gates said that had to go since, for another key.
            line.wake_first(key);
        }
        // As far as can be told now: those ahead may cost more, or give up.
        let first = if let Verdict::Wait(until) = verdict { until } else { now };
        let due = first.saturating_add(gates.interval(key, now).saturating_mul(ahead.into()));
        return if due < late || standing.waits {
            Step::Until(late)
        } else {
            Step::No(Refusal::Late(time::ticking(due)))
        };
    }
    let gone = gates.gone(key);
    let verdict = match standing.told {
        Some(told) if told == (Told { verdict, gone }) => verdict,
        _ => match gates.poll(key, now, ask) {
            Decision::Go(permit) => return Step::Go(permit),
            Decision::Refuse(reason) => return Step::No(Refusal::of(reason)),
            Decision::Wait(until) => Verdict::Wait(until),
            Decision::Full => Verdict::Full,
        },
    };
    standing.told = Some(Told { verdict, gone });
    let due = match verdict {
        Verdict::Wait(until) => until,
        // A call that comes back wakes it; one that never does has a lease.
        _ => gates.next_at(key, now).map_or(Instant::MAX, |at| at.max(now.saturating_add(TICK))),
    };
    Step::Until(due.min(late))
}
