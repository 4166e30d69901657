#![doc = include_str!("../../docs/shared.md")]

mod coordinator;
mod link;
mod member;
mod members;
mod message;
mod ramp;
mod record;
mod slots;
mod source;
mod steady;

pub use coordinator::Coordinator;
pub use member::Member;
pub use message::{GRANT_BYTES, MessageError, REQUEST_BYTES};
pub use source::{Leases, Source};
