//! Gradient2: follows the ratio of the long-term mean round trip to the current one.
//!
//! Source: github.com/Netflix/concurrency-limits at 78a74b9, `Gradient2Limit.java` inside
//! `WindowedLimit.java`, as in the library's documentation and examples, with default settings.
//! Samples are collected for at least a second; samples of less than 100 µs and windows of fewer
//! than 10 are dropped. A window's mean round trip, *short*, updates *long*, which is the plain
//! mean of the first 10 windows and an exponential mean over 600 afterwards. While long > 2 short,
//! long shrinks by 5 % per window. If at least half of the limit was in flight,
//!
//! limit = 0.8 limit + 0.2 (limit * clamp(1.5 long / short, 0.5, 1) + 4), within 20 to 200.
//!
//! Known defects: drops change nothing (concurrency-limits, issue 176), so if a server throttles
//! instead of queueing, the limit rises to 200. It never falls below 20. A persistently slow server
//! becomes the norm (issues 88 and 134, the limit drifts up).

use tidegate::{Instant, Span};

use super::concurrency::{Limit, Sample};
use crate::chance::Chance;

const WINDOW: Span = Span::from_secs(1);
const WINDOW_SAMPLES: u32 = 10;
const SHORTEST_RTT: Span = Span::from_micros(100);
const LONG_WINDOW: f64 = 600.0;
const WARMUP: u32 = 10;
const TOLERANCE: f64 = 1.5;
const SMOOTHING: f64 = 0.2;
const QUEUE: f64 = 4.0;

/// The limit.
pub(super) struct Gradient2 {
    limit: f64,
    long: LongMean,
    window: Window,
}

impl Gradient2 {
    pub fn new() -> Self {
        Self { limit: 20.0, long: LongMean::default(), window: Window::default() }
    }

    /// `Gradient2Limit`, with a round trip in nanoseconds and the calls in flight.
    fn update(&mut self, short: f64, in_flight: u32) {
        let long = self.long.add(short);
        if long / short > 2.0 {
            self.long.mean *= 0.95;
        }
        if f64::from(in_flight) < self.limit / 2.0 {
            return;
        }
        let gradient = (TOLERANCE * long / short).clamp(0.5, 1.0);
        let target = self.limit * gradient + QUEUE;
        let smoothed = self.limit * (1.0 - SMOOTHING) + target * SMOOTHING;
        self.limit = smoothed.clamp(20.0, 200.0);
    }
}

impl Limit for Gradient2 {
    fn sample(&mut self, sample: Sample, _: &mut Chance) {
        if let Some((short, in_flight)) = self.window.add(sample) {
            self.update(short, in_flight);
        }
    }

    fn limit(&self) -> u32 {
        self.limit as u32
    }
}

/// `ExpAvgMeasurement`: a plain mean during warm-up, then an exponential mean.
#[derive(Default)]
struct LongMean {
    mean: f64,
    sum: f64,
    count: u32,
}

impl LongMean {
    fn add(&mut self, sample: f64) -> f64 {
        if self.count < WARMUP {
            self.count += 1;
            self.sum += sample;
            self.mean = self.sum / f64::from(self.count);
        } else {
            let factor = 2.0 / (LONG_WINDOW + 1.0);
            self.mean = self.mean * (1.0 - factor) + sample * factor;
        }
        self.mean
    }
}

/// `WindowedLimit`: the samples of about a second.
#[derive(Default)]
struct Window {
    sum: Span,
    count: u32,
    in_flight: u32,
    ends: Instant,
}

impl Window {
    /// Adds a sample. If the window has ended with enough samples, returns the mean round trip in
    /// whole nanoseconds and the most calls in flight.
    fn add(&mut self, sample: Sample) -> Option<(f64, u32)> {
        if sample.rtt < SHORTEST_RTT {
            return None;
        }
        self.sum = self.sum.saturating_add(sample.rtt);
        self.count += 1;
        self.in_flight = self.in_flight.max(sample.in_flight);
        if sample.at <= self.ends {
            return None;
        }
        let full = std::mem::take(self);
        self.ends = sample.at.saturating_add(WINDOW);
        let mean = full.sum.as_nanos() / u64::from(full.count);
        (full.count >= WINDOW_SAMPLES).then_some((mean as f64, full.in_flight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(measured: f64, expected: f64) -> bool {
        (measured - expected).abs() < 1e-9 * expected
    }

    #[test]
    fn updates_match_values_computed_by_hand() {
        // From 100, with a long mean of 100 to which the sample is added as the second of its
        // warm-up: long = (100 + short) / 2, gradient = clamp(1.5 long / short, 0.5, 1), limit = 80
        // + 0.2 (100 gradient + 4).
        let table = [
            (100.0, 100, 100.8),              // gradient 1
            (200.0, 100, 100.8),              // long 150, gradient 1.125, clamped to 1
            (300.0, 100, 100.8),              // long 200, gradient 1
            (400.0, 100, 99.55),              // long 250, gradient 0.9375: 80 + 0.2 * 97.75
            (900.0, 100, 97.466_666_666_667), // long 500, gradient 0.8333
            (1e9, 100, 95.800_001_5),         // long 500 000 050, gradient 0.750 000 075
            (100.0, 50, 100.8),               // exactly half of the limit in flight
            (100.0, 49, 100.0),               // fewer
        ];
        for (short, in_flight, expected) in table {
            let mut gradient = Gradient2 { limit: 100.0, ..Gradient2::new() };
            gradient.long.add(100.0);
            gradient.update(short, in_flight);
            assert!(near(gradient.limit, expected), "{short}: {}", gradient.limit);
        }
    }

    #[test]
    fn the_gradient_is_at_least_one_half() {
        let mut gradient = Gradient2 { limit: 100.0, ..Gradient2::new() };
        (0..10).for_each(|_| _ = gradient.long.add(100.0));
        gradient.update(1e6, 100);
        // 80 + 0.2 * (50 + 4)
        assert!(near(gradient.limit, 90.8), "{}", gradient.limit);
    }

    #[test]
    fn the_long_mean_is_plain_for_ten_samples_then_exponential() {
        let mut long = LongMean::default();
        let plain: Vec<f64> = (1..=10).map(|i| long.add(f64::from(i))).collect();
        assert_eq!(plain, [1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5]);
        // 5.5 + (606.5 - 5.5) * 2 / 601
        assert!(near(long.add(606.5), 7.5));
    }

    #[test]
    fn a_long_mean_over_twice_the_short_one_shrinks_by_a_twentieth() {
        let mut gradient = Gradient2::new();
        (0..10).for_each(|_| _ = gradient.long.add(1_000.0));
        gradient.update(399.0, 20);
        // (1000 + (399 - 1000) * 2 / 601) * 0.95
        assert!(near(gradient.long.mean, 998.0 * 0.95), "{}", gradient.long.mean);
        gradient.update(900.0, 20);
        assert!(gradient.long.mean > 900.0);
    }

    /// A sample that completed after this many milliseconds.
    fn sample(at_ms: u64, rtt: Span) -> Sample {
        let at = Instant::ZERO.saturating_add(Span::from_millis(at_ms));
        Sample { at, rtt, in_flight: 20, dropped: false }
    }

    #[test]
    fn windows_last_a_second_and_need_ten_samples() {
        let mut window = Window::default();
        let ms = Span::from_millis;
        // The first sample ends the initial window, which is too small.
        assert_eq!(window.add(sample(100, ms(100))), None);
        let inside = (1..=9).map(|i| window.add(sample(100 + i * 100, ms(100 + i))));
        assert!(inside.eq([None; 9]));
        assert_eq!(window.add(sample(1_100, Span::from_micros(99))), None);
        assert_eq!(window.add(sample(1_100, ms(110))), None);
        // 101 .. 109, 110 and 111 ms.
        assert_eq!(window.add(sample(1_101, ms(111))), Some((106e6, 20)));
        assert!((0..8).all(|_| window.add(sample(1_500, ms(100))).is_none()));
        assert_eq!(window.add(sample(3_000, ms(100))), None);
    }

    #[test]
    fn drops_change_nothing() {
        let (mut gradient, mut chance) = (Gradient2::new(), Chance::of(1));
        for at_ms in 0..100_000 {
            let dropped = Sample { dropped: true, ..sample(at_ms, Span::from_millis(100)) };
            gradient.sample(dropped, &mut chance);
        }
        // It grows until 20 in flight are less than half of it.
        assert_eq!(gradient.limit(), 40);
    }

    #[test]
    fn the_limit_stays_within_its_bounds() {
        let mut gradient = Gradient2::new();
        (0..1_000).for_each(|_| gradient.update(100.0, 200));
        assert_eq!(gradient.limit(), 200);
        (0..100).for_each(|_| gradient.update(1e12, 200));
        assert_eq!(gradient.limit(), 20);
    }
}
