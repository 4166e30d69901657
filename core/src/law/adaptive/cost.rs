//! The cost of a call, relative to the usual cost.

use super::log::Log;
use crate::mean_cost::MeanCost;
use crate::snapshot::{Field, Reader, Writer};

/// The cost of a usual call.
///
/// The law counts calls. If a call costs a thousand tokens, the law must not count each token as a
/// call, because it would then have a thousand times too much evidence. So its interval is that of
/// a usual call, and a call with twice the usual cost takes two intervals. The usual cost is a
/// power of two, so that a change of it shifts the interval by whole octaves without loss.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Usual {
    /// log2 of the cost of a usual call, below 28.
    octave: u8,
}

impl Usual {
    /// Learns from a call that is sent, and updates the mean. Returns by how many octaves the usual cost has grown: zero
    /// while the mean is between three quarters of the usual cost and three times the usual cost.
    pub(super) fn see(&mut self, mean: &mut MeanCost, cost: u32) -> i32 {
        if !mean.see(cost) {
            return 0;
        }
        let &mut MeanCost(mean) = mean;
        let usual = 16u32 << self.octave();
        if mean < usual.saturating_mul(3) && mean >= (usual / 4).saturating_mul(3) {
            return 0;
        }
        let before = self.octave;
        let octave = mean.max(16).ilog2().saturating_sub(4);
        self.octave = u8::try_from(octave).unwrap_or(0);
        i32::from(self.octave).saturating_sub(before.into())
    }

    /// The octave, below 28. The mask shows the compiler that shifts by it are in range.
    fn octave(self) -> u32 {
        u32::from(self.octave) & 31
    }

    /// The interval of a call of `cost`, if a usual call takes `interval`.
    pub(super) fn interval_of(self, cost: u32, interval: Log) -> Log {
        match cost >> self.octave() {
            1 if cost.is_power_of_two() => interval,
            _ => self.of_unit(interval + Log::of(cost.into())),
        }
    }

    /// The interval of one unit of cost, if a usual call takes `interval`.
    fn of_unit(self, interval: Log) -> Log {
        interval.octaves(i32::from(self.octave).saturating_neg())
    }

    /// The interval of a usual call, if one unit of cost takes `unit`.
    pub(super) fn of_call(self, unit: Log) -> Log {
        unit.octaves(self.octave.into())
    }

    /// The number of usual calls for this amount of a limit, rounded down.
    pub(super) fn calls_in(self, amount: u64) -> u32 {
        u32::try_from(amount >> self.octave()).unwrap_or(u32::MAX)
    }
}

impl Field for Usual {
    const BYTES: usize = 1;

    fn write(&self, out: &mut Writer<'_>) {
        out.u8(self.octave);
    }

    fn read(input: &mut Reader<'_>) -> Self {
        let usual = Self { octave: input.u8() };
        // The mean is never in a higher octave.
        if usual.octave >= 28 {
            input.reject();
        }
        usual
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{Instant, Span};

    #[test]
    fn the_usual_cost_changes_if_the_mean_leaves_its_range() {
        // A usual cost of 4, and the mean in sixteenths before and after a call of this cost.
        for (before, cost, after, octave) in
            [(51, 0, 48, 2), (50, 0, 47, 1), (190, 13, 191, 2), (191, 13, 192, 3), (64, 4, 64, 2)]
        {
            let (mut usual, mut mean) = (Usual { octave: 2 }, MeanCost(before));
            assert_eq!(usual.see(&mut mean, cost), i32::from(octave) - 2, "{before}");
            assert_eq!((usual, mean), (Usual { octave }, MeanCost(after)));
        }
    }

    #[test]
    fn an_octave_that_no_mean_has_is_rejected_when_it_is_read() {
        for (octave, is_valid) in [(0, true), (27, true), (28, false), (255, false)] {
            let mut record = [0; Usual::BYTES];
            let usual = Usual { octave };
            usual.write(&mut Writer::new(&mut record, Instant::ZERO));
            let mut input = Reader::new(&record, Instant::ZERO, Span::ZERO);
            assert_eq!((Usual::read(&mut input), input.is_whole()), (usual, is_valid));
        }
    }
}
