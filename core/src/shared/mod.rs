#![doc = include_str!("../../docs/shared.md")]

mod coordinator;
mod counted;
mod kept;
mod link;
mod member;
mod members;
mod message;
mod policy;
mod ramp;
mod record;
mod slots;
mod source;
mod standing;
mod steady;
mod storage;

pub use coordinator::Coordinator;
pub use counted::{CountedMember, MemberStats};
pub use member::Member;
pub use message::{GRANT_BYTES, MessageError, REQUEST_BYTES};
pub use policy::policy_digest;
pub use source::{Leases, Source};
pub use standing::{Rank, Standing};
pub use storage::{Inline, Storage};
