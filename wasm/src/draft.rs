//! Builds a reply from JavaScript's arguments or from a response.

use tidegate::signal::body::{self, Body};
use tidegate::signal::http::Reading;
use tidegate::{Hint, Outcome, Reply};

use crate::number::{millis, span};

/// See the module's documentation.
pub struct Draft<const LIMITS: usize> {
    reading: Reading,
    /// The result of reading the body, if it was read.
    body: Option<Body>,
    /// The current reply.
    pub reply: Reply<LIMITS>,
}

impl<const LIMITS: usize> Draft<LIMITS> {
    /// Creates the reply of a served call without hints.
    pub const fn new() -> Self {
        let reply = Reply::about(Outcome::Ok, [Hint::NONE; LIMITS]);
        Self { reading: Reading::new(0), body: None, reply }
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

    /// Starts reading a response.
    pub fn status(&mut self, status: u32) {
        self.reading = Reading::new(u16::try_from(status).unwrap_or(u16::MAX));
        self.body = None;
    }

    /// Reads a header.
    pub fn header(&mut self, name: &[u8], value: &[u8]) {
        self.reading.header(name, value);
    }

    /// Reads the next bytes of an error's body.
    pub fn body(&mut self, bytes: &[u8]) {
        self.body.get_or_insert_with(Body::new).feed(bytes);
    }

    /// Makes the reply of the response, and returns the number of its outcome. `clock` is the time
    /// since 1970, NaN if unknown.
    pub fn read(&mut self, clock: f64) -> u32 {
        if let Some(body) = &self.body {
            self.reading.body(body);
        }
        self.reply = self.reading.finish(span(clock)).into();
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
pub fn is_worth(status: u32, media: &[u8], may_be_graphql: bool) -> bool {
    let status = u16::try_from(status).unwrap_or(u16::MAX);
    if may_be_graphql {
        body::is_worth_of_graphql(status, media)
    } else {
        body::is_worth(status, media)
    }
}
