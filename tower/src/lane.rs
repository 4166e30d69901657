//! The lane: the controller, the queue and the waiting calls of one key.

use std::mem::take;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use tidegate::gate::Permit;
use tidegate::law::{AnyLaw, AnyState, Basis};
use tidegate::queue::{self, Growing, Node, Patience, Place, Queue, Step, Ticket, Turn};
use tidegate::snapshot::SnapshotError;
use tidegate::{Call, Controller, Instant, Policy, Reason, Reply, Span, Verdict};

use crate::shared::Shared;
use crate::timer::Timer;
use crate::waiters::Waiters;

/// The calls of one key.
pub(crate) struct Lane<const LIMITS: usize, T> {
    pub(crate) key: Arc<str>,
    pub(crate) shared: Arc<Shared<T>>,
    /// The number of calls that use this lane. It only rises from zero under the lock of the table
    /// of lanes.
    users: AtomicUsize,
    /// Whether the table keeps it until its last call ends.
    kept: AtomicBool,
    state: Mutex<State<LIMITS>>,
}

struct State<const LIMITS: usize> {
    control: Controller<AnyLaw, LIMITS>,
    queue: Queue<Growing<Vec<Node<LIMITS>>, LIMITS>, LIMITS>,
    waiters: Waiters,
    /// The decided calls, and until when their tasks must take the decision. Empty without such a
    /// limit.
    decided: Vec<(Ticket, Instant)>,
    /// When to check the queue without an event.
    until: Instant,
    /// The wakers of calls whose turn has come. They are woken after the lock is released.
    woken: Vec<Waker>,
    /// A waker that is no longer needed. It is also dropped after the lock is released, because its
    /// task, and with it another call, may end with it.
    spent: Option<Waker>,
    /// The permits of calls that wait for another key.
    kept: Vec<(Place, Call<LIMITS>, Permit<LIMITS>)>,
}

/// The state of a waiting call.
pub(crate) enum Wait<const LIMITS: usize> {
    /// It is admitted.
    Admitted(Permit<LIMITS>),
    /// It will not be sent.
    Rejected(Reason),
    /// It was decided, but did not take the decision in time.
    Lapsed,
    /// It waits. Poll again at this time, or when woken.
    Until(Instant),
}

/// The result of joining.
pub(crate) enum Entered<const LIMITS: usize> {
    Admitted(Permit<LIMITS>),
    Waits(Ticket),
}

/// A summary of a lane.
pub(crate) struct Glance {
    pub(crate) counts: tidegate::Stats,
    pub(crate) waiting: usize,
    pub(crate) in_flight: usize,
    pub(crate) interval: Option<Span>,
    pub(crate) basis: Option<Basis>,
}

impl<const LIMITS: usize, T: Timer> Lane<LIMITS, T> {
    pub(crate) fn new(
        key: Arc<str>,
        shared: Arc<Shared<T>>,
        policy: Policy<AnyLaw, LIMITS>,
        seed: u64,
    ) -> Self {
        let control = Controller::new(policy, seed, shared.timer.now());
        Self::with(key, shared, control)
    }

    pub(crate) fn restore(
        key: Arc<str>,
        shared: Arc<Shared<T>>,
        policy: Policy<AnyLaw, LIMITS>,
        seed: u64,
        record: &[u8],
        away: Span,
    ) -> Result<Self, SnapshotError> {
        let control = Controller::restore(policy, seed, record, shared.timer.now(), away)?;
        Ok(Self::with(key, shared, control))
    }

    fn with(key: Arc<str>, shared: Arc<Shared<T>>, control: Controller<AnyLaw, LIMITS>) -> Self {
        let state = State {
            control,
            queue: Queue::new(Growing::new(Vec::new(), shared.most_calls)),
            waiters: Waiters::default(),
            decided: Vec::new(),
            until: Instant::MAX,
            woken: Vec::new(),
            spent: None,
            kept: Vec::new(),
        };
        Self {
            key,
            shared,
            users: AtomicUsize::new(0),
            kept: AtomicBool::new(false),
            state: Mutex::new(state),
        }
    }

    /// A call joins, and gets a permit if it may be sent at once. Its place is also used for its
    /// retries.
    pub(crate) fn join(
        &self,
        call: &Call<LIMITS>,
        priority: u8,
    ) -> Result<(Entered<LIMITS>, Place), (Reason, Instant)> {
        self.act(|state, now| {
            let place = state.queue.place(priority);
            let entered = state.join(now, call, place, self.shared.take_within);
            entered.map(|entered| (entered, place)).map_err(|reason| (reason, now))
        })
    }

    /// A permit if no other call waits.
    pub(crate) fn try_take(&self, call: &Call<LIMITS>) -> Option<(Permit<LIMITS>, Place)> {
        self.act(|state, now| {
            state.pump(now, self.shared.take_within);
            if state.queue.first(now, queue::Gate::is_failing(&state.control)).is_some() {
                return None;
            }
            let place = state.queue.place(0);
            match state.join(now, call, place, self.shared.take_within).ok()? {
                Entered::Admitted(permit) => Some((permit, place)),
                Entered::Waits(ticket) => {
                    state.queue.cancel(now, &mut state.control, ticket);
                    None
                }
            }
        })
    }

    /// The state of a waiting call.
    pub(crate) fn wait(&self, ticket: Ticket, waker: &Waker) -> (Wait<LIMITS>, Instant) {
        self.act(|state, now| {
            state.pump(now, self.shared.take_within);
            let wait = match state.queue.take(ticket) {
                Turn::Waiting => {
                    let (until, patience) = (state.until, self.shared.patience());
                    let (until, spent) = state.waiters.wait(ticket, waker, now, until, patience);
                    state.spent = spent;
                    return (Wait::Until(until), now);
                }
                Turn::Admitted(permit) => Wait::Admitted(permit),
                Turn::Rejected(reason) => Wait::Rejected(reason),
                Turn::Unknown => Wait::Lapsed,
            };
            state.forget(ticket);
            (wait, now)
        })
    }

    /// Gives up a call that has not taken its permit. It costs nothing.
    pub(crate) fn cancel(&self, ticket: Ticket) {
        self.act(|state, now| {
            state.forget(ticket);
            state.queue.cancel(now, &mut state.control, ticket);
        });
    }

    /// Learns from a response. The call keeps its place until it is released.
    pub(crate) fn learn(&self, permit: &mut Permit<LIMITS>, reply: Reply<LIMITS>) {
        self.act(|state, now| {
            state.control.learn(now, permit, reply);
            state.queue.changed();
        });
    }

    /// Corrects what a call with a response is charged.
    pub(crate) fn correct(&self, permit: &mut Permit<LIMITS>, used: [Option<u32>; LIMITS]) {
        self.act(|state, now| {
            state.control.correct(now, permit, used);
            state.queue.changed();
        });
    }

    /// Ends a call.
    pub(crate) fn release(&self, permit: Permit<LIMITS>) {
        self.act(|state, _| {
            state.control.release(permit);
            state.queue.changed();
        });
    }

    /// Refunds a call that was not sent.
    pub(crate) fn refund(&self, permit: Permit<LIMITS>) {
        self.act(|state, now| {
            state.control.refund(now, permit);
            state.queue.changed();
        });
    }

    /// Settles a call.
    pub(crate) fn settle(&self, permit: Permit<LIMITS>, reply: Reply<LIMITS>) {
        self.act(|state, now| state.settle(now, permit, reply));
    }

    /// A call with several keys takes its turn of this one again, or renews the permit that it has. `Err` returns why
    /// it will not be sent.
    pub(crate) fn rejoin(
        &self,
        permit: Option<Permit<LIMITS>>,
        call: &Call<LIMITS>,
        place: Place,
    ) -> Result<Entered<LIMITS>, (Reason, Instant)> {
        self.act(|state, now| {
            if let Some(permit) = permit {
                if let Some(permit) = state.control.renew(now, permit, call) {
                    return Ok(Entered::Admitted(permit));
                }
                state.queue.changed();
            }
            let ticket = state.queue.enter_again(call, place).ok_or((Reason::QueueFull, now))?;
            state.decide(now, ticket, self.shared.take_within).map_err(|reason| (reason, now))
        })
    }

    /// Keeps the permit of a call that waits for another key. No other call uses its room.
    pub(crate) fn keep(&self, permit: Permit<LIMITS>, call: Call<LIMITS>, place: Place) {
        self.act(|state, _| state.kept.push((place, call, permit)));
    }

    /// Returns a kept permit, unless the lane had to refund it.
    pub(crate) fn unkeep(&self, place: Place) -> Option<Permit<LIMITS>> {
        let mut state = self.lock();
        let at = state.kept.iter().position(|(kept, ..)| *kept == place)?;
        Some(state.kept.swap_remove(at).2)
    }

    /// Until when a call that waits here keeps its permits of other keys.
    pub(crate) fn keeps_until(
        &self,
        ticket: Ticket,
        call: &Call<LIMITS>,
        patience: &mut Patience,
    ) -> Instant {
        self.act(|state, now| {
            let is_next = state.queue.first(now, queue::Gate::is_failing(&state.control))
                == Some(ticket.slot());
            patience.keeps_until(now, is_next, &state.control, call, state.kept.len())
        })
    }

    /// Settles a call with what this key learns of its reply, and queues its next attempt, if one is due.
    pub(crate) fn retry(
        &self,
        permit: Permit<LIMITS>,
        learns: Reply<LIMITS>,
        reply: Reply<LIMITS>,
        call: &Call<LIMITS>,
        place: Place,
    ) -> Result<(Call<LIMITS>, Ticket), (Reason, Instant)> {
        self.act(|state, now| {
            state.settle(now, permit, learns);
            let next = state.control.retry(now, call, reply).map_err(|reason| (reason, now))?;
            let ticket = state.queue.join(now, &mut state.control, &next, place);
            ticket.map(|ticket| (next, ticket)).map_err(|reason| (reason, now))
        })
    }

    /// The next attempt of a call that waits in the queue of another key.
    pub(crate) fn try_again(&self, call: &Call<LIMITS>, reply: Reply<LIMITS>) -> Call<LIMITS> {
        self.act(|state, now| state.control.retry(now, call, reply).unwrap_or(*call))
    }

    /// How long a new call would wait at the current rate.
    pub(crate) fn peek(
        &self,
        call: &Call<LIMITS>,
        priority: u8,
    ) -> Result<Span, (Reason, Instant)> {
        let state = self.lock();
        let now = self.shared.timer.now();
        let due = match state.control.check(now, call) {
            Verdict::Reject(reason) => return Err((reason, now)),
            Verdict::Full => state.control.ready_at(now, call).unwrap_or(Instant::MAX),
            Verdict::Admit | Verdict::Wait(_) => now,
        };
        let due = due.max(state.queue.turn_of_new(now, &state.control, call, priority));
        if due > call.not_after() {
            return Err((Reason::Late(due), now));
        }
        Ok(due.saturating_since(now))
    }

    /// How soon the call can be sent, to compare keys: how long it would wait, and how many calls of the key wait
    /// or are in flight.
    pub(crate) fn rank(&self, call: &Call<LIMITS>, priority: u8) -> (Span, usize) {
        let wait = self.peek(call, priority).unwrap_or(Span::MAX);
        let state = self.lock();
        (wait, state.queue.waiting().saturating_add(state.control.in_flight().into()))
    }

    /// What currently delays a plain call.
    #[cfg(feature = "metrics")]
    pub(crate) fn why(&self) -> Option<tidegate::gate::Gate> {
        self.lock().control.why(self.shared.timer.now(), &Call::new())
    }

    pub(crate) fn glance(&self) -> Glance {
        let state = self.lock();
        Glance {
            counts: *state.control.stats(),
            waiting: state.queue.waiting(),
            in_flight: state.control.in_flight().into(),
            interval: state.control.intervals(self.shared.timer.now()).flatten().max(),
            basis: state.control.states().filter_map(basis).max(),
        }
    }

    pub(crate) fn set_policy(&self, policy: Policy<AnyLaw, LIMITS>) {
        self.act(|state, now| {
            state.control.set_policy(policy, now);
            state.queue.changed();
        });
    }

    pub(crate) fn reset(&self) {
        self.act(|state, now| {
            state.control.reset(now);
            state.queue.changed();
        });
    }

    pub(crate) fn snapshot(&self) -> Vec<u8> {
        let mut record = vec![0; Controller::<AnyLaw, LIMITS>::SNAPSHOT_BYTES];
        let written = self.lock().control.snapshot(self.shared.timer.now(), &mut record);
        debug_assert_eq!(written, Ok(record.len()));
        record
    }

    /// Until when it must be kept: until its last call ends, which then returns it to the table, or while its key
    /// is under a cooldown or has to be paced. Requires the lock of the table of lanes.
    pub(crate) fn kept_until(&self) -> Option<Instant> {
        self.kept.store(true, Ordering::SeqCst);
        if self.is_used() {
            return Some(Instant::MAX);
        }
        self.kept.store(false, Ordering::SeqCst);
        match self.lock().control.check(self.shared.timer.now(), &Call::new()) {
            Verdict::Wait(until) => Some(until),
            _ => None,
        }
    }

    pub(crate) fn is_used(&self) -> bool {
        self.users.load(Ordering::SeqCst) > 0
    }

    fn lock(&self) -> MutexGuard<'_, State<LIMITS>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `act`, decides the calls that are due, and wakes their tasks.
    fn act<R>(&self, act: impl FnOnce(&mut State<LIMITS>, Instant) -> R) -> R {
        let mut state = self.lock();
        let now = self.shared.timer.now();
        let done = act(&mut state, now);
        state.pump(now, self.shared.take_within);
        if state.queue.waiting() > 0 {
            let State { waiters, woken, until, .. } = &mut *state;
            woken.extend(waiters.watch(now, *until, self.shared.patience()));
        }
        let mut woken = take(&mut state.woken);
        let spent = state.spent.take();
        drop(state);
        drop(spent);
        woken.drain(..).for_each(Waker::wake);
        done
    }
}

impl<const LIMITS: usize> State<LIMITS> {
    fn join(
        &mut self,
        now: Instant,
        call: &Call<LIMITS>,
        place: Place,
        take_within: Span,
    ) -> Result<Entered<LIMITS>, Reason> {
        let ticket = self.queue.join(now, &mut self.control, call, place)?;
        self.decide(now, ticket, take_within)
    }

    /// Decides a call that has just joined, if it is its turn.
    fn decide(
        &mut self,
        now: Instant,
        ticket: Ticket,
        take_within: Span,
    ) -> Result<Entered<LIMITS>, Reason> {
        self.pump(now, take_within);
        let entered = match self.queue.take(ticket) {
            Turn::Admitted(permit) => Ok(Entered::Admitted(permit)),
            Turn::Rejected(reason) => Err(reason),
            Turn::Waiting | Turn::Unknown => return Ok(Entered::Waits(ticket)),
        };
        self.forget(ticket);
        entered
    }

    fn settle(&mut self, now: Instant, permit: Permit<LIMITS>, reply: Reply<LIMITS>) {
        self.control.settle(now, permit, reply);
        self.queue.changed();
    }

    /// Decides the calls that are due.
    fn pump(&mut self, now: Instant, take_within: Span) {
        let Self { control, queue, waiters, decided, until, woken, kept, .. } = self;
        if !kept.is_empty() {
            let renew =
                |(place, call, permit)| Some((place, call, control.renew(now, permit, &call)?));
            *kept = take(kept).into_iter().filter_map(renew).collect();
        }
        // In the order in which they were decided.
        while let Some(&(ticket, by)) = decided.first()
            && by <= now
        {
            decided.remove(0);
            queue.cancel(now, control, ticket);
        }
        *until = loop {
            match queue.poll(now, control) {
                Step::Wake(ticket) => {
                    woken.extend(waiters.leave(ticket));
                    if take_within < Span::MAX {
                        decided.push((ticket, now.saturating_add(take_within)));
                    }
                }
                Step::Sleep(at) => break at.unwrap_or(Instant::MAX),
            }
        };
        if let Some(&(_, by)) = decided.first() {
            *until = by.min(*until);
        }
    }

    /// A call was taken or given up.
    fn forget(&mut self, ticket: Ticket) {
        self.spent = self.waiters.leave(ticket);
        self.decided.retain(|(decided, _)| *decided != ticket);
    }
}

fn basis(state: &AnyState) -> Option<Basis> {
    match state {
        AnyState::Adaptive(state) => Some(state.basis()),
        _ => None,
    }
}

/// A lane in use by a call. Its key is not evicted.
pub(crate) struct Held<const LIMITS: usize, T>(Arc<Lane<LIMITS, T>>);

impl<const LIMITS: usize, T> Held<LIMITS, T> {
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

impl<const LIMITS: usize, T> std::ops::Deref for Held<LIMITS, T> {
    type Target = Lane<LIMITS, T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<const LIMITS: usize, T> Drop for Held<LIMITS, T> {
    fn drop(&mut self) {
        if self.0.users.fetch_sub(1, Ordering::SeqCst) == 1 {
            let is_kept = self.0.kept.swap(false, Ordering::SeqCst);
            self.0.shared.line.wake_first(is_kept.then(|| self.0.key.clone()));
        }
    }
}
