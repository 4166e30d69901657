//! The promises of a controller, and of a fleet that shares one, each checked in one place.
//!
//! A `World` is a controller, its client and a clock. Its methods are events. Each checks its
//! effects against the promises, and panics if one is violated. There are three sources of events:
//! every order of a few of them (`exhaustive`), fuzzed or random bytes (`events`), and arbitrary
//! records (`records`). `shared` has a second world: members that lease their calls from a coordinator.

pub mod exhaustive;

mod account;
mod events;
mod hints;
mod input;
mod records;
mod restart;
mod settle;
mod shared;
mod terms;
mod world;

pub use events::{tell_of_events, try_with as events};
pub use input::Input;
pub use records::try_with as records;
pub use shared::{fleet, try_with as shared};
