//! The network card of the virt machine: virtio-net, with the crate `virtio-drivers`.

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::Context;

use embassy_net_driver::{Capabilities, Driver, HardwareAddress, LinkState, RxToken, TxToken};
use embassy_sync::waitqueue::AtomicWaker;
use static_cell::StaticCell;
use virtio_drivers::device::net::VirtIONetRaw;
use virtio_drivers::transport::mmio::{MmioTransport, VirtIOHeader};
use virtio_drivers::transport::{DeviceType, Transport};
use virtio_drivers::{BufferDirection, Hal, PhysAddr};

use crate::register::{read, write};

const INTERRUPTS: usize = 0x0c00_0000;
const ENABLE: usize = INTERRUPTS + 0x2000;
const THRESHOLD: usize = INTERRUPTS + 0x20_0000;
const CLAIM: usize = INTERRUPTS + 0x20_0004;

/// Eight device slots. Slot `i` has interrupt `i + 1`.
const SLOTS: usize = 8;
const SLOT: usize = 0x1000;
const FIRST: usize = 0x1000_1000;
/// The offset of the link status, after the card's address.
const STATUS: usize = 0x104;

const MTU: usize = 1514;
const BUFFER: usize = 1536;
const BUFFERS: usize = 4;

static WAKER: AtomicWaker = AtomicWaker::new();

/// Memory for the device's queues: pages of a pool that are never freed. Addresses are physical.
struct Pool(UnsafeCell<[u8; PAGES * PAGE]>);

const PAGE: usize = 4096;
const PAGES: usize = 8;

#[repr(align(4096))]
struct Aligned(Pool);

// SAFETY: each page is allocated once.
unsafe impl Sync for Aligned {}

static POOL: Aligned = Aligned(Pool(UnsafeCell::new([0; PAGES * PAGE])));
static TAKEN: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the pages are aligned, exclusive, and at their physical addresses.
unsafe impl Hal for Pool {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        let first = TAKEN.load(Ordering::Relaxed);
        TAKEN.store(first + pages, Ordering::Relaxed);
        defmt::assert!(first + pages <= PAGES, "the card needs more memory than the pool has");
        // SAFETY: it stays within the pool.
        let page = unsafe { POOL.0.0.get().cast::<u8>().add(first * PAGE) };
        // SAFETY: the address of a static is not null.
        (page as usize as PhysAddr, unsafe { NonNull::new_unchecked(page) })
    }

    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        0
    }

    unsafe fn mmio_phys_to_virt(at: PhysAddr, _: usize) -> NonNull<u8> {
        // SAFETY: no device is at address zero.
        unsafe { NonNull::new_unchecked(at as usize as *mut u8) }
    }

    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        buffer.as_ptr().cast::<u8>() as usize as PhysAddr
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}

type Device = VirtIONetRaw<Pool, MmioTransport<'static>, BUFFERS>;

/// The network card. There is one.
pub struct Card {
    device: Device,
    buffers: &'static mut [[u8; BUFFER]; BUFFERS],
    /// The device's token for each buffer.
    tokens: [u16; BUFFERS],
    /// The frame that the stack reads. It is a copy, because the stack may send while it reads.
    frame: [u8; BUFFER],
    slot: usize,
}

/// Takes the card. `None` if the machine has none.
pub fn card() -> Option<Card> {
    static ROOM: StaticCell<[[u8; BUFFER]; BUFFERS]> = StaticCell::new();
    let slot = (0..SLOTS).find(|slot| {
        transport(*slot).is_some_and(|found| found.device_type() == DeviceType::Network)
    })?;
    let mut device = VirtIONetRaw::new(transport(slot)?).ok()?;
    let buffers = ROOM.init([[0; BUFFER]; BUFFERS]);
    let mut tokens = [0; BUFFERS];
    for (buffer, token) in buffers.iter_mut().zip(&mut tokens) {
        // SAFETY: the buffer is not accessed until the device returns it.
        *token = unsafe { device.receive_begin(buffer) }.ok()?;
    }
    let interrupt = slot + 1;
    write(INTERRUPTS + 4 * interrupt, 1);
    write(ENABLE, 1 << interrupt);
    write(THRESHOLD, 0);
    // SAFETY: there is a handler, below.
    unsafe { riscv::register::mie::set_mext() };
    Some(Card { device, buffers, tokens, frame: [0; BUFFER], slot })
}

fn transport(slot: usize) -> Option<MmioTransport<'static>> {
    let header = NonNull::new((FIRST + slot * SLOT) as *mut VirtIOHeader)?;
    // SAFETY: the machine has a slot at this address.
    unsafe { MmioTransport::new(header, SLOT) }.ok()
}

/// Masks the device until the stack has checked.
#[riscv_rt::core_interrupt(riscv::interrupt::Interrupt::MachineExternal)]
fn on_interrupt() {
    let interrupt = read(CLAIM);
    if interrupt != 0 {
        // In this order, because a masked interrupt cannot be completed.
        write(CLAIM, interrupt);
        write(ENABLE, 0);
        WAKER.wake();
    }
}

/// A received frame.
pub struct Received<'a>(&'a mut [u8]);

impl RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, read: F) -> R {
        read(self.0)
    }
}

/// Room for a frame to send.
pub struct Room<'a>(&'a mut Device);

impl TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, fill: F) -> R {
        let mut frame = [0; MTU];
        let frame = &mut frame[..length.min(MTU)];
        let result = fill(frame);
        defmt::unwrap!(self.0.send(frame).ok());
        result
    }
}

impl Driver for Card {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Room<'a>;

    fn receive(&mut self, context: &mut Context<'_>) -> Option<(Received<'_>, Room<'_>)> {
        WAKER.register(context.waker());
        let _ = self.device.ack_interrupt();
        write(ENABLE, 1 << (self.slot + 1));
        let token = self.device.poll_receive()?;
        let index = self.tokens.iter().position(|known| *known == token)?;
        let buffer = &mut self.buffers[index];
        // SAFETY: the device was given this buffer with this token.
        let received = unsafe { self.device.receive_complete(token, buffer) };
        // An invalid frame becomes an empty one, which the stack drops.
        let (header, length) = received.unwrap_or((0, 0));
        let length = length.min(BUFFER - header);
        self.frame[..length].copy_from_slice(&buffer[header..header + length]);
        // SAFETY: as in `card`.
        self.tokens[index] = defmt::unwrap!(unsafe { self.device.receive_begin(buffer) }.ok());
        Some((Received(&mut self.frame[..length]), Room(&mut self.device)))
    }

    fn transmit(&mut self, _: &mut Context<'_>) -> Option<Room<'_>> {
        self.device.can_send().then_some(Room(&mut self.device))
    }

    fn link_state(&mut self, context: &mut Context<'_>) -> LinkState {
        WAKER.register(context.waker());
        // The upper half of a word that starts with the end of the address.
        match read(FIRST + self.slot * SLOT + STATUS) >> 16 & 1 {
            0 => LinkState::Down,
            _ => LinkState::Up,
        }
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::default();
        capabilities.max_transmission_unit = MTU;
        capabilities.max_burst_size = Some(1);
        capabilities
    }

    fn hardware_address(&self) -> HardwareAddress {
        HardwareAddress::Ethernet(self.device.mac_address())
    }
}
