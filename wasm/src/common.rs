//! What the modules for controllers and for shared budgets have in common: later attempts of calls, in numbered
//! slots, and most of the functions that JavaScript calls.

pub use tidegate::queue::Place;
use tidegate::{Call, Costs, Instant, Reason};

use crate::arena::Arena;
use crate::number::millis;

/// A first attempt, by its numbers, or a later one, by its slot.
#[derive(Clone, Copy)]
pub struct Requested {
    /// The slot of a later attempt; for a first one, any number that is not a slot.
    pub call: u32,
    /// The latest time at which it may be sent.
    pub deadline: f64,
    /// Its cost in requests and in tokens. A call with a shared budget costs one.
    #[cfg_attr(
        all(feature = "lite", not(feature = "gate")),
        expect(dead_code, reason = "each costs one")
    )]
    pub costs: [f64; 2],
}

impl Requested {
    pub const fn new(call: u32, deadline: f64, requests: f64, tokens: f64) -> Self {
        Self { call, deadline, costs: [requests, tokens] }
    }

    /// A first attempt without a deadline that costs one request.
    pub const PLAIN: Self = Self::new(NONE, f64::NAN, 1.0, f64::NAN);
}

const NONE: u32 = u32::MAX;

/// The later attempts of calls.
pub struct Calls<const LIMITS: usize, C>(Arena<Call<LIMITS, C>>);

impl<const LIMITS: usize, C: Costs<LIMITS>> Calls<LIMITS, C> {
    pub const fn new() -> Self {
        Self(Arena::new())
    }

    /// A later attempt, or the first one.
    pub fn get(&mut self, slot: u32, first: impl FnOnce() -> Call<LIMITS, C>) -> Call<LIMITS, C> {
        match self.0.get(slot) {
            Some(call) => *call,
            None => first(),
        }
    }

    /// The slot of the next attempt of a call, which is in its own slot if it is a later attempt itself. Otherwise -1 if
    /// its attempts are used up or there is no memory for it, -2 if it could not be sent by the deadline, -3 if it is
    /// not safe to repeat, and -4 if that would not help. A later attempt keeps its slot until it is forgotten.
    pub fn next(&mut self, slot: u32, next: Result<Call<LIMITS, C>, Reason>) -> i32 {
        let next = match next {
            Ok(next) => next,
            Err(Reason::Late(_)) => return -2,
            Err(Reason::Unsafe) => return -3,
            Err(Reason::Final | Reason::Exhausted) => return -4,
            Err(_) => return -1,
        };
        let slot = match self.0.get(slot) {
            Some(kept) => {
                *kept = next;
                slot
            }
            None => self.0.insert(next).unwrap_or(NONE),
        };
        i32::try_from(slot).unwrap_or(-1)
    }

    /// The earliest time for a later attempt; 0 if the slot does not exist.
    pub fn not_before(&mut self, slot: u32) -> f64 {
        let call = self.0.get(slot);
        call.map_or(0.0, |call| millis(call.not_before() - Instant::ZERO))
    }

    pub fn forget(&mut self, slot: u32) {
        self.0.remove(slot);
    }
}

/// Size of the buffer for a header, a message or a record.
pub const ROOM: usize = 4_096;

/// Defines functions that JavaScript calls, each with what it does with the value of a static.
macro_rules! functions {
    ($STATIC:ident, $it:ident: $(
        $(#[$about:meta])*
        fn $name:ident($($given:ident: $kind:ty),*) $(-> $told:ty)? = $then:expr;
    )*) => {$(
        $(#[$about])*
        #[wasm_bindgen]
        #[allow(clippy::too_many_arguments, reason = "only numbers can be passed from JavaScript")]
        pub fn $name($($given: $kind),*) $(-> $told)? {
            $STATIC.with(|$it| $then)
        }
    )*};
}

/// Defines the desk of a module, its buffers, and the functions that JavaScript calls in every module with a queue.
macro_rules! exports {
    ($Desk:ty) => {
        static DESK: $crate::bare::Alone<$Desk> = $crate::bare::Alone::new(<$Desk>::new());

        /// A policy's row, and the counters.
        static NUMBERS: $crate::bare::Alone<[f64; $crate::policy::WORDS]> =
            $crate::bare::Alone::new([0.0; $crate::policy::WORDS]);

        /// A header's name and value, a message, or a record.
        static BYTES: $crate::bare::Alone<[u8; $crate::common::ROOM]> =
            $crate::bare::Alone::new([0; $crate::common::ROOM]);

        #[wasm_bindgen]
        pub fn numbers() -> *mut f64 {
            NUMBERS.place().cast()
        }

        #[wasm_bindgen]
        pub fn bytes() -> *mut u8 {
            BYTES.place().cast()
        }

        $crate::common::functions! { NUMBERS, row:
            /// See the desk's `open`; the policy's row is in the numbers.
            fn open(high: u32, low: u32, now: f64, most: u32) -> i32 =
                DESK.with(|desk| desk.open(row, [high, low], now, most));
        }

        $crate::common::functions! { BYTES, bytes:
            /// See `Draft::header`: the length of the name, and the length of name and value together. Both are
            /// in the bytes, the value directly after the name.
            fn header(name: usize, both: usize) = {
                let parts = bytes.get(..both).and_then(|both| both.split_at_checked(name));
                if let Some((name, value)) = parts {
                    DESK.with(|desk| desk.draft.header(name, value));
                }
            };
        }

        $crate::common::functions! { DESK, desk:
            fn close(gate: u32) = desk.close(gate);
            fn poll(gate: u32, now: f64, requests: f64, tokens: f64) -> f64 =
                desk.poll(gate, now, [requests, tokens]);
            fn join(
                gate: u32, call: u32, now: f64, deadline: f64,
                requests: f64, tokens: f64, priority: u32, turn: f64
            ) -> f64 = {
                let place = $crate::common::Place::new(priority as u8, turn as u64);
                let requested = $crate::common::Requested::new(call, deadline, requests, tokens);
                desk.join(gate, requested, place, now)
            };
            fn next(gate: u32, now: f64) -> f64 = desk.next(gate, now);
            fn given() -> f64 = desk.told.given();
            fn first(gate: u32) -> i32 = desk.first(gate);
            fn cancel(gate: u32, slot: u32, turn: f64) = desk.cancel(gate, slot, turn);
            fn reason() -> u32 = desk.told.reason();
            fn late() -> f64 = desk.told.late();
            fn why(
                gate: u32, call: u32, now: f64, deadline: f64, requests: f64, tokens: f64
            ) -> u32 = {
                let requested = $crate::common::Requested::new(call, deadline, requests, tokens);
                desk.why(gate, requested, now)
            };
            fn retry(
                gate: u32, call: u32, now: f64, deadline: f64, requests: f64, tokens: f64, level: u32
            ) -> i32 = {
                let requested = $crate::common::Requested::new(call, deadline, requests, tokens);
                desk.retry(gate, requested, now, $crate::number::retry(level))
            };
            fn not_before(call: u32) -> f64 = desk.calls.not_before(call);
            fn forget(call: u32) = desk.calls.forget(call);
            fn answer(outcome: u32, cooldown: f64) = desk.draft.answer(outcome, cooldown);
            fn status(status: u32) = desk.draft.status(status);
            fn read(clock: f64) -> u32 = desk.draft.read(clock);
            fn cooldown() -> f64 = desk.draft.cooldown();
        }
    };
}

/// Defines what all of them but `lite` have too: bodies and counters.
#[cfg(any(feature = "gate", feature = "shared"))]
macro_rules! more_exports {
    () => {
        $crate::common::functions! { BYTES, bytes:
            /// See `draft::is_worth`; the media type is in the bytes.
            fn worth(status: u32, length: usize, may_be_graphql: bool) -> bool = {
                let media = bytes.get(..length);
                media.is_some_and(|media| $crate::draft::is_worth(status, media, may_be_graphql))
            };
            /// See `Draft::body`: reads this many of the bytes.
            fn body(length: usize) = if let Some(bytes) = bytes.get(..length) {
                DESK.with(|desk| desk.draft.body(bytes));
            };
        }

        $crate::common::functions! { DESK, desk:
            fn peek(gate: u32, now: f64) -> f64 = desk.peek(gate, now);
            /// Writes the counters of the desk's `stats` into the numbers. Returns whether the gate exists.
            fn stats(gate: u32) -> bool = desk.stats(gate).map(|told| tell(&told)).is_some();
        }

        fn tell(counters: &[f64]) {
            NUMBERS.with(|numbers| {
                for (place, told) in numbers.iter_mut().zip(counters) {
                    *place = *told;
                }
            });
        }
    };
}

pub(crate) use exports;
pub(crate) use functions;
#[cfg(any(feature = "gate", feature = "shared"))]
pub(crate) use more_exports;
