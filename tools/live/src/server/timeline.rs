//! The limit over time, with an optional step and an optional outage.

use std::ops::Range;
use std::time::Duration;

/// Nanoseconds since the server began to count.
pub type Nanos = u64;

/// A duration in nanoseconds. It saturates.
pub fn nanos(duration: Duration) -> Nanos {
    Nanos::try_from(duration.as_nanos()).unwrap_or(Nanos::MAX)
}

/// The limit over time, exact to the nanosecond.
#[derive(Clone, Debug)]
pub struct Timeline {
    pub limit: u64,
    /// A time from which another limit applies.
    pub step: Option<(Nanos, u64)>,
    /// A time during which no call is served.
    pub outage: Option<Range<Nanos>>,
}

impl Timeline {
    pub fn limit_at(&self, now: Nanos) -> u64 {
        match self.step {
            Some((at, limit)) if now >= at => limit,
            _ => self.limit,
        }
    }

    pub fn is_out(&self, now: Nanos) -> bool {
        self.outage.as_ref().is_some_and(|outage| outage.contains(&now))
    }

    /// The integral of the limit over a span, in limit·nanoseconds. A bucket also refills during an
    /// outage.
    pub fn integral(&self, span: Range<Nanos>) -> u128 {
        let Some((at, after)) = self.step else { return area(self.limit, &span) };
        let at = at.clamp(span.start, span.end.max(span.start));
        area(self.limit, &(span.start..at)) + area(after, &(at..span.end))
    }

    /// The most that can have been taken by `end` from a bucket of `room` that starts full and
    /// refills with the limit: its content, the refill while the API was up, and what refilled
    /// during an outage, once that is over.
    pub fn supply(&self, room: u128, end: Nanos) -> u128 {
        let outage = self.outage_before(end);
        let before = match outage.start {
            0 => 0,
            start => room.saturating_add(self.integral(0..start)),
        };
        if outage.end == end {
            return before;
        }
        let refill = match outage.start {
            0 => room,
            _ => self.integral(outage.clone()).min(room),
        };
        before.saturating_add(refill).saturating_add(self.integral(outage.end..end))
    }

    /// The part of the outage before `end`. Empty if there is none.
    pub fn outage_before(&self, end: Nanos) -> Range<Nanos> {
        match &self.outage {
            Some(outage) if outage.start < end => outage.start..outage.end.min(end),
            _ => end..end,
        }
    }
}

fn area(limit: u64, span: &Range<Nanos>) -> u128 {
    u128::from(limit) * u128::from(span.end.saturating_sub(span.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_and_its_integral_step_at_the_exact_nanosecond() {
        let timeline = Timeline { limit: 3, step: Some((100, 7)), outage: None };
        for (now, limit) in [(0, 3), (99, 3), (100, 7), (u64::MAX, 7)] {
            assert_eq!(timeline.limit_at(now), limit, "at {now}");
        }
        for (span, area) in
            [(0..0, 0), (0..100, 300), (0..101, 307), (99..101, 10), (100..110, 70), (200..210, 70)]
        {
            assert_eq!(timeline.integral(span.clone()), area, "over {span:?}");
        }
        assert_eq!(
            timeline.integral(Range { start: 9, end: 5 }),
            0,
            "a clock that steps back adds nothing"
        );
    }

    #[test]
    fn an_outage_saves_at_most_one_bucket_available_after_its_end() {
        let with = |outage| Timeline { limit: 10, step: None, outage: Some(outage) };
        for (outage, end, supply) in [
            (9_000..9_999, 0, 0),
            (9_000..9_999, 1_000, 4_000 + 10_000),
            (1_000..3_000, 5_000, 4_000 + 30_000 + 4_000),
            (1_000..1_200, 5_000, 4_000 + 48_000 + 2_000),
            (1_000..3_000, 1_000, 4_000 + 10_000),
            (1_000..3_000, 2_999, 4_000 + 10_000),
            (1_000..3_000, 3_000, 4_000 + 10_000),
            (0..3_000, 5_000, 4_000 + 20_000),
            (0..3_000, 2_000, 0),
        ] {
            assert_eq!(with(outage.clone()).supply(4_000, end), supply, "{outage:?} by {end}");
        }
    }

    #[test]
    fn an_outage_includes_its_start_and_excludes_its_end() {
        let timeline = Timeline { limit: 1, step: None, outage: Some(10..20) };
        for (now, out) in [(9, false), (10, true), (19, true), (20, false)] {
            assert_eq!(timeline.is_out(now), out, "at {now}");
        }
        for (end, part) in [(5, 5..5), (10, 10..10), (15, 10..15), (99, 10..20)] {
            assert_eq!(timeline.outage_before(end), part, "before {end}");
        }
    }
}
