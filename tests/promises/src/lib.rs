//! What a controller promises, each promise once, for whatever lets events happen to it.
//!
//! A `World` is a controller, its client and a clock. Its methods are events, and each holds what happened
//! against the promises; it panics where one is broken. Three drivers supply the events: every order of a
//! few of them (`exhaustive`), bytes that a search has found or that are drawn at random (`events`), and
//! records that are anybody's (`records`).

pub mod exhaustive;

mod account;
mod bounds;
mod events;
mod hints;
mod input;
mod records;
mod restart;
mod settle;
mod terms;
mod world;

pub use events::{tell_of_events, try_with as events};
pub use input::Input;
pub use records::try_with as records;
