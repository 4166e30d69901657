//! `fixed`: a hard-coded rate, or none.

use super::Record;
use crate::gate::Pacing;
use crate::law::{Law, Move, Pace, Sample};
use crate::rate::Quota;
use crate::rng::Rng;
use crate::snapshot::{Reader, Writer};
use crate::time::Instant;

/// A constant rate. Correct only as long as the server's limit and its other users do not change.
///
/// ```
/// use tidegate::{Controller, Instant, Policy, Quota, law::Fixed};
///
/// let law = Fixed::new(Quota::per_hour(4_500).unwrap());
/// let gate: Controller<Fixed> = Controller::new(Policy::new(law), 1, Instant::ZERO);
/// # let _ = gate;
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Fixed {
    quota: Option<Quota>,
}

impl Fixed {
    /// No rate: calls are sent at once.
    pub const UNLIMITED: Self = Self { quota: None };

    /// Ten calls a second, one at a time.
    pub const TEN_A_SECOND: Self = Self {
        quota: match Quota::per_second(10) {
            Ok(quota) => Some(quota),
            Err(_) => None,
        },
    };

    /// Calls are sent at `quota`.
    #[must_use]
    pub const fn new(quota: Quota) -> Self {
        Self { quota: Some(quota) }
    }
}

impl Law for Fixed {
    type State = ();

    fn start(&self, _: Instant) {}

    #[inline(always)]
    fn pace(&self, (): &(), _: Instant, _: u16, _: bool) -> Pace {
        Pace { quota: self.quota, ..Pace::UNLIMITED }
    }

    fn observe(&self, (): &mut (), _: &mut Pacing, _: &Sample<'_>, _: &mut Rng) -> Move {
        Move::Kept
    }
}

impl Record for Fixed {
    const BYTES: usize = 0;

    fn write(&self, (): &(), _: &mut Writer<'_>) {}

    fn read(&self, _: &mut Reader<'_>) -> Option<()> {
        Some(())
    }
}
