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
