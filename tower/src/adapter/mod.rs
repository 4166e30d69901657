//! Requests, responses and errors of other crates' clients.

#[cfg(feature = "reqwest-middleware")]
mod middleware;
#[cfg(feature = "reqwest")]
pub(crate) mod reqwest;
#[cfg(feature = "tonic")]
pub(crate) mod tonic;
