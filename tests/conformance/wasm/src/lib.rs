//! Replays vectors in WebAssembly without generated glue. The host writes a line to where [`text`]
//! points, and if the vector differs, it reads the difference from there.

use std::cell::RefCell;

thread_local! {
    static TEXT: RefCell<Vec<u8>> = RefCell::default();
}

/// Resizes the text to this many bytes, and returns where the host should write them.
#[unsafe(no_mangle)]
pub extern "C" fn text(length: usize) -> *const u8 {
    TEXT.with_borrow_mut(|text| {
        text.clear();
        text.resize(length, 0);
        text.as_ptr()
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn text_at() -> *const u8 {
    TEXT.with_borrow(|text| text.as_ptr())
}

#[unsafe(no_mangle)]
pub extern "C" fn text_length() -> usize {
    TEXT.with_borrow(Vec::len)
}

/// Replays the vector in the text. Returns its number of steps, or -1 if it differs. The text then
/// describes the difference.
#[unsafe(no_mangle)]
pub extern "C" fn play() -> i32 {
    TEXT.with_borrow_mut(|text| {
        let played = match str::from_utf8(text) {
            Ok(line) => tidegate_conformance::play(line),
            Err(error) => Err(error.to_string()),
        };
        match played {
            Ok(steps) => i32::try_from(steps).unwrap_or(i32::MAX),
            Err(difference) => {
                *text = difference.into_bytes();
                -1
            }
        }
    })
}
