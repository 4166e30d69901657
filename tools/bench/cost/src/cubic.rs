//! The adaptive mode of the AWS SDKs in floating point: botocore's `ClientRateLimiter`
//! (`retries/adaptive.py`, `throttling.py`, `bucket.py`) with the clock as an argument.

use std::hint::black_box;

use crate::meter::{meter, run};

const SCALE: f64 = 0.4;
const KEPT: f64 = 0.7;
const SMOOTHING: f64 = 0.8;
const FLOOR: f64 = 0.5;

/// A token bucket, the cubic function that sets its rate, and the measured rate that bounds it.
struct Limiter {
    on: bool,
    fill_rate: f64,
    capacity: f64,
    tokens: f64,
    filled_at: f64,
    plateau: f64,
    k: f64,
    cut_at: f64,
    // The measured rate, smoothed over half seconds.
    measured: f64,
    half_second: f64,
    responses: f64,
}

impl Limiter {
    fn new(now: f64) -> Self {
        Self {
            on: false,
            fill_rate: FLOOR,
            capacity: 1.0,
            tokens: 0.0,
            filled_at: now,
            plateau: 0.0,
            k: 0.0,
            cut_at: now,
            measured: 0.0,
            half_second: (now * 2.0).floor() / 2.0,
            responses: 0.0,
        }
    }

    fn refill(&mut self, now: f64) {
        self.tokens = self.capacity.min(self.tokens + (now - self.filled_at) * self.fill_rate);
        self.filled_at = now;
    }

    /// How long a call has to wait. Zero if it was sent.
    fn acquire(&mut self, now: f64) -> f64 {
        if !self.on {
            return 0.0;
        }
        self.refill(now);
        if self.tokens < 1.0 {
            return (1.0 - self.tokens) / self.fill_rate;
        }
        self.tokens -= 1.0;
        0.0
    }

    /// Records the result of a call.
    fn update(&mut self, now: f64, throttled: bool) {
        self.measure(now);
        let rate = if throttled {
            let in_force = if self.on { self.measured.min(self.fill_rate) } else { self.measured };
            self.on = true;
            self.plateau = in_force;
            self.k = (in_force * (1.0 - KEPT) / SCALE).cbrt();
            self.cut_at = now;
            in_force * KEPT
        } else {
            let since = now - self.cut_at - self.k;
            SCALE * since * since * since + self.plateau
        };
        let rate = rate.min(2.0 * self.measured);
        self.refill(now);
        self.fill_rate = rate.max(FLOOR);
        self.capacity = rate.max(1.0);
        self.tokens = self.tokens.min(self.capacity);
    }

    fn measure(&mut self, now: f64) {
        let half_second = (now * 2.0).floor() / 2.0;
        self.responses += 1.0;
        if half_second > self.half_second {
            let rate = self.responses / (half_second - self.half_second);
            self.measured = rate * SMOOTHING + self.measured * (1.0 - SMOOTHING);
            self.responses = 0.0;
            self.half_second = half_second;
        }
    }
}

/// Ten calls a second, like `adaptive`. Throttled calls are included as they occur.
pub fn pair() {
    const REGAIN: f64 = 0.1;
    const ROUND_TRIP: f64 = 0.02;
    let mut now = 1.0;
    let (mut limiter, mut full) = (black_box(Limiter::new(now)), 0.0_f64);
    run(|on| {
        // Computes the wait without taking a token.
        limiter.refill(now);
        if limiter.on && limiter.tokens < 1.0 {
            now += (1.0 - limiter.tokens) / limiter.fill_rate + 1e-9;
        }
        let throttled = full - now > 3.0 * REGAIN;
        if !throttled {
            full = full.max(now) + REGAIN;
        }
        let then = now + ROUND_TRIP;
        let left = meter(on, || {
            let left = limiter.acquire(now) <= 0.0;
            limiter.update(then, throttled);
            left
        });
        assert!(left, "a call that had waited was delayed again");
        now = then;
    });
}
