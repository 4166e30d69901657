//! What clients of others bring: their requests, responses and errors.

#[cfg(feature = "reqwest-middleware")]
mod middleware;
#[cfg(feature = "reqwest")]
pub(crate) mod reqwest;
#[cfg(feature = "tonic")]
pub(crate) mod tonic;
