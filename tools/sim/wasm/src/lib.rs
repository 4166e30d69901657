//! The simulator in WebAssembly: scenarios go in, and frames of numbers come out.
//!
//! There is no object table and no generated glue. The host writes text to where [`text`] points,
//! and reads text and numbers from where [`text_at`] and [`numbers_at`] point. They are valid until
//! the next call. Times are seconds, as doubles.

mod lab;
mod watch;

use std::cell::RefCell;
use std::rc::Rc;

use tidegate::{Instant, Span};
use tidegate_sim::{Scenario, World, controllers};

use watch::Watch;

thread_local! {
    static DESK: RefCell<Desk> = RefCell::default();
}

#[derive(Default)]
struct Desk {
    /// Text from or for the host.
    text: Vec<u8>,
    numbers: Vec<f64>,
    /// The open worlds by number.
    worlds: Vec<Option<Open>>,
}

struct Open {
    world: World<Rc<Scenario>>,
    scenario: Rc<Scenario>,
    watch: Watch,
}

/// Why a request failed: a code, and a sentence.
struct Rejection(i32, String);

const NO_SCENARIO: i32 = -1;
const NO_LAW: i32 = -2;
const BROKEN: i32 = -3;

/// The code of what was done, or of why it was not: then the text is the reason.
fn answer(done: impl FnOnce(&mut Desk) -> Result<i32, Rejection>) -> i32 {
    DESK.with_borrow_mut(|desk| {
        done(desk).unwrap_or_else(|Rejection(code, why)| {
            desk.text = why.into_bytes();
            code
        })
    })
}

/// Sets the numbers to those of a world, or to none if it is not open.
fn tell(world: usize, numbers: impl FnOnce(&mut Open, &mut Vec<u8>) -> Vec<f64>) {
    DESK.with_borrow_mut(|Desk { text, numbers: told, worlds }| {
        let open = worlds.get_mut(world).and_then(Option::as_mut);
        *told = open.map_or(Vec::new(), |open| numbers(open, text));
    });
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
    DESK.with_borrow_mut(|desk| desk.text = controllers::names().join("\n").into_bytes());
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
    answer(|desk| {
        desk.text = convert(&std::mem::take(&mut desk.text))?.into_bytes();
        Ok(0)
    })
}

/// Opens a world and returns its number. The text contains the law's name, of the given length in
/// bytes, followed by a scenario file.
///
/// Sets the numbers to the end time, the width of the bins, and the process of each thread. A
/// negative result is an error, described in the text: -1 for the scenario, -2 for the law.
#[unsafe(no_mangle)]
pub extern "C" fn open(law: usize, seed: f64) -> i32 {
    answer(|desk| {
        let text = std::mem::take(&mut desk.text);
        let (law, scenario) = text.split_at_checked(law).unwrap_or_default();
        let law = str::from_utf8(law).unwrap_or_default();
        let scenario = Rc::new(lab::read(scenario)?);
        let world = lab::world(&scenario, law, seed as u64)?;
        let processes: Vec<u32> = world.processes().collect();
        desk.numbers = vec![scenario.end.get_ref().seconds(), scenario.bin.get_ref().seconds()];
        desk.numbers.extend(processes.iter().copied().map(f64::from));
        let watch = Watch::new(&scenario, &processes);
        let free = desk.worlds.iter().position(Option::is_none);
        let number = free.unwrap_or(desk.worlds.len());
        if free.is_none() {
            desk.worlds.push(None);
        }
        desk.worlds[number] = Some(Open { world, scenario, watch });
        Ok(number as i32)
    })
}

/// Runs a world until this many seconds after its start. Returns 1 if more follows, 0 if it has
/// ended, and -3 if it violated a promise, which the text describes.
#[unsafe(no_mangle)]
pub extern "C" fn advance(world: usize, until: f64) -> i32 {
    answer(|desk| {
        let Some(Some(Open { world, watch, .. })) = desk.worlds.get_mut(world) else {
            return Ok(0);
        };
        let until = Instant::ZERO + Span::from_nanos((until * 1e9 + 0.5) as u64);
        let more = world.advance(until, &mut |step| watch.see(step));
        more.map(i32::from)
            .map_err(|broken| Rejection(BROKEN, format!("the world broke: {broken}")))
    })
}

/// Sets the numbers to what happened since the last frame; see [`watch::Watch::frame`].
#[unsafe(no_mangle)]
pub extern "C" fn frame(world: usize) {
    tell(world, |Open { world, scenario, watch }, _| watch.frame(world, scenario));
}

/// Sets the text to the names of a world's metrics, one per line, and the numbers to their values
/// so far. NaN means that a metric does not apply.
#[unsafe(no_mangle)]
pub extern "C" fn metrics(world: usize) {
    tell(world, |open, text| {
        let metrics = open.world.finish().metrics.0;
        let names: Vec<&str> = metrics.iter().map(|metric| &*metric.0).collect();
        *text = names.join("\n").into_bytes();
        metrics.iter().map(|metric| metric.1.unwrap_or(f64::NAN)).collect()
    });
}

/// Sets the numbers to the two halves of the digest of a world's trace so far, upper half first.
#[unsafe(no_mangle)]
pub extern "C" fn digest(world: usize) {
    tell(world, |open, _| {
        let digest = open.world.digest().value();
        vec![(digest >> 32) as f64, (digest & 0xFFFF_FFFF) as f64]
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn close(world: usize) {
    DESK.with_borrow_mut(|desk| {
        if let Some(open) = desk.worlds.get_mut(world) {
            *open = None;
        }
    });
}
