//! Sends a sensor's telemetry to a rate-limited HTTP API, despite throttled calls, an outage and a
//! lost link, until every queued batch is served.
#![no_std]
#![no_main]

mod counts;
mod http;

use counts::count;
use embassy_executor::Spawner;
use embassy_net::Stack;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use embassy_time::{Duration, Instant, Ticker};
use http::{Connection, Line, Lost};
use static_cell::StaticCell;
use tidegate::law::Adaptive;
use tidegate::{Outcome, Policy, Reply};
use tidegate_embassy::{Rejection, Throttle};

/// The total number of batches to queue.
const BATCHES: u32 = 200;
const PLACES: usize = 32;
/// The interval between batches, shorter than the server's.
const EVERY: Duration = Duration::from_millis(150);
/// The number of batches sent in parallel.
const SENDERS: usize = 2;

static THROTTLE: Throttle<CriticalSectionRawMutex, Adaptive> = Throttle::new();

/// The bounded queue between the sensor and the uplink. A queued batch stays until it is served.
static QUEUE: Channel<CriticalSectionRawMutex, Batch, PLACES> = Channel::new();

struct Batch {
    /// Its number among the queued batches, from 1.
    number: u32,
    /// Milliseconds since the start.
    at: u64,
    /// Hundredths of a degree.
    celsius: [i16; 8],
}

impl Batch {
    /// The current measurement. The emulated sensor returns a wave.
    fn measured(number: u32) -> Self {
        let at = Instant::now().as_millis();
        let wave = |index: u64| (at / 10 + 40 * index) % 1_000;
        let celsius = core::array::from_fn(|index| 2_000 + wave(index as u64) as i16);
        Self { number, at, celsius }
    }
}

/// An emulator has nothing better. A chip has a random generator or a serial number.
fn seed() -> u64 {
    Instant::now().as_ticks()
}

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    board::run(|spawner| spawner.spawn(defmt::unwrap!(begin(spawner))))
}

#[embassy_executor::task]
async fn begin(spawner: Spawner) {
    static LINE: StaticCell<Line> = StaticCell::new();
    let stack = board::net::start(spawner);
    stack.wait_link_up().await;
    stack.wait_config_up().await;
    // Not before the network is up: the time that takes differs between boots.
    THROTTLE.start(const { &Policy::adaptive() }, seed());
    let line: &Line = LINE.init(Line::new());
    spawner.spawn(defmt::unwrap!(watch(stack)));
    spawner.spawn(defmt::unwrap!(sense()));
    for _ in 0..SENDERS {
        spawner.spawn(defmt::unwrap!(send(Connection::new(stack, line))));
    }
}

/// Queues batches. A batch that does not fit is dropped, so that no queued batch ever is.
#[embassy_executor::task]
async fn sense() {
    let mut ticker = Ticker::every(EVERY);
    let mut queued = 0;
    while queued < BATCHES {
        let fits = QUEUE.try_send(Batch::measured(queued + 1)).is_ok();
        queued += u32::from(fits);
        count(|counts| counts.dropped += u32::from(!fits));
        ticker.next().await;
    }
}

/// Sends batch after batch. A batch that is not served is sent again.
#[embassy_executor::task(pool_size = SENDERS)]
async fn send(mut connection: Connection) {
    loop {
        let batch = QUEUE.receive().await;
        // Repeats through an outage that outlasts the attempts of one call.
        while !is_delivered(&THROTTLE.run(async || connection.post(&batch).await).await) {
            defmt::warn!("batch {=u32} is sent again", batch.number);
        }
        let delivered = count(|counts| counts.delivered += 1).delivered;
        if delivered.is_multiple_of(20) {
            defmt::info!("uplink: {=u32} of {=u32} batches", delivered, BATCHES);
        }
        if delivered == BATCHES {
            end();
        }
    }
}

/// Whether the server returned 2xx. An error that waiting cannot resolve ends the run.
fn is_delivered(answer: &Result<Result<(Reply, u16), Lost>, Rejection>) -> bool {
    match answer {
        Ok(Ok((_, 200..=299))) => true,
        Ok(Ok((reply, status))) if reply.outcome == Outcome::Ok => {
            defmt::error!("a batch failed with {=u16}", *status);
            board::fail(board::Trouble::Wrong)
        }
        _ => false,
    }
}

/// Logs when the link goes down or up.
#[embassy_executor::task]
async fn watch(stack: Stack<'static>) {
    loop {
        stack.wait_link_down().await;
        defmt::warn!("uplink: the link is down");
        stack.wait_link_up().await;
        defmt::info!("uplink: the link is up");
    }
}

fn end() -> ! {
    let (stats, counts) = (THROTTLE.stats(), count(|_| ()));
    defmt::info!(
        "uplink: {=u32} delivered, {=u32} dropped, {=u32} without an answer, \
         {=u32} calls in cooldowns",
        counts.delivered,
        counts.dropped,
        counts.lost,
        counts.early,
    );
    defmt::info!(
        "uplink: {} sent, {} served, {} throttled, {} busy, {} failed in {=u64} s",
        stats.admitted,
        stats.ok,
        stats.throttled,
        stats.busy,
        stats.failed,
        Instant::now().as_secs(),
    );
    match counts.early {
        0 => board::done(),
        _ => board::fail(board::Trouble::Wrong),
    }
}
