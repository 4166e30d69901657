//! Metrics and spans of a gate. Compiled out without their features.

use std::future::Future;

use tidegate::{Outcome, Span};

use crate::error::Error;
use crate::lane::Lane;
use crate::timer::Timer;

/// Buckets for `tidegate_wait_seconds`, from a millisecond to an hour: the defaults of most exporters end at ten
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

/// A call that did not wait.
pub(crate) const NO_WAIT: Cause = "none";

/// The cause of a call's wait at its start.
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

/// Counts an admitted attempt.
pub(crate) fn admitted<const LIMITS: usize, T: Timer>(
    lane: &Lane<LIMITS, T>,
    cause: Cause,
    waited: Span,
) {
    #[cfg(feature = "metrics")]
    {
        let key = lane.key.clone();
        let wait = crate::timer::duration(waited).as_secs_f64();
        metrics::counter!("tidegate_attempts_total", "key" => key.clone()).increment(1);
        metrics::histogram!("tidegate_wait_seconds", "key" => key, "cause" => cause).record(wait);
        gauges(lane);
    }
    #[cfg(not(feature = "metrics"))]
    let _ = (lane, cause, waited);
}

/// Counts a freed place.
pub(crate) fn released<const LIMITS: usize, T: Timer>(lane: &Lane<LIMITS, T>) {
    #[cfg(feature = "metrics")]
    gauges(lane);
    #[cfg(not(feature = "metrics"))]
    let _ = lane;
}

/// Counts the outcome of an attempt.
pub(crate) fn settled<const LIMITS: usize, T: Timer>(lane: &Lane<LIMITS, T>, outcome: Outcome) {
    #[cfg(feature = "metrics")]
    {
        let (key, outcome) = (lane.key.clone(), name(outcome));
        metrics::counter!("tidegate_outcomes_total", "key" => key, "outcome" => outcome)
            .increment(1);
        gauges(lane);
    }
    #[cfg(not(feature = "metrics"))]
    let _ = (lane, outcome);
}

/// Counts an attempt that is not sent.
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
    #[cfg(not(any(feature = "metrics", feature = "tracing")))]
    let _ = error;
}

/// Reports why processes cannot share their budgets.
#[cfg(feature = "local")]
pub(crate) fn troubled(name: &str, trouble: &impl std::fmt::Display) {
    #[cfg(feature = "tracing")]
    tracing::warn!(tidegate.name = name, "shared budget: {trouble}");
    #[cfg(not(feature = "tracing"))]
    let _ = (name, trouble);
}

#[cfg(feature = "metrics")]
#[expect(clippy::cast_precision_loss, reason = "gauges are floats, and these numbers are small")]
fn gauges<const LIMITS: usize, T: Timer>(lane: &Lane<LIMITS, T>) {
    let (key, glance) = (lane.key.clone(), lane.glance());
    let interval = glance.interval.map_or(0.0, |span| crate::timer::duration(span).as_secs_f64());
    metrics::gauge!("tidegate_interval_seconds", "key" => key.clone()).set(interval);
    metrics::gauge!("tidegate_in_flight", "key" => key.clone()).set(glance.in_flight as f64);
    metrics::gauge!("tidegate_waiting", "key" => key).set(glance.waiting as f64);
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

/// The span of one attempt.
pub(crate) struct Attempt {
    #[cfg(feature = "tracing")]
    span: tracing::Span,
}

impl Attempt {
    pub(crate) fn new(key: &str, attempt: u16) -> Self {
        #[cfg(feature = "tracing")]
        {
            let span = tracing::info_span!(
                "attempt",
                tidegate.key = key,
                http.request.resend_count = tracing::field::Empty,
                tidegate.outcome = tracing::field::Empty,
            );
            // By convention, only for retries.
            if attempt > 0 {
                span.record("http.request.resend_count", attempt);
            }
            Self { span }
        }
        #[cfg(not(feature = "tracing"))]
        {
            let _ = (key, attempt);
            Self {}
        }
    }

    /// Runs the attempt in its span.
    pub(crate) fn send<F: Future>(&self, future: F) -> impl Future<Output = F::Output> {
        #[cfg(feature = "tracing")]
        return tracing::Instrument::instrument(future, self.span.clone());
        #[cfg(not(feature = "tracing"))]
        future
    }

    /// Records its outcome.
    pub(crate) fn outcome(&self, outcome: Outcome) {
        #[cfg(feature = "tracing")]
        self.span.record("tidegate.outcome", name(outcome));
        #[cfg(not(feature = "tracing"))]
        let _ = outcome;
    }
}
