//! The network: the board's card with embassy-net, at the address that QEMU's user network expects.

use embassy_executor::Spawner;
use embassy_net::{Config, Ipv4Address, Ipv4Cidr, Runner, Stack, StackResources, StaticConfigV4};
use static_cell::StaticCell;

use crate::card::Card;
use crate::{Trouble, fail};

/// The only reachable host. Its ports are forwarded to the loopback interface of the machine that
/// runs QEMU.
pub const HOST: Ipv4Address = Ipv4Address::new(10, 0, 2, 100);

/// The most sockets of an image, plus one for DNS.
const SOCKETS: usize = 4;

/// Starts the network. The stack says when it is up.
pub fn start(spawner: Spawner) -> Stack<'static> {
    static RESOURCES: StaticCell<StackResources<SOCKETS>> = StaticCell::new();
    let Some(card) = Card::new() else {
        defmt::error!("the machine has no network card");
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

/// For ports and sequence numbers. In an emulator the time suffices.
fn seed() -> u64 {
    embassy_time::Instant::now().as_ticks() ^ 0x9E37_79B9_7F4A_7C15
}

#[embassy_executor::task]
async fn run(mut runner: Runner<'static, Card>) -> ! {
    runner.run().await
}

/// QEMU polls the host's sockets only when something wakes it, and sending with this card does not.
/// A call after an idle second would take up to a second longer.
#[cfg(target_arch = "arm")]
#[embassy_executor::task]
async fn beat() -> ! {
    loop {
        embassy_time::Timer::after_millis(1).await;
    }
}
