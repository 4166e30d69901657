//! The network: the board's card under embassy-net, at the address that QEMU's user network expects.

use embassy_executor::Spawner;
use embassy_net::{Config, Ipv4Address, Ipv4Cidr, Runner, Stack, StackResources, StaticConfigV4};
use static_cell::StaticCell;

use crate::machine::card::{Card, card};
use crate::{Trouble, fail};

/// The one host there is: what it serves is forwarded to the loopback of whoever runs QEMU.
pub const HOST: Ipv4Address = Ipv4Address::new(10, 0, 2, 100);

/// As many sockets as an image opens, and one for names.
const SOCKETS: usize = 4;

/// Starts the network; it is up when the stack says so.
pub fn start(spawner: Spawner) -> Stack<'static> {
    static RESOURCES: StaticCell<StackResources<SOCKETS>> = StaticCell::new();
    let Some(card) = card() else {
        defmt::error!("the machine has no network card: start QEMU with one");
        fail(Trouble::Wrong)
    };
    let config = Config::ipv4_static(StaticConfigV4 {
        address: Ipv4Cidr::new(Ipv4Address::new(10, 0, 2, 15), 24),
        gateway: None,
        dns_servers: Default::default(),
    });
    let resources = RESOURCES.init(StackResources::new());
    let (stack, runner) = embassy_net::new(card, config, resources, seed());
    spawner.spawn(defmt::unwrap!(run(runner)));
    #[cfg(target_arch = "arm")]
    spawner.spawn(defmt::unwrap!(beat()));
    stack
}

/// For the ports and sequence numbers of connections: in an emulator, the time will do.
fn seed() -> u64 {
    embassy_time::Instant::now().as_ticks() ^ 0x9E37_79B9_7F4A_7C15
}

#[embassy_executor::task]
async fn run(mut runner: Runner<'static, Card>) -> ! {
    runner.run().await
}

/// QEMU looks at the host's sockets only when something wakes it, and this card sends without
/// waking it: a call after an idle second would take up to a second more.
#[cfg(target_arch = "arm")]
#[embassy_executor::task]
async fn beat() -> ! {
    loop {
        embassy_time::Timer::after_millis(1).await;
    }
}
