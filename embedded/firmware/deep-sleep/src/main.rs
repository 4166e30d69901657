//! A throttle that continues after deep sleep: it does not burst, keeps what it has learned, and
//! respects an earlier cooldown.
//!
//! Deep sleep ends with a reset, which preserves only the retained memory. The image wakes twice.
//! The server is part of the image, and its state is also in the retained memory. Nothing happens
//! during a sleep, so it takes no time here.
#![no_std]
#![no_main]

mod server;

use board::{Trouble, done, fail, retained};
use embassy_executor::Spawner;
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_time::{Duration, Instant, Timer};
use server::Server;
use tidegate::Policy;
use tidegate::law::Adaptive;
use tidegate_embassy::Throttle;

const POLICY: Policy<Adaptive> = Policy::adaptive();
type Uplink = Throttle<NoopRawMutex, Adaptive>;
type Kept = [u8; Uplink::SNAPSHOT_BYTES];

/// How long the device is awake on the first two days.
const AWAKE: Duration = Duration::from_secs(20);
/// The time in which the start of a day is observed.
const BEGINNING: Duration = Duration::from_secs(5);
const LONG_SLEEP: Duration = Duration::from_secs(600);
/// The cooldown that the server requests before the second sleep, which is shorter.
const COOLDOWN: Duration = Duration::from_secs(60);
const SHORT_SLEEP: Duration = Duration::from_secs(20);

/// Marks memory that this image has written.
const MARK: [u8; 8] = *b"tidegate";

/// The retained state: the throttle's record, and the server that is part of this image.
#[derive(Clone, Copy)]
struct World {
    mark: [u8; 8],
    /// The day that begins after the sleep.
    day: u32,
    /// How many calls were throttled at the start of the day.
    throttled: u32,
    /// The microseconds from the reset until the server's bucket is full.
    full: u64,
    record: Kept,
}

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    board::run(|spawner: Spawner| spawner.spawn(defmt::unwrap!(live())))
}

#[embassy_executor::task]
async fn live() {
    // SAFETY: it consists of integers.
    match unsafe { retained::load::<World>() } {
        World { mark, .. } if mark != MARK => first_day().await,
        world if world.day == 2 => second_day(world).await,
        world => third_day(world),
    }
}

/// Knows nothing, and learns the server's rate from throttled calls.
async fn first_day() -> ! {
    defmt::info!("deep-sleep: day 1, nothing is retained");
    let uplink = Uplink::seeded(&POLICY, 7);
    let mut server = Server::full_at(Instant::MIN);
    let throttled = call(&uplink, &mut server, BEGINNING).await;
    call(&uplink, &mut server, AWAKE - BEGINNING).await;
    defmt::info!("deep-sleep: {=u32} throttled calls at the beginning", throttled);
    check(throttled > 0, "a new client is throttled at first");
    sleep(2, &uplink, server, LONG_SLEEP, throttled)
}

/// Continues at the learned rate.
async fn second_day(world: World) -> ! {
    let mut server = Server::full_at(Instant::now() + Duration::from_micros(world.full));
    let uplink = Uplink::seeded(&POLICY, 8);
    let restored = uplink.restore(&POLICY, 9, &world.record, LONG_SLEEP);
    check(restored.is_ok(), "the record is valid");
    let interval = uplink.interval();
    let throttled = call(&uplink, &mut server, BEGINNING).await;
    defmt::info!(
        "deep-sleep: day 2, one call in {=u64} ms, {=u32} throttled calls at the beginning",
        interval.map_or(0, |interval| interval.as_millis()),
        throttled
    );
    check(interval.is_some(), "the rate is restored");
    check(throttled == 0, "nothing is throttled at first, because there is no burst");
    check(throttled < world.throttled, "fewer calls are throttled than on the first day");
    call(&uplink, &mut server, AWAKE - BEGINNING).await;
    server.close(COOLDOWN);
    call(&uplink, &mut server, Duration::from_secs(1)).await;
    check(uplink.stats().busy > 0, "the server has asked for a cooldown");
    sleep(3, &uplink, server, SHORT_SLEEP, throttled)
}

/// Respects the rest of the cooldown, and starts from scratch if the record is damaged.
fn third_day(world: World) -> ! {
    let uplink = Uplink::seeded(&POLICY, 10);
    let mut damaged = world.record;
    damaged[20] ^= 1 << 3;
    let throttled = uplink.restore(&POLICY, 11, &damaged, SHORT_SLEEP);
    check(throttled.is_err(), "a flipped bit is detected");
    check(uplink.try_acquire().is_some(), "without a record it starts from scratch");

    let restored = uplink.restore(&POLICY, 11, &world.record, SHORT_SLEEP);
    check(restored.is_ok(), "the record is valid");
    let now = Instant::now();
    let left = uplink.next_at().map(|at| at.saturating_duration_since(now));
    let seconds = left.map_or(0, |left| left.as_secs());
    defmt::info!("deep-sleep: day 3, the cooldown lasts another {=u64} s", seconds);
    // It started within a second before the sleep.
    let rest = COOLDOWN - SHORT_SLEEP - Duration::from_secs(2);
    check(uplink.try_acquire().is_none(), "nothing is sent during the cooldown");
    check(left.is_some_and(|left| left >= rest), "the cooldown lasts as long as requested");
    done()
}

/// Calls the server as often as the throttle admits. Returns how many calls were throttled.
async fn call(uplink: &Uplink, server: &mut Server, time: Duration) -> u32 {
    let until = Instant::now() + time;
    let before = uplink.stats().throttled;
    while Instant::now() < until {
        let Ok(permit) = uplink.with_deadline(until).acquire().await else {
            // The next call is due later than that.
            Timer::at(until).await;
            break;
        };
        Timer::after_millis(20).await;
        let reply = server.serve(Instant::now());
        permit.settle(reply);
    }
    uplink.stats().throttled - before
}

/// Saves what was learned, sleeps, and wakes with a reset.
fn sleep(day: u32, uplink: &Uplink, server: Server, time: Duration, throttled: u32) -> ! {
    let mut record: Kept = [0; _];
    check(uplink.snapshot(&mut record).is_ok(), "there is room for the record");
    let full = server.full_in(Instant::now() + time).as_micros();
    retained::store(World { mark: MARK, day, throttled, full, record });
    defmt::info!("deep-sleep: asleep for {=u64} s, then reset", time.as_secs());
    board::reset()
}

fn check(holds: bool, what: &str) {
    if !holds {
        defmt::error!("deep-sleep: check failed: {=str}", what);
        fail(Trouble::Wrong)
    }
}
