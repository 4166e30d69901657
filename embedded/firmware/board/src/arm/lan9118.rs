//! The network card of the MPS2: a LAN9118, one frame at a time through its FIFO registers.

use crate::card::WAKER;
use crate::register;

pub(crate) const INTERRUPT: i16 = 13;
const ENABLE_INTERRUPTS: usize = 0xe000_e100;

const BASE: usize = 0x4020_0000;
const RECEIVED: usize = 0x00;
const SEND: usize = 0x20;
const RECEIVED_STATUS: usize = 0x40;
const SENT_STATUS: usize = 0x48;
const IDENTITY: usize = 0x50;
const INTERRUPT_LINE: usize = 0x54;
const INTERRUPTED: usize = 0x58;
const INTERRUPT_ON: usize = 0x5c;
const BYTE_ORDER: usize = 0x64;
const FIFO_LEVELS: usize = 0x68;
const RECEIVE_CONFIG: usize = 0x6c;
const SEND_CONFIG: usize = 0x70;
const RECEIVED_LEVEL: usize = 0x7c;
const SEND_LEVEL: usize = 0x80;
const MAC_COMMAND: usize = 0xa4;
const MAC_DATA: usize = 0xa8;

// Registers of the MAC, accessed through the two above.
const MAC_CONTROL: u32 = 1;
const MAC_ADDRESS_HIGH: u32 = 2;
const MAC_ADDRESS_LOW: u32 = 3;
const PHY_ACCESS: u32 = 6;
const PHY_DATA: u32 = 7;

// Registers of the PHY, accessed through the two above.
const PHY_STATUS: u32 = 1;
const PHY_INTERRUPTED: u32 = 29;
const PHY_INTERRUPT_ON: u32 = 30;

const FRAME: u32 = 1 << 3;
/// The PHY reports that the link is up or down.
const LINK: u32 = 1 << 18;

const ADDRESS: [u8; 6] = [0x52, 0x54, 0, 0x12, 0x34, 0x56];

fn read(at: usize) -> u32 {
    register::read(BASE + at)
}

fn write(at: usize, value: u32) {
    register::write(BASE + at, value);
}

fn command_mac(command: u32) {
    write(MAC_COMMAND, 1 << 31 | command);
    while read(MAC_COMMAND) >> 31 != 0 {}
}

fn write_mac(at: u32, value: u32) {
    write(MAC_DATA, value);
    command_mac(at);
}

fn read_phy(at: u32) -> u32 {
    write_mac(PHY_ACCESS, 1 << 11 | at << 6);
    command_mac(1 << 30 | PHY_DATA);
    read(MAC_DATA)
}

fn write_phy(at: u32, value: u32) {
    write_mac(PHY_DATA, value);
    write_mac(PHY_ACCESS, 1 << 11 | at << 6 | 1 << 1);
}

pub(crate) fn on_interrupt() {
    // No interrupts until the stack has checked.
    write(INTERRUPT_ON, 0);
    WAKER.wake();
}

pub(crate) struct Device;

impl Device {
    pub(crate) fn new() -> Option<Self> {
        if read(BYTE_ORDER) != 0x8765_4321 || read(IDENTITY) >> 16 != 0x0118 {
            return None;
        }
        let [a, b, c, d, e, f] = ADDRESS;
        write_mac(MAC_ADDRESS_LOW, u32::from_le_bytes([a, b, c, d]));
        write_mac(MAC_ADDRESS_HIGH, u32::from_le_bytes([e, f, 0, 0]));
        write(RECEIVE_CONFIG, 0);
        write(SEND_CONFIG, 1 << 1);
        // Receives and sends in full duplex.
        write_mac(MAC_CONTROL, 1 << 2 | 1 << 3 | 1 << 20);
        write(FIFO_LEVELS, 0);
        // The interrupt line is on, active high, push-pull.
        write(INTERRUPT_LINE, 0x111);
        write(INTERRUPTED, u32::MAX);
        // Interrupts on link down and link up.
        write_phy(PHY_INTERRUPT_ON, 1 << 4 | 1 << 6);
        register::write(ENABLE_INTERRUPTS, 1 << INTERRUPT);
        Some(Self)
    }

    pub(crate) fn address(&self) -> [u8; 6] {
        ADDRESS
    }

    /// Returns the length of the received frame. Without one, interrupts are on again.
    pub(crate) fn receive(&mut self, frame: &mut [u8]) -> Option<usize> {
        // Acknowledge first, then check: a frame in between interrupts again.
        write(INTERRUPTED, FRAME);
        if read(RECEIVED_LEVEL) >> 16 & 0xff == 0 {
            write(INTERRUPT_ON, FRAME | LINK);
            return None;
        }
        let with_check = (read(RECEIVED_STATUS) >> 16 & 0x3fff) as usize;
        for index in 0..with_check.div_ceil(4) {
            let word = read(RECEIVED).to_le_bytes();
            if let Some(place) = frame.get_mut(index * 4..index * 4 + 4) {
                place.copy_from_slice(&word);
            }
        }
        Some(with_check.saturating_sub(4))
    }

    pub(crate) fn can_send(&self) -> bool {
        read(SEND_LEVEL) & 0xffff >= 1600
    }

    pub(crate) fn send(&mut self, frame: &[u8]) {
        // The first segment, which is also the last.
        write(SEND, 1 << 13 | 1 << 12 | frame.len() as u32);
        write(SEND, frame.len() as u32);
        for bytes in frame.chunks(4) {
            let mut word = [0; 4];
            word[..bytes.len()].copy_from_slice(bytes);
            write(SEND, u32::from_le_bytes(word));
        }
        while read(SEND_LEVEL) >> 16 & 0xff != 0 {
            read(SENT_STATUS);
        }
    }

    pub(crate) fn is_up(&mut self) -> bool {
        read_phy(PHY_INTERRUPTED);
        write(INTERRUPTED, LINK);
        read_phy(PHY_STATUS) & 1 << 2 != 0
    }
}
