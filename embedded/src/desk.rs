//! The desk: the gates and the line of tasks in front of them, behind one mutex.
//!
//! A task asks the gates itself if its call is the first in line. It decides, learns or leaves in one critical section.
//! A change that may let another call be sent wakes the first task.

use core::cell::{Cell, RefCell};
use core::num::NonZeroU8;
use core::task::{Context, Poll};

use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::RawMutex;
use tidegate::Permit;
use tidegate::{
    AsReply, Costs, Decision, Instant, Outcome, Reason, Span, Verdict, call_time::CallTime,
};

use crate::gates::{Gate, Gates};
use crate::line::{Line, Rank};
use crate::log::log;
use crate::rejection::Rejection;
use crate::time::{self, Slept, millis, wake_at};

/// See the module's documentation. All zeros at first, so a `static` takes no flash.
#[allow(missing_debug_implementations, reason = "the throttles have their own")]
pub struct Desk<M: RawMutex, G: Gates<LIMITS>, const WAITERS: usize, const LIMITS: usize> {
    inner: Mutex<M, RefCell<Inner<G, WAITERS, LIMITS>>>,
}

struct Inner<G: Gates<LIMITS>, const WAITERS: usize, const LIMITS: usize> {
    started: Option<Started<G, LIMITS>>,
    line: Line<G::Key, WAITERS>,
    /// The gates' time is ahead of the device's clock by this.
    slept: Slept,
}

/// The state of a throttle that was started.
pub(crate) struct Started<G: Gates<LIMITS>, const LIMITS: usize> {
    /// Its unused value, zero, is that of `None`. Other unused values, which the compiler might prefer, are hidden in
    /// cells.
    _mark: NonZeroU8,
    /// How long calls with a deadline for their response took.
    pub(crate) call_time: CallTime,
    gates: Cell<G>,
    #[cfg(feature = "sleep")]
    pub(crate) sleep: Cell<tidegate::firmware::SleepClock>,
}

impl<G: Gates<LIMITS>, const LIMITS: usize> Started<G, LIMITS> {
    pub(crate) const fn gates(&mut self) -> &mut G {
        self.gates.get_mut()
    }

    fn is_failing(&mut self, key: &G::Key) -> bool {
        self.gates().look(key).is_some_and(Gate::is_failing)
    }
}

/// The state of a call.
#[derive(Debug)]
pub struct Standing<const LIMITS: usize, C> {
    pub(crate) call: tidegate::Call<LIMITS, C>,
    priority: u8,
    /// Its number in line, or 0.
    pub(crate) number: u16,
    /// When it has to look again.
    until: Instant,
    /// If it is admitted.
    pub(crate) permit: Option<Permit<LIMITS, C>>,
}

impl<const LIMITS: usize, C: Costs<LIMITS>> Standing<LIMITS, C> {
    /// The state of a call that has not joined.
    pub(crate) const fn new(call: tidegate::Call<LIMITS, C>, priority: u8) -> Self {
        Self { call, priority, number: 0, until: Instant::ZERO, permit: None }
    }
}

/// The smallest difference in time.
const TICK: Span = Span::from_nanos(1);

/// How often a call without a place in line tries again: no event wakes it.
const LOOK_AGAIN: Span = Span::from_secs(1);

/// What [`Call`](crate::Call) and [`Permit`](crate::Permit) need of a desk, independent of its
/// types.
pub trait Verbs<const LIMITS: usize> {
    /// The key of a call.
    type Key: Clone + Eq;
    /// What a call costs.
    type Costs: Costs<LIMITS>;

    /// The gates' time.
    fn now(&self) -> Instant;

    /// The gates' time at this instant of the device's clock.
    fn instant(&self, at: embassy_time::Instant) -> Instant;

    /// Returns a permit if a call of this priority may be sent now and none that precedes it waits.
    fn take(
        &self,
        key: &Self::Key,
        call: &tidegate::Call<LIMITS, Self::Costs>,
        priority: u8,
    ) -> Option<Permit<LIMITS, Self::Costs>>;

    /// Ready when the call is admitted.
    fn stand(
        &self,
        key: &Self::Key,
        standing: &mut Standing<LIMITS, Self::Costs>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Rejection>>;

    /// Gives up the call in flight with this permit, or removes the waiting call with this number in line.
    fn end(&self, key: &Self::Key, permit: Option<Permit<LIMITS, Self::Costs>>, number: u16);

    /// Calls `act` with the statistics on how long calls take, if the throttle was started.
    fn with_call_time<R>(&self, act: impl FnOnce(&mut CallTime) -> R) -> Option<R>;

    /// Settles a call. If another attempt is due, the call becomes that attempt; returns whether it
    /// did.
    fn settle(
        &self,
        key: &Self::Key,
        permit: Permit<LIMITS, Self::Costs>,
        reply: &impl AsReply<LIMITS>,
        again: Option<&mut tidegate::Call<LIMITS, Self::Costs>>,
    ) -> bool;
}

impl<M: RawMutex, G: Gates<LIMITS>, const WAITERS: usize, const LIMITS: usize>
    Desk<M, G, WAITERS, LIMITS>
{
    pub(crate) const fn new() -> Self {
        Self {
            inner: Mutex::new(RefCell::new(Inner {
                started: None,
                line: Line::new(),
                slept: Slept::NONE,
            })),
        }
    }

    /// How long the device's clock stood still.
    fn slept(&self) -> Slept {
        if !cfg!(feature = "sleep") {
            return Slept::NONE;
        }
        self.lock(Slept::NONE, |inner| inner.slept)
    }

    /// Moves the gates' time ahead. Tasks that wait ask the gates again.
    #[cfg(feature = "sleep")]
    pub(crate) fn sleep(&self, duration: embassy_time::Duration) {
        self.lock((), |inner| {
            inner.slept.add(duration);
            inner.line.wake_all();
        });
    }

    /// The instant of the device's clock at this time of the gates.
    pub(crate) fn ticking(&self, at: Instant) -> embassy_time::Instant {
        time::ticking(self.slept().of_clock(at))
    }

    /// Sets the gates, or replaces them and, unless it `continues`, all other state too. Tasks that wait ask them.
    ///
    /// `gates` is called where its value is stored, which takes less code than an argument.
    pub(crate) fn replace(&self, continues: bool, gates: impl FnOnce() -> G) {
        self.lock((), |Inner { started, line, .. }| {
            let mut gates = gates();
            if let Some(started) = started {
                gates.take_over(started.gates());
            }
            match started {
                Some(started) if continues => *started.gates() = gates,
                _ => {
                    *started = Some(Started {
                        _mark: NonZeroU8::MIN,
                        call_time: CallTime::new(),
                        gates: Cell::new(gates),
                        #[cfg(feature = "sleep")]
                        sleep: Cell::new(tidegate::firmware::SleepClock::new()),
                    });
                }
            }
            line.wake_all();
        });
    }

    /// Changes the gates of any keys. Tasks that wait ask them again.
    pub(crate) fn change(&self, act: impl FnOnce(&mut G, Instant)) {
        let now = self.now();
        self.lock((), |inner| {
            if let Some(started) = &mut inner.started {
                act(started.gates(), now);
            }
            inner.line.wake_all();
        });
    }

    /// The result of `act` on the key's gates, if there are any.
    pub(crate) fn see<R>(
        &self,
        key: &G::Key,
        act: impl FnOnce(&Gate<G::Law, LIMITS, G::Costs>) -> R,
    ) -> Option<R> {
        self.with(|started| started.gates().look(key).map(act)).flatten()
    }

    /// The current interval of the key's first law.
    pub(crate) fn interval(&self, key: &G::Key) -> Option<Span> {
        let now = self.now();
        self.see(key, |gate| gate.intervals(now).next()).flatten().flatten()
    }

    /// Number of waiting tasks.
    pub(crate) fn waiting(&self) -> usize {
        self.lock(0, |inner| inner.line.waiting())
    }

    /// The result of `act` on the state, if the throttle was started.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&mut Started<G, LIMITS>) -> R) -> Option<R> {
        self.lock(None, |inner| inner.started.as_mut().map(act))
    }

    fn log_reply(&self, key: &G::Key, reply: &tidegate::Reply<LIMITS>, tries_again: bool) {
        if tries_again || reply.outcome.is_pushback() {
            let asked = reply.hints.iter().filter_map(|hint| hint.retry_after).max();
            match asked.map(millis) {
                Some(asked) => log!(
                    debug,
                    "{:?}, the server asks for {} ms, tried again: {}",
                    reply.outcome,
                    asked,
                    tries_again
                ),
                None => log!(debug, "{:?}, tried again: {}", reply.outcome, tries_again),
            }
        }
        if reply.outcome.is_pushback()
            && let Some(interval) = self.interval(key)
        {
            log!(debug, "the interval between calls is {} ms", millis(interval));
        }
    }

    /// Calls `act` with the desk locked. If a law or a waker calls back into the throttle that is calling it, nothing is
    /// done and it gets `otherwise`.
    fn lock<R>(&self, otherwise: R, act: impl FnOnce(&mut Inner<G, WAITERS, LIMITS>) -> R) -> R {
        self.inner.lock(|cell| match cell.try_borrow_mut() {
            Ok(mut inner) => act(&mut inner),
            Err(_) => otherwise,
        })
    }
}

impl<G: Gates<LIMITS>, const WAITERS: usize, const LIMITS: usize> Inner<G, WAITERS, LIMITS> {
    fn wake_first(&mut self, key: &G::Key) {
        let is_failing = self.started.as_mut().is_some_and(|started| started.is_failing(key));
        self.line.wake_first(key, is_failing);
    }

    /// Asks the gates. The call waits in line if they do not decide. Ready if it is decided; else, `until` is when the
    /// task has to look again if nothing wakes it before.
    fn stand(
        &mut self,
        key: &G::Key,
        standing: &mut Standing<LIMITS, G::Costs>,
        context: &mut Context<'_>,
        now: Instant,
    ) -> Poll<Result<(), Rejection>> {
        let Standing { call, priority, number, until, permit } = standing;
        let slept = self.slept;
        let Some(started) = &mut self.started else {
            return Poll::Ready(Err(Rejection::NotStarted));
        };
        let rank = Rank::new(*priority, call.attempt());
        let result = 'decided: {
            let mut is_first = true;
            let at = match started.gates().get(key, now) {
                Ok(gate) => {
                    let is_failing = gate.is_failing();
                    let has_asked;
                    (is_first, has_asked) = self.line.is_first(key, *number, rank, is_failing);
                    let verdict = if has_asked && now < *until {
                        Verdict::Wait(*until) // nothing has changed since then
                    } else {
                        gate.poll_queued(now, call, is_first, permit)
                    };
                    match verdict {
                        Verdict::Admit => break 'decided Ok(()),
                        Verdict::Wait(at) => {
                            // The first call may wait for gates that were evicted.
                            if G::KEYED && !is_first && at <= now {
                                self.line.wake_first(key, is_failing);
                            }
                            at
                        }
                        Verdict::Full => Instant::MAX,
                        Verdict::Reject(reason) => {
                            break 'decided Err(Rejection::of(reason, slept));
                        }
                    }
                }
                Err(at) if at > call.not_after() => {
                    break 'decided Err(Rejection::of(Reason::Late(at), slept));
                }
                Err(at) => at,
            };
            let displaced;
            (*number, displaced) = self.line.stay(key, *number, rank, is_first, context.waker());
            if let Some(key) = displaced {
                // The displaced call may have been the first, on whose timer the others relied.
                self.wake_first(&key);
            }
            if *number == 0 && rank.needs_place() {
                return Poll::Ready(Err(Rejection::QueueFull));
            }
            *until = call.not_after() + TICK;
            if *number == 0 && (at <= now || at == Instant::MAX) {
                *until = (*until).min(now + LOOK_AGAIN);
            } else if *number == 0 || is_first {
                *until = (*until).min(at);
            }
            return Poll::Pending;
        };
        self.line.leave(*number);
        *number = 0;
        self.wake_first(key);
        Poll::Ready(result)
    }
}

impl<M: RawMutex, G: Gates<LIMITS>, const WAITERS: usize, const LIMITS: usize> Verbs<LIMITS>
    for Desk<M, G, WAITERS, LIMITS>
{
    type Key = G::Key;
    type Costs = G::Costs;

    fn now(&self) -> Instant {
        self.slept().of_gates(time::now())
    }

    fn instant(&self, at: embassy_time::Instant) -> Instant {
        self.slept().of_gates(time::instant(at))
    }

    fn take(
        &self,
        key: &G::Key,
        call: &tidegate::Call<LIMITS, G::Costs>,
        priority: u8,
    ) -> Option<Permit<LIMITS, G::Costs>> {
        let now = self.now();
        self.lock(None, |inner| {
            if inner.line.has(key, priority) {
                return None;
            }
            let decision = inner.started.as_mut()?.gates().get(key, now).ok()?.poll(now, call);
            let Decision::Admit(permit) = decision else { return None };
            inner.wake_first(key);
            Some(permit)
        })
    }

    fn stand(
        &self,
        key: &G::Key,
        standing: &mut Standing<LIMITS, G::Costs>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Rejection>> {
        let now = self.now();
        let mut result = Poll::Pending;
        // A call in its backoff takes no place in line.
        if standing.call.not_before() <= now {
            result = self.lock(Poll::Pending, |inner| inner.stand(key, standing, context, now));
        } else {
            standing.until = standing.call.not_before();
        }
        match &result {
            Poll::Ready(Err(rejection)) => log!(debug, "not sent: {}", rejection),
            Poll::Ready(Ok(())) => {}
            Poll::Pending if standing.until < Instant::MAX => {
                let until = standing.until;
                log!(trace, "waits for {} ms, or until something changes", millis(until - now));
                wake_at(self.slept().of_clock(until), context.waker());
            }
            Poll::Pending => log!(trace, "waits until something changes"),
        }
        result
    }

    fn end(&self, key: &G::Key, permit: Option<Permit<LIMITS, G::Costs>>, number: u16) {
        if permit.is_none() && number == 0 {
            return;
        }
        self.lock((), move |inner| {
            let Some(started) = &mut inner.started else { return };
            if let Some(permit) = permit
                && let Some(gate) = started.gates().known(key)
            {
                gate.release(permit);
            }
            inner.line.leave(number);
            inner.wake_first(key);
        });
    }

    fn with_call_time<R>(&self, act: impl FnOnce(&mut CallTime) -> R) -> Option<R> {
        self.with(|started| act(&mut started.call_time))
    }

    fn settle(
        &self,
        key: &G::Key,
        permit: Permit<LIMITS, G::Costs>,
        reply: &impl AsReply<LIMITS>,
        again: Option<&mut tidegate::Call<LIMITS, G::Costs>>,
    ) -> bool {
        let now = self.now();
        // In two steps, because learning from a response takes longest.
        self.lock((), |inner| {
            let Some(started) = &mut inner.started else { return };
            #[cfg(feature = "sleep")]
            reply.with_reply(|reply| started.sleep.get_mut().heard(now, reply));
            if let Some(gate) = started.gates().known(key) {
                gate.settle(now, permit, reply);
            }
        });
        let tries_again = self.lock(false, |inner| {
            let mut tries_again = false;
            if let Some(call) = again
                && let Some(started) = &mut inner.started
                && let Ok(gate) = started.gates().get(key, now)
            {
                tries_again = gate.advance(now, call, reply).is_ok();
            }
            if reply.with_reply(|reply| reply.outcome == Outcome::Ok) {
                inner.wake_first(key);
            } else {
                // Calls behind the first one may be too late now.
                inner.line.wake_key(key);
            }
            tries_again
        });
        if cfg!(any(feature = "defmt", feature = "log")) {
            reply.with_reply(|reply| self.log_reply(key, reply, tries_again));
        }
        tries_again
    }
}
