//! Servers. Each limits its calls, and may send hints.

mod autoscaling;
mod bucket;
mod fault;
#[cfg(feature = "full")]
mod guard;
mod hint;
mod queue;
pub(crate) mod schedule;
#[cfg(feature = "full")]
mod sliding;
mod strangers;
mod window;

use serde::{Deserialize, Serialize};
use tidegate::{Hint, Instant, Outcome, Span};

use crate::chance::{Chance, Spread, Stream};
use crate::scenario::units::{Rate, Time};
pub use autoscaling::{Autoscaling, AutoscalingSpec};
pub use bucket::{Bucket, BucketSpec};
pub use fault::{Fault, Refusal, Reply};
#[cfg(feature = "full")]
pub use guard::Ban;
pub use hint::{HintSpec, Honesty, QuotaSpec, ResetForm};
pub use queue::{Queue, QueueSpec};
pub use schedule::{Schedule, Step};
#[cfg(feature = "full")]
pub use sliding::{Sliding, SlidingSpec};
pub use strangers::Strangers;
pub use window::{Window, WindowSpec};

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSpec {
    pub bucket: Option<BucketSpec>,
    pub window: Option<WindowSpec>,
    pub queue: Option<QueueSpec>,
    /// A bucket whose rate follows the load and that accumulates credit.
    pub autoscaling: Option<AutoscalingSpec>,
    #[cfg(feature = "full")]
    pub sliding: Option<SlidingSpec>,
    /// Further windows that also limit the calls.
    #[cfg(feature = "full")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<WindowSpec>,
    /// The most calls that it works on at once.
    #[cfg(feature = "full")]
    pub flight: Option<u32>,
    /// A ban of clients that are throttled too often: of all clients, as one.
    #[cfg(feature = "full")]
    pub ban: Option<Ban>,
    /// How many equal nodes it has, each with this limit: 1 if absent. Connections are assigned to
    /// them in turn.
    #[serde(default, skip_serializing_if = "crate::scenario::is_usual")]
    pub nodes: u16,
    /// Periods in which every call fails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<Outage>,
    /// Periods in which a part of it is slow, or fails slowly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// Background calls, which are never retried and not measured.
    pub strangers: Option<Strangers>,
    /// How long it works on a served call, in addition to the time of its limit.
    pub work: Option<Spread>,
    #[serde(default, skip_serializing_if = "crate::scenario::is_usual")]
    pub hints: HintSpec,
}

/// A period in which every call fails, without a hint.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    pub from: Time,
    pub to: Time,
}

impl Outage {
    fn covers(self, now: Instant) -> bool {
        now >= self.from.instant() && now < self.to.instant()
    }
}

/// A rate limit. It decides when a call arrives.
pub trait Limit {
    fn arrive(&mut self, now: Instant, chance: &mut Chance) -> Ruling;

    /// A call that it admitted leaves the server at `leaves`.
    fn admitted(&mut self, _leaves: Instant) {}

    /// Sets its rate from `now` on, if it has one that can be set.
    fn set_rate(&mut self, _now: Instant, _rate: Rate) {}

    /// What it can tell a client at `now`.
    fn standing(&self, now: Instant) -> Standing;

    /// How many calls it would serve at `now` if they arrived at once. A bucket has fractions.
    fn level(&self, now: Instant) -> f64;

    /// How many calls could have been served in this time. Of a window this is an even flow: the parts of windows
    /// at the ends of a run may serve more.
    fn capacity(&self, from: Instant, to: Instant) -> f64 {
        let steps = self.rate();
        let ends = steps.iter().skip(1).map(|step| step.0.min(to)).chain([to]);
        steps.iter().zip(ends).map(|(step, until)| step.1 * seconds(step.0.max(from), until)).sum()
    }

    /// Calls that could be served at once at the start of the world, beyond what it gains since.
    fn start(&self) -> f64 {
        0.0
    }

    /// Calls that can be served at once after a long silence.
    fn burst(&self) -> f64;

    /// The rate over time, as far as it is known in advance.
    fn rate(&self) -> Vec<(Instant, f64)>;

    /// The limit, width and first whole window of a fixed window.
    fn windows(&self) -> Option<(u32, Span, Instant)> {
        None
    }

    /// Whether served calls wait at the server, so that their latency is a metric.
    fn queues(&self) -> bool {
        false
    }
}

/// What a limit knows at some time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing {
    /// How many more calls it would serve.
    pub remaining: Option<u64>,
    /// How long after a throttled call one would be served.
    pub next: Option<Span>,
    /// How long until it would be full again without calls, if it ever is.
    pub reset: Option<Span>,
    /// The limit as calls per period.
    pub quota: Option<(u64, Span)>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ruling {
    pub outcome: Outcome,
    /// How long it stays in the server.
    pub delay: Span,
}

impl Ruling {
    /// A call that is served or throttled immediately.
    pub const fn served(served: bool) -> Self {
        let outcome = if served { Outcome::Ok } else { Outcome::Throttled };
        Self { outcome, delay: Span::ZERO }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    pub outcome: Outcome,
    /// How long it stayed in the server.
    pub delay: Span,
    pub hint: Hint,
}

pub struct Server {
    limits: Vec<Node>,
    /// The node that the present call reaches.
    node: usize,
    outages: Vec<Outage>,
    #[cfg(feature = "full")]
    work: Option<Spread>,
    #[cfg(feature = "full")]
    faults: Vec<Fault>,
    /// `None` if it sends no hints, like most servers.
    hints: Option<HintSpec>,
    chance: Chance,
}

impl ServerSpec {
    /// What is wrong with the settings, if anything.
    #[cfg(feature = "full")]
    pub fn fault(&self) -> Option<&'static str> {
        let kinds = [
            self.bucket.as_ref().map(BucketSpec::fault),
            self.window.as_ref().map(WindowSpec::fault),
            self.queue.as_ref().map(QueueSpec::fault),
            self.autoscaling.as_ref().map(AutoscalingSpec::fault),
            self.sliding.as_ref().map(SlidingSpec::fault),
        ];
        if kinds.iter().flatten().count() != 1 {
            return Some(
                "a server has exactly one of [server.bucket], [server.window], [server.sliding], \
                 [server.queue] and [server.autoscaling]",
            );
        }
        if self.outages.iter().any(|outage| outage.to <= outage.from) {
            return Some("an outage must end after it begins");
        }
        let fault = self.strangers.and_then(Strangers::fault);
        fault
            .or_else(|| self.work.as_ref().and_then(Spread::fault))
            .or_else(|| self.faults.iter().find_map(Fault::fault))
            .or_else(|| kinds.into_iter().flatten().flatten().next())
            .or_else(|| self.guard_fault())
            .or_else(|| self.hints.fault())
    }

    #[cfg(feature = "full")]
    fn limit(&self, chance: &mut Chance) -> Node {
        let limit: Node = match self {
            Self { bucket: Some(bucket), .. } => Box::new(Bucket::new(bucket)),
            Self { window: Some(window), .. } => Box::new(Window::new(window, chance)),
            Self { queue: Some(queue), .. } => Box::new(Queue::new(queue)),
            Self { autoscaling: Some(scaling), .. } => Box::new(Autoscaling::new(scaling)),
            Self { sliding: Some(sliding), .. } => Box::new(Sliding::new(sliding)),
            _ => unreachable!("the scenario was checked to have a server"),
        };
        self.guarded(limit, chance)
    }

    #[cfg(not(feature = "full"))]
    pub fn fault(&self) -> Option<&'static str> {
        None
    }

    #[cfg(not(feature = "full"))]
    fn limit(&self, _: &mut Chance) -> Node {
        Bucket::new(self.bucket.as_ref().expect("a plain world has a bucket"))
    }
}

#[cfg(feature = "full")]
type Node = Box<dyn Limit>;
/// The limit of a node. A plain world links no other limit, and only what it calls.
#[cfg(not(feature = "full"))]
type Node = Bucket;

impl Server {
    pub fn new(spec: &ServerSpec, seed: u64) -> Self {
        let mut chance = Chance::new(seed, Stream::Server);
        let limits = (0..spec.nodes.max(1)).map(|_| spec.limit(&mut chance)).collect();
        let hints = (!spec.hints.is_silent()).then_some(spec.hints);
        Self {
            limits,
            node: 0,
            outages: spec.outages.clone(),
            #[cfg(feature = "full")]
            work: spec.work,
            #[cfg(feature = "full")]
            faults: spec.faults.clone(),
            hints,
            chance,
        }
    }

    /// The present call is of this connection.
    pub fn reach(&mut self, connection: usize) {
        self.node = connection % self.limits.len();
    }

    /// Answers a call that can never be served, without the limit. If it is too large for the
    /// limit, it has the limit's hint.
    pub fn refuse(&self, now: Instant, bad: Refusal) -> Answer {
        let (outcome, hints) = match bad {
            Refusal::Throttled => (Outcome::Throttled, None),
            Refusal::Failed => (Outcome::Failed, None),
            Refusal::TooLarge => (Outcome::Throttled, self.hints),
        };
        let hint = hints.map_or(Hint::NONE, |hints| hints.about(outcome, self.limit(), now));
        Answer { outcome, delay: Span::ZERO, hint }
    }

    #[cfg(not(feature = "full"))]
    pub fn arrive(&mut self, now: Instant) -> Answer {
        let outcome = self.limits[self.node].arrive(now, &mut self.chance).outcome;
        Answer { outcome, delay: Span::ZERO, hint: Hint::NONE }
    }

    #[cfg(feature = "full")]
    pub fn arrive(&mut self, now: Instant) -> Answer {
        let silent = |outcome, delay| Answer { outcome, delay, hint: Hint::NONE };
        if self.is_down(now) {
            return silent(Outcome::Failed, Span::ZERO);
        }
        if let Some(fault) = Fault::that_hits(&self.faults, true, now, &mut self.chance) {
            return silent(fault.reply.outcome(), fault.delay.span());
        }
        let Ruling { outcome, mut delay } = self.limits[self.node].arrive(now, &mut self.chance);
        if outcome == Outcome::Ok {
            if let Some(fault) = Fault::that_hits(&self.faults, false, now, &mut self.chance) {
                return silent(fault.reply.outcome(), delay + fault.delay.span());
            }
            delay += self.work.map_or(Span::ZERO, |work| work.draw(&mut self.chance));
            self.limits[self.node].admitted(now + delay);
        }
        let hint = self.hints.map_or(Hint::NONE, |it| it.about(outcome, self.limit(), now));
        Answer { outcome, delay, hint }
    }

    /// How many calls could have been served between two times, without outages and at most
    /// `offered`, if given. Includes the calls that were available at the start.
    pub fn capacity(&self, from: Instant, to: Instant, offered: Option<Rate>) -> f64 {
        let start = if from == Instant::ZERO && offered.is_none() {
            self.nodes() * self.limit().start()
        } else {
            0.0
        };
        start + self.flow(from, to, offered)
    }

    /// Like [`capacity`](Self::capacity), without the calls that were available at the start.
    pub fn flow(&self, from: Instant, to: Instant, offered: Option<Rate>) -> f64 {
        let mut cuts: Vec<Instant> = vec![from, to];
        cuts.extend(self.limit().rate().iter().map(|step| step.0));
        cuts.extend(self.outages.iter().flat_map(|o| [o.from.instant(), o.to.instant()]));
        cuts.retain(|cut| (from..=to).contains(cut));
        cuts.sort_unstable();
        let flow = |pair: &[Instant]| match *pair {
            [a, b] if !self.is_down(a) => {
                let most = offered.map_or(f64::INFINITY, |r| r.as_per_second() * seconds(a, b));
                (self.nodes() * self.limit().capacity(a, b)).min(most)
            }
            _ => 0.0,
        };
        cuts.windows(2).map(flow).sum()
    }

    /// The rate over time, as far as it is known in advance, with 0 for outages.
    pub fn rate(&self) -> Vec<(Instant, f64)> {
        let steps = self.limit().rate();
        let mut times: Vec<Instant> = steps.iter().map(|step| step.0).collect();
        times.extend(self.outages.iter().flat_map(|o| [o.from.instant(), o.to.instant()]));
        times.sort_unstable();
        times.dedup();
        let at = |time| if self.is_down(time) { 0.0 } else { self.nodes() * latest(&steps, time) };
        times.into_iter().map(|time| (time, at(time))).collect()
    }

    /// How many calls it would serve at `now` if they arrived at once.
    pub fn level(&self, now: Instant) -> f64 {
        if self.is_down(now) { 0.0 } else { self.limits.iter().map(|it| it.level(now)).sum() }
    }

    /// The rate at `now`, in calls a second.
    pub fn rate_at(&self, now: Instant) -> f64 {
        if self.is_down(now) { 0.0 } else { self.nodes() * latest(&self.limit().rate(), now) }
    }

    /// Sets the rate of each node's limit from `now` on, if it has one that can be set.
    pub fn set_rate(&mut self, now: Instant, rate: Rate) {
        self.limits.iter_mut().for_each(|limit| limit.set_rate(now, rate));
    }

    fn is_down(&self, now: Instant) -> bool {
        self.outages.iter().any(|outage| outage.covers(now))
    }

    /// The limit of the node that the present call reaches.
    pub fn limit(&self) -> &dyn Limit {
        #[cfg(feature = "full")]
        return &*self.limits[self.node];
        #[cfg(not(feature = "full"))]
        &self.limits[self.node]
    }

    pub fn nodes(&self) -> f64 {
        self.limits.len() as f64
    }
}

/// The rate of the last step at or before a time.
pub(crate) fn latest(steps: &[(Instant, f64)], time: Instant) -> f64 {
    let after = steps.partition_point(|step| step.0 <= time);
    after.checked_sub(1).map_or(0.0, |last| steps[last].1)
}

pub fn seconds(from: Instant, to: Instant) -> f64 {
    (to - from).as_nanos() as f64 / 1e9
}
