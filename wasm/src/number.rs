//! Conversion between JavaScript's milliseconds and core's types.

use tidegate::{Instant, Quota, Retry, Span};

/// The end of core's clock, 584 years, in milliseconds.
const END: f64 = 1.8e13;

/// Converts milliseconds to nanoseconds; `None` if not between 0 and the end of the clock.
///
/// Rounds to the nearest nanosecond, so that converting an integer below 2^51 with [`millis`] and
/// back does not change it.
fn nanos(ms: f64) -> Option<u64> {
    // NaN is in no range.
    (0.0..=END).contains(&ms).then_some((ms * 1e6 + 0.5) as u64)
}

/// JavaScript's clock. An invalid reading repeats the previous one.
///
/// Otherwise, NaN or a negative, infinite or far too large reading would move a controller to the
/// end of time permanently.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock(Instant);

impl Clock {
    /// A clock before its first reading.
    pub const NEW: Self = Self(Instant::ZERO);

    pub fn read(&mut self, ms: f64) -> Instant {
        if let Some(nanos) = nanos(ms) {
            self.0 = Instant::from_nanos(nanos);
        }
        self.0
    }
}

/// Converts to a span: `None` for NaN, zero if negative, and limited to the end of time.
pub fn span(ms: f64) -> Option<Span> {
    if ms.is_nan() {
        return None;
    }
    let rest = if ms < 0.0 { Span::ZERO } else { Span::MAX };
    Some(nanos(ms).map_or(rest, Span::from_nanos))
}

#[cfg(any(test, feature = "lite", feature = "shared"))]
/// Converts to a deadline: none for NaN or after the end of time. A negative one is in the past.
pub fn deadline(ms: f64) -> Instant {
    span(ms).map_or(Instant::MAX, |span| Instant::ZERO + span)
}

/// After which outcomes a call is tried again, in TypeScript's order.
#[cfg(any(test, feature = "lite", feature = "shared"))]
pub const fn retry(level: u32) -> Retry {
    match level {
        0 => Retry::Failed,
        1 => Retry::Rejected,
        2 => Retry::Invited,
        3 => Retry::Throttled,
        _ => Retry::Never,
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact below 2^53 ns, which is 104 days")]
pub fn millis(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e6
}

/// Converts to a count: 0 for NaN or a negative number, saturating.
pub fn count(number: f64) -> u32 {
    number as u32
}

/// Counters as JavaScript reads them. Those that are not given are 0.
#[cfg(any(feature = "gate", feature = "shared"))]
pub fn counters<const N: usize>(counts: &[u32]) -> [f64; N] {
    let mut told = [0.0; N];
    for (told, count) in told.iter_mut().zip(counts) {
        *told = f64::from(*count);
    }
    told
}

/// Converts to a quota, whose burst is 1 if it is NaN, and which is strict if it is negative; `None` if it is invalid.
pub fn quota(calls: f64, period: f64, burst: f64) -> Option<Quota> {
    let period = span(period)?;
    if burst < 0.0 {
        return Quota::strict(calls as u64, period, count(-burst)).ok();
    }
    let quota = Quota::per(calls as u64, period).ok()?;
    if burst.is_nan() { Some(quota) } else { quota.with_burst(count(burst)).ok() }
}

#[cfg(any(feature = "lite", feature = "shared"))]
pub fn whole([high, low]: [u32; 2]) -> u64 {
    (u64::from(high) << 32) | u64::from(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_reading_repeats_the_previous_one() {
        let mut clock = Clock::NEW;
        assert_eq!(clock.read(f64::NAN), Instant::ZERO);
        assert_eq!(clock.read(1.5), Instant::from_nanos(1_500_000));
        let past_2_53 = 9_007_199_254_740_994.0;
        for none in [f64::NAN, -1.0, f64::INFINITY, f64::NEG_INFINITY, past_2_53, 1.9e13] {
            assert_eq!(clock.read(none), Instant::from_nanos(1_500_000), "{none}");
        }
        assert_eq!(clock.read(-0.0), Instant::ZERO, "a clock may step back");
    }

    #[test]
    fn an_invalid_length_is_none_and_an_infinite_one_is_the_longest() {
        assert_eq!(span(f64::NAN), None);
        assert_eq!(span(-3.0), Some(Span::ZERO));
        assert_eq!(span(f64::INFINITY), Some(Span::MAX));
        assert_eq!(span(0.25), Some(Span::from_nanos(250_000)));
        assert_eq!(deadline(f64::NAN), Instant::MAX);
        assert_eq!(deadline(f64::INFINITY), Instant::MAX);
        assert_eq!(deadline(-1.0), Instant::ZERO);
    }

    #[test]
    fn a_nanosecond_survives_the_conversion_to_milliseconds_and_back() {
        for nanos in (0..51).map(|bit| (1_u64 << bit) - 1).chain([3, 999_999, 1_000_001]) {
            let span = Span::from_nanos(nanos);
            assert_eq!(super::span(millis(span)), Some(span), "{nanos}");
        }
    }

    #[test]
    fn a_count_saturates() {
        let counts = [f64::NAN, -1.0, 2.9, 4e9, 5e9, f64::INFINITY].map(count);
        assert_eq!(counts, [0, 0, 2, 4_000_000_000, u32::MAX, u32::MAX]);
    }
}
