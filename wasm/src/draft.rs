//! Builds a reply from JavaScript's arguments or from a response.

use tidegate::signal::http::{Common, Reading};
use tidegate::{Hint, Outcome, Reply};

use crate::number::{count, millis, span};

/// What reads the responses of this module.
#[cfg(any(feature = "gate", feature = "shared"))]
pub type Reader = whole::WithBody;
#[cfg(not(any(feature = "gate", feature = "shared")))]
pub type Reader = Reading<Common>;

pub trait Read {
    const NEW: Self;

    fn status(&mut self, status: u16);

    fn header(&mut self, name: &[u8], value: &[u8]);

    /// The reply. `clock` is the time since 1970 in milliseconds, NaN if unknown.
    fn reply<const LIMITS: usize>(&mut self, clock: f64) -> Reply<LIMITS>;
}

/// Reads what most servers send.
impl Read for Reading<Common> {
    const NEW: Self = Self::common(0);

    fn status(&mut self, status: u16) {
        *self = Self::common(status);
    }

    fn header(&mut self, name: &[u8], value: &[u8]) {
        self.header(name, value);
    }

    fn reply<const LIMITS: usize>(&mut self, clock: f64) -> Reply<LIMITS> {
        self.reply(Some(count(clock / 1e3)).filter(|seconds| *seconds > 0))
    }
}

#[cfg(any(feature = "gate", feature = "shared"))]
mod whole {
    use tidegate::signal::body::Body;

    use super::{Read, Reading, Reply, span};

    /// Reads all headers, and bodies.
    pub struct WithBody {
        reading: Reading,
        /// The result of reading the body, if it was read.
        body: Option<Body>,
    }

    impl WithBody {
        pub fn body(&mut self, bytes: &[u8]) {
            self.body.get_or_insert_with(Body::new).feed(bytes);
        }
    }

    impl Read for WithBody {
        const NEW: Self = Self { reading: Reading::new(0), body: None };

        fn status(&mut self, status: u16) {
            *self = Self { reading: Reading::new(status), body: None };
        }

        fn header(&mut self, name: &[u8], value: &[u8]) {
            self.reading.header(name, value);
        }

        fn reply<const LIMITS: usize>(&mut self, clock: f64) -> Reply<LIMITS> {
            if let Some(body) = &self.body {
                self.reading.body(body);
            }
            self.reading.finish(span(clock)).into()
        }
    }
}

pub struct Draft<const LIMITS: usize> {
    reader: Reader,
    pub reply: Reply<LIMITS>,
}

impl<const LIMITS: usize> Draft<LIMITS> {
    /// Creates the reply of a served call without hints.
    pub const fn new() -> Self {
        let reply = Reply::about(Outcome::Ok, [Hint::NONE; LIMITS]);
        Self { reader: Reader::NEW, reply }
    }

    /// Starts a reply with an outcome and a cooldown; NaN for none.
    pub fn answer(&mut self, outcome: u32, cooldown: f64) {
        let outcome = match outcome {
            0 => Outcome::Ok,
            1 => Outcome::Throttled,
            2 => Outcome::Busy,
            3 => Outcome::Failed,
            5 => Outcome::Exhausted,
            _ => Outcome::Abandoned,
        };
        self.reply = outcome.with(span(cooldown).map_or(Hint::NONE, Hint::retry_after));
    }

    pub fn status(&mut self, status: u32) {
        self.reader.status(u16::try_from(status).unwrap_or(u16::MAX));
    }

    pub fn header(&mut self, name: &[u8], value: &[u8]) {
        Read::header(&mut self.reader, name, value);
    }

    #[cfg(any(feature = "gate", feature = "shared"))]
    /// Reads the next bytes of an error's body.
    pub fn body(&mut self, bytes: &[u8]) {
        self.reader.body(bytes);
    }

    /// Makes the reply of the response, and returns the number of its outcome. `clock` is the time
    /// since 1970, NaN if unknown.
    pub fn read(&mut self, clock: f64) -> u32 {
        self.reply = Read::reply(&mut self.reader, clock);
        match self.reply.outcome {
            Outcome::Ok => 0,
            Outcome::Throttled => 1,
            Outcome::Busy => 2,
            Outcome::Failed => 3,
            Outcome::Abandoned => 4,
            Outcome::Exhausted => 5,
        }
    }

    /// The cooldown that the reply asks for; NaN for none.
    pub fn cooldown(&self) -> f64 {
        let cooldown = self.reply.hints.iter().filter_map(Hint::cooldown).max();
        cooldown.map_or(f64::NAN, millis)
    }
}

/// Whether to read the body of a response with this status and media type.
#[cfg(any(feature = "gate", feature = "shared"))]
pub fn is_worth(status: u32, media: &[u8], may_be_graphql: bool) -> bool {
    use tidegate::signal::body;

    let status = u16::try_from(status).unwrap_or(u16::MAX);
    if may_be_graphql {
        body::is_worth_of_graphql(status, media)
    } else {
        body::is_worth(status, media)
    }
}
