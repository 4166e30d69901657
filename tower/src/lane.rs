//! The lane: the controller, the queue and the waiting calls of one key.

use std::mem::take;
#[cfg(feature = "local")]
use std::sync::Weak;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidegate::law::{AnyLaw, AnyState, Basis};
use tidegate::queue::{Gate, HoldLimit, Joined, Place, Ticket};
use tidegate::snapshot::SnapshotError;
use tidegate::{Call, Controller, Decision, Instant, Policy, Reason, Reply, Span, Verdict};

use crate::desk::Desk;
use crate::error::Error;
use crate::gate::Shared;
use crate::source::{Right, Source};
use crate::timer::Timer;

/// The calls of one key.
pub(crate) struct Lane<const LIMITS: usize, T: Timer> {
    pub(crate) key: Arc<str>,
    pub(crate) shared: Arc<Shared<LIMITS, T>>,
    #[cfg(feature = "local")]
    pub(crate) me: Weak<Self>,
    /// How many nanoseconds the fastest of the latest calls took that were served in time. 0 if unknown.
    takes: AtomicU64,
    #[cfg(feature = "metrics")]
    pub(crate) metrics: crate::observe::Metrics,
    state: Mutex<State<LIMITS>>,
}

struct State<const LIMITS: usize> {
    desk: Desk<LIMITS>,
    /// The permits of calls that wait for another key.
    held: Vec<(Place, Call<LIMITS>, Right<LIMITS>)>,
}

/// A summary of a lane.
pub(crate) struct Glance {
    pub(crate) counts: tidegate::Stats,
    pub(crate) waiting: usize,
    pub(crate) in_flight: usize,
    pub(crate) interval: Option<Span>,
    pub(crate) basis: Option<Basis>,
    #[cfg(feature = "local")]
    pub(crate) sharing: crate::local::SharingStats,
}

impl<const LIMITS: usize, T: Timer> Lane<LIMITS, T> {
    pub(crate) fn new(
        key: Arc<str>,
        shared: Arc<Shared<LIMITS, T>>,
        policy: Policy<AnyLaw, LIMITS>,
        seed: u64,
    ) -> Arc<Self> {
        let now = shared.timer.now();
        #[cfg(feature = "local")]
        if let Some(sharing) = &shared.sharing {
            let source = Source::leasing(sharing.member(now), policy, seed, now);
            return Self::with(key, shared, source);
        }
        Self::with(key, shared, Source::new(Controller::new(policy, seed, now)))
    }

    pub(crate) fn restore(
        key: Arc<str>,
        shared: Arc<Shared<LIMITS, T>>,
        policy: Policy<AnyLaw, LIMITS>,
        seed: u64,
        record: &[u8],
        away: Span,
    ) -> Result<Arc<Self>, SnapshotError> {
        let control = Controller::restore(policy, seed, record, shared.timer.now(), away)?;
        Ok(Self::with(key, shared, Source::new(control)))
    }

    fn with(key: Arc<str>, shared: Arc<Shared<LIMITS, T>>, source: Source<LIMITS>) -> Arc<Self> {
        let desk = Desk::new(source, shared.most_calls, shared.take_within);
        Arc::new_cyclic(|_me| Self {
            key,
            shared,
            #[cfg(feature = "local")]
            me: _me.clone(),
            takes: AtomicU64::new(0),
            #[cfg(feature = "metrics")]
            metrics: crate::observe::Metrics::default(),
            state: Mutex::new(State { desk, held: Vec::new() }),
        })
    }

    fn rejected(&self, reason: Reason, now: Instant) -> Error {
        Error::rejected(self.key.clone(), reason, now)
    }

    /// See [`Desk::join`].
    pub(crate) fn join(
        &self,
        call: &Call<LIMITS>,
        place: &mut Place,
    ) -> Result<Joined<Right<LIMITS>>, Error> {
        self.act(|desk, now| desk.join(now, call, place).map_err(|why| self.rejected(why, now)))
    }

    /// Returns whether a call may join, because its backoff has ended.
    pub(crate) fn may_join(&self, call: &Call<LIMITS>) -> bool {
        call.attempt() == 0 || self.shared.timer.now() >= call.not_before()
    }

    /// A permit if no other call waits.
    pub(crate) fn try_take(
        &self,
        call: &Call<LIMITS>,
        priority: u8,
    ) -> Option<(Right<LIMITS>, Place)> {
        self.act(|desk, now| match desk.is_free(now).then(|| desk.gate.poll(now, call))? {
            Decision::Admit(permit) => Some((permit, desk.queue.place(priority))),
            _ => None,
        })
    }

    /// A call that was here before takes its turn again, or renews the permit that it has.
    pub(crate) fn rejoin(
        &self,
        permit: Option<Right<LIMITS>>,
        call: &Call<LIMITS>,
        place: Place,
    ) -> Result<Joined<Right<LIMITS>>, Error> {
        self.act(|desk, now| {
            if let Some(permit) = permit
                && let Some(permit) = desk.change(|gate| gate.renew(now, permit, call))
            {
                return Ok(Joined::Admitted(permit));
            }
            desk.rejoin(now, call, place).map_err(|why| self.rejected(why, now))
        })
    }

    /// Keeps the permit of a call that waits for another key. No other call uses its room.
    pub(crate) fn hold(&self, permit: Right<LIMITS>, call: Call<LIMITS>, place: Place) {
        self.lock().held.push((place, call, permit));
    }

    /// Returns a kept permit, unless the lane had to refund it.
    pub(crate) fn take_held(&self, place: Place) -> Option<Right<LIMITS>> {
        let mut state = self.lock();
        let at = state.held.iter().position(|(held, ..)| *held == place)?;
        Some(state.held.swap_remove(at).2)
    }

    /// Until when a call that waits here keeps its permits of other keys, and the time.
    pub(crate) fn holds_until(
        &self,
        ticket: Ticket,
        call: &Call<LIMITS>,
        limit: &mut HoldLimit,
    ) -> (Instant, Instant) {
        let (state, now) = (self.lock(), self.shared.timer.now());
        let State { desk, held } = &*state;
        let is_next = desk.is_next(ticket);
        #[cfg(feature = "local")]
        if desk.gate.leased.is_some() {
            // The answer to a request comes soon.
            let soon = is_next && held.is_empty();
            return (if soon { now + Span::from_secs(1) } else { now }, now);
        }
        (limit.until(now, is_next, &desk.gate.own, call, held.len()), now)
    }

    /// The next attempt of a call.
    pub(crate) fn retry(
        &self,
        call: &Call<LIMITS>,
        reply: Reply<LIMITS>,
    ) -> Result<Call<LIMITS>, Error> {
        self.change(|gate, now| {
            gate.own.retry(now, call, reply).map_err(|why| self.rejected(why, now))
        })
    }

    /// A call was served. The shortest time is forgotten slowly, an eighth with each call.
    pub(crate) fn has_taken(&self, time: Span) {
        let shortest = self.takes.load(Ordering::Relaxed);
        let shortest = if shortest == 0 { u64::MAX } else { shortest + shortest / 8 };
        self.takes.store(shortest.min(time.as_nanos()), Ordering::Relaxed);
    }

    /// How long its calls take at least.
    pub(crate) fn takes(&self) -> Option<Span> {
        let nanos = self.takes.load(Ordering::Relaxed);
        (nanos > 0).then(|| Span::from_nanos(nanos))
    }

    /// How long a new call would wait at the current rate.
    pub(crate) fn peek(&self, call: &Call<LIMITS>, priority: u8) -> Result<Span, Error> {
        let (state, now) = (self.lock(), self.shared.timer.now());
        let gate = &state.desk.gate;
        let due = match gate.own.check(now, call) {
            Verdict::Reject(reason) => return Err(self.rejected(reason, now)),
            Verdict::Full => gate.own.ready_at(now, call).unwrap_or(Instant::MAX),
            Verdict::Admit | Verdict::Wait(_) => now,
        };
        state.desk.peek(now, call, priority, due).map_err(|why| self.rejected(why, now))
    }

    /// How soon the call can be sent, to compare keys: how long it would wait, and how many calls of the key wait
    /// or are in flight.
    pub(crate) fn rank(&self, call: &Call<LIMITS>, priority: u8) -> (Span, usize) {
        let wait = self.peek(call, priority).unwrap_or(Span::MAX);
        let Desk { queue, gate, .. } = &self.lock().desk;
        (wait, queue.waiting().saturating_add(gate.own.in_flight().into()))
    }

    /// What currently delays a plain call.
    #[cfg(feature = "metrics")]
    pub(crate) fn why(&self) -> Option<tidegate::gate::Gate> {
        self.lock().desk.gate.why(self.shared.timer.now())
    }

    pub(crate) fn glance(&self) -> Glance {
        let Desk { queue, gate, .. } = &self.lock().desk;
        let basis = |state: &AnyState| match state {
            AnyState::Adaptive(state) => Some(state.basis()),
            _ => None,
        };
        Glance {
            counts: gate.counts(),
            waiting: queue.waiting(),
            in_flight: gate.own.in_flight().into(),
            interval: gate.interval(self.shared.timer.now()),
            basis: gate.own.states().filter_map(basis).max(),
            #[cfg(feature = "local")]
            sharing: gate.leased.as_ref().map(|leased| leased.stats()).unwrap_or_default(),
        }
    }

    pub(crate) fn set_policy(&self, policy: Policy<AnyLaw, LIMITS>) {
        self.change(|gate, now| gate.set_policy(policy, now));
    }

    pub(crate) fn reset(&self) {
        self.change(|gate, now| gate.own.reset(now));
    }

    pub(crate) fn snapshot(&self) -> Option<Vec<u8>> {
        self.lock().desk.gate.snapshot(self.shared.timer.now())
    }

    /// Whether the key is under a cooldown or has to be paced, so that it must not be forgotten.
    pub(crate) fn is_kept(&self) -> bool {
        self.lock().desk.gate.is_kept(self.shared.timer.now())
    }

    fn lock(&self) -> MutexGuard<'_, State<LIMITS>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the controller.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut Source<LIMITS>, Instant) -> R) -> R {
        self.act(|desk, now| desk.change(|gate| change(gate, now)))
    }

    /// Runs `look`, which is no event for the queue.
    #[cfg(feature = "local")]
    pub(crate) fn look<R>(&self, look: impl FnOnce(&mut Desk<LIMITS>, Instant) -> R) -> R {
        look(&mut self.lock().desk, self.shared.timer.now())
    }

    /// Runs `act`, decides the calls that are due, and wakes their tasks.
    pub(crate) fn act<R>(&self, act: impl FnOnce(&mut Desk<LIMITS>, Instant) -> R) -> R {
        let mut state = self.lock();
        let now = self.shared.timer.now();
        let State { desk, held } = &mut *state;
        if !held.is_empty() {
            let renew =
                |(place, call, permit)| Some((place, call, desk.gate.renew(now, permit, &call)?));
            let before = held.len();
            *held = take(held).into_iter().filter_map(renew).collect();
            if held.len() < before {
                desk.queue.changed();
            }
        }
        #[cfg(feature = "local")]
        desk.watch_courier(now);
        let done = act(desk, now);
        let wakes = desk.settle_down(now);
        #[cfg(feature = "metrics")]
        self.metrics.set([
            desk.gate.interval(now).map_or(0, Span::as_nanos),
            desk.gate.own.in_flight().into(),
            desk.queue.waiting() as u64,
        ]);
        #[cfg(feature = "local")]
        let courier = self.courier(desk, now);
        drop(state);
        wakes.wake();
        #[cfg(feature = "local")]
        self.start(courier);
        done
    }
}
