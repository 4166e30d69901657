//! A bucket whose rate follows the load, as in cloud table stores: unused calls become credit for a
//! burst, and when the load stays near the rate for a whole period, the rate changes.

use serde::{Deserialize, Serialize};
use tidegate::{Instant, Outcome};

use super::bucket::Bucket;
use super::schedule::Schedule;
use super::{Limit, Ruling, Standing};
use crate::chance::Chance;
use crate::scenario::units::{Rate, Time};

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AutoscalingSpec {
    /// The initial and lowest rate.
    pub least: Rate,
    pub most: Rate,
    /// The share of its rate that should be used.
    pub target: f64,
    /// How often it measures its load and sets its rate to `load / target`.
    pub period: Time,
    /// For how long it accumulates unused calls, at its lowest rate. It starts with all of it.
    pub credit: Time,
}

impl AutoscalingSpec {
    pub(super) fn fault(&self) -> Option<&'static str> {
        if self.least.is_zero() || self.most < self.least {
            return Some(
                "an autoscaling server needs `least` above 0, and `most` of at least `least`",
            );
        }
        if !(0.01..=1.0).contains(&self.target) {
            return Some("an autoscaling server's target must be between 0.01 and 1");
        }
        if self.period == Time::default() || self.burst() < 1.0 {
            return Some("an autoscaling server needs a period, and credit for at least 1 call");
        }
        (self.burst() > f64::from(u32::MAX))
            .then_some("an autoscaling server can have credit for at most 4294967295 calls")
    }

    fn burst(&self) -> f64 {
        self.least.as_per_second() * self.credit.seconds()
    }
}

#[derive(Clone, Debug)]
pub struct Autoscaling {
    bucket: Bucket,
    spec: AutoscalingSpec,
    next_look: Instant,
    /// Calls served since the last measurement.
    served: u32,
    rate: Rate,
}

impl Autoscaling {
    pub fn new(spec: &AutoscalingSpec) -> Self {
        let burst = spec.burst() as u32;
        Self {
            bucket: Bucket::of(burst, burst, Schedule::new(spec.least, &[])),
            spec: spec.clone(),
            next_look: spec.period.instant(),
            served: 0,
            rate: spec.least,
        }
    }

    fn bucket(&self, now: Instant) -> Bucket {
        let mut then = self.clone();
        then.look(now);
        then.bucket
    }

    fn look(&mut self, now: Instant) {
        while now >= self.next_look {
            let load = f64::from(self.served) / self.spec.period.seconds();
            let wanted = Rate::per_second(load / self.spec.target);
            let rate = wanted.clamp(self.spec.least, self.spec.most);
            if rate != self.rate {
                self.rate = rate;
                self.bucket.set_rate(self.next_look, rate);
            }
            self.served = 0;
            self.next_look += self.spec.period.span();
        }
    }
}

impl Limit for Autoscaling {
    fn arrive(&mut self, now: Instant, chance: &mut Chance) -> Ruling {
        self.look(now);
        let ruling = self.bucket.arrive(now, chance);
        self.served = self.served.saturating_add(u32::from(ruling.outcome == Outcome::Ok));
        ruling
    }

    fn standing(&self, now: Instant) -> Standing {
        self.bucket(now).standing(now)
    }

    fn level(&self, now: Instant) -> f64 {
        self.bucket(now).level(now)
    }

    fn capacity(&self, from: Instant, to: Instant) -> f64 {
        self.bucket.capacity(from, to)
    }

    fn start(&self) -> f64 {
        self.bucket.start()
    }

    fn burst(&self) -> f64 {
        self.bucket.burst()
    }

    fn rate(&self) -> Vec<(Instant, f64)> {
        self.bucket.rate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::Stream;
    use tidegate::Span;

    #[test]
    fn the_rate_follows_the_load_within_its_bounds() {
        let spec = AutoscalingSpec {
            least: "10/s".parse().unwrap(),
            most: "25/s".parse().unwrap(),
            target: 0.5,
            period: Span::from_secs(60).into(),
            credit: Span::from_secs(30).into(),
        };
        assert_eq!(spec.fault(), None);
        let mut server = Autoscaling::new(&spec);
        let mut chance = Chance::new(1, Stream::Server);
        let at = |millis| Instant::ZERO + Span::from_millis(millis);
        // 10 calls a second in the first minute, one in the second, none in the third.
        for call in 0..600 {
            assert_eq!(server.arrive(at(100 * call), &mut chance).outcome, Outcome::Ok);
        }
        for call in 60..120 {
            assert_eq!(server.arrive(at(1_000 * call), &mut chance).outcome, Outcome::Ok);
        }
        server.arrive(at(180_000), &mut chance);
        assert_eq!(server.rate(), [(at(0), 10.0), (at(60_000), 20.0), (at(120_000), 10.0)]);
        assert_eq!((server.start(), server.burst()), (300.0, 300.0));
    }
}
