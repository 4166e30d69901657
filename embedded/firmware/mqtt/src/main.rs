//! Sends a sensor's telemetry to an MQTT 5 broker with QoS 1, despite throttled messages, restarts
//! and a limit of messages in flight, until every queued message is acknowledged.
#![no_std]
#![no_main]

mod post;
mod session;

use core::num::NonZeroU16;

use embassy_executor::Spawner;
use embassy_net::Stack;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_time::Instant;
use post::Post;
use tidegate::Policy;
use tidegate::law::Adaptive;
use tidegate_embassy::{Sessions, Throttle};

/// The maximum number of messages in flight, also limited by the broker.
const IN_FLIGHT: NonZeroU16 = NonZeroU16::new(4).unwrap();
const FLIGHTS: usize = IN_FLIGHT.get() as usize;

type Gate = Throttle<CriticalSectionRawMutex, Adaptive, 1>;

/// Admits messages, for which the broker may have a quota.
static MESSAGES: Gate = Gate::new();

/// Admits connection attempts, so that a broker that is down or rejects connections is not
/// overloaded.
static SESSIONS: Sessions<CriticalSectionRawMutex> = Sessions::new(seed);

/// An emulator has nothing better. A chip has a random generator or a serial number.
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

/// Opens one connection after the other.
#[embassy_executor::task]
async fn talk(stack: Stack<'static>) {
    stack.wait_link_up().await;
    stack.wait_config_up().await;
    // Not before the network is up: the time that takes differs between boots.
    MESSAGES.start(const { &Policy::adaptive() }, seed());
    let mut post = Post::default();
    while !post.is_done() {
        let connection = SESSIONS.connect().await;
        session::hold(stack, &mut post, &connection).await;
    }
    post.tell();
    board::done()
}
