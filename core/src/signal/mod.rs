//! What servers say, read from the wire into an [`Outcome`](crate::Outcome) and a
//! [`Hint`](crate::Hint).
//!
//! Parsing belongs here and not in a frontend, so that a browser and a microcontroller read the
//! same bytes the same way. Nothing is allocated, and garbage is `None`.

pub mod http;
