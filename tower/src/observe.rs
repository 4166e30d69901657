//! Metrics and spans of a gate. Compiled out without their features.
#![cfg_attr(
    not(all(feature = "metrics", feature = "tracing")),
    allow(unused_variables, reason = "what a feature brings")
)]

use std::future::Future;
#[cfg(feature = "metrics")]
use std::sync::Arc;

#[cfg(feature = "metrics")]
use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
#[cfg(feature = "metrics")]
use tidegate::Span;
use tidegate::{Instant, Outcome};

use crate::error::Error;
use crate::lane::Lane;
use crate::timer::Timer;

/// Buckets for `tidegate_wait_seconds`, from a millisecond to an hour. The defaults of most exporters end at ten
/// seconds, but the waits that matter are longer.
///
/// ```
/// use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};
/// use tidegate_tower::WAIT_BUCKETS;
///
/// let waits = Matcher::Full("tidegate_wait_seconds".to_owned());
/// let recorder = PrometheusBuilder::new()
///     .set_buckets_for_metric(waits, &WAIT_BUCKETS)
///     .unwrap()
///     .build_recorder();
/// ```
#[cfg(feature = "metrics")]
pub const WAIT_BUCKETS: [f64; 12] =
    [0.001, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3_600.0];

/// The cause of a wait, as in the label `cause`.
pub(crate) type Cause = &'static str;

#[cfg(feature = "metrics")]
pub(crate) fn cause<const LIMITS: usize, T: Timer>(lane: &Lane<LIMITS, T>, attempt: u16) -> Cause {
    use tidegate::gate::Gate;
    match lane.why() {
        Some(Gate::Pacing) => "pacing",
        Some(Gate::Cooldown) => "cooldown",
        Some(Gate::Concurrency) => "concurrency limit",
        _ if attempt > 0 => "backoff",
        _ => "queue",
    }
}

/// The metrics of one key of a gate. They are registered once.
#[cfg(feature = "metrics")]
pub(crate) struct Metrics {
    attempts: Counter,
    no_wait: Histogram,
    ok: Counter,
    gauges: [Gauge; 3],
}

#[cfg(feature = "metrics")]
impl Metrics {
    pub(crate) fn new(key: &Arc<str>) -> Self {
        let gauge = |name| gauge!(name, "key" => key.clone());
        Self {
            attempts: counter!("tidegate_attempts_total", "key" => key.clone()),
            no_wait: waits(key, "none"),
            ok: outcomes(key, Outcome::Ok),
            gauges: ["tidegate_interval_seconds", "tidegate_in_flight", "tidegate_waiting"]
                .map(gauge),
        }
    }

    pub(crate) fn set(&self, interval: Option<Span>, in_flight: u16, waiting: usize) {
        let interval = seconds(interval.unwrap_or(Span::ZERO));
        for (gauge, value) in self.gauges.iter().zip([interval, in_flight.into(), waiting as f64]) {
            gauge.set(value);
        }
    }
}

#[cfg(feature = "metrics")]
fn seconds(span: Span) -> f64 {
    crate::timer::duration(span).as_secs_f64()
}

#[cfg(feature = "metrics")]
fn waits(key: &Arc<str>, cause: Cause) -> Histogram {
    histogram!("tidegate_wait_seconds", "key" => key.clone(), "cause" => cause)
}

#[cfg(feature = "metrics")]
fn outcomes(key: &Arc<str>, outcome: Outcome) -> Counter {
    counter!("tidegate_outcomes_total", "key" => key.clone(), "outcome" => name(outcome))
}

/// Counts an admitted attempt, which waited for this cause since then.
pub(crate) fn admitted<const LIMITS: usize, T: Timer>(
    lane: &Lane<LIMITS, T>,
    waited: Option<(Cause, Instant)>,
) {
    #[cfg(feature = "metrics")]
    {
        lane.metrics.attempts.increment(1);
        match waited {
            None => lane.metrics.no_wait.record(0.0),
            Some((cause, since)) => {
                waits(&lane.key, cause).record(seconds(lane.settings.timer.now() - since))
            }
        }
    }
}

pub(crate) fn settled<const LIMITS: usize, T: Timer>(lane: &Lane<LIMITS, T>, outcome: Outcome) {
    #[cfg(feature = "metrics")]
    match outcome {
        Outcome::Ok => lane.metrics.ok.increment(1),
        other => outcomes(&lane.key, other).increment(1),
    }
}

pub(crate) fn rejected(error: &Error) {
    #[cfg(any(feature = "metrics", feature = "tracing"))]
    {
        use tidegate::Reason;
        let reason = match error {
            Error::Rejected { reason, .. } => match reason {
                Reason::Late(_) => "late",
                Reason::OverLimit => "over limit",
                Reason::RetryBudget => "retry budget",
                Reason::TooBig => "too big",
                Reason::QueueFull => "queue full",
                Reason::Attempts => "attempts",
                Reason::Unsafe => "not idempotent",
                Reason::Final => "final",
                Reason::Exhausted => "exhausted",
                _ => "never",
            },
            Error::NotRepeatable { .. } => "not repeatable",
            Error::TimedOut { .. } => "timed out",
        };
        let key = error.shared_key();
        #[cfg(feature = "metrics")]
        metrics::counter!("tidegate_rejections_total", "key" => key.clone(), "reason" => reason)
            .increment(1);
        #[cfg(feature = "tracing")]
        tracing::debug!(tidegate.key = &**key, tidegate.reason = reason, "not sent");
    }
}

#[cfg(feature = "local")]
pub(crate) fn troubled(name: &str, trouble: &impl std::fmt::Display) {
    #[cfg(feature = "tracing")]
    tracing::warn!(tidegate.name = name, "shared budget: {trouble}");
}

#[cfg(any(feature = "metrics", feature = "tracing"))]
const fn name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "ok",
        Outcome::Throttled => "throttled",
        Outcome::Busy => "busy",
        Outcome::Failed => "failed",
        Outcome::Abandoned => "abandoned",
        Outcome::Exhausted => "exhausted",
    }
}

pub(crate) struct Attempt {
    #[cfg(feature = "tracing")]
    span: tracing::Span,
}

impl Attempt {
    pub(crate) fn new(key: &str, attempt: u16) -> Self {
        Self {
            #[cfg(feature = "tracing")]
            span: tracing::info_span!(
                "attempt",
                tidegate.key = key,
                // By convention, only for retries.
                http.request.resend_count = (attempt > 0).then_some(attempt),
                tidegate.outcome = tracing::field::Empty,
            ),
        }
    }

    pub(crate) fn send<F: Future>(&self, future: F) -> impl Future<Output = F::Output> {
        #[cfg(feature = "tracing")]
        return tracing::Instrument::instrument(future, self.span.clone());
        #[cfg(not(feature = "tracing"))]
        future
    }

    pub(crate) fn outcome(&self, outcome: Outcome) {
        #[cfg(feature = "tracing")]
        self.span.record("tidegate.outcome", name(outcome));
    }
}
