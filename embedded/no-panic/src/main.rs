//! An image of the throttle's functions that links only if none of them can reach a panic.
//! tests/no-panic explains how it works.
#![no_std]
#![no_main]

mod board;

use core::future::Future;
use core::num::NonZeroU16;
use core::pin::Pin;
use core::task::{Context, Poll};

use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_time::{Duration, Instant};
use tidegate::law::{Adaptive, Aimd, Law};
use tidegate::snapshot::{Record, SnapshotError};
use tidegate::{Costs, Policy, Reply, Span, Stats};
use tidegate_embassy::{
    Acquire, Call, Connection, KeyedThrottle, Permit, Rejection, Sessions, Throttle, time,
};

unsafe extern "C" {
    fn a_panic_is_reachable() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unsafe { a_panic_is_reachable() }
}

type Mutex = CriticalSectionRawMutex;

/// As in firmware: the policy is a constant.
static UPLINK: Throttle<Mutex, Adaptive> = Throttle::new();

/// The throttle of a `static`.
#[unsafe(no_mangle)]
pub static STATIC: fn() -> &'static Throttle<Mutex, Adaptive> = || {
    UPLINK.start(const { &Policy::adaptive() }, board::seed());
    &UPLINK
};

/// The default throttle.
#[unsafe(no_mangle)]
pub static ADAPTIVE: Verbs<Adaptive, 4, 1, ()> = Verbs::ALL;

/// Two limits per call, with another law and other sizes.
#[unsafe(no_mangle)]
pub static AIMD: Verbs<Aimd, 9, 2, [u32; 2]> = Verbs::ALL;

#[unsafe(no_mangle)]
pub static COSTING: for<'a> fn(&'a Uplink<Aimd, 9, 2, [u32; 2]>, [u32; 2]) -> Paid<'a> =
    |uplink, costs| uplink.call().costing(costs);

/// Queues per key.
#[unsafe(no_mangle)]
pub static KEYED: Table = Table {
    new: KeyedThrottle::new,
    start: KeyedThrottle::start,
    acquire: |apis, key| apis.call(key).acquire(),
    poll: |acquire, context| acquire.poll(context),
    leave: |_| (),
    settle: |permit, reply| permit.settle(reply),
    report: |apis, key, message| apis.report(key, message),
    set_policy: KeyedThrottle::set_policy,
    set_concurrency: KeyedThrottle::set_concurrency,
    reset: KeyedThrottle::reset,
    snapshot: KeyedThrottle::snapshot,
    restore: KeyedThrottle::restore,
    stats: KeyedThrottle::stats,
    next_at: KeyedThrottle::next_at,
};

/// Sessions, except for the waiting itself.
#[unsafe(no_mangle)]
pub static SESSIONS: Supervisor = Supervisor {
    new: || Sessions::new(board::seed),
    spread_start: Sessions::spread_start,
    link_up: Sessions::link_up,
    slept: Sessions::slept,
    open: |connection| connection.open(),
    end: |_| (),
};

/// Clocks with a tick rate that is not a decimal fraction.
#[unsafe(no_mangle)]
pub static CONVERSIONS: Conversions = Conversions {
    instant: time::instant,
    ticking: time::ticking,
    span: time::span,
    duration: time::duration,
};

/// The functions of a throttle.
#[allow(dead_code, reason = "roots for the linker, never called")]
pub struct Verbs<
    L: Law + Copy + 'static,
    const WAITERS: usize,
    const LIMITS: usize,
    C: Costs<LIMITS> + 'static,
> {
    new: fn() -> Uplink<L, WAITERS, LIMITS, C>,
    start: fn(&Uplink<L, WAITERS, LIMITS, C>, &'static Policy<L, LIMITS>, u64),
    seeded: fn(&'static Policy<L, LIMITS>, u64) -> Uplink<L, WAITERS, LIMITS, C>,
    call: for<'a> fn(
        &'a Uplink<L, WAITERS, LIMITS, C>,
        Duration,
    ) -> Call<'a, Uplink<L, WAITERS, LIMITS, C>, LIMITS>,
    with_deadline: for<'a> fn(
        &'a Uplink<L, WAITERS, LIMITS, C>,
        Instant,
    ) -> Acquire<'a, Uplink<L, WAITERS, LIMITS, C>, LIMITS>,
    try_acquire: for<'a> fn(
        &'a Uplink<L, WAITERS, LIMITS, C>,
    ) -> Option<Permit<'a, Uplink<L, WAITERS, LIMITS, C>, LIMITS>>,
    poll: for<'a> fn(
        Pin<&mut Acquire<'a, Uplink<L, WAITERS, LIMITS, C>, LIMITS>>,
        &mut Context<'_>,
    )
        -> Poll<Result<Permit<'a, Uplink<L, WAITERS, LIMITS, C>, LIMITS>, Rejection>>,
    /// Drops the future in any state.
    leave: for<'a> fn(Acquire<'a, Uplink<L, WAITERS, LIMITS, C>, LIMITS>),
    settle: for<'a> fn(Permit<'a, Uplink<L, WAITERS, LIMITS, C>, LIMITS>, Reply<LIMITS>),
    report: fn(&Uplink<L, WAITERS, LIMITS, C>, Reply<LIMITS>),
    spread_start: fn(&Uplink<L, WAITERS, LIMITS, C>, Duration),
    set_policy: fn(&Uplink<L, WAITERS, LIMITS, C>, &'static Policy<L, LIMITS>),
    set_concurrency: fn(&Uplink<L, WAITERS, LIMITS, C>, NonZeroU16),
    reset: fn(&Uplink<L, WAITERS, LIMITS, C>),
    stats: fn(&Uplink<L, WAITERS, LIMITS, C>) -> Stats,
    interval: fn(&Uplink<L, WAITERS, LIMITS, C>) -> Option<Duration>,
    next_at: fn(&Uplink<L, WAITERS, LIMITS, C>) -> Option<Instant>,
    in_flight: fn(&Uplink<L, WAITERS, LIMITS, C>) -> u16,
    waiting: fn(&Uplink<L, WAITERS, LIMITS, C>) -> usize,
    snapshot: fn(&Uplink<L, WAITERS, LIMITS, C>, &mut [u8]) -> Result<usize, SnapshotError>,
    restore: fn(
        &Uplink<L, WAITERS, LIMITS, C>,
        &'static Policy<L, LIMITS>,
        u64,
        &[u8],
        Duration,
    ) -> Result<(), SnapshotError>,
    slept: fn(&Uplink<L, WAITERS, LIMITS, C>, Duration),
    record: fn(&Uplink<L, WAITERS, LIMITS, C>, &mut [u8]) -> Result<usize, SnapshotError>,
    wake_up: fn(
        &Uplink<L, WAITERS, LIMITS, C>,
        &'static Policy<L, LIMITS>,
        u64,
        &[u8],
        Option<Duration>,
    ) -> Result<(), SnapshotError>,
    /// The negative control: it can panic, and the image with it must not link.
    #[cfg(feature = "bad")]
    bad: fn(u64, u64) -> u64,
    /// A call as a function, so that the caller's code contains no panic.
    #[cfg(feature = "run")]
    run: fn(
        &'static Uplink<L, WAITERS, LIMITS, C>,
        fn() -> Reply<LIMITS>,
        &mut Context<'_>,
    ) -> Poll<Result<Reply<LIMITS>, Rejection>>,
    #[cfg(feature = "run")]
    run_with: fn(
        &'static Uplink<L, WAITERS, LIMITS, C>,
        fn(&mut Reply<LIMITS>),
        &mut Context<'_>,
    ) -> Poll<Result<(), Rejection>>,
}

type Uplink<L, const WAITERS: usize, const LIMITS: usize, C> =
    Throttle<Mutex, L, WAITERS, LIMITS, C>;

type Paid<'a> = Call<'a, Uplink<Aimd, 9, 2, [u32; 2]>, 2>;

impl<L, const WAITERS: usize, const LIMITS: usize, C> Verbs<L, WAITERS, LIMITS, C>
where
    L: Record + Copy + PartialEq + 'static,
    C: Costs<LIMITS> + 'static,
{
    const ALL: Self = Self {
        new: Throttle::new,
        start: Throttle::start,
        seeded: Throttle::seeded,
        call: |uplink, timeout| uplink.with_timeout(timeout).with_priority(7),
        with_deadline: |uplink, at| uplink.with_deadline(at).acquire(),
        try_acquire: Throttle::try_acquire,
        poll: |acquire, context| acquire.poll(context),
        leave: |_| (),
        settle: |permit, reply| permit.settle(reply),
        report: |uplink, message| uplink.report(message),
        spread_start: Throttle::spread_start,
        set_policy: Throttle::set_policy,
        set_concurrency: Throttle::set_concurrency,
        reset: Throttle::reset,
        stats: Throttle::stats,
        interval: Throttle::interval,
        next_at: Throttle::next_at,
        in_flight: Throttle::in_flight,
        waiting: Throttle::waiting,
        snapshot: Throttle::snapshot,
        restore: Throttle::restore,
        slept: Throttle::slept,
        record: Throttle::record,
        wake_up: Throttle::wake_up,
        #[cfg(feature = "bad")]
        bad: |dividend, divisor| dividend / divisor,
        #[cfg(feature = "run")]
        run: |uplink, work, context| {
            let call = uplink.call().done_within(Duration::from_secs(1)).run(async || work());
            // It may be suspended at any of its awaits.
            core::hint::black_box(core::pin::pin!(call)).as_mut().poll(context)
        },
        #[cfg(feature = "run")]
        run_with: |uplink, work, context| {
            let call = uplink.run_with(async |reply| work(reply));
            core::hint::black_box(core::pin::pin!(call)).as_mut().poll(context)
        },
    };
}

type Apis = KeyedThrottle<Mutex, u32, Aimd, 3>;

/// The functions of a table of throttles.
#[allow(dead_code, reason = "roots for the linker, never called")]
pub struct Table {
    new: fn() -> Apis,
    start: fn(&Apis, &'static Policy<Aimd>, u64),
    acquire: for<'a> fn(&'a Apis, u32) -> Acquire<'a, Apis>,
    poll: for<'a> fn(
        Pin<&mut Acquire<'a, Apis>>,
        &mut Context<'_>,
    ) -> Poll<Result<Permit<'a, Apis>, Rejection>>,
    leave: for<'a> fn(Acquire<'a, Apis>),
    settle: for<'a> fn(Permit<'a, Apis>, Reply),
    report: fn(&Apis, &u32, Reply),
    set_policy: fn(&Apis, &'static Policy<Aimd>),
    set_concurrency: fn(&Apis, NonZeroU16),
    reset: fn(&Apis, &u32),
    snapshot: fn(&Apis, &u32, &mut [u8]) -> Result<usize, SnapshotError>,
    restore: fn(&Apis, &u32, &[u8], Duration) -> Result<(), SnapshotError>,
    stats: fn(&Apis, &u32) -> Option<Stats>,
    next_at: fn(&Apis, &u32) -> Option<Instant>,
}

/// The functions of sessions.
#[allow(dead_code, reason = "roots for the linker, never called")]
pub struct Supervisor {
    new: fn() -> Sessions<Mutex>,
    spread_start: fn(&Sessions<Mutex>, Duration),
    link_up: fn(&Sessions<Mutex>),
    slept: fn(&Sessions<Mutex>, Duration),
    open: for<'a> fn(&Connection<'a, Mutex>),
    end: for<'a> fn(Connection<'a, Mutex>),
}

/// The conversions between embassy's clock and core's.
#[allow(dead_code, reason = "roots for the linker, never called")]
pub struct Conversions {
    instant: fn(Instant) -> tidegate::Instant,
    ticking: fn(tidegate::Instant) -> Instant,
    span: fn(Duration) -> Span,
    duration: fn(Span) -> Duration,
}
