//! The throttle: a controller for all tasks that share a limit.

use core::future::Future;
use core::num::NonZeroU16;

use embassy_sync::blocking_mutex::raw::RawMutex;
use embassy_time::{Duration, Instant};
#[cfg(feature = "stats")]
use tidegate::Stats;
#[cfg(feature = "sleep")]
use tidegate::firmware::SleepClock;
use tidegate::law::Record;
use tidegate::law::{Adaptive, Law};
use tidegate::snapshot::SnapshotError;
use tidegate::{Controller, Costs, Policy, Reply, Rng};

use crate::acquire::Acquire;
use crate::call::Call;
use crate::desk::{Desk, Verbs};
use crate::gates::Gate;
use crate::permit::Permit;
use crate::rejection::Rejection;
use crate::replied::Replied;
use crate::time;

/// Implemented by both throttles, for their guards. It cannot be implemented elsewhere.
pub trait Shared<const LIMITS: usize>: sealed::Desked<LIMITS> {}

impl<T: sealed::Desked<LIMITS>, const LIMITS: usize> Shared<LIMITS> for T {}

pub(crate) mod sealed {
    use tidegate::Costs;

    use crate::desk::Verbs;

    pub trait Desked<const LIMITS: usize> {
        type Key: Clone + Eq;
        type Costs: Costs<LIMITS>;
        type Desk: Verbs<LIMITS, Key = Self::Key, Costs = Self::Costs>;
        fn desk(&self) -> &Self::Desk;
    }
}

/// Paces the calls of all tasks that share a limit, and learns from the responses.
///
/// ```
/// use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
/// use tidegate::{Outcome, Policy, law::Adaptive};
/// use tidegate_embassy::Throttle;
///
/// # fn chip_id() -> u64 { 7 }
/// # async fn post(_: &[u8]) -> Result<Outcome, ()> { Ok(Outcome::Ok) }
/// static UPLINK: Throttle<CriticalSectionRawMutex, Adaptive> = Throttle::new();
///
/// # embassy_futures::block_on(async {
/// // The seed comes from a hardware generator, or is the chip's unique number.
/// UPLINK.start(const { &Policy::adaptive() }, chip_id());
///
/// // Waits until a call may be sent, and retries it if it is throttled.
/// let sent = UPLINK.run(async || post(b"21.5").await).await;
/// assert_eq!(sent, Ok(Ok(Outcome::Ok)));
/// # });
/// ```
///
/// # Parameters
///
/// `M` is the mutex: [`NoopRawMutex`](embassy_sync::blocking_mutex::raw::NoopRawMutex) if all tasks
/// run on one executor and the throttle is not a `static`, else
/// [`CriticalSectionRawMutex`](embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex). It is locked while one call
/// is decided or settled: for 4,100 instructions at most on a Cortex-M0 with four places. `L` is the law.
/// `WAITERS` is how many tasks may wait: further calls are rejected, except retries and urgent calls, which try again
/// later. `LIMITS` is how many limits a call counts against, and `C` what it costs of them: `()` if all calls cost one of
/// a single limit and retries have no budget, else `[u32; LIMITS]`, which takes more code.
pub struct Throttle<
    M: RawMutex,
    L: Law + 'static = Adaptive,
    const WAITERS: usize = 4,
    const LIMITS: usize = 1,
    C: Costs<LIMITS> = (),
> {
    desk: Desk<M, Gate<L, LIMITS, C>, WAITERS, LIMITS>,
}

impl<M: RawMutex, L: Law + 'static, const WAITERS: usize, const LIMITS: usize, C: Costs<LIMITS>>
    Throttle<M, L, WAITERS, LIMITS, C>
{
    /// Creates a throttle for a `static`, which takes no flash. [`start`](Self::start) it before the first call.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "for a `static`")]
    pub const fn new() -> Self {
        Self { desk: Desk::new() }
    }

    /// Starts under this policy. `seed` must differ between devices, and preferably between boots; see
    /// [`rng`](tidegate::rng). For 64 bits of a hardware generator, [`Rng::from_entropy`] takes 100 bytes less flash than
    /// a number. A call before this is rejected ([`Rejection::NotStarted`]). A throttle that was started
    /// before forgets what it has learned. Its calls in flight keep their places, and it waits if their responses ask
    /// for it. Calls that wait continue to wait.
    ///
    /// After a deep sleep, [`restore`](Self::restore) starts a throttle.
    pub fn start(&self, policy: &'static Policy<L, LIMITS>, seed: impl Into<Rng>) {
        let (now, rng) = (self.desk.now(), seed.into());
        self.desk.replace(false, move || Controller::with_rng(policy, rng, now));
    }

    /// Creates a throttle and [`start`](Self::start)s it.
    #[must_use]
    pub fn seeded(policy: &'static Policy<L, LIMITS>, seed: impl Into<Rng>) -> Self {
        let throttle = Self::new();
        throttle.start(policy, seed);
        throttle
    }

    /// Prepares a call with options: cost, deadline, priority.
    pub const fn call(&self) -> Call<'_, Self, LIMITS> {
        Call::new(self, ())
    }

    /// See [`Call::with_deadline`].
    pub fn with_deadline(&self, deadline: Instant) -> Call<'_, Self, LIMITS> {
        self.call().with_deadline(deadline)
    }

    /// See [`Call::with_timeout`].
    pub fn with_timeout(&self, timeout: Duration) -> Call<'_, Self, LIMITS> {
        self.call().with_timeout(timeout)
    }

    /// See [`Call::acquire`].
    pub fn acquire(&self) -> Acquire<'_, Self, LIMITS> {
        self.call().acquire()
    }

    /// See [`Call::try_acquire`].
    pub fn try_acquire(&self) -> Option<Permit<'_, Self, LIMITS>> {
        self.call().try_acquire()
    }

    /// See [`Call::run`].
    ///
    /// # Errors
    /// [`Rejection`] if no attempt could be sent.
    pub fn run<R: Replied<LIMITS>>(
        &self,
        call: impl AsyncFnMut() -> R,
    ) -> impl Future<Output = Result<R, Rejection>> {
        self.call().run(call)
    }

    /// See [`Call::run_with`].
    ///
    /// # Errors
    /// [`Rejection`] if no attempt could be sent.
    pub fn run_with<R>(
        &self,
        call: impl AsyncFnMut(&mut Reply<LIMITS>) -> R,
    ) -> impl Future<Output = Result<R, Rejection>> {
        self.call().run_with(call)
    }

    /// Sets another policy; see [`Controller::set_policy`]. Before [`start`](Self::start), this and all other changes
    /// have no effect.
    pub fn set_policy(&self, policy: &'static Policy<L, LIMITS>)
    where
        L: PartialEq,
    {
        self.desk.change(|gate, now| gate.set_policy(policy, now));
    }

    /// Sets the concurrency limit; see [`Controller::set_concurrency`]. For MQTT, use the broker's
    /// Receive Maximum.
    pub fn set_concurrency(&self, limit: NonZeroU16) {
        self.desk.change(|gate, _| gate.set_concurrency(limit));
    }

    /// Ends every cooldown and forgets what the law has learned; see [`Controller::reset`]. Calls that
    /// wait may be sent at once.
    ///
    /// ```
    /// # use embassy_sync::blocking_mutex::raw::NoopRawMutex;
    /// # use tidegate::{Policy, law::Adaptive};
    /// # use tidegate_embassy::Throttle;
    /// # let uplink: Throttle<NoopRawMutex, Adaptive> = Throttle::seeded(const { &Policy::adaptive() }, 7);
    /// uplink.reset(); // the account was upgraded
    /// assert_eq!(uplink.why(), None); // nothing delays a call
    /// ```
    pub fn reset(&self) {
        self.desk.change(|gate, now| gate.reset(now));
    }

    /// Frees the places of all calls in flight, whose permits have no effect from now on. Use it when the session ends
    /// that they were sent in, if permits may be lost: kept by a task that hangs, or passed to `mem::forget`. See
    /// [`Controller::forget_all`].
    pub fn forget_in_flight(&self) {
        self.desk.change(|gate, _| gate.forget_all());
    }

    /// Learns from a message of the server that answers no call: a throttle topic, a DISCONNECT, a command. See
    /// [`Controller::report`].
    ///
    /// ```
    /// use embassy_sync::blocking_mutex::raw::NoopRawMutex;
    /// use tidegate::{Hint, Outcome, Policy, Span, law::Adaptive};
    /// use tidegate_embassy::Throttle;
    ///
    /// let uplink: Throttle<NoopRawMutex, Adaptive> = Throttle::seeded(const { &Policy::adaptive() }, 7);
    /// uplink.try_acquire().unwrap().settle(Outcome::Ok); // a publication without an acknowledgement
    /// let minute = Hint::retry_after(Span::from_secs(60));
    /// uplink.report(Outcome::Throttled.with(minute)); // a message of the throttle topic
    /// assert!(uplink.try_acquire().is_none());
    /// ```
    pub fn report(&self, message: impl Replied<LIMITS>) {
        let reply = message.compact();
        self.desk.change(|gate, now| gate.report(now, &reply));
    }

    /// Sends nothing before a random time within `over` from now, for a fleet that powers up
    /// together; see [`Controller::spread_start`].
    pub fn spread_start(&self, over: Duration) {
        self.desk.change(|gate, now| gate.spread_start(now, time::span(over)));
    }

    /// The device has slept for `duration` with its timer stopped and its RAM kept, as in the STOP modes of many chips.
    /// From now on, the throttle decides as if the clock had run: cooldowns have passed, calls have become due, and
    /// deadlines of calls that wait are nearer by this time. Embassy's own timers do not move. Not for a driver that
    /// corrects its clock after a sleep.
    ///
    /// ```
    /// # use embassy_time::Duration;
    /// # use embassy_sync::blocking_mutex::raw::NoopRawMutex;
    /// # use tidegate::{Policy, law::Adaptive};
    /// # use tidegate_embassy::Throttle;
    /// # let uplink: Throttle<NoopRawMutex, Adaptive> = Throttle::seeded(const { &Policy::adaptive() }, 7);
    /// // ... stop the timer, and wake up by an alarm ...
    /// uplink.slept(Duration::from_secs(600));
    /// ```
    #[cfg(feature = "sleep")]
    pub fn slept(&self, duration: Duration) {
        self.desk.sleep(duration);
    }

    /// The counters so far.
    #[cfg(feature = "stats")]
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.desk.see(&(), |gate| *gate.stats()).unwrap_or_default()
    }

    /// The current interval of the first limit's law; `None` if there is none.
    #[must_use]
    pub fn interval(&self) -> Option<Duration> {
        self.desk.interval(&()).map(time::duration)
    }

    /// When a plain call may be sent if nothing settles until then and no other call waits. May be
    /// in the past. `None` if nothing delays the call, or if time alone does not help. A device
    /// that sleeps between calls can sleep until then.
    #[must_use]
    pub fn next_at(&self) -> Option<Instant> {
        let now = self.desk.now();
        self.desk.see(&(), |gate| gate.next_at(now)).flatten().map(|at| self.desk.ticking(at))
    }

    /// What delays a plain call now, apart from other calls that wait: pacing, a cooldown or the concurrency limit. See
    /// [`Controller::why`].
    #[must_use]
    pub fn why(&self) -> Option<tidegate::gate::Gate> {
        let now = self.desk.now();
        self.desk.see(&(), |gate| gate.why(now, &tidegate::Call::new())).flatten()
    }

    /// Number of calls in flight; see [`Controller::in_flight`].
    #[must_use]
    pub fn in_flight(&self) -> u16 {
        self.desk.see(&(), Gate::in_flight).unwrap_or(0)
    }

    /// Number of waiting tasks.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.desk.waiting()
    }
}

impl<M: RawMutex, L: Record + 'static, const WAITERS: usize, const LIMITS: usize, C: Costs<LIMITS>>
    Throttle<M, L, WAITERS, LIMITS, C>
{
    /// Length of a snapshot in bytes.
    pub const SNAPSHOT_BYTES: usize = Gate::<L, LIMITS, C>::SNAPSHOT_BYTES;

    /// Writes what has been learned to the first [`SNAPSHOT_BYTES`](Self::SNAPSHOT_BYTES) bytes of
    /// `record`, and returns their number: 0 if the throttle was not started. Store them before a
    /// deep sleep, in retained memory or in flash.
    ///
    /// # Errors
    /// [`SnapshotError::Length`] if `record` is too short.
    pub fn snapshot(&self, record: &mut [u8]) -> Result<usize, SnapshotError> {
        // A copy, because writing it takes much longer than a decision.
        let gate = self.desk.see(&(), Clone::clone);
        gate.map_or(Ok(0), |gate| gate.snapshot(self.desk.now(), record))
    }

    /// Starts or continues from a snapshot that was taken `away` ago, under a policy with the same law. Calls in flight
    /// keep their places, and the restored throttle waits if their responses ask for it. If the device cannot measure how
    /// long it was away, use [`record`](Self::record) and [`wake_up`](Self::wake_up) instead: with an `away` of
    /// zero, a cooldown does not pass while the device sleeps.
    ///
    /// ```
    /// use embassy_sync::blocking_mutex::raw::NoopRawMutex;
    /// use embassy_time::Duration;
    /// use tidegate::{Hint, Outcome, Policy, Span, law::Adaptive};
    /// use tidegate_embassy::Throttle;
    ///
    /// const POLICY: Policy<Adaptive> = Policy::adaptive();
    /// type Uplink = Throttle<NoopRawMutex, Adaptive>;
    ///
    /// let uplink = Uplink::seeded(&POLICY, 7);
    /// let wait = Hint::retry_after(Span::from_secs(1));
    /// uplink.try_acquire().unwrap().settle(Outcome::Throttled.with(wait));
    /// let mut record = [0; Uplink::SNAPSHOT_BYTES];
    /// uplink.snapshot(&mut record).unwrap();
    /// // ... an hour of sleep, measured by a clock that kept running ...
    /// let uplink = Uplink::new();
    /// if uplink.restore(&POLICY, 8, &record, Duration::from_secs(3_600)).is_err() {
    ///     uplink.start(&POLICY, 8);
    /// }
    /// assert!(uplink.interval().is_some());
    /// ```
    ///
    /// # Errors
    /// [`SnapshotError`] if the record is invalid. The throttle is then unchanged.
    pub fn restore(
        &self,
        policy: &'static Policy<L, LIMITS>,
        seed: u64,
        record: &[u8],
        away: Duration,
    ) -> Result<(), SnapshotError> {
        let now = self.desk.now();
        let restored = Controller::restore(policy, seed, record, now, time::span(away))?;
        self.desk.replace(true, move || restored);
        Ok(())
    }

    /// Length of the record of [`record`](Self::record) in bytes.
    #[cfg(feature = "sleep")]
    pub const RECORD_BYTES: usize = Self::SNAPSHOT_BYTES.saturating_add(SleepClock::SNAPSHOT_BYTES);

    /// Before each attempt and before a deep sleep, writes a [`snapshot`](Self::snapshot) and what is known about
    /// earlier sleeps to the first [`RECORD_BYTES`](Self::RECORD_BYTES) bytes of `record`, and returns their number: 0
    /// if the throttle was not started.
    ///
    /// # Errors
    /// [`SnapshotError::Length`] if `record` is too short.
    #[cfg(feature = "sleep")]
    pub fn record(&self, record: &mut [u8]) -> Result<usize, SnapshotError> {
        let (gate, sleep) =
            record.split_at_mut_checked(Self::SNAPSHOT_BYTES).ok_or(SnapshotError::Length)?;
        let Some(clock) = self.desk.with(|started| started.sleep.get_mut().clone()) else {
            return Ok(0);
        };
        let written = self.snapshot(gate)?;
        clock.snapshot(self.desk.now(), sleep).map(|more| written.saturating_add(more))
    }

    /// Before [`record`](Self::record), says how long the device is about to sleep, if nothing but its inexact
    /// timer measures that. See [`SleepClock::expect`]. Without it, a sleep counts as a minute until a server's times
    /// have measured it.
    #[cfg(feature = "sleep")]
    pub fn expect_sleep(&self, each: Duration) {
        self.desk.with(|started| started.sleep.get_mut().expect(time::span(each)));
    }

    /// [`restore`](Self::restore)s the record of [`record`](Self::record). `away` is the time since then, or
    /// `None` if the device has no clock that runs while it sleeps: then [`SleepClock`] estimates it from the times
    /// that the server reports.
    ///
    /// The estimate assumes that all sleeps take about the same time.
    ///
    /// # Errors
    /// [`SnapshotError`] if the record is invalid. The throttle is then unchanged.
    #[cfg(feature = "sleep")]
    pub fn wake_up(
        &self,
        policy: &'static Policy<L, LIMITS>,
        seed: u64,
        record: &[u8],
        away: impl Into<Option<Duration>>,
    ) -> Result<(), SnapshotError> {
        let (gate, sleep) =
            record.split_at_checked(Self::SNAPSHOT_BYTES).ok_or(SnapshotError::Length)?;
        let away = away.into().map(time::span);
        let (clock, away) = SleepClock::restore(sleep, self.desk.now(), away)?;
        self.restore(policy, seed, gate, time::duration(away))?;
        self.desk.with(|started| started.sleep.set(clock));
        Ok(())
    }
}

impl<M: RawMutex, L: Law + 'static, const WAITERS: usize, const LIMITS: usize, C: Costs<LIMITS>>
    sealed::Desked<LIMITS> for Throttle<M, L, WAITERS, LIMITS, C>
{
    type Key = ();
    type Costs = C;
    type Desk = Desk<M, Gate<L, LIMITS, C>, WAITERS, LIMITS>;

    fn desk(&self) -> &Self::Desk {
        &self.desk
    }
}

/// `Debug` and `Format` of a throttle: a number, and how many tasks wait.
macro_rules! shown {
    ($name:literal, $number:ident, $throttle:ty, $($generics:tt)*) => {
        impl<$($generics)*> core::fmt::Debug for $throttle {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let mut shown = f.debug_struct($name);
                shown.field(stringify!($number), &self.$number()).field("waiting", &self.waiting());
                shown.finish_non_exhaustive()
            }
        }

        #[cfg(feature = "defmt")]
        impl<$($generics)*> defmt::Format for $throttle {
            fn format(&self, f: defmt::Formatter<'_>) {
                let (name, number) = ($name, stringify!($number));
                let (count, waiting) = (self.$number(), self.waiting());
                defmt::write!(f, "{=str} {{ {=str}: {}, waiting: {} }}", name, number, count, waiting);
            }
        }
    };
}
#[cfg(feature = "keyed")]
pub(crate) use shown;

shown!(
    "Throttle", in_flight, Throttle<M, L, WAITERS, LIMITS, C>,
    M: RawMutex, L: Law + 'static, const WAITERS: usize, const LIMITS: usize, C: Costs<LIMITS>
);
