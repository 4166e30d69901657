//! A number of places: as many calls at once as the limit says, and 503 for the next.

use super::limiter::{Answer, Standing};
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

    pub fn admit(&mut self, now: Nanos) -> Answer {
        let limit = self.timeline.limit_at(now);
        let served = self.in_flight < limit;
        if served {
            self.in_flight += 1;
        }
        Answer {
            served,
            standing: Standing {
                limit,
                remaining: limit.saturating_sub(self.in_flight),
                reset: self.service,
                retry: if served { 0 } else { self.service },
            },
        }
    }

    /// A served call has left after `took`.
    pub fn leave(&mut self, took: Nanos) {
        self.in_flight -= 1;
        self.finished += 1;
        self.busy += u128::from(took);
    }

    /// What the places could have let in by `end`, outages left out, at the time that a call really
    /// took (timers are late by a little, and that is not the callers' doing): all that could have
    /// been finished, and one more in each place.
    pub fn capacity(&self, end: Nanos) -> f64 {
        let outage = self.timeline.outage_before(end);
        let places =
            self.timeline.integral(0..outage.start) + self.timeline.integral(outage.end..end);
        let mean = match self.finished {
            0 => self.service as f64,
            finished => self.busy as f64 / finished as f64,
        };
        places as f64 / mean.max(1.0) + self.timeline.limit_at(end) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_past_the_limit_is_refused_until_another_has_left() {
        let mut places = Concurrency::new(Timeline { limit: 2, step: None, outage: None }, 100);
        assert!(places.admit(0).served);
        assert!(places.admit(0).served);
        assert!(!places.admit(0).served);
        places.leave(50);
        assert!(places.admit(50).served);
        assert!(!places.admit(50).served);
    }

    #[test]
    fn a_step_down_waits_for_those_inside_and_admits_none_before() {
        let mut places =
            Concurrency::new(Timeline { limit: 2, step: Some((10, 1)), outage: None }, 100);
        assert!(places.admit(0).served && places.admit(0).served);
        places.leave(10);
        assert!(!places.admit(10).served, "one is inside and one may be");
        places.leave(10);
        assert!(places.admit(10).served);
    }

    #[test]
    fn the_capacity_is_places_by_time_over_the_time_a_call_took() {
        let timeline = Timeline { limit: 4, step: None, outage: Some(1_000..2_000) };
        let mut places = Concurrency::new(timeline, 100);
        assert_eq!(places.capacity(3_000), 84.0, "by the plan, as none has finished");
        assert!(places.admit(0).served);
        places.leave(200);
        assert_eq!(places.capacity(3_000), 44.0, "by what the calls really took");
    }
}
