//! The lane: the controller, the queue and the waiting calls of one key.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidegate::law::AnyState;
use tidegate::queue::{Gate, HoldLimit, Ticket};
use tidegate::{Call, Instant, Reason, Reply, Span, Verdict, call_time::FastestCall};

use crate::desk::Desk;
use crate::error::Error;
use crate::gate::Builder;
use crate::source::Source;
use crate::stats::Stats;
use crate::timer::{Timer, duration};

/// The calls of one key.
pub(crate) struct Lane<const LIMITS: usize, T: Timer> {
    pub(crate) key: Arc<str>,
    pub(crate) settings: Arc<Builder<LIMITS, T>>,
    /// How many nanoseconds the fastest of the latest calls took that were served in time.
    fastest: AtomicU64,
    #[cfg(feature = "metrics")]
    pub(crate) metrics: crate::observe::Metrics,
    desk: Mutex<Desk<LIMITS>>,
}

impl<const LIMITS: usize, T: Timer> Lane<LIMITS, T> {
    pub(crate) fn new(
        key: Arc<str>,
        settings: Arc<Builder<LIMITS, T>>,
        source: Source<LIMITS>,
    ) -> Arc<Self> {
        Arc::new(Self {
            fastest: AtomicU64::new(0),
            #[cfg(feature = "metrics")]
            metrics: crate::observe::Metrics::new(&key),
            desk: Mutex::new(Desk::new(source, settings.queue, settings.take_within)),
            key,
            settings,
        })
    }

    pub(crate) fn rejected(&self, reason: Reason, now: Instant) -> Error {
        Error::rejected(self.key.clone(), reason, now)
    }

    /// Until when a call that waits here keeps its permits of other keys, and the time.
    pub(crate) fn holds_until(
        &self,
        ticket: Ticket,
        call: &Call<LIMITS>,
        limit: &mut HoldLimit,
    ) -> (Instant, Instant) {
        let (desk, now) = (self.lock(), self.settings.timer.now());
        let Desk { gate, queue, held, .. } = &*desk;
        let is_next = queue.first(gate.is_failing()) == Some(ticket.slot());
        #[cfg(feature = "local")]
        if gate.leased.is_some() {
            // The answer to a request comes soon.
            let soon = is_next && held.is_empty();
            return (if soon { now + Span::from_secs(1) } else { now }, now);
        }
        let (verdict, in_flight) = (gate.own.check(now, call), gate.own.in_flight());
        (limit.until(now, is_next, verdict, in_flight, held.len()), now)
    }

    pub(crate) fn retry(
        self: &Arc<Self>,
        call: &Call<LIMITS>,
        reply: Reply<LIMITS>,
    ) -> Result<Call<LIMITS>, Error> {
        self.change(|gate, now| {
            gate.own.retry(now, call, reply).map_err(|why| self.rejected(why, now))
        })
    }

    /// A call was served.
    pub(crate) fn has_taken(&self, time: Span) {
        self.fastest.store(self.fastest().took(time).span().as_nanos(), Ordering::Relaxed);
    }

    pub(crate) fn fastest(&self) -> FastestCall {
        FastestCall::of(Span::from_nanos(self.fastest.load(Ordering::Relaxed)))
    }

    pub(crate) fn peek(&self, call: &Call<LIMITS>, priority: u8) -> Result<Span, Error> {
        let (desk, now) = (self.lock(), self.settings.timer.now());
        let Desk { gate, queue, .. } = &*desk;
        let due = match gate.own.check(now, call) {
            Verdict::Reject(reason) => return Err(self.rejected(reason, now)),
            Verdict::Full => gate.own.ready_at(now, call).unwrap_or(Instant::MAX),
            Verdict::Admit | Verdict::Wait(_) => now,
        };
        let due = due.max(queue.turn(now, gate, call, priority));
        if due > call.not_after() {
            return Err(self.rejected(Reason::Late(due), now));
        }
        Ok(due - now)
    }

    /// How soon the call can be sent, to compare keys: how long it would wait, and how many calls of the key wait
    /// or are in flight.
    pub(crate) fn rank(&self, call: &Call<LIMITS>, priority: u8) -> (Span, usize) {
        let wait = self.peek(call, priority).unwrap_or(Span::MAX);
        let Desk { queue, gate, .. } = &*self.lock();
        (wait, queue.waiting().saturating_add(gate.own.in_flight().into()))
    }

    #[cfg(feature = "metrics")]
    pub(crate) fn why(&self) -> Option<tidegate::gate::Gate> {
        self.lock().gate.why(self.settings.timer.now())
    }

    pub(crate) fn stats(&self) -> Stats {
        let Desk { queue, gate, .. } = &*self.lock();
        let basis = |state: &AnyState| match state {
            AnyState::Adaptive(state) => Some(state.basis()),
            _ => None,
        };
        Stats {
            counts: gate.counts(),
            keys: 1,
            waiting: queue.waiting(),
            in_flight: gate.own.in_flight().into(),
            interval: gate.interval(self.settings.timer.now()).map(duration),
            basis: gate.own.states().filter_map(basis).max(),
            #[cfg(feature = "local")]
            sharing: gate.leased.as_ref().map(|leased| leased.stats()).unwrap_or_default(),
        }
    }

    pub(crate) fn snapshot(&self) -> Option<Vec<u8>> {
        self.lock().gate.snapshot(self.settings.timer.now())
    }

    /// Whether the key is under a cooldown or has to be paced, so that it must not be forgotten.
    pub(crate) fn is_kept(&self) -> bool {
        self.lock().gate.is_kept(self.settings.timer.now())
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Desk<LIMITS>> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn change<R>(
        self: &Arc<Self>,
        change: impl FnOnce(&mut Source<LIMITS>, Instant) -> R,
    ) -> R {
        self.act(|desk, now| desk.change(|gate| change(gate, now)))
    }

    /// Runs `act`, decides the calls that are due, and wakes their tasks.
    pub(crate) fn act<R>(self: &Arc<Self>, act: impl FnOnce(&mut Desk<LIMITS>, Instant) -> R) -> R {
        let mut state = self.lock();
        let (desk, now) = (&mut *state, self.settings.timer.now());
        desk.renew_held(now);
        let done = act(desk, now);
        let wakes = desk.settle_down(now);
        #[cfg(feature = "local")]
        let start = self.courier(desk, now);
        // Under the lock, although a recorder is the user's: after it, a slower thread could overwrite the gauges with
        // older values, which stay if the key is idle. A recorder only stores them, and must not call the gate.
        #[cfg(feature = "metrics")]
        self.metrics.set(desk.gate.interval(now), desk.gate.own.in_flight(), desk.queue.waiting());
        drop(state);
        wakes.wake();
        #[cfg(feature = "local")]
        if let Some(start) = start {
            start();
        }
        done
    }
}
