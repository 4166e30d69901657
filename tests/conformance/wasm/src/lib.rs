//! Plays vectors in WebAssembly. There is no glue: the host writes a line to where [`text`] tells it,
//! and where a vector differs it reads from there what does.

use std::cell::RefCell;

thread_local! {
    static TEXT: RefCell<Vec<u8>> = RefCell::default();
}

/// Makes the text so many bytes long, and returns where the host is to write them.
#[unsafe(no_mangle)]
pub extern "C" fn text(length: usize) -> *const u8 {
    TEXT.with_borrow_mut(|text| {
        text.clear();
        text.resize(length, 0);
        text.as_ptr()
    })
}

/// Where the text is.
#[unsafe(no_mangle)]
pub extern "C" fn text_at() -> *const u8 {
    TEXT.with_borrow(|text| text.as_ptr())
}

/// How many bytes the text has.
#[unsafe(no_mangle)]
pub extern "C" fn text_length() -> usize {
    TEXT.with_borrow(Vec::len)
}

/// Plays the vector that the text is: how many steps it had, or -1 if it differs. Then the text
/// says in what.
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
