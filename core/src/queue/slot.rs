//! Room for one call.

use super::{Place, Ticket};
use crate::verdict::{Call, Reason};

/// No slot.
pub(super) const NONE: u32 = u32::MAX;

/// Room for one call, until it is taken or cancelled.
#[derive(Debug)]
pub(super) enum Slot<const LIMITS: usize, P, C> {
    /// No call.
    Free {
        /// The next free slot.
        next: u32,
    },
    /// The call waits for its turn.
    Waiting { call: Call<LIMITS, C>, place: Place },
    /// The call is decided, and its waiter has not taken the decision yet.
    Decided { arrival: u32, decision: Result<P, Reason> },
}

impl<const LIMITS: usize, P, C> Slot<LIMITS, P, C> {
    /// Whether it contains the call of this ticket.
    pub(super) const fn is_of(&self, ticket: Ticket) -> bool {
        ticket.arrival
            == match self {
                Self::Free { .. } => return false,
                Self::Waiting { place, .. } => place.arrival(),
                Self::Decided { arrival, .. } => *arrival,
            }
    }

    /// The call and its place, if it waits for its turn.
    pub(super) const fn waiting(&self) -> Option<(&Call<LIMITS, C>, Place)> {
        match self {
            Self::Waiting { call, place } => Some((call, *place)),
            _ => None,
        }
    }
}
