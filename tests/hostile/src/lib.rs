//! A hostile server on loopback, and tests of tower's layers against it.
//!
//! tidegate's promises against such a server: no response stops a client for good or makes it spin,
//! every call ends, and memory stays bounded.

pub mod corpus;

#[cfg(test)]
mod layers;
#[cfg(test)]
mod life;
mod mood;
mod server;

pub use mood::{MOODS, Mood};
pub use server::Server;
