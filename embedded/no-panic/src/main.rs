//! An image of the throttle's functions that links only if none of them can reach a panic.
//! tests/no-panic explains how it works.
#![no_std]
#![no_main]

mod board;
#[macro_use]
#[path = "../../../tests/no-panic/src/table.rs"]
mod table;

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

type Mutex = CriticalSectionRawMutex;

/// As in firmware: the policy is a constant.
static UPLINK: Throttle<Mutex, Adaptive> = Throttle::new();

/// The throttle of a `static`.
#[unsafe(no_mangle)]
pub static STATIC: fn() -> &'static Throttle<Mutex, Adaptive> = || {
    UPLINK.start(const { &Policy::adaptive() }, board::seed());
    &UPLINK
};

#[unsafe(no_mangle)]
pub static ADAPTIVE: Verbs<Adaptive, 4, 1, ()> = Verbs::ALL;

/// Two limits per call, with another law and other sizes.
#[unsafe(no_mangle)]
pub static AIMD: Verbs<Aimd, 9, 2, [u32; 2]> = Verbs::ALL;

#[unsafe(no_mangle)]
pub static COSTING: for<'a> fn(&'a Uplink<Aimd, 9, 2, [u32; 2]>, [u32; 2]) -> Paid<'a> =
    |uplink, costs| uplink.call().costing(costs);

// Queues per key.
table!(KEYED: Table {
    new: fn() -> Apis = KeyedThrottle::new,
    start: fn(&Apis, &'static Policy<Aimd>, u64) = KeyedThrottle::start,
    acquire: for<'a> fn(&'a Apis, u32) -> Acquire<'a, Apis> = |apis, key| apis.call(key).acquire(),
    poll: for<'a> fn(Pin<&mut Acquire<'a, Apis>>, &mut Context<'_>) -> Poll<Result<Permit<'a, Apis>, Rejection>>
        = |acquire, context| acquire.poll(context),
    leave: for<'a> fn(Acquire<'a, Apis>) = |_| (),
    settle: for<'a> fn(Permit<'a, Apis>, Reply) = |permit, reply| permit.settle(reply),
    report: fn(&Apis, &u32, Reply) = |apis, key, message| apis.report(key, message),
    set_policy: fn(&Apis, &'static Policy<Aimd>) = KeyedThrottle::set_policy,
    set_concurrency: fn(&Apis, NonZeroU16) = KeyedThrottle::set_concurrency,
    reset: fn(&Apis, &u32) = KeyedThrottle::reset,
    snapshot: fn(&Apis, &u32, &mut [u8]) -> Result<usize, SnapshotError> = KeyedThrottle::snapshot,
    restore: fn(&Apis, &u32, &[u8], Duration) -> Result<(), SnapshotError> = KeyedThrottle::restore,
    stats: fn(&Apis, &u32) -> Option<Stats> = KeyedThrottle::stats,
    next_at: fn(&Apis, &u32) -> Option<Instant> = KeyedThrottle::next_at,
});

// Sessions, except for the waiting itself.
table!(SESSIONS: Supervisor {
    new: fn() -> Sessions<Mutex> = || Sessions::new(board::seed),
    spread_start: fn(&Sessions<Mutex>, Duration) = Sessions::spread_start,
    link_up: fn(&Sessions<Mutex>) = Sessions::link_up,
    slept: fn(&Sessions<Mutex>, Duration) = Sessions::slept,
    open: for<'a> fn(&Connection<'a, Mutex>) = |connection| connection.open(),
    end: for<'a> fn(Connection<'a, Mutex>) = |_| (),
});

// Clocks with a tick rate that is not a decimal fraction.
table!(CONVERSIONS: Conversions {
    instant: fn(Instant) -> tidegate::Instant = time::instant,
    ticking: fn(tidegate::Instant) -> Instant = time::ticking,
    span: fn(Duration) -> Span = time::span,
    duration: fn(Span) -> Duration = time::duration,
});

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
