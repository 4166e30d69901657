//! Background calls: their times do not depend on the server, and they are never retried.

use serde::{Deserialize, Serialize};
use tidegate::{Instant, Span};

use crate::chance::Chance;
use crate::scenario::units::{Rate, Time};

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Strangers {
    Poisson(Rate),
    /// At random at this rate while on, and not at all while off.
    OnOff {
        rate: Rate,
        /// The length of the on phase, which comes first.
        on: Time,
        off: Time,
    },
    /// Many at once.
    Cron {
        calls: u32,
        /// How often. The first arrive after this time.
        every: Time,
    },
}

impl Strangers {
    pub(super) fn fault(self) -> Option<&'static str> {
        let none = match self {
            Self::Poisson(rate) => rate.is_zero(),
            Self::OnOff { rate, on, .. } => rate.is_zero() || on == Time::default(),
            Self::Cron { calls, every } => calls == 0 || every == Time::default(),
        };
        none.then_some("strangers need a rate above 0; omit them if there are none")
    }

    /// Their mean rate, in calls a second.
    pub fn mean(self) -> f64 {
        match self {
            Self::Poisson(rate) => rate.as_per_second(),
            Self::OnOff { rate, on, off } => {
                rate.as_per_second() * on.seconds() / (on.seconds() + off.seconds())
            }
            Self::Cron { calls, every } => f64::from(calls) / every.seconds(),
        }
    }

    /// The time of the call after call number `count`, which arrived at `last`.
    pub fn next(self, last: Instant, count: u64, chance: &mut Chance) -> Instant {
        match self {
            Self::Poisson(rate) => last + chance.exponential(rate.interval()),
            Self::OnOff { rate, on, off } => {
                let (on, off) = (on.span().as_nanos(), off.span().as_nanos());
                let (cycles, within) = (last.as_nanos() / (on + off), last.as_nanos() % (on + off));
                // The off phases are left out.
                let gap = chance.exponential(rate.interval()).as_nanos();
                let active = (cycles * on + within.min(on)).saturating_add(gap);
                let off = Span::from_nanos(active / on) * off;
                Instant::from_nanos(active) + off
            }
            Self::Cron { calls, every } => {
                let rounds = count / u64::from(calls) + 1;
                Instant::ZERO + every.span() * rounds
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::Stream;

    #[test]
    fn strangers_arrive_at_their_times_at_their_mean_rate() {
        let time = |seconds| Span::from_secs(seconds).into();
        let rate: Rate = "40/s".parse().unwrap();
        for (strangers, mean) in [
            (Strangers::Poisson(rate), 40.0),
            (Strangers::OnOff { rate, on: time(3), off: time(7) }, 12.0),
            (Strangers::Cron { calls: 30, every: time(10) }, 3.0),
        ] {
            let (mut chance, mut at) = (Chance::new(1, Stream::Strangers), Instant::ZERO);
            let mut arrivals = Vec::new();
            while at < Instant::from_nanos(10_000_000_000_000) {
                at = strangers.next(at, arrivals.len() as u64, &mut chance);
                arrivals.push(at.as_nanos());
            }
            assert_eq!(strangers.mean(), mean);
            // Four standard deviations of a Poisson count.
            let expected = mean * 10_000.0;
            let off = (arrivals.len() as f64 - expected).abs();
            assert!(off <= 4.0 * expected.sqrt(), "{strangers:?}: {}", arrivals.len());
            // The latest arrival within a cycle.
            let latest = arrivals.iter().map(|at| at % 10_000_000_000).max().unwrap();
            match strangers {
                Strangers::Poisson(_) => assert!(latest > 9_000_000_000),
                Strangers::OnOff { .. } => assert!(latest < 3_000_000_000),
                Strangers::Cron { .. } => assert_eq!(latest, 0),
            }
        }
    }
}
