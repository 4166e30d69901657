//! A throttle for each key, in a table that does not grow.

use core::num::NonZeroU16;

use embassy_sync::blocking_mutex::raw::RawMutex;
use embassy_time::{Duration, Instant};
#[cfg(feature = "stats")]
use tidegate::Stats;
use tidegate::law::Record;
use tidegate::law::{Adaptive, Law};
use tidegate::snapshot::SnapshotError;
use tidegate::{Controller, Policy, firmware::Keyed};

use crate::call::Call;
use crate::desk::{Desk, Verbs};
use crate::gates::{Gate, Gates};
use crate::replied::Replied;
use crate::throttle::{sealed, shown};
use crate::time;

/// A table of controllers whose policy is in flash.
type Table<K, L, const KEYS: usize, const LIMITS: usize> =
    Keyed<K, L, KEYS, LIMITS, &'static Policy<L, LIMITS>>;

/// An independent throttle for each host, token or topic.
///
/// ```
/// use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
/// use tidegate::{Hint, Outcome, Policy, Span, law::Adaptive};
/// use tidegate_embassy::KeyedThrottle;
///
/// # fn chip_id() -> u64 { 7 }
/// static APIS: KeyedThrottle<CriticalSectionRawMutex, &str, Adaptive> = KeyedThrottle::new();
///
/// # embassy_futures::block_on(async {
/// APIS.start(const { &Policy::adaptive() }, chip_id());
/// let weather = APIS.call("api.weather.example").acquire().await.unwrap();
/// weather.settle(Outcome::Throttled.with(Hint::retry_after(Span::from_secs(1))));
/// assert!(APIS.call("api.weather.example").try_acquire().is_none());
/// let sent = APIS.call("api.logs.example").run(async || Outcome::Ok).await;
/// assert_eq!(sent, Ok(Outcome::Ok));
/// assert_eq!(APIS.keys(), 2);
/// # });
/// ```
///
/// # Parameters
///
/// `K` is the key, and `KEYS` the size of the table: if it is full, the least recently used key is
/// evicted, with what was learned for it. Each key has its own queue, and the `WAITERS` places are
/// for all keys together. The others are as for [`Throttle`](crate::Throttle).
pub struct KeyedThrottle<
    M: RawMutex,
    K: Clone + Eq,
    L: Law + 'static = Adaptive,
    const KEYS: usize = 4,
    const WAITERS: usize = 4,
    const LIMITS: usize = 1,
> {
    desk: Desk<M, Table<K, L, KEYS, LIMITS>, WAITERS, LIMITS>,
}

impl<
    M: RawMutex,
    K: Clone + Eq,
    L: Law + 'static,
    const KEYS: usize,
    const WAITERS: usize,
    const LIMITS: usize,
> KeyedThrottle<M, K, L, KEYS, WAITERS, LIMITS>
{
    /// Creates a throttle for a `static`, which takes no flash.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "for a `static`")]
    pub const fn new() -> Self {
        Self { desk: Desk::new() }
    }

    /// Starts without keys. See [`Throttle::start`](crate::Throttle::start). A throttle that was started before
    /// also forgets its calls in flight.
    pub fn start(&self, policy: &'static Policy<L, LIMITS>, seed: u64) {
        self.desk.replace(false, move || Keyed::new(policy, seed));
    }

    /// Creates a throttle and [`start`](Self::start)s it.
    #[must_use]
    pub fn seeded(policy: &'static Policy<L, LIMITS>, seed: u64) -> Self {
        let throttle = Self::new();
        throttle.start(policy, seed);
        throttle
    }

    /// Prepares a call that counts against `key`'s limit.
    pub const fn call(&self, key: K) -> Call<'_, Self, LIMITS> {
        Call::new(self, key)
    }

    /// Learns from a message of the server about this key that answers no call; see
    /// [`Controller::report`]. A key without calls learns nothing.
    pub fn report(&self, key: &K, message: impl Replied<LIMITS>) {
        let reply = message.compact();
        self.desk.change(|gates, now| {
            if let Some(gate) = gates.known(key) {
                gate.report(now, &reply);
            }
        });
    }

    /// The device has slept with its timer stopped; see [`Throttle::slept`](crate::Throttle::slept).
    #[cfg(feature = "sleep")]
    pub fn slept(&self, duration: Duration) {
        self.desk.sleep(duration);
    }

    /// Sets another policy for all keys; see [`Controller::set_policy`].
    pub fn set_policy(&self, policy: &'static Policy<L, LIMITS>)
    where
        L: PartialEq,
    {
        self.desk.change(|gates, now| gates.set_policy(policy, now));
    }

    /// Sets the concurrency limit of all keys; see [`Controller::set_concurrency`].
    pub fn set_concurrency(&self, limit: NonZeroU16) {
        self.desk.change(|gates, _| gates.set_concurrency(limit));
    }

    /// Ends a key's cooldowns and forgets what its law has learned; see [`Throttle::reset`](crate::Throttle::reset).
    pub fn reset(&self, key: &K) {
        self.desk.change(|gates, now| {
            if let Some(gate) = gates.get_mut(key) {
                gate.reset(now);
            }
        });
    }

    /// The counters of a key so far; `None` if it is not in the table.
    #[cfg(feature = "stats")]
    #[must_use]
    pub fn stats(&self, key: &K) -> Option<Stats> {
        self.desk.see(key, |gate| *gate.stats())
    }

    /// The current interval between calls of this key; see
    /// [`Throttle::interval`](crate::Throttle::interval).
    #[must_use]
    pub fn interval(&self, key: &K) -> Option<Duration> {
        self.desk.interval(key).map(time::duration)
    }

    /// Number of calls of this key in flight.
    #[must_use]
    pub fn in_flight(&self, key: &K) -> u16 {
        self.desk.see(key, Gate::in_flight).unwrap_or(0)
    }

    /// When a plain call of this key may be sent; see
    /// [`Throttle::next_at`](crate::Throttle::next_at).
    #[must_use]
    pub fn next_at(&self, key: &K) -> Option<Instant> {
        let now = self.desk.now();
        self.desk.see(key, |gate| gate.next_at(now)).flatten().map(|at| self.desk.ticking(at))
    }

    /// What delays a plain call of this key now; see [`Throttle::why`](crate::Throttle::why).
    #[must_use]
    pub fn why(&self, key: &K) -> Option<tidegate::gate::Gate> {
        let now = self.desk.now();
        self.desk.see(key, |gate| gate.why(now, &tidegate::Call::new())).flatten()
    }

    /// Number of keys in the table.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.desk.with(|started| started.gates().len()).unwrap_or(0)
    }

    /// Number of evicted keys. If it keeps rising, the table is too small.
    #[must_use]
    pub fn evicted(&self) -> u32 {
        self.desk.with(|started| started.gates().evicted()).unwrap_or(0)
    }

    /// Number of waiting tasks, for all keys.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.desk.waiting()
    }
}

impl<
    M: RawMutex,
    K: Clone + Eq,
    L: Record + 'static,
    const KEYS: usize,
    const WAITERS: usize,
    const LIMITS: usize,
> KeyedThrottle<M, K, L, KEYS, WAITERS, LIMITS>
{
    /// Length of a key's snapshot in bytes.
    pub const SNAPSHOT_BYTES: usize = Controller::<L, LIMITS>::SNAPSHOT_BYTES;

    /// Writes what has been learned for a key, like
    /// [`Throttle::snapshot`](crate::Throttle::snapshot), and returns the number of bytes: 0 if the
    /// key is not in the table. The record does not contain the key.
    ///
    /// # Errors
    /// [`SnapshotError::Length`] if `record` is too short.
    pub fn snapshot(&self, key: &K, record: &mut [u8]) -> Result<usize, SnapshotError> {
        let gate = self.desk.see(key, Clone::clone);
        gate.map_or(Ok(0), |gate| gate.snapshot(self.desk.now(), record))
    }

    /// Continues from a key's snapshot that was taken `away` ago, like
    /// [`Throttle::restore`](crate::Throttle::restore), with the policy of all keys. Adds the key
    /// if it is missing.
    ///
    /// # Errors
    /// [`SnapshotError`] if the record is invalid, or if the throttle was not started. The throttle is then unchanged.
    pub fn restore(&self, key: &K, record: &[u8], away: Duration) -> Result<(), SnapshotError> {
        let mut restored = Err(SnapshotError::NoRoom);
        self.desk.change(|gates, now| {
            restored = gates.restore(now, key, record, time::span(away));
        });
        restored
    }
}

impl<K: Clone + Eq, L: Law + 'static, const KEYS: usize, const LIMITS: usize> Gates<LIMITS>
    for Table<K, L, KEYS, LIMITS>
{
    type Law = L;
    type Key = K;
    type Costs = [u32; LIMITS];
    const KEYED: bool = true;

    fn get(
        &mut self,
        key: &K,
        now: tidegate::Instant,
    ) -> Result<&mut Gate<L, LIMITS, [u32; LIMITS]>, tidegate::Instant> {
        self.entry(now, key)
    }

    fn known(&mut self, key: &K) -> Option<&mut Gate<L, LIMITS, [u32; LIMITS]>> {
        self.get_mut(key)
    }

    fn look(&self, key: &K) -> Option<&Gate<L, LIMITS, [u32; LIMITS]>> {
        self.get(key)
    }

    fn take_over(&mut self, _: &Self) {}
}

impl<
    M: RawMutex,
    K: Clone + Eq,
    L: Law + 'static,
    const KEYS: usize,
    const WAITERS: usize,
    const LIMITS: usize,
> sealed::Desked<LIMITS> for KeyedThrottle<M, K, L, KEYS, WAITERS, LIMITS>
{
    type Key = K;
    type Costs = [u32; LIMITS];
    type Desk = Desk<M, Table<K, L, KEYS, LIMITS>, WAITERS, LIMITS>;

    fn desk(&self) -> &Self::Desk {
        &self.desk
    }
}

shown!(
    "KeyedThrottle", keys, KeyedThrottle<M, K, L, KEYS, WAITERS, LIMITS>,
    M: RawMutex, K: Clone + Eq, L: Law + 'static, const KEYS: usize, const WAITERS: usize, const LIMITS: usize
);
