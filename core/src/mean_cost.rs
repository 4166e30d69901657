//! What a call costs on average.

use crate::snapshot::{Field, Reader, Writer};

/// The mean cost of about sixteen calls, with 4 bits of fraction; zero before the first.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct MeanCost(pub(crate) u32);

impl MeanCost {
    pub(crate) const UNKNOWN: Self = Self(0);

    /// Learns from a call. Returns whether its cost differed from the mean.
    pub(crate) fn see(&mut self, cost: u32) -> bool {
        let latest = cost.min(u32::MAX >> 4) << 4;
        let before = self.0;
        let change = latest.abs_diff(before) / 16;
        self.0 = match before {
            0 => latest,
            mean if latest > mean => mean.saturating_add(change),
            mean => mean.saturating_sub(change),
        };
        latest != before
    }

    /// The mean as a whole number.
    pub(crate) const fn whole(self) -> u32 {
        self.0.saturating_add(8) >> 4
    }
}

impl Field for MeanCost {
    const BYTES: usize = 4;

    fn write(&self, out: &mut Writer<'_>) {
        out.u32(self.0);
    }

    fn read(input: &mut Reader<'_>) -> Self {
        Self(input.u32())
    }
}
