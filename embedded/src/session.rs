//! Sessions: when a connection may be opened again.

use core::cell::RefCell;
use core::future::poll_fn;
use core::task::{Poll, Waker};

use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::RawMutex;
use embassy_time::Duration;
use tidegate::backoff::{Backoff, Growth, Jitter};
#[cfg(feature = "sleep")]
use tidegate::snapshot::SnapshotError;
use tidegate::{Instant, Ratio, Span, checked, firmware::Session};

use crate::log::log;
use crate::time::{self, Slept, millis, wake_at};

/// Decides when a connection (MQTT or TLS) may be opened again. Connections are expensive to open,
/// and all devices of a fleet lose them at the same time. See [`Session`] for the rules.
///
/// ```
/// # embassy_futures::block_on(async {
/// use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
/// use tidegate_embassy::Sessions;
///
/// # fn chip_id() -> u64 { 7 }
/// # async fn connect() -> Result<u8, ()> { Ok(7) }
/// # async fn talk(_: u8) {}
/// static SESSIONS: Sessions<CriticalSectionRawMutex> = Sessions::new(chip_id);
///
/// # let mut rounds = 1;
/// loop {
///     let connection = SESSIONS.connect().await; // when the next attempt may be made
///     if let Ok(client) = connect().await {
///         connection.open();
///         talk(client).await;
///     }
/// #   if rounds == 0 { break } else { rounds -= 1; SESSIONS.link_up() }
/// }
/// # });
/// ```
///
/// One task connects. Any task may call [`link_up`](Self::link_up).
#[allow(missing_debug_implementations, reason = "nothing in it is of interest")]
pub struct Sessions<M: RawMutex> {
    inner: Mutex<M, RefCell<Inner>>,
    seed: fn() -> u64,
    backoff: Backoff,
    stable: Span,
    spread: Span,
}

struct Inner {
    session: Option<Session>,
    /// Of the task that connects. With several of them, of the latest: all have timers.
    waker: Option<Waker>,
    slept: Slept,
}

/// Lasts from an attempt to connect to the end of its session: dropping it ends the session.
#[must_use = "dropping it ends the session"]
#[allow(missing_debug_implementations, reason = "nothing in it is of interest")]
pub struct Connection<'a, M: RawMutex> {
    sessions: &'a Sessions<M>,
}

impl<M: RawMutex> Sessions<M> {
    /// Delays double from one second to two minutes, with jitter between half of the delay and the
    /// delay. A session of a minute or more resets them.
    const BACKOFF: Backoff = {
        const DOUBLES: Growth = match Ratio::new(2, 1) {
            Some(two) => Growth::Exponential(two),
            None => Growth::Constant,
        };
        checked!(Backoff::new(DOUBLES, Jitter::Equal, Span::from_secs(1), Span::from_secs(120)))
    };

    /// Creates sessions for a `static`: delays between attempts double from one second to two
    /// minutes, each drawn between half of the delay and the delay. A session of a minute or more
    /// resets them. `seed` is called once, at the first use, and returns a seed as for
    /// [`Throttle::start`](crate::Throttle::start).
    #[must_use]
    pub const fn new(seed: fn() -> u64) -> Self {
        Self::with_backoff(Self::BACKOFF, Duration::from_secs(60), seed)
    }

    /// Like [`new`](Self::new), with another backoff, and another time after which a session counts
    /// as stable.
    #[must_use]
    pub const fn with_backoff(backoff: Backoff, stable: Duration, seed: fn() -> u64) -> Self {
        let inner = Inner { session: None, waker: None, slept: Slept::NONE };
        let inner = Mutex::new(RefCell::new(inner));
        Self { inner, seed, backoff, stable: time::span(stable), spread: Span::ZERO }
    }

    /// Makes the first attempt after a stable session at a random time within `over`; see
    /// [`Session::with_spread`]. Without it, all devices of a broker that restarts connect within a second.
    #[must_use]
    pub const fn with_spread(mut self, over: Duration) -> Self {
        self.spread = time::span(over);
        self
    }

    /// Makes the first attempt at a random time within `over` from now, for a fleet that powers up together; see
    /// [`Session::spread_start`]. Call it before [`connect`](Self::connect).
    pub fn spread_start(&self, over: Duration) {
        self.change(|session, now| session.spread_start(now, time::span(over)));
    }

    /// The network is back: the next attempt may be made at once, except within the spread after a stable session; see
    /// [`Session::link_up`].
    pub fn link_up(&self) {
        self.change(Session::link_up);
        log!(debug, "the link is up");
    }

    /// The device has slept for `duration` with its timer stopped; see [`Throttle::slept`](crate::Throttle::slept).
    #[cfg(feature = "sleep")]
    pub fn slept(&self, duration: Duration) {
        self.lock(|inner| inner.slept.add(duration));
        self.change(|_, _| ());
    }

    /// Length of the record of [`record`](Self::record) in bytes.
    #[cfg(feature = "sleep")]
    pub const RECORD_BYTES: usize = Session::SNAPSHOT_BYTES;

    /// Before each attempt and before a deep sleep, writes the backoff and the rest of its delay to the first
    /// [`RECORD_BYTES`](Self::RECORD_BYTES) bytes of `record`, and returns their number. If the [`Connection`] is still
    /// open, the device closes it to sleep, and its next attempt is not delayed.
    ///
    /// # Errors
    /// [`SnapshotError::Length`] if `record` is too short.
    #[cfg(feature = "sleep")]
    pub fn record(&self, record: &mut [u8]) -> Result<usize, SnapshotError> {
        self.with(|session, _, now| session.snapshot(now, record)).unwrap_or(Ok(0))
    }

    /// Continues from the record of [`record`](Self::record), as if there had been no sleep. `away` is the time since
    /// then, or `None` if the device has no clock that runs while it sleeps: then it counts as a minute.
    ///
    /// ```
    /// use embassy_sync::blocking_mutex::raw::NoopRawMutex;
    /// use embassy_time::{Duration, with_timeout};
    /// use tidegate_embassy::Sessions;
    ///
    /// type Broker = Sessions<NoopRawMutex>;
    /// # fn chip_id() -> u64 { 7 }
    /// # async fn connect() -> Option<u8> { Some(7) }
    /// # async fn send(_: u8) -> Result<(), ()> { Ok(()) }
    ///
    /// /// From a wake-up to the next sleep.
    /// async fn awake(broker: &Broker, kept: &mut [u8; Broker::RECORD_BYTES], away: Option<Duration>) {
    ///     _ = broker.wake_up(kept, away); // an error at the first boot, which changes nothing
    ///     let due = broker.connect();
    ///     if let Ok(connection) = with_timeout(Duration::from_secs(10), due).await {
    ///         _ = broker.record(kept); // this attempt counts, even if the battery fails in it
    ///         if let Some(client) = connect().await {
    ///             connection.open();
    ///             if send(client).await.is_ok() {
    ///                 _ = broker.record(kept); // while it is open: the device ends it
    ///                 return;
    ///             }
    ///         }
    ///     }
    ///     _ = broker.record(kept);
    /// }
    /// # let (broker, mut kept) = (Broker::new(chip_id), [0; Broker::RECORD_BYTES]);
    /// # embassy_futures::block_on(awake(&broker, &mut kept, None));
    /// # assert_eq!(broker.wake_up(&kept, Duration::MIN), Ok(()));
    /// ```
    ///
    /// # Errors
    /// [`SnapshotError`] if the record is invalid. Nothing is changed then.
    #[cfg(feature = "sleep")]
    pub fn wake_up(
        &self,
        record: &[u8],
        away: impl Into<Option<Duration>>,
    ) -> Result<(), SnapshotError> {
        let away = away.into().map_or(Span::from_secs(60), time::span);
        self.change(|session, now| session.restore(record, now, away)).unwrap_or(Ok(()))
    }

    /// Waits until the next attempt to connect may be made. Connect then, and call [`Connection::open`] when the
    /// server has accepted the session.
    pub async fn connect(&self) -> Connection<'_, M> {
        poll_fn(|context| {
            let wait = self.with(|session, waker, now| {
                let next = session.next_at();
                if next <= now {
                    session.begin(now);
                    return None;
                }
                match waker {
                    Some(waker) => waker.clone_from(context.waker()),
                    None => *waker = Some(context.waker().clone()),
                }
                Some(next - now)
            });
            match wait.flatten() {
                None => Poll::Ready(()),
                Some(wait) => {
                    log!(trace, "the next attempt to connect is due in {} ms", millis(wait));
                    wake_at(time::now() + wait, context.waker());
                    Poll::Pending
                }
            }
        })
        .await;
        Connection { sessions: self }
    }

    /// Changes the session, and wakes the task that connects.
    fn change<R>(&self, act: impl FnOnce(&mut Session, Instant) -> R) -> Option<R> {
        self.with(|session, waker, now| {
            if let Some(waker) = waker.take() {
                waker.wake();
            }
            act(session, now)
        })
    }

    fn with<R>(
        &self,
        act: impl FnOnce(&mut Session, &mut Option<Waker>, Instant) -> R,
    ) -> Option<R> {
        self.lock(|inner| {
            let now = inner.slept.of_gates(time::now());
            let Inner { session, waker, .. } = inner;
            let begin =
                || Session::new(self.backoff, self.stable, (self.seed)()).with_spread(self.spread);
            act(session.get_or_insert_with(begin), waker, now)
        })
    }

    fn lock<R>(&self, act: impl FnOnce(&mut Inner) -> R) -> Option<R> {
        self.inner.lock(|cell| cell.try_borrow_mut().ok().map(|mut inner| act(&mut inner)))
    }
}

impl<M: RawMutex> Connection<'_, M> {
    /// The server has accepted the session.
    pub fn open(&self) {
        self.sessions.with(|session, _, now| session.open(now));
        log!(debug, "the session is open");
    }
}

impl<M: RawMutex> Drop for Connection<'_, M> {
    fn drop(&mut self) {
        let wait = self.sessions.with(|session, _, now| {
            session.end(now);
            session.next_at() - now
        });
        if let Some(wait) = wait {
            log!(debug, "the connection has ended, the next attempt is due in {} ms", millis(wait));
        }
    }
}
