//! The machine's network card, as embassy-net needs it.

use core::task::Context;

use embassy_net_driver::{Capabilities, Driver, HardwareAddress, LinkState, RxToken, TxToken};
use embassy_sync::waitqueue::AtomicWaker;

use crate::machine::card::Device;

const MTU: usize = 1514;
pub(crate) const BUFFER: usize = 1536;

/// Wakes the network stack. The card's interrupt calls it.
pub(crate) static WAKER: AtomicWaker = AtomicWaker::new();

pub struct Card {
    device: Device,
    /// The frame that the stack reads. The stack may send while it reads.
    frame: [u8; BUFFER],
}

impl Card {
    /// Takes the card. `None` if the machine has none.
    pub fn new() -> Option<Self> {
        Device::new().map(|device| Self { device, frame: [0; BUFFER] })
    }
}

pub struct Received<'a>(&'a mut [u8]);

impl RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, read: F) -> R {
        read(self.0)
    }
}

pub struct Room<'a>(&'a mut Device);

impl TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, fill: F) -> R {
        let mut frame = [0; MTU];
        let frame = &mut frame[..length.min(MTU)];
        let result = fill(frame);
        self.0.send(frame);
        result
    }
}

impl Driver for Card {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Room<'a>;

    fn receive(&mut self, context: &mut Context<'_>) -> Option<(Received<'_>, Room<'_>)> {
        WAKER.register(context.waker());
        let length = self.device.receive(&mut self.frame)?;
        Some((Received(&mut self.frame[..length.min(MTU)]), Room(&mut self.device)))
    }

    fn transmit(&mut self, _: &mut Context<'_>) -> Option<Room<'_>> {
        self.device.can_send().then_some(Room(&mut self.device))
    }

    fn link_state(&mut self, context: &mut Context<'_>) -> LinkState {
        WAKER.register(context.waker());
        if self.device.is_up() { LinkState::Up } else { LinkState::Down }
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::default();
        capabilities.max_transmission_unit = MTU;
        capabilities.max_burst_size = Some(1);
        capabilities
    }

    fn hardware_address(&self) -> HardwareAddress {
        HardwareAddress::Ethernet(self.device.address())
    }
}
