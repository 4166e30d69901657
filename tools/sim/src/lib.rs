//! A simulator in virtual time: servers with limits, client processes with throttles, and an event
//! queue. A day takes about a second.
//!
//! The same scenario, law and seed give the same trace on every machine, bit for bit: counts are
//! integers, logarithms come from `libm`, and all random numbers from one seed.

// The page's first figure needs a part of it.
#![cfg_attr(not(feature = "full"), allow(dead_code))]

mod agenda;
pub mod breach;
pub mod chance;
pub mod client;
pub mod controllers;
pub mod metric;
pub mod peer;
pub mod place;
mod queued;
#[cfg(feature = "cli")]
pub mod report;
#[cfg(feature = "cli")]
pub mod runner;
pub mod scenario;
pub mod server;
#[cfg(feature = "cli")]
pub mod shared;
pub mod throttle;
pub mod trace;
pub mod world;
#[cfg(feature = "cli")]
pub mod worlds;

/// Whether this build only runs worlds of [`Scenario::plain`], without metrics. Code behind it is not linked.
const PLAIN: bool = !cfg!(feature = "full");

pub use breach::Broken;
pub use scenario::units::Rate;
pub use scenario::{Scenario, ScenarioError};
pub use world::{Run, World};
