//! The server's supply over time, as the oracle knows it.

use tidegate::{Instant, Span};

use crate::server::{latest, seconds};
use crate::throttle::Outlook;

/// Calls a second in steps: the server's rate minus the mean rate of strangers.
pub(super) struct Supply(Vec<(Instant, f64)>);

impl Supply {
    pub fn new(outlook: &Outlook) -> Self {
        let strangers = || outlook.members.iter().filter(|member| member.stranger.is_some());
        let steps = outlook.rate.iter().map(|(from, _)| *from);
        let comings = strangers().flat_map(|member| [member.from, member.to]);
        let mut changes: Vec<Instant> = steps.chain(comings).collect();
        changes.sort_unstable();
        changes.dedup();
        let net = |at: Instant| {
            let present = strangers().filter(|member| member.from <= at && at < member.to);
            let theirs: f64 = present.filter_map(|member| member.stranger).sum();
            (at, (latest(&outlook.rate, at) - theirs - outlook.strangers).max(0.0))
        };
        Self(changes.into_iter().map(net).collect())
    }

    pub fn at(&self, at: Instant) -> f64 {
        latest(&self.0, at)
    }

    /// The supply between two instants.
    pub fn between(&self, mut from: Instant, to: Instant) -> f64 {
        let mut sum = 0.0;
        while from < to {
            let until = self.change(from).min(to);
            sum += self.at(from) * seconds(from, until);
            from = until;
        }
        sum
    }

    /// When `missing` calls have refilled since `from`. [`Instant::MAX`] means never.
    pub fn arrival(&self, mut from: Instant, mut missing: f64) -> Instant {
        while missing > 0.0 && from < Instant::MAX {
            let (rate, until) = (self.at(from), self.change(from));
            let nanos = libm::ceil(missing / rate * 1e9) as u64;
            let done = from + Span::from_nanos(nanos);
            if done <= until {
                return done;
            }
            missing -= rate * seconds(from, until);
            from = until;
        }
        from
    }

    /// The next instant after `at` at which the rate changes. [`Instant::MAX`] means never.
    fn change(&self, at: Instant) -> Instant {
        let next = self.0.partition_point(|(from, _)| *from <= at);
        self.0.get(next).map_or(Instant::MAX, |(from, _)| *from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::tests::{at, outlook};
    use crate::throttle::Member;

    fn stranger(from: f64, to: f64, rate: f64) -> Member {
        Member { from: at(from), to: at(to), stranger: Some(rate) }
    }

    /// 11/s, zero from 20 s to 30 s, then 5/s. Strangers take 1/s all the time, 3/s more from 10 s
    /// to 40 s and another 2/s from 35 s on.
    fn supply() -> Supply {
        Supply::new(&Outlook {
            rate: vec![(at(0.0), 11.0), (at(20.0), 0.0), (at(30.0), 5.0)],
            strangers: 1.0,
            members: vec![stranger(10.0, 40.0, 3.0), stranger(35.0, 1e6, 2.0)],
            ..outlook()
        })
    }

    #[test]
    fn the_rate_excludes_strangers_and_is_never_negative() {
        let table = [
            (0.0, 10.0),
            (9.9, 10.0),
            (10.0, 7.0),
            (20.0, 0.0),
            (30.0, 1.0),
            (35.0, 0.0),
            (40.0, 2.0),
            (1e5, 2.0),
        ];
        for (seconds, rate) in table {
            assert_eq!(supply().at(at(seconds)), rate, "at {seconds} s");
        }
    }

    #[test]
    fn the_supply_and_its_inverse_match_sums_by_hand() {
        // 100 until 10 s, 70 more until 20 s, 5 more from 30 s to 35 s, 2 a second from 40 s on.
        let table = [(10.0, 100.0), (20.0, 170.0), (31.0, 171.0), (35.0, 175.0), (50.0, 195.0)];
        for (seconds, calls) in table {
            assert!((supply().between(at(0.0), at(seconds)) - calls).abs() < 1e-9, "{seconds} s");
            let arrival = supply().arrival(at(0.0), calls);
            assert!(arrival - at(seconds) <= Span::from_nanos(10), "{arrival:?}");
            assert!(at(seconds) - arrival <= Span::from_nanos(10), "{arrival:?}");
        }
        assert_eq!(supply().arrival(at(5.0), 0.0), at(5.0));
    }

    #[test]
    fn a_supply_that_never_arrives_has_no_arrival_time() {
        let supply = Supply::new(&Outlook { rate: vec![(at(0.0), 0.0)], ..outlook() });
        assert_eq!(supply.arrival(at(3.0), 1.0), Instant::MAX);
    }
}
