//! An image of the throttle's functions that links only if none of them can reach a panic.
//! tests/no-panic explains how it works.
#![no_std]
#![no_main]

#[path = "../../../tools/bench/size/src/board.rs"]
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
use tidegate::law::{Adaptive, Aimd};
use tidegate::snapshot::SnapshotError;
use tidegate::{Policy, Reply, Span, Stats};
use tidegate_embassy::{
    Acquire, Call, Connection, KeyedThrottle, Permit, Rejection, Sessions, Throttle, time,
};

type Mutex = CriticalSectionRawMutex;

/// Any time or seed.
fn number() -> u64 {
    let [high, low] = [(); 2].map(|()| board::read());
    u64::from(high) << 32 | u64::from(low)
}

/// As in firmware: the policy is a constant.
static UPLINK: Throttle<Mutex, Adaptive> = Throttle::new();

/// The throttle of a `static`.
#[unsafe(no_mangle)]
pub static STATIC: fn() -> &'static Throttle<Mutex, Adaptive> = || {
    UPLINK.start(const { &Policy::adaptive() }, board::seed());
    &UPLINK
};

/// All functions of a throttle of this type.
macro_rules! verbs {
    ($name:ident: $module:ident = $gate:ty, $law:ty, $limits:literal) => {
        mod $module {
            use super::*;

            type Gate = $gate;
            type Waits<'a> = Acquire<'a, Gate, $limits>;
            type May<'a> = Permit<'a, Gate, $limits>;
            type Settings = &'static Policy<$law, $limits>;

            table!($name: Verbs {
                new: fn() -> Gate = Throttle::new,
                start: fn(&Gate, Settings, u64) = Throttle::start,
                seeded: fn(Settings, u64) -> Gate = Throttle::seeded,
                call: for<'a> fn(&'a Gate, Duration) -> Call<'a, Gate, $limits>
                    = |gate, timeout| gate.with_timeout(timeout).with_priority(7),
                with_deadline: for<'a> fn(&'a Gate, Instant) -> Waits<'a>
                    = |gate, at| gate.with_deadline(at).acquire(),
                try_acquire: for<'a> fn(&'a Gate) -> Option<May<'a>> = Throttle::try_acquire,
                poll: for<'a> fn(
                    Pin<&mut Waits<'a>>,
                    &mut Context<'_>,
                ) -> Poll<Result<May<'a>, Rejection>> = |acquire, context| acquire.poll(context),
                // Drops the future in any state.
                leave: for<'a> fn(Waits<'a>) = |_| (),
                settle: for<'a> fn(May<'a>, Reply<$limits>) = |permit, reply| permit.settle(reply),
                report: fn(&Gate, Reply<$limits>) = |gate, message| gate.report(message),
                spread_start: fn(&Gate, Duration) = Throttle::spread_start,
                set_policy: fn(&Gate, Settings) = Throttle::set_policy,
                set_concurrency: fn(&Gate, NonZeroU16) = Throttle::set_concurrency,
                reset: fn(&Gate) = Throttle::reset,
                stats: fn(&Gate) -> Stats = Throttle::stats,
                interval: fn(&Gate) -> Option<Duration> = Throttle::interval,
                next_at: fn(&Gate) -> Option<Instant> = Throttle::next_at,
                in_flight: fn(&Gate) -> u16 = Throttle::in_flight,
                waiting: fn(&Gate) -> usize = Throttle::waiting,
                snapshot: fn(&Gate, &mut [u8]) -> Result<usize, SnapshotError> = Throttle::snapshot,
                restore: fn(&Gate, Settings, u64, &[u8], Duration) -> Result<(), SnapshotError>
                    = Throttle::restore,
                slept: fn(&Gate, Duration) = Throttle::slept,
                record: fn(&Gate, &mut [u8]) -> Result<usize, SnapshotError> = Throttle::record,
                wake_up: fn(
                    &Gate,
                    Settings,
                    u64,
                    &[u8],
                    Option<Duration>,
                ) -> Result<(), SnapshotError> = Throttle::wake_up,
                #[cfg(feature = "bad")]
                bad: fn(u64, u64) -> u64 = |dividend, divisor| dividend / divisor,
                // A call as a function, so that the caller's code contains no panic.
                #[cfg(feature = "run")]
                run: fn(
                    &'static Gate,
                    fn() -> Reply<$limits>,
                    &mut Context<'_>,
                ) -> Poll<Result<Reply<$limits>, Rejection>> = |gate, work, context| {
                    let call = gate.call().done_within(Duration::from_secs(1));
                    let call = call.run(async || work());
                    // It may be suspended at any of its awaits.
                    core::hint::black_box(core::pin::pin!(call)).as_mut().poll(context)
                },
                #[cfg(feature = "run")]
                run_with: fn(
                    &'static Gate,
                    fn(&mut Reply<$limits>),
                    &mut Context<'_>,
                ) -> Poll<Result<(), Rejection>> = |gate, work, context| {
                    let call = gate.run_with(async |reply| work(reply));
                    core::hint::black_box(core::pin::pin!(call)).as_mut().poll(context)
                },
            });
        }
    };
}

verbs!(ADAPTIVE: adaptive = Throttle<Mutex, Adaptive>, Adaptive, 1);

// Two limits per call, with another law and other sizes.
verbs!(AIMD: aimd = Costing, Aimd, 2);

#[unsafe(no_mangle)]
pub static COSTING: for<'a> fn(&'a Costing, [u32; 2]) -> Call<'a, Costing, 2> =
    |uplink, costs| uplink.call().costing(costs);

type Costing = Throttle<Mutex, Aimd, 9, 2, [u32; 2]>;

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
    record: fn(&Sessions<Mutex>, &mut [u8]) -> Result<usize, SnapshotError> = Sessions::record,
    wake_up: fn(&Sessions<Mutex>, &[u8], Option<Duration>) -> Result<(), SnapshotError>
        = Sessions::wake_up,
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

type Apis = KeyedThrottle<Mutex, u32, Aimd, 3>;
