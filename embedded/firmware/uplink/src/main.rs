//! A sensor's telemetry goes to a rate-limited HTTP API: through its throttled calls, an outage and a lost
//! link, until every batch that was queued has been served.
#![no_std]
#![no_main]

mod cooldown;
mod http;
mod queue;

use embassy_executor::Spawner;
use embassy_net::Stack;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_time::{Duration, Instant, Ticker};
use http::{Connection, Line, Lost};
use queue::{BATCHES, Batch, QUEUE};
use static_cell::StaticCell;
use tidegate::law::Adaptive;
use tidegate::{Outcome, Policy, Reply};
use tidegate_embassy::{Rejection, Throttle};

/// The sensor has a batch so often: more often than the server serves one.
const EVERY: Duration = Duration::from_millis(150);
/// As many batches are sent at once.
const SENDERS: usize = 2;

static THROTTLE: Throttle<CriticalSectionRawMutex, Adaptive> =
    Throttle::new(&Policy::adaptive(), seed);

/// An emulator has nothing better; a chip has a generator, or a number of its own.
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
    let line: &Line = LINE.init(Line::new());
    spawner.spawn(defmt::unwrap!(watch(stack)));
    spawner.spawn(defmt::unwrap!(sense()));
    for _ in 0..SENDERS {
        spawner.spawn(defmt::unwrap!(send(Connection::new(stack, line))));
    }
}

/// Queues batches; what does not fit is dropped at the door, so that nothing queued ever is.
#[embassy_executor::task]
async fn sense() {
    let mut ticker = Ticker::every(EVERY);
    while QUEUE.offer(Batch::measured(Instant::now())) {
        ticker.next().await;
    }
}

/// Sends batch after batch. One that is not served yet stays here.
#[embassy_executor::task(pool_size = SENDERS)]
async fn send(mut connection: Connection) {
    loop {
        let batch = QUEUE.next().await;
        // Through an outage that outlasts the attempts of one call.
        while !is_delivered(&THROTTLE.run(async || connection.post(&batch).await).await) {
            defmt::warn!("batch {=u32} is tried again", batch.number);
        }
        QUEUE.delivered();
        if QUEUE.count() == BATCHES {
            end();
        }
    }
}

/// Whether the server has said 2xx; what waiting does not mend ends the run.
fn is_delivered(answer: &Result<Result<(Reply, u16), Lost>, Rejection>) -> bool {
    match answer {
        Ok(Ok((_, 200..=299))) => true,
        Ok(Ok((reply, status))) if reply.outcome == Outcome::Ok => {
            defmt::error!("a batch has ended with {=u16}, not served", *status);
            board::fail(board::Trouble::Wrong)
        }
        _ => false,
    }
}

/// Tells of the link: it goes and comes back.
#[embassy_executor::task]
async fn watch(stack: Stack<'static>) {
    loop {
        stack.wait_link_down().await;
        defmt::warn!("uplink: the link is down");
        stack.wait_link_up().await;
        defmt::info!("uplink: the link is up");
    }
}

/// Tells what became of all.
fn end() -> ! {
    let stats = THROTTLE.stats();
    defmt::info!(
        "uplink: {=u32} delivered, {=u32} dropped at the door, {=u32} without an answer, \
         {=u32} calls in cooldowns",
        QUEUE.count(),
        QUEUE.dropped(),
        http::lost(),
        cooldown::broken(),
    );
    defmt::info!(
        "uplink: {} gone, {} served, {} throttled, {} busy, {} failed in {=u64} s",
        stats.admitted,
        stats.ok,
        stats.throttled,
        stats.busy,
        stats.failed,
        Instant::now().as_secs(),
    );
    match cooldown::broken() {
        0 => board::done(),
        _ => board::fail(board::Trouble::Wrong),
    }
}
