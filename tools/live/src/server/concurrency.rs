//! A number of places: as many calls at once as the limit says, and 503 for the next.

use super::limiter::{Count, Standing};
use super::timeline::{Nanos, Timeline};

/// What a busy service does that counts work rather than calls.
#[derive(Debug)]
pub struct Concurrency {
    timeline: Timeline,
    /// What a call is meant to take, until calls have shown what it does take.
    service: Nanos,
    in_flight: u64,
    finished: u64,
    busy: u128,
}

impl Concurrency {
    pub fn new(timeline: Timeline, service: Nanos) -> Self {
        Concurrency { timeline, service, in_flight: 0, finished: 0, busy: 0 }
    }

    /// Whether a call fits at `now`.
    pub fn fits(&self, now: Nanos) -> bool {
        self.in_flight < self.timeline.limit_at(now)
    }

    /// Takes the call that fitted.
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

    /// A served call has been sent after `took`.
    pub fn leave(&mut self, took: Nanos) {
        self.in_flight -= 1;
        self.finished += 1;
        self.busy += u128::from(took);
    }

    /// What the places could have let in by `end`, at the time that a call really took (timers are
    /// late by a little, and that is not the callers' doing): all that could have been finished,
    /// and one more in each place. In a store of work, that is what was in it at first.
    pub fn capacity(&self, end: Nanos) -> f64 {
        let mean = match self.finished {
            0 => u128::from(self.service),
            finished => self.busy / u128::from(finished),
        };
        let mean = mean.max(1);
        // Those who were let in before a step down stay.
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
    fn the_call_past_the_limit_is_throttled_until_another_has_left() {
        let mut places = Concurrency::new(Timeline { limit: 2, step: None, outage: None }, 100);
        assert!(admit(&mut places, 0));
        assert!(admit(&mut places, 0));
        assert!(!admit(&mut places, 0));
        places.leave(50);
        assert!(admit(&mut places, 50));
        assert!(!admit(&mut places, 50));
    }

    #[test]
    fn a_step_down_waits_for_those_inside_and_admits_none_before() {
        let mut places =
            Concurrency::new(Timeline { limit: 2, step: Some((10, 1)), outage: None }, 100);
        assert!(admit(&mut places, 0) && admit(&mut places, 0));
        places.leave(10);
        assert!(!admit(&mut places, 10), "one is inside and one may be");
        places.leave(10);
        assert!(admit(&mut places, 10));
    }

    #[test]
    fn the_capacity_is_places_by_time_over_the_time_a_call_took() {
        let timeline = Timeline { limit: 4, step: None, outage: Some(1_000..2_000) };
        let mut places = Concurrency::new(timeline, 100);
        assert_eq!(places.capacity(3_000), 88.0, "by the plan, as none has finished");
        assert!(admit(&mut places, 0));
        places.leave(200);
        assert_eq!(places.capacity(3_000), 48.0, "by what the calls really took");
    }

    #[test]
    fn as_many_as_fit_are_no_more_than_the_capacity_whatever_happens_meanwhile() {
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
