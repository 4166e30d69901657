//! The network card of the virt machine: virtio-net, driven by the crate `virtio-drivers`.

use core::cell::UnsafeCell;
use core::marker::PhantomData;
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

/// Eight slots for devices; slot `i` has interrupt `i + 1`.
const SLOTS: usize = 8;
const SLOT: usize = 0x1000;
const FIRST: usize = 0x1000_1000;
/// Where a card says of itself, behind its address, whether its link is up.
const STATUS: usize = 0x104;

const MTU: usize = 1514;
const BUFFER: usize = 1536;
const BUFFERS: usize = 4;

static WAKER: AtomicWaker = AtomicWaker::new();

/// Memory for the device's queues: pages of a pool, which nobody gives back. An address is physical.
struct Pool(UnsafeCell<[u8; PAGES * PAGE]>);

const PAGE: usize = 4096;
const PAGES: usize = 8;

#[repr(align(4096))]
struct Aligned(Pool);

// SAFETY: each page is handed out once.
unsafe impl Sync for Aligned {}

static POOL: Aligned = Aligned(Pool(UnsafeCell::new([0; PAGES * PAGE])));
static TAKEN: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the pages are aligned, nobody else's, and at their physical addresses.
unsafe impl Hal for Pool {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        let first = TAKEN.load(Ordering::Relaxed);
        TAKEN.store(first + pages, Ordering::Relaxed);
        defmt::assert!(first + pages <= PAGES, "the card wants more memory than the pool has");
        // SAFETY: it stays within the pool.
        let page = unsafe { POOL.0.0.get().cast::<u8>().add(first * PAGE) };
        // SAFETY: a static is nowhere near nothing.
        (page as usize as PhysAddr, unsafe { NonNull::new_unchecked(page) })
    }

    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        0
    }

    unsafe fn mmio_phys_to_virt(at: PhysAddr, _: usize) -> NonNull<u8> {
        // SAFETY: no device is at nothing.
        unsafe { NonNull::new_unchecked(at as usize as *mut u8) }
    }

    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        buffer.as_ptr().cast::<u8>() as usize as PhysAddr
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}

/// The card, of which there is one.
pub struct Card {
    device: VirtIONetRaw<Pool, MmioTransport<'static>, BUFFERS>,
    buffers: &'static mut [[u8; BUFFER]; BUFFERS],
    /// The device's name for each buffer.
    tokens: [u16; BUFFERS],
    slot: usize,
}

/// The card; nothing where the machine has none.
pub fn card() -> Option<Card> {
    static ROOM: StaticCell<[[u8; BUFFER]; BUFFERS]> = StaticCell::new();
    let slot = (0..SLOTS).find(|slot| {
        transport(*slot).is_some_and(|found| found.device_type() == DeviceType::Network)
    })?;
    let mut device = VirtIONetRaw::new(transport(slot)?).ok()?;
    let buffers = ROOM.init([[0; BUFFER]; BUFFERS]);
    let mut tokens = [0; BUFFERS];
    for (buffer, token) in buffers.iter_mut().zip(&mut tokens) {
        // SAFETY: the buffer is touched again only when the device has given it back.
        *token = unsafe { device.receive_begin(buffer) }.ok()?;
    }
    let interrupt = slot + 1;
    write(INTERRUPTS + 4 * interrupt, 1);
    write(ENABLE, 1 << interrupt);
    write(THRESHOLD, 0);
    // SAFETY: there is a handler, below.
    unsafe { riscv::register::mie::set_mext() };
    Some(Card { device, buffers, tokens, slot })
}

fn transport(slot: usize) -> Option<MmioTransport<'static>> {
    let header = NonNull::new((FIRST + slot * SLOT) as *mut VirtIOHeader)?;
    // SAFETY: the machine has a slot there.
    unsafe { MmioTransport::new(header, SLOT) }.ok()
}

/// Masks the device until the stack has looked.
#[riscv_rt::core_interrupt(riscv::interrupt::Interrupt::MachineExternal)]
fn on_interrupt() {
    let interrupt = read(CLAIM);
    if interrupt != 0 {
        write(ENABLE, 0);
        write(CLAIM, interrupt);
        WAKER.wake();
    }
}

/// A frame that has come.
pub struct Received<'a> {
    card: &'a mut Card,
    index: usize,
    header: usize,
    length: usize,
}

impl RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, read: F) -> R {
        let Card { device, buffers, tokens, .. } = self.card;
        let buffer = &mut buffers[self.index];
        let result = read(&mut buffer[self.header..self.header + self.length]);
        // SAFETY: as in `card`.
        tokens[self.index] = defmt::unwrap!(unsafe { device.receive_begin(buffer) }.ok());
        result
    }
}

/// Room for a frame to send. A pointer, because embassy-net wants this and the other at once, and
/// uses one of them at a time.
pub struct Room<'a>(*mut Card, PhantomData<&'a mut Card>);

impl TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, fill: F) -> R {
        // SAFETY: the card outlives this, and the other token is not in use.
        let card = unsafe { &mut *self.0 };
        let mut buffer = [0; BUFFER];
        let header = defmt::unwrap!(card.device.fill_buffer_header(&mut buffer).ok());
        let result = fill(&mut buffer[header..header + length]);
        defmt::unwrap!(card.device.send(&buffer[header..header + length]).ok());
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
        // SAFETY: it is the buffer that the device was given under this name.
        let received = unsafe { self.device.receive_complete(token, &mut self.buffers[index]) };
        let (header, length) = received.ok()?;
        let room = Room(self, PhantomData);
        Some((Received { card: self, index, header, length }, room))
    }

    fn transmit(&mut self, _: &mut Context<'_>) -> Option<Room<'_>> {
        self.device.can_send().then_some(Room(self, PhantomData))
    }

    fn link_state(&mut self, context: &mut Context<'_>) -> LinkState {
        WAKER.register(context.waker());
        // The upper half of a word that begins with the address's end.
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
