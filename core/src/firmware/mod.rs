//! What firmware needs beside a controller: a table of keys without allocation, the backoff of a connection, sleeps
//! that the clock does not measure, and brokers that end connections in place of an answer.

#[cfg(feature = "keyed")]
mod keyed;
mod session;
mod silent_limit;
mod sleep;

#[cfg(feature = "keyed")]
pub use keyed::Keyed;
pub use session::Session;
pub use silent_limit::SilentLimit;
pub use sleep::SleepClock;
