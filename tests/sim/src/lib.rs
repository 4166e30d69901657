//! A world in virtual time: servers with limits, client processes with throttles, and an event
//! queue that is the clock. A day takes about a second.
//!
//! The same scenario, law and seed give the same trace on every machine, bit for bit: integers
//! count, `libm` serves what needs a logarithm, and every draw comes from one seed.

pub mod peer;
pub mod throttle;
