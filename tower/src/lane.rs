//! The lane: one key's controller and queue, and those who wait in it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use tidegate::law::AnyLaw;
use tidegate::queue::{self, Ahead, Growing, Queue, Settled, Slot, Step, Ticket, Turn};
use tidegate::snapshot::SnapshotError;
use tidegate::{Ask, Controller, Instant, Policy, Reason, Reply, Span, Verdict};

use crate::shared::Shared;
use crate::timer::Timer;
use crate::waiters::Waiters;

/// Calls of one key in flight at most: the room that a controller has for them.
const SLOTS: usize = 1024;

type Control<const LIMITS: usize> = Controller<AnyLaw, LIMITS, SLOTS>;

/// One key's calls.
pub(crate) struct Lane<const LIMITS: usize, T> {
    pub(crate) key: Arc<str>,
    pub(crate) shared: Arc<Shared<T>>,
    /// The calls that hold this lane. It rises under the lock of the table of lanes alone.
    users: AtomicUsize,
    state: Mutex<State<LIMITS>>,
}

struct State<const LIMITS: usize> {
    // Boxed, because it is moved into its place.
    control: Box<Control<LIMITS>>,
    queue: Queue<Growing<Vec<Slot<LIMITS>>>, LIMITS>,
    waiters: Waiters,
    /// When to poll the queue if nothing happens until then.
    until: Instant,
    /// The wakers of those whose turn has come. They are woken once the lock is released.
    woken: Vec<Waker>,
}

/// What a call that waits has to do.
pub(crate) enum Wait {
    /// It is admitted, and counts as sent from now on.
    Admitted,
    /// It will not be sent.
    Rejected(Reason),
    /// It was admitted, and did not take its permit in time.
    Lapsed,
    /// It waits: poll again then, or when it is woken.
    Until(Instant),
}

/// A lane at a glance.
pub(crate) struct Glance {
    pub(crate) counts: tidegate::Stats,
    pub(crate) waiting: usize,
    pub(crate) in_flight: usize,
    pub(crate) interval: Option<Span>,
}

impl<const LIMITS: usize, T: Timer> Lane<LIMITS, T> {
    pub(crate) fn new(
        key: Arc<str>,
        shared: Arc<Shared<T>>,
        policy: Policy<AnyLaw, LIMITS>,
        seed: u64,
    ) -> Self {
        let control = Control::new(policy, seed, shared.timer.now());
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
        let control = Control::restore(policy, seed, record, shared.timer.now(), away)?;
        Ok(Self::with(key, shared, control))
    }

    fn with(key: Arc<str>, shared: Arc<Shared<T>>, control: Control<LIMITS>) -> Self {
        let queue = Queue::new(Growing::new(Vec::new(), shared.most_calls));
        let state = State {
            control: Box::new(control),
            queue: queue.take_within(shared.take_within),
            waiters: Waiters::default(),
            until: Instant::MAX,
            woken: Vec::new(),
        };
        Self { key, shared, users: AtomicUsize::new(0), state: Mutex::new(state) }
    }

    /// A call joins.
    pub(crate) fn join(&self, ask: Ask<LIMITS>, priority: u8) -> Result<Ticket, (Reason, Instant)> {
        self.act(|state, now| {
            let State { control, queue, .. } = state;
            queue.join(now, &mut **control, ask, priority).map_err(|reason| (reason, now))
        })
    }

    /// A permit now, and not before those that wait.
    pub(crate) fn try_take(&self, ask: Ask<LIMITS>) -> Option<Ticket> {
        self.act(|state, now| {
            if !state.queue.is_clear() {
                return None;
            }
            let ticket = state.queue.join(now, &mut *state.control, ask, 0).ok()?;
            state.pump(now);
            match state.queue.take(now, &mut *state.control, ticket) {
                Turn::Admitted => Some(ticket),
                _ => {
                    state.queue.cancel(now, &mut *state.control, ticket);
                    None
                }
            }
        })
    }

    /// What has become of a call that waits.
    pub(crate) fn wait(&self, ticket: Ticket, waker: &Waker) -> (Wait, Instant) {
        self.act(|state, now| {
            state.pump(now);
            let wait = match state.queue.take(now, &mut *state.control, ticket) {
                Turn::Waiting => Wait::Until(state.waiters.wait(
                    ticket,
                    waker,
                    now,
                    state.until,
                    self.shared.patience(),
                )),
                Turn::Admitted => {
                    state.waiters.leave(ticket);
                    Wait::Admitted
                }
                Turn::Rejected(reason) => {
                    state.waiters.leave(ticket);
                    Wait::Rejected(reason)
                }
                Turn::Unknown => Wait::Lapsed,
            };
            (wait, now)
        })
    }

    /// A call is given up, wherever it stands. If it was not sent, it costs nothing.
    pub(crate) fn cancel(&self, ticket: Ticket) {
        self.act(|state, now| {
            state.waiters.leave(ticket);
            state.queue.cancel(now, &mut *state.control, ticket);
        });
    }

    /// A call came back. True where it waits for another attempt, under the same ticket.
    pub(crate) fn settle(&self, ticket: Ticket, reply: Reply<LIMITS>, again: bool) -> bool {
        self.act(|state, now| {
            let State { control, queue, .. } = state;
            let settled = match again {
                true => queue.settle(now, &mut **control, ticket, reply),
                false => queue.finish(now, &mut **control, ticket, reply),
            };
            settled == Settled::Retry
        })
    }

    /// How long a call would wait if it came now, at the present rate.
    pub(crate) fn peek(&self, ask: Ask<LIMITS>) -> Result<Span, (Reason, Instant)> {
        let state = self.lock();
        let now = self.shared.timer.now();
        let waiting = u32::try_from(state.queue.waiting()).unwrap_or(u32::MAX);
        let ahead = [Ahead { calls: waiting, cost: waiting.into() }; LIMITS];
        let due = match state.control.check(now, &ask) {
            Verdict::Refuse(reason) => return Err((reason, now)),
            Verdict::Full => state.control.ready_at(now, &ask).unwrap_or(Instant::MAX),
            Verdict::Go | Verdict::Wait(_) => now,
        };
        let due = due.max(queue::Gate::due_behind(&*state.control, now, &ask, &ahead));
        if due > ask.not_after() {
            return Err((Reason::Late(due), now));
        }
        Ok(due.saturating_since(now))
    }

    /// What keeps a plain call back at present.
    #[cfg(feature = "metrics")]
    pub(crate) fn why(&self) -> Option<tidegate::gate::Gate> {
        self.lock().control.why(self.shared.timer.now(), &Ask::new())
    }

    pub(crate) fn glance(&self) -> Glance {
        let state = self.lock();
        Glance {
            counts: *state.control.stats(),
            waiting: state.queue.waiting(),
            in_flight: state.control.in_flight().into(),
            interval: state.control.intervals(self.shared.timer.now()).flatten().max(),
        }
    }

    pub(crate) fn set_policy(&self, policy: Policy<AnyLaw, LIMITS>) {
        self.act(|state, now| {
            state.control.set_policy(policy, now);
            state.queue.changed();
        });
    }

    pub(crate) fn snapshot(&self) -> Vec<u8> {
        let mut record = vec![0; Control::<LIMITS>::SNAPSHOT_BYTES];
        let written = self.lock().control.snapshot(self.shared.timer.now(), &mut record);
        debug_assert_eq!(written, Ok(record.len()));
        record
    }

    /// Until when an idle lane must be kept, because its key is under a cooldown or has to be paced.
    pub(crate) fn kept_until(&self) -> Option<Instant> {
        match self.lock().control.check(self.shared.timer.now(), &Ask::new()) {
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

    /// Does `act`, admits and rejects what is due, and wakes those whom it concerns.
    fn act<R>(&self, act: impl FnOnce(&mut State<LIMITS>, Instant) -> R) -> R {
        let mut state = self.lock();
        let now = self.shared.timer.now();
        let done = act(&mut state, now);
        state.pump(now);
        if state.queue.waiting() > 0 {
            let State { waiters, woken, until, .. } = &mut *state;
            woken.extend(waiters.watch(now, *until, self.shared.patience()));
        }
        let mut woken = std::mem::take(&mut state.woken);
        drop(state);
        woken.drain(..).for_each(Waker::wake);
        done
    }
}

impl<const LIMITS: usize> State<LIMITS> {
    /// Admits and rejects what is due.
    fn pump(&mut self, now: Instant) {
        let Self { control, queue, waiters, until, woken } = self;
        loop {
            match queue.poll(now, &mut **control) {
                Step::Admit(ticket) | Step::Reject(ticket, _) => {
                    woken.extend(waiters.leave(ticket));
                }
                Step::Sleep(at) => {
                    *until = at.unwrap_or(Instant::MAX);
                    return;
                }
            }
        }
    }
}

/// A lane that a call uses: its key is not forgotten.
pub(crate) struct Held<const LIMITS: usize, T>(Arc<Lane<LIMITS, T>>);

impl<const LIMITS: usize, T> Held<LIMITS, T> {
    /// Under the lock of the table of lanes.
    pub(crate) fn new(lane: &Arc<Lane<LIMITS, T>>) -> Self {
        lane.users.fetch_add(1, Ordering::SeqCst);
        Self(lane.clone())
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
            self.0.shared.line.wake_first();
        }
    }
}
