//! The simulated world in WebAssembly: scenarios as text go in, frames of numbers come out.
//!
//! There is no table of objects and no glue: the host writes text to where [`text`] tells it, and
//! reads texts and numbers from where [`text_at`] and [`numbers_at`] point. What is there stays
//! until the next call. Times cross the border in seconds, as doubles.

mod desk;
#[cfg_attr(feature = "lab", path = "lab.rs")]
#[cfg_attr(not(feature = "lab"), path = "story.rs")]
mod extent;
mod watch;

use std::cell::RefCell;

use desk::Desk;

#[cfg(all(target_arch = "wasm32", not(feature = "lab")))]
#[global_allocator]
static ALLOCATOR: lol_alloc::LockedAllocator<lol_alloc::FreeListAllocator> =
    lol_alloc::LockedAllocator::new(lol_alloc::FreeListAllocator::new());

thread_local! {
    static DESK: RefCell<Desk> = RefCell::default();
}

/// Makes the text so many bytes long, and returns where the host is to write them.
#[unsafe(no_mangle)]
pub extern "C" fn text(length: usize) -> *const u8 {
    DESK.with_borrow_mut(|desk| {
        desk.text.clear();
        desk.text.resize(length, 0);
        desk.text.as_ptr()
    })
}

/// Where the text is.
#[unsafe(no_mangle)]
pub extern "C" fn text_at() -> *const u8 {
    DESK.with_borrow(|desk| desk.text.as_ptr())
}

/// How many bytes the text has.
#[unsafe(no_mangle)]
pub extern "C" fn text_length() -> usize {
    DESK.with_borrow(|desk| desk.text.len())
}

/// Where the numbers are.
#[unsafe(no_mangle)]
pub extern "C" fn numbers_at() -> *const f64 {
    DESK.with_borrow(|desk| desk.numbers.as_ptr())
}

/// How many numbers there are.
#[unsafe(no_mangle)]
pub extern "C" fn numbers_length() -> usize {
    DESK.with_borrow(|desk| desk.numbers.len())
}

/// The text becomes the names of all laws, one a line.
#[cfg(feature = "lab")]
#[unsafe(no_mangle)]
pub extern "C" fn laws() {
    DESK.with_borrow_mut(Desk::laws);
}

/// Opens the world of the text, which is so many bytes of a law's name and then a scenario, and
/// returns its number. A frame of it has its steps too where `steps` is not 0.
///
/// The numbers become when it ends, the width of its bins, and the process of each thread.
/// A negative number is a rejection: -1 for the scenario, -2 for the law; the text says why.
#[unsafe(no_mangle)]
pub extern "C" fn open(law: usize, seed: f64, steps: u32) -> i32 {
    DESK.with_borrow_mut(|desk| {
        let opened = desk.open(law, seed, steps != 0);
        opened.unwrap_or_else(|rejection| desk.reject(rejection))
    })
}

/// Lets a world go on until so many seconds after its start: 1 where there is more to come, 0 where
/// it is over; -3 if it broke, and the text says how.
#[unsafe(no_mangle)]
pub extern "C" fn advance(world: usize, until: f64) -> i32 {
    DESK.with_borrow_mut(|desk| {
        let advanced = desk.advance(world, until).map(i32::from);
        advanced.unwrap_or_else(|rejection| desk.reject(rejection))
    })
}

/// The numbers become what a world shows since its last frame; see [`watch::Watch::frame`].
#[unsafe(no_mangle)]
pub extern "C" fn frame(world: usize) {
    DESK.with_borrow_mut(|desk| desk.frame(world));
}

/// The text becomes the names of a world's metrics, one a line, and the numbers become their values
/// for what has happened so far; NaN if one has no meaning.
#[unsafe(no_mangle)]
pub extern "C" fn metrics(world: usize) {
    DESK.with_borrow_mut(|desk| desk.metrics(world));
}

/// The numbers become the two halves of the digest of a world's trace so far, the upper one first.
#[unsafe(no_mangle)]
pub extern "C" fn digest(world: usize) {
    DESK.with_borrow_mut(|desk| desk.digest(world));
}

/// Forgets a world.
#[unsafe(no_mangle)]
pub extern "C" fn close(world: usize) {
    DESK.with_borrow_mut(|desk| desk.close(world));
}
