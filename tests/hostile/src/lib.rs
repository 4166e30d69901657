//! A server on loopback that does what no server should, and what is left of a client after it.
//!
//! What tidegate promises against it: nothing that a server says stops a client for good or makes it
//! spin, every call ends, and memory stays bounded.

pub mod corpus;
pub mod ordeal;

mod life;
mod mood;
mod server;

pub use mood::{MOODS, Mood};
pub use server::Server;
