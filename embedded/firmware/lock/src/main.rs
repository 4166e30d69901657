//! Measures for how long a throttle disables interrupts: the longest lock of each function, in
//! instructions.
//!
//! It runs under `-icount shift=0`, where each instruction takes a nanosecond of the board's clock,
//! with a tick every 62.
#![no_std]
#![no_main]

mod clock;
mod meter;
mod server;

use core::future::Future;
use core::hint::black_box;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use meter::{Counted, Meter};
use server::{Hints, Server};
use tidegate::law::Record;
use tidegate::law::{Adaptive, Aimd, Fixed, Law};
use tidegate::{Outcome, Policy, Quota};
use tidegate_embassy::{KeyedThrottle, Permit, Throttle};

type Gate<L> = Throttle<Counted, L>;

const CALLS: u32 = 500;
/// A round trip, in ticks.
const ROUND_TRIP: u32 = 20_000;

/// Polls a future until it is ready, jumping from alarm to alarm.
fn wait<F: Future>(future: F, meter: &mut Meter) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = meter.of(|| future.as_mut().poll(&mut context)) {
            return output;
        }
        clock::jump(1_000_000);
    }
}

fn measure<L: Law + Copy + Record>(name: &str, policy: &'static Policy<L>, hints: Hints)
where
    Gate<L>: 'static,
{
    let gate: Gate<L> = Throttle::seeded(policy, black_box(7));
    let mut server = Server::new(hints);
    let mut meters =
        ["acquire", "another waits", "settle", "run", "snapshot", "restore"].map(Meter::new);
    let [acquire, another, settle, run, snapshot, restore] = &mut meters;
    let mut record = [0; 512];
    for call in 0..CALLS {
        let Ok(permit) = wait(gate.acquire(), acquire) else { board::fail(board::Trouble::Wrong) };
        clock::pass(ROUND_TRIP);
        let reply = black_box(server.serve());
        {
            // Others wait behind it, with and without a deadline.
            let mut context = Context::from_waker(Waker::noop());
            let timeout = embassy_time::Duration::from_secs(60);
            let mut one = pin!(gate.acquire());
            let mut two = pin!(gate.with_timeout(timeout).acquire());
            let waits =
                another.of(|| (one.as_mut().poll(&mut context), two.as_mut().poll(&mut context)));
            settle.of(|| permit.settle(reply));
            drop::<(Poll<Result<Permit<'_, _>, _>>, _)>(waits);
        }
        // With the decision on a retry.
        let served = gate.run(async || {
            clock::pass(ROUND_TRIP);
            black_box(server.serve())
        });
        if wait(served, run).is_err() {
            board::fail(board::Trouble::Wrong);
        }
        if call % 50 == 49 {
            let bytes = snapshot.of(|| gate.snapshot(&mut record)).unwrap_or(0);
            let away = embassy_time::Duration::from_secs(60);
            let Some(record) = record.get(..bytes) else { continue };
            if restore.of(|| gate.restore(policy, 7, record, away)).is_err() {
                board::fail(board::Trouble::Wrong);
            }
        }
    }
    meters.iter().for_each(|meter| meter.tell(name));
}

/// New keys, each of which evicts another.
fn keys(policy: &'static Policy<Adaptive>) {
    let apis: KeyedThrottle<Counted, u32, Adaptive> = KeyedThrottle::seeded(policy, black_box(7));
    let mut meters = ["acquire", "settle"].map(Meter::new);
    let [acquire, settle] = &mut meters;
    for key in 0..100 {
        let Ok(permit) = wait(apis.call(key).acquire(), acquire) else {
            board::fail(board::Trouble::Wrong)
        };
        clock::pass(ROUND_TRIP);
        settle.of(|| permit.settle(Outcome::Ok));
    }
    meters.iter().for_each(|meter| meter.tell("a new key each time"));
}

static ADAPTIVE: Policy<Adaptive> = Policy::adaptive();
static AIMD: Policy<Aimd> = Policy::new(Aimd::DEFAULT);
static FIXED: Policy<Fixed> = Policy::new(Fixed::new(match Quota::per_second(10) {
    Ok(quota) => quota,
    Err(_) => panic!("ten a second"),
}));

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    board::count::start();
    measure("adaptive, no hints", &ADAPTIVE, Hints::None);
    measure("adaptive, Retry-After", &ADAPTIVE, Hints::RetryAfter);
    measure("adaptive, all hints", &ADAPTIVE, Hints::All);
    measure("aimd, no hints", &AIMD, Hints::None);
    measure("aimd, Retry-After", &AIMD, Hints::RetryAfter);
    measure("fixed, Retry-After", &FIXED, Hints::RetryAfter);
    keys(&ADAPTIVE);
    board::done()
}
