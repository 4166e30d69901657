//! A concurrency limit. Calls beyond it receive 503.

use super::limiter::{Count, Standing};
use super::timeline::{Nanos, Timeline};

/// Limits calls in flight, like a busy service.
#[derive(Debug)]
pub struct Concurrency {
    timeline: Timeline,
    /// The configured time of a call, until the first call has finished.
    service: Nanos,
    in_flight: u64,
    finished: u64,
    busy: u128,
}

impl Concurrency {
    pub fn new(timeline: Timeline, service: Nanos) -> Self {
        Concurrency { timeline, service, in_flight: 0, finished: 0, busy: 0 }
    }

    pub fn fits(&self, now: Nanos) -> bool {
        self.in_flight < self.timeline.limit_at(now)
    }

    /// Admits a call that fits.
    pub fn take(&mut self) {
        self.in_flight += 1;
    }

    pub fn standing(&self, now: Nanos) -> Standing {
        let limit = self.timeline.limit_at(now);
        let remaining = limit.saturating_sub(self.in_flight);
        Standing {
            count: Count::Places,
            quota: limit,
            period: self.service,
            limit,
            remaining,
            reset: self.service,
            retry: if remaining > 0 { 0 } else { self.service },
        }
    }

    /// Ends a served call that took `took`.
    pub fn leave(&mut self, took: Nanos) {
        self.in_flight -= 1;
        self.finished += 1;
        self.busy += u128::from(took);
    }

    /// The most calls that could have been admitted by `end`, at the mean time that calls took
    /// (timers are late, which is not the callers' fault): all that could have finished, plus one
    /// per place. As a store of work, this is its initial content.
    pub fn capacity(&self, end: Nanos) -> f64 {
        let mean = match self.finished {
            0 => u128::from(self.service),
            finished => self.busy / u128::from(finished),
        };
        let mean = mean.max(1);
        // Calls that were admitted before a step down may finish.
        let places = self.timeline.limit.max(self.timeline.limit_at(end));
        self.timeline.supply(u128::from(places) * mean, end) as f64 / mean as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(places: &mut Concurrency, now: Nanos) -> bool {
        let fits = places.fits(now);
        if fits {
            places.take();
        }
        fits
    }

    #[test]
    fn a_call_beyond_the_limit_is_throttled_until_another_ends() {
        let mut places = Concurrency::new(Timeline { limit: 2, step: None, outage: None }, 100);
        assert!(admit(&mut places, 0));
        assert!(admit(&mut places, 0));
        assert!(!admit(&mut places, 0));
        places.leave(50);
        assert!(admit(&mut places, 50));
        assert!(!admit(&mut places, 50));
    }

    #[test]
    fn after_a_step_down_no_call_is_admitted_until_enough_have_ended() {
        let mut places =
            Concurrency::new(Timeline { limit: 2, step: Some((10, 1)), outage: None }, 100);
        assert!(admit(&mut places, 0) && admit(&mut places, 0));
        places.leave(10);
        assert!(!admit(&mut places, 10), "one is in flight and the limit is one");
        places.leave(10);
        assert!(admit(&mut places, 10));
    }

    #[test]
    fn the_capacity_is_the_limit_times_the_run_divided_by_the_time_of_a_call() {
        let timeline = Timeline { limit: 4, step: None, outage: Some(1_000..2_000) };
        let mut places = Concurrency::new(timeline, 100);
        assert_eq!(
            places.capacity(3_000),
            88.0,
            "from the configured time, as no call has finished"
        );
        assert!(admit(&mut places, 0));
        places.leave(200);
        assert_eq!(places.capacity(3_000), 48.0, "from the measured time");
    }

    #[test]
    fn no_schedule_serves_more_than_the_capacity() {
        let (down, up) = (Some((1_500, 1)), Some((1_500, 6)));
        for (step, outage) in [
            (None, Some(10..1_990)),
            (None, Some(0..950)),
            (down, None),
            (up, None),
            (up, Some(1_400..1_600)),
        ] {
            let timeline = Timeline { limit: 4, step, outage };
            let mut places = Concurrency::new(timeline.clone(), 1_000);
            let (mut inside, mut served) = (Vec::new(), 0);
            for now in 0..2_000 {
                let left = |since: &mut Nanos| now - *since == 1_000;
                inside.extract_if(.., left).for_each(|_| places.leave(1_000));
                while !timeline.is_out(now) && admit(&mut places, now) {
                    inside.push(now);
                    served += 1;
                }
            }
            let capacity = places.capacity(2_000);
            assert!(f64::from(served) <= capacity, "{served} of {capacity} with {timeline:?}");
        }
    }
}
