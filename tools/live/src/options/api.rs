//! What the API allows and how it responds.

use super::values::{Outage, duration, limit, outage, short};
use crate::server::{Nanos, nanos};
use clap::{Args, ValueEnum};
use std::fmt;
use std::ops::Range;
use std::time::Duration;

/// What the API allows and how it responds.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "The API")]
pub struct Api {
    /// How the API limits calls.
    #[arg(long, value_enum, default_value_t = PolicyName::Gcra)]
    pub policy: PolicyName,
    /// Calls per period; for `concurrency`, calls in flight [default: 60; 6 for `concurrency`].
    #[arg(long, value_name = "CALLS", value_parser = limit, allow_hyphen_values = true)]
    limit: Option<u64>,
    /// The period of `gcra` and `window`.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration, allow_hyphen_values = true)]
    period: Duration,
    /// How many calls `gcra` allows at once.
    #[arg(long, value_name = "CALLS", default_value = "10", value_parser = limit, allow_hyphen_values = true)]
    pub burst: u64,
    /// The rate limit headers of the responses.
    #[arg(long, value_name = "FAMILY", value_enum, default_value_t = Hints::None)]
    pub hints: Hints,
    /// The round-trip time of each call. It varies by a fifth.
    #[arg(long, value_name = "TIME", default_value = "20ms", value_parser = short, allow_hyphen_values = true)]
    pub latency: Duration,
    /// How long the API works on each call that it serves [default: 0s; 100ms for `concurrency`].
    #[arg(long, value_name = "TIME", value_parser = short, allow_hyphen_values = true)]
    service: Option<Duration>,
    /// Answer every call with 503 during this time, such as 4s..6s.
    #[arg(long, value_name = "FROM..TO", value_parser = outage, allow_hyphen_values = true)]
    outage: Option<Outage>,
    /// The port on 127.0.0.1 [default: any free one].
    #[arg(long, default_value = "0", hide_default_value = true, allow_hyphen_values = true)]
    pub port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum PolicyName {
    /// A token bucket (429 if it is empty).
    Gcra,
    /// A fixed window (429 above the limit).
    Window,
    /// A limit on calls in flight (503 above it).
    Concurrency,
}

/// A family of headers.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Hints {
    /// No headers.
    None,
    /// Retry-After in seconds, on rejections.
    RetryAfter,
    /// Retry-After as a date, on rejections.
    RetryDate,
    /// Only RateLimit-Remaining (Heroku).
    Remaining,
    /// Only RateLimit-Policy: limit and window (PyPI).
    Quota,
    /// RateLimit and RateLimit-Policy of the IETF draft (Cloudflare).
    Ietf,
    /// RateLimit-Limit, -Remaining, -Reset and -Policy of the older IETF drafts.
    Ratelimit,
    /// X-RateLimit-* with the reset as Unix time; rejections are 403.
    Github,
    /// x-ratelimit-*-requests with times such as 6m0s, and retry-after-ms.
    Openai,
    /// X-RateLimit-* with fractions of seconds, and Retry-After.
    Discord,
    /// An error code and x-amz-retry-after; rejections are 400.
    Aws,
}

impl Hints {
    pub fn name(self) -> String {
        let value = self.to_possible_value();
        value.map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

impl Api {
    /// Rejects combinations that would make the headers wrong.
    pub fn check(&self) -> Result<(), String> {
        let (counts, whole) = match self.hints {
            Hints::None | Hints::RetryAfter | Hints::RetryDate | Hints::Aws => return Ok(()),
            Hints::Ietf => (false, true),
            Hints::Quota | Hints::Ratelimit => (true, true),
            Hints::Remaining | Hints::Github | Hints::Openai | Hints::Discord => (true, false),
        };
        let name = self.hints.name();
        let places = self.policy == PolicyName::Concurrency;
        if counts && places {
            return Err(format!(
                "--hints {name} describes calls per period, which --policy concurrency does not \
                 count; use none, retry-after, retry-date, ietf or aws"
            ));
        }
        if whole && !places && self.period.subsec_nanos() > 0 {
            return Err(format!(
                "--hints {name} states periods in whole seconds, but --period is {}; use a time \
                 such as 1s or 5s",
                humantime::format_duration(self.period)
            ));
        }
        Ok(())
    }

    pub fn limit(&self) -> u64 {
        self.limit.unwrap_or(match self.policy {
            PolicyName::Gcra | PolicyName::Window => 60,
            PolicyName::Concurrency => 6,
        })
    }

    pub fn period(&self) -> Nanos {
        nanos(self.period)
    }

    pub fn service(&self) -> Duration {
        self.service.unwrap_or(Duration::from_millis(match self.policy {
            PolicyName::Gcra | PolicyName::Window => 0,
            PolicyName::Concurrency => 100,
        }))
    }

    /// The time in which no call is served.
    pub fn outage(&self) -> Range<Nanos> {
        self.outage.map_or(Nanos::MAX..Nanos::MAX, |outage| nanos(outage.from)..nanos(outage.to))
    }

    /// How many calls per second can be served.
    pub fn rate(&self) -> f64 {
        let limit = self.limit() as f64;
        match self.policy {
            PolicyName::Gcra | PolicyName::Window => limit / self.period.as_secs_f64(),
            PolicyName::Concurrency => limit / self.service().as_secs_f64().max(0.001),
        }
    }

    /// The same at this time of a run.
    pub fn rate_at(&self, elapsed: Duration) -> f64 {
        if self.outage().contains(&nanos(elapsed)) { 0.0 } else { self.rate() }
    }
}

impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = humantime::format_duration;
        let limit = self.limit();
        match self.policy {
            PolicyName::Gcra => {
                write!(
                    f,
                    "{limit} calls per {}, in bursts of up to {}",
                    time(self.period),
                    self.burst
                )?;
            }
            PolicyName::Window => write!(f, "{limit} calls per window of {}", time(self.period))?,
            PolicyName::Concurrency => {
                write!(f, "{limit} calls at once of {} each", time(self.service()))?;
            }
        }
        if let Some(Outage { from, to }) = self.outage {
            write!(f, ", down {} to {}", time(from), time(to))?;
        }
        match self.hints {
            Hints::None => Ok(()),
            hints => write!(f, ", hints {}", hints.name()),
        }
    }
}
