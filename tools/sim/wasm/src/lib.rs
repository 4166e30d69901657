//! The simulator in WebAssembly: scenarios go in, and frames of numbers come out.
//!
//! There is no object table and no generated glue. The host writes text to where [`text`] points,
//! and reads text and numbers from where [`text_at`] and [`numbers_at`] point. They are valid until
//! the next call. Times are seconds, as doubles.

mod desk;
mod lab;
mod watch;

use std::cell::RefCell;

use desk::{Desk, Rejection};

thread_local! {
    static DESK: RefCell<Desk> = RefCell::default();
}

/// Resizes the text to this many bytes, and returns where the host should write them.
#[unsafe(no_mangle)]
pub extern "C" fn text(length: usize) -> *const u8 {
    DESK.with_borrow_mut(|desk| {
        desk.text.clear();
        desk.text.resize(length, 0);
        desk.text.as_ptr()
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn text_at() -> *const u8 {
    DESK.with_borrow(|desk| desk.text.as_ptr())
}

#[unsafe(no_mangle)]
pub extern "C" fn text_length() -> usize {
    DESK.with_borrow(|desk| desk.text.len())
}

#[unsafe(no_mangle)]
pub extern "C" fn numbers_at() -> *const f64 {
    DESK.with_borrow(|desk| desk.numbers.as_ptr())
}

#[unsafe(no_mangle)]
pub extern "C" fn numbers_length() -> usize {
    DESK.with_borrow(|desk| desk.numbers.len())
}

/// Sets the text to the names of all laws, one per line.
#[unsafe(no_mangle)]
pub extern "C" fn laws() {
    DESK.with_borrow_mut(Desk::laws);
}

/// Replaces the text, a scenario file, by the same as JSON, and returns 0. If it is not a scenario
/// file, returns -1 and sets the text to the reason.
#[unsafe(no_mangle)]
pub extern "C" fn to_json() -> i32 {
    convert(lab::to_json)
}

/// Like [`to_json`], in the other direction.
#[unsafe(no_mangle)]
pub extern "C" fn to_toml() -> i32 {
    convert(lab::to_toml)
}

fn convert(convert: impl FnOnce(&[u8]) -> Result<String, Rejection>) -> i32 {
    DESK.with_borrow_mut(|desk| {
        let converted = desk.convert(convert);
        converted.unwrap_or_else(|rejection| desk.reject(rejection))
    })
}

/// Opens a world and returns its number. The text contains the law's name, of the given length in
/// bytes, followed by a scenario file.
///
/// Sets the numbers to the end time, the width of the bins, and the process of each thread. A
/// negative result is an error, described in the text: -1 for the scenario, -2 for the law.
#[unsafe(no_mangle)]
pub extern "C" fn open(law: usize, seed: f64) -> i32 {
    DESK.with_borrow_mut(|desk| {
        let opened = desk.open(law, seed);
        opened.unwrap_or_else(|rejection| desk.reject(rejection))
    })
}

/// Runs a world until this many seconds after its start. Returns 1 if more follows, 0 if it has
/// ended, and -3 if it violated a promise, which the text describes.
#[unsafe(no_mangle)]
pub extern "C" fn advance(world: usize, until: f64) -> i32 {
    DESK.with_borrow_mut(|desk| {
        let advanced = desk.advance(world, until).map(i32::from);
        advanced.unwrap_or_else(|rejection| desk.reject(rejection))
    })
}

/// Sets the numbers to what happened since the last frame; see [`watch::Watch::frame`].
#[unsafe(no_mangle)]
pub extern "C" fn frame(world: usize) {
    DESK.with_borrow_mut(|desk| desk.frame(world));
}

/// Sets the text to the names of a world's metrics, one per line, and the numbers to their values
/// so far. NaN means that a metric does not apply.
#[unsafe(no_mangle)]
pub extern "C" fn metrics(world: usize) {
    DESK.with_borrow_mut(|desk| desk.metrics(world));
}

/// Sets the numbers to the two halves of the digest of a world's trace so far, upper half first.
#[unsafe(no_mangle)]
pub extern "C" fn digest(world: usize) {
    DESK.with_borrow_mut(|desk| desk.digest(world));
}

#[unsafe(no_mangle)]
pub extern "C" fn close(world: usize) {
    DESK.with_borrow_mut(|desk| desk.close(world));
}
