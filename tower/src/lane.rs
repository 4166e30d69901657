//! The lane: the controller, the queue and the waiting calls of one key.

use std::mem::take;
#[cfg(feature = "local")]
use std::sync::Weak;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use tidegate::law::{AnyLaw, Basis};
use tidegate::queue::{Gate, HoldLimit, Joined, Place, Ticket};
use tidegate::snapshot::SnapshotError;
use tidegate::{Call, Controller, Decision, Instant, Policy, Reason, Span, Verdict};

use crate::desk::{Desk, Wait};
use crate::shared::Shared;
use crate::source::{Right, Source};
use crate::timer::Timer;

/// The calls of one key.
pub(crate) struct Lane<const LIMITS: usize, T: Timer> {
    pub(crate) key: Arc<str>,
    pub(crate) shared: Arc<Shared<LIMITS, T>>,
    #[cfg(feature = "local")]
    pub(crate) me: Weak<Self>,
    /// The number of calls that use this lane. It only rises from zero under the lock of the table
    /// of lanes.
    users: AtomicUsize,
    /// Whether the table keeps it until its last call ends.
    is_kept: AtomicBool,
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
            let source = Source::Shared(sharing.member(now));
            return Self::with(key, shared, source);
        }
        Self::with(key, shared, Source::Own(Controller::new(policy, seed, now)))
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
        Ok(Self::with(key, shared, Source::Own(control)))
    }

    fn with(key: Arc<str>, shared: Arc<Shared<LIMITS, T>>, source: Source<LIMITS>) -> Arc<Self> {
        let (most, patience) = (shared.most_calls, shared.patience());
        let desk = Desk::new(source, most, patience, shared.take_within);
        let lane = Self {
            key,
            shared,
            #[cfg(feature = "local")]
            me: Weak::new(),
            users: AtomicUsize::new(0),
            is_kept: AtomicBool::new(false),
            takes: AtomicU64::new(0),
            #[cfg(feature = "metrics")]
            metrics: crate::observe::Metrics::default(),
            state: Mutex::new(State { desk, held: Vec::new() }),
        };
        #[cfg(feature = "local")]
        return Arc::new_cyclic(|me| Self { me: me.clone(), ..lane });
        #[cfg(not(feature = "local"))]
        Arc::new(lane)
    }

    /// See [`Desk::join`].
    pub(crate) fn join(
        &self,
        call: &Call<LIMITS>,
        place: &mut Place,
    ) -> Result<Joined<Right<LIMITS>>, (Reason, Instant)> {
        self.act(|desk, now| desk.join(now, call, place).map_err(|reason| (reason, now)))
    }

    /// See [`Desk::wait`].
    pub(crate) fn wait(
        &self,
        ticket: &mut Ticket,
        waker: &Waker,
        call: &Call<LIMITS>,
        place: Place,
    ) -> (Wait<LIMITS>, Instant) {
        self.act(|desk, now| (desk.wait(now, ticket, waker, call, place), now))
    }

    /// See [`Desk::cancel`].
    pub(crate) fn cancel(&self, ticket: Ticket) {
        self.act(|desk, now| desk.cancel(now, ticket));
    }

    /// Returns whether a call may join, because its backoff has ended.
    pub(crate) fn may_join(&self, call: &Call<LIMITS>) -> bool {
        call.attempt() == 0 || self.shared.timer.now() >= call.not_before()
    }

    /// A permit if no other call waits.
    pub(crate) fn try_take(&self, call: &Call<LIMITS>) -> Option<(Right<LIMITS>, Place)> {
        self.act(|desk, now| match desk.is_free(now).then(|| desk.gate.poll(now, call))? {
            Decision::Admit(permit) => Some((permit, desk.queue.place(0))),
            _ => None,
        })
    }

    /// A call with several keys takes its turn of this one again, or renews the permit that it has. `Err` returns why
    /// it will not be sent.
    pub(crate) fn rejoin(
        &self,
        permit: Option<Right<LIMITS>>,
        call: &Call<LIMITS>,
        place: Place,
    ) -> Result<Joined<Right<LIMITS>>, (Reason, Instant)> {
        self.act(|desk, now| {
            if let Some(permit) = permit
                && let Some(permit) = desk.change(|control| control.renew(now, permit, call))
            {
                return Ok(Joined::Admitted(permit));
            }
            desk.rejoin(now, call, place).map_err(|reason| (reason, now))
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

    /// Until when a call that waits here keeps its permits of other keys.
    pub(crate) fn holds_until(
        &self,
        ticket: Ticket,
        call: &Call<LIMITS>,
        limit: &mut HoldLimit,
    ) -> Instant {
        let (state, now) = (self.lock(), self.shared.timer.now());
        let State { desk, held } = &*state;
        let is_next = desk.is_next(ticket);
        match &desk.gate {
            Source::Own(control) => limit.until(now, is_next, control, call, held.len()),
            // The answer to a request comes soon.
            #[cfg(feature = "local")]
            Source::Shared(_) if is_next && held.is_empty() => now + Span::from_secs(1),
            #[cfg(feature = "local")]
            Source::Shared(_) => now,
        }
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
    pub(crate) fn peek(
        &self,
        call: &Call<LIMITS>,
        priority: u8,
    ) -> Result<Span, (Reason, Instant)> {
        let (state, now) = (self.lock(), self.shared.timer.now());
        let control = &state.desk.gate;
        let due = match control.check(now, call) {
            Verdict::Reject(reason) => return Err((reason, now)),
            Verdict::Full => control.ready_at(now, call).unwrap_or(Instant::MAX),
            Verdict::Admit | Verdict::Wait(_) => now,
        };
        state.desk.peek(now, call, priority, due).map_err(|reason| (reason, now))
    }

    /// How soon the call can be sent, to compare keys: how long it would wait, and how many calls of the key wait
    /// or are in flight.
    pub(crate) fn rank(&self, call: &Call<LIMITS>, priority: u8) -> (Span, usize) {
        let wait = self.peek(call, priority).unwrap_or(Span::MAX);
        let Desk { queue, gate, .. } = &self.lock().desk;
        (wait, queue.waiting().saturating_add(gate.in_flight().into()))
    }

    /// What currently delays a plain call.
    #[cfg(feature = "metrics")]
    pub(crate) fn why(&self) -> Option<tidegate::gate::Gate> {
        self.lock().desk.gate.why(self.shared.timer.now())
    }

    pub(crate) fn glance(&self) -> Glance {
        let Desk { queue, gate, .. } = &self.lock().desk;
        Glance {
            counts: *gate.counts(),
            waiting: queue.waiting(),
            in_flight: gate.in_flight().into(),
            interval: gate.interval(self.shared.timer.now()),
            basis: gate.basis(),
            #[cfg(feature = "local")]
            sharing: gate.sharing(),
        }
    }

    pub(crate) fn set_policy(&self, policy: Policy<AnyLaw, LIMITS>) {
        self.change(|control, now| control.set_policy(policy, now));
    }

    pub(crate) fn reset(&self) {
        self.change(|control, now| control.reset(now));
    }

    pub(crate) fn snapshot(&self) -> Option<Vec<u8>> {
        self.lock().desk.gate.snapshot(self.shared.timer.now())
    }

    /// Until when it must be kept: until its last call ends, which then returns it to the table, or while its key
    /// is under a cooldown or has to be paced. Requires the lock of the table of lanes.
    pub(crate) fn kept_until(&self) -> Option<Instant> {
        self.is_kept.store(true, Ordering::SeqCst);
        if self.is_used() {
            return Some(Instant::MAX);
        }
        self.is_kept.store(false, Ordering::SeqCst);
        self.lock().desk.gate.kept_until(self.shared.timer.now())
    }

    pub(crate) fn is_used(&self) -> bool {
        self.users.load(Ordering::SeqCst) > 0
    }

    fn lock(&self) -> MutexGuard<'_, State<LIMITS>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the controller.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut Source<LIMITS>, Instant) -> R) -> R {
        self.act(|desk, now| desk.change(|control| change(control, now)))
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
            desk.gate.in_flight().into(),
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

/// A lane in use by a call. Its key is not evicted.
pub(crate) struct Held<const LIMITS: usize, T: Timer>(Arc<Lane<LIMITS, T>>);

impl<const LIMITS: usize, T: Timer> Held<LIMITS, T> {
    /// Requires the lock of the table of lanes.
    pub(crate) fn new(lane: &Arc<Lane<LIMITS, T>>) -> Self {
        lane.users.fetch_add(1, Ordering::SeqCst);
        Self(lane.clone())
    }

    /// Another handle of a lane in use.
    pub(crate) fn share(&self) -> Self {
        Self::new(&self.0)
    }
}

impl<const LIMITS: usize, T: Timer> std::ops::Deref for Held<LIMITS, T> {
    type Target = Lane<LIMITS, T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<const LIMITS: usize, T: Timer> Drop for Held<LIMITS, T> {
    fn drop(&mut self) {
        if self.0.users.fetch_sub(1, Ordering::SeqCst) == 1 {
            let is_kept = self.0.is_kept.swap(false, Ordering::SeqCst);
            self.0.shared.line.wake_first(is_kept.then(|| self.0.key.clone()));
        }
    }
}
