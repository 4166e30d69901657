//! The network card of the virt machine: virtio-net, with the crate `virtio-drivers`.

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

use static_cell::StaticCell;
use virtio_drivers::device::net::VirtIONetRaw;
use virtio_drivers::transport::mmio::{MmioTransport, VirtIOHeader};
use virtio_drivers::transport::{DeviceType, Transport};
use virtio_drivers::{BufferDirection, Hal, PhysAddr};

use crate::card::{BUFFER, WAKER};
use crate::register::{read, write};

const INTERRUPTS: usize = 0x0c00_0000;
const ENABLE: usize = INTERRUPTS + 0x2000;
const THRESHOLD: usize = INTERRUPTS + 0x20_0000;
const CLAIM: usize = INTERRUPTS + 0x20_0004;

/// QEMU gives the last of eight slots to the first device.
const SLOT: usize = 0x1000_8000;
const SLOT_BYTES: usize = 0x1000;
const INTERRUPT: usize = 8;
/// The offset of the link status, after the card's address.
const STATUS: usize = 0x104;

const BUFFERS: usize = 4;

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

pub(crate) struct Device {
    card: VirtIONetRaw<Pool, MmioTransport<'static>, BUFFERS>,
    buffers: &'static mut [[u8; BUFFER]; BUFFERS],
    /// The card's token for each buffer.
    tokens: [u16; BUFFERS],
}

impl Device {
    pub(crate) fn new() -> Option<Self> {
        static ROOM: StaticCell<[[u8; BUFFER]; BUFFERS]> = StaticCell::new();
        let header = NonNull::new(SLOT as *mut VirtIOHeader)?;
        // SAFETY: the machine has a slot at this address.
        let slot = unsafe { MmioTransport::new(header, SLOT_BYTES) }.ok()?;
        if slot.device_type() != DeviceType::Network {
            return None;
        }
        let mut card = VirtIONetRaw::new(slot).ok()?;
        let buffers = ROOM.init([[0; BUFFER]; BUFFERS]);
        let mut tokens = [0; BUFFERS];
        for (buffer, token) in buffers.iter_mut().zip(&mut tokens) {
            // SAFETY: the buffer is not accessed until the card returns it.
            *token = unsafe { card.receive_begin(buffer) }.ok()?;
        }
        write(INTERRUPTS + 4 * INTERRUPT, 1);
        write(ENABLE, 1 << INTERRUPT);
        write(THRESHOLD, 0);
        // SAFETY: there is a handler, above.
        unsafe { riscv::register::mie::set_mext() };
        Some(Self { card, buffers, tokens })
    }

    pub(crate) fn address(&self) -> [u8; 6] {
        self.card.mac_address()
    }

    /// Returns the length of the received frame. Interrupts are on again.
    pub(crate) fn receive(&mut self, frame: &mut [u8]) -> Option<usize> {
        let _ = self.card.ack_interrupt();
        write(ENABLE, 1 << INTERRUPT);
        let token = self.card.poll_receive()?;
        let index = self.tokens.iter().position(|known| *known == token)?;
        let buffer = &mut self.buffers[index];
        // SAFETY: the card was given this buffer with this token.
        let received = unsafe { self.card.receive_complete(token, buffer) };
        // An invalid frame becomes an empty one, which the stack drops.
        let (header, length) = received.unwrap_or((0, 0));
        let length = length.min(BUFFER - header);
        frame[..length].copy_from_slice(&buffer[header..header + length]);
        // SAFETY: as in `new`.
        self.tokens[index] = defmt::unwrap!(unsafe { self.card.receive_begin(buffer) }.ok());
        Some(length)
    }

    pub(crate) fn can_send(&self) -> bool {
        self.card.can_send()
    }

    pub(crate) fn send(&mut self, frame: &[u8]) {
        defmt::unwrap!(self.card.send(frame).ok());
    }

    pub(crate) fn is_up(&mut self) -> bool {
        // The upper half of a word that starts with the end of the address.
        read(SLOT + STATUS) >> 16 & 1 != 0
    }
}
