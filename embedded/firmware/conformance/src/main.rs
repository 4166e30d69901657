//! Replays the vectors in the file that the command line names, and prints their number.
//!
//! A board has less memory than the longest vectors need. Those are skipped and counted.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::vec::Vec;
use core::ffi::CStr;
#[cfg(not(all(target_arch = "arm", not(target_abi = "eabihf"))))]
use core::mem::MaybeUninit;

use embedded_alloc::LlffHeap as Heap;
use semihosting::fs::File;
use semihosting::io::Read;
use tidegate_conformance::play;

#[global_allocator]
static HEAP: Heap = Heap::empty();

/// The size of the heap for a vector (the stack has the rest), and the longest line that fits with
/// its parsed content.
const ROOM: usize = SIZES.0;
const LONGEST: usize = SIZES.1;
const SIZES: (usize, usize) = if cfg!(target_arch = "riscv32") {
    (256 << 10, 64 << 10)
} else if cfg!(target_abi = "eabihf") {
    (44 << 10, 13 << 10)
} else {
    (16 << 10, 4 << 10)
};

/// The heap.
#[cfg(not(all(target_arch = "arm", not(target_abi = "eabihf"))))]
fn room() -> usize {
    static mut MEMORY: [MaybeUninit<u8>; ROOM] = [MaybeUninit::uninit(); ROOM];
    &raw mut MEMORY as usize
}

/// On the smallest board it is outside the memory map: the nRF51822 also exists with 32 KiB.
#[cfg(all(target_arch = "arm", not(target_abi = "eabihf")))]
fn room() -> usize {
    0x2000_4000
}

/// The number of bytes per read, because every read stops the machine.
const CHUNK: usize = 512;

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    // SAFETY: it is called once, before any allocation, and nothing else uses this memory.
    unsafe { HEAP.init(room(), ROOM) };
    let mut tally = Tally::default();
    if tally.read().is_err() {
        defmt::error!("the vectors cannot be read");
        board::fail(board::Trouble::Wrong);
    }
    let Tally { vectors, steps, differences, passed_over } = tally;
    defmt::info!("all {} {} {} {}", vectors, steps, differences, passed_over);
    if differences > 0 {
        board::fail(board::Trouble::Wrong);
    }
    board::done()
}

#[derive(Default)]
struct Tally {
    vectors: u32,
    steps: u32,
    differences: u32,
    passed_over: u32,
}

impl Tally {
    fn read(&mut self) -> Result<(), ()> {
        let arguments = semihosting::experimental::env::args::<256>().map_err(|_| ())?;
        let path = (&arguments).nth(1).and_then(Result::ok).ok_or(())?;
        let mut path = Vec::from(path.as_bytes());
        path.push(0);
        let path = CStr::from_bytes_with_nul(&path).map_err(|_| ())?;
        let mut file = File::open(path).map_err(|_| ())?;
        let (mut chunk, mut line, mut fits) = ([0; CHUNK], Vec::with_capacity(LONGEST), true);
        loop {
            let read = file.read(&mut chunk).map_err(|_| ())?;
            let Some(mut rest) = chunk.get(..read).filter(|chunk| !chunk.is_empty()) else {
                return Ok(());
            };
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let (head, tail) = rest.split_at(end);
                fits &= push(&mut line, head);
                self.note(&line, fits);
                line.clear();
                (fits, rest) = (true, tail.get(1..).unwrap_or_default());
            }
            fits &= push(&mut line, rest);
        }
    }

    fn note(&mut self, line: &[u8], fits: bool) {
        if !fits {
            self.passed_over += 1;
            return;
        }
        self.vectors += 1;
        match play(str::from_utf8(line).unwrap_or("")) {
            Ok(steps) => self.steps += steps as u32,
            Err(difference) => {
                self.differences += 1;
                if self.differences <= 5 {
                    defmt::error!("{=str}", &*difference);
                }
            }
        }
    }
}

/// Appends if there is room, and returns whether there was.
fn push(line: &mut Vec<u8>, more: &[u8]) -> bool {
    let fits = line.len() + more.len() <= LONGEST;
    if fits {
        line.extend_from_slice(more);
    }
    fits
}
