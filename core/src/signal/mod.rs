//! What servers say, read from the wire into an [`Outcome`](crate::Outcome) and a
//! [`Hint`](crate::Hint).
//!
//! Parsing belongs here and not in a frontend, so that a browser and a microcontroller read the
//! same bytes the same way. Nothing is allocated, nothing panics, and what is read costs time in
//! proportion to its length.
//!
//! Servers are untrusted. Garbage is ignored (and counted by [`http`]), numbers saturate, and
//! nothing in a hint stops a client for good: how long a cooldown may be is for
//! [`gate::CooldownPolicy`](crate::gate::CooldownPolicy) to say, which cuts it to its ceiling.

pub mod aws;
pub mod body;
pub mod coap;
pub mod grpc;
pub mod http;
pub mod mqtt;

mod text;
mod word;
