//! Parsers: from a server's response to an [`Outcome`](crate::Outcome) and a [`Hint`](crate::Hint).
//!
//! All frontends share these parsers, so a browser and a microcontroller read the same bytes in the
//! same way. They do not allocate or panic, and take time proportional to the length of the input.
//!
//! Servers are untrusted. Garbage is ignored (and counted by [`http`]), numbers saturate, and no hint stops a client
//! forever: [`gate::CooldownPolicy`](crate::gate::CooldownPolicy) limits cooldowns to its ceiling.

pub mod aws;
pub mod body;
pub mod coap;
pub mod grpc;
pub mod http;
pub mod mqtt;

mod text;
mod word;
