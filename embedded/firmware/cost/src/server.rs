//! Servers of ten calls a second with more or fewer hints.

use tidegate::{Hint, Instant, Outcome, Reply, Span};

pub trait Server {
    fn serve(&mut self, now: Instant) -> Reply;
}

impl<F: FnMut(Instant) -> Reply> Server for F {
    fn serve(&mut self, now: Instant) -> Reply {
        self(now)
    }
}

/// The time in which the server regains one call.
const REGAIN: u64 = 100_000_000;

/// A bucket of calls that refills one by one.
pub struct Bucket {
    size: u64,
    /// When it is full again.
    full: u64,
    tells: bool,
}

impl Bucket {
    pub const fn silent(size: u64) -> Self {
        Self { size, full: 0, tells: false }
    }

    pub const fn telling(size: u64) -> Self {
        Self { tells: true, ..Self::silent(size) }
    }
}

impl Server for Bucket {
    fn serve(&mut self, now: Instant) -> Reply {
        let now = now.as_nanos();
        let missing = |full: u64| full.saturating_sub(now).div_ceil(REGAIN);
        let outcome = if missing(self.full) < self.size {
            self.full = self.full.max(now) + REGAIN;
            Outcome::Ok
        } else {
            Outcome::Throttled
        };
        match self.tells {
            true => outcome.with(Hint::remaining(self.size.saturating_sub(missing(self.full)))),
            false => outcome.into(),
        }
    }
}

/// A hundred calls per ten seconds. It reports that, the remaining calls and the reset.
pub struct Period {
    number: u64,
    used: u64,
}

impl Period {
    const LIMIT: u64 = 100;
    const LONG: u64 = 10_000_000_000;

    pub const fn new() -> Self {
        Self { number: 0, used: 0 }
    }
}

impl Server for Period {
    fn serve(&mut self, now: Instant) -> Reply {
        let now = now.as_nanos();
        if now / Self::LONG != self.number {
            (self.number, self.used) = (now / Self::LONG, 0);
        }
        let outcome = if self.used < Self::LIMIT { Outcome::Ok } else { Outcome::Throttled };
        self.used = (self.used + 1).min(Self::LIMIT);
        let hint = Hint::quota(Self::LIMIT, Span::from_nanos(Self::LONG));
        outcome.with(
            hint.and_remaining(Self::LIMIT - self.used)
                .and_reset(Span::from_nanos(Self::LONG - now % Self::LONG)),
        )
    }
}
