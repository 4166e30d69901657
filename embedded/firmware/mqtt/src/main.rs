//! A sensor's telemetry goes to an MQTT 5 broker with QoS 1: through its throttled calls, its restarts and
//! as many messages in flight as it takes, until every message that was queued is acknowledged.
#![no_std]
#![no_main]

mod post;
mod session;

use embassy_executor::Spawner;
use embassy_net::Stack;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_time::Instant;
use post::Post;
use tidegate::Policy;
use tidegate::backoff::Backoff;
use tidegate::law::Adaptive;
use tidegate_embassy::Throttle;

/// No more messages are in flight than this, and no more than the broker takes.
const IN_FLIGHT: usize = 4;

type Gate = Throttle<CriticalSectionRawMutex, Adaptive, 1>;

/// When a message may be sent: the broker may have a quota for them.
static MESSAGES: Gate = Gate::new(&Policy::adaptive(), seed);

/// When a connection may be tried: the broker may have a rate for them, and where it is down, trying
/// more often does not help. Each next attempt has a longer delay.
static CONNECTIONS: Gate =
    Gate::new(&Policy::adaptive().backoff(Some(Backoff::DEFAULT)).attempts(None), seed);

/// An emulator has nothing better; a chip has a generator, or a number of its own.
fn seed() -> u64 {
    Instant::now().as_ticks()
}

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    board::run(|spawner: Spawner| {
        let stack = board::net::start(spawner);
        spawner.spawn(defmt::unwrap!(talk(stack)));
    })
}

/// Holds one connection after the other.
#[embassy_executor::task]
async fn talk(stack: Stack<'static>) {
    stack.wait_link_up().await;
    stack.wait_config_up().await;
    let mut post = Post::new();
    while !post.is_done() {
        // A connection that came about was a call that was served, however it ended.
        if let Err(rejection) =
            CONNECTIONS.run(async || session::hold(stack, &mut post).await).await
        {
            defmt::error!("mqtt: {}", defmt::Display2Format(&rejection));
            board::fail(board::Trouble::Wrong);
        }
    }
    post.tell();
    let (messages, connections) = (MESSAGES.stats(), CONNECTIONS.stats());
    defmt::info!(
        "mqtt: connections {=u32} tried, {=u32} throttled, {=u32} busy, {=u32} failed",
        connections.admitted,
        connections.throttled,
        connections.busy,
        connections.failed,
    );
    defmt::info!(
        "mqtt: messages {=u32} gone, {=u32} throttled, {=u32} found the concurrency limit full in {=u64} s",
        messages.admitted,
        messages.throttled,
        messages.full,
        Instant::now().as_secs(),
    );
    board::done()
}
