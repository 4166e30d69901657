//! Measures stack depth: fills the stack below the caller with a pattern, and then searches for the
//! lowest changed word.

use core::hint::black_box;

/// How far below the caller to search.
const DEEPEST: usize = 2048;
const PAINT: u32 = 0x5EA1_F00D;

/// How many bytes of stack `work` uses, including all functions that it calls. Interrupts must be
/// off.
pub fn of(work: impl FnOnce()) -> usize {
    taken(work).saturating_sub(taken(|| ()))
}

/// The same, including the overhead of measuring.
#[inline(never)]
fn taken(work: impl FnOnce()) -> usize {
    let mark = 0_u32;
    let below = (&raw const mark as usize & !3) - MARGIN;
    paint(below);
    run(work);
    deepest(below).map_or(0, |lowest| below + MARGIN - lowest)
}

/// Room for the frames of the functions that fill and search.
const MARGIN: usize = 64;

/// Not inlined, so that only `work` is measured.
#[inline(never)]
fn run(work: impl FnOnce()) {
    work();
    black_box(());
}

#[inline(never)]
fn paint(below: usize) {
    for word in words(below) {
        // SAFETY: this part of the stack is unused. The boards have far more than `DEEPEST`.
        unsafe { word.write_volatile(PAINT) };
    }
}

#[inline(never)]
fn deepest(below: usize) -> Option<usize> {
    // SAFETY: as above.
    words(below)
        .rev()
        .find(|word| unsafe { word.read_volatile() } != PAINT)
        .map(|word| word as usize)
}

/// From the top to the bottom.
fn words(below: usize) -> impl DoubleEndedIterator<Item = *mut u32> {
    (0..DEEPEST / 4).map(move |index| (below - 4 * index) as *mut u32)
}
