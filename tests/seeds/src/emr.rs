//! The EMR article: a scan of a thousand calls against a limit of four a second, alone and with
//! others.

use std::num::NonZeroU16;

use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::law::{Aimd, AimdConfig, AnyLaw, AwsCubic, Fixed, Law};
use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy, Quota, Ratio, Rng, Span};

use crate::of_seeds;
use crate::published::EMR;
use crate::report::{Report, Table};
use crate::statistics::mean;
use crate::world::{Answer, Server, Stranger, World};

/// "Typical response times around 100ms", including throttled calls. Not exactly 100 ms, because
/// with exactly four a second each call would then arrive exactly with its token.
const TRIP: Span = Span::from_millis(100);
/// "1000 clusters".
const CALLS: u32 = 1_000;
/// When a client that does not finish is stopped.
const GIVE_UP: Instant = Instant::from_nanos(20_000_000_000_000);

/// A limit of calls per second, as a token bucket or as windows of a second.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    kind: Kind,
    per_second: u64,
    /// In calls times 10^9.
    left: u64,
    last: Instant,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Bucket,
    Window,
}

const CALL: u64 = 1_000_000_000;

impl Limit {
    /// A full bucket with a second's worth of calls.
    #[must_use]
    pub const fn bucket(per_second: u64) -> Self {
        Self { kind: Kind::Bucket, per_second, left: per_second * CALL, last: Instant::ZERO }
    }

    /// Calls in each second of the clock.
    #[must_use]
    pub const fn window(per_second: u64) -> Self {
        Self { kind: Kind::Window, ..Self::bucket(per_second) }
    }
}

impl Server for Limit {
    fn hit(&mut self, now: Instant) -> Answer {
        let most = self.per_second * CALL;
        self.left = match self.kind {
            Kind::Bucket => {
                let gained = now.saturating_since(self.last).as_nanos() * self.per_second;
                (self.left + gained).min(most)
            }
            Kind::Window if now.as_nanos() / CALL > self.last.as_nanos() / CALL => most,
            Kind::Window => self.left,
        };
        self.last = now;
        let served = self.left >= CALL;
        if served {
            self.left -= CALL;
        }
        Answer { served, remaining: None }
    }
}

/// The limit, and other clients that share it with the scan.
#[derive(Clone, Copy, Debug)]
pub struct Environment {
    /// Its name.
    pub name: &'static str,
    /// The limit.
    pub limit: Limit,
    /// The other client, if there is one.
    pub stranger: Option<Stranger>,
}

/// The environments: "alone", and "AWS internally", "a secondary orchestrator", "an infosec scanner".
pub const ENVIRONMENTS: [Environment; 5] = [
    Environment { name: "alone, bucket", limit: Limit::bucket(4), stranger: None },
    Environment { name: "alone, 1 s windows", limit: Limit::window(4), stranger: None },
    Environment {
        name: "other 2/s",
        limit: Limit::bucket(4),
        stranger: Some(|now, chance| poisson(now, 500, chance)),
    },
    Environment {
        name: "other 3/s",
        limit: Limit::bucket(4),
        stranger: Some(|now, chance| poisson(now, 333, chance)),
    },
    Environment { name: "other 4/s, 1 min of 3", limit: Limit::bucket(4), stranger: Some(bursts) },
];

/// The next call of a Poisson process with this mean interval in milliseconds.
fn poisson(now: Instant, mean_millis: u32, chance: &mut Rng) -> Instant {
    let drawn = (f64::from(chance.next_u32()) + 1.0) / 4_294_967_296.0;
    let nanos = -libm::log(drawn) * f64::from(mean_millis) * 1e6;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some seconds")]
    now.saturating_add(Span::from_nanos(nanos as u64))
}

/// Four calls a second in one minute of three.
fn bursts(now: Instant, chance: &mut Rng) -> Instant {
    let (minute, cycle) = (60 * CALL, 180 * CALL);
    let next = poisson(now, 250, chance).as_nanos();
    Instant::from_nanos(if next % cycle < minute { next } else { (next / cycle + 1) * cycle })
}

/// The configurations that the article compares, and those that it misses.
///
/// # Panics
/// A configuration is invalid.
#[must_use]
pub fn clients() -> Vec<(&'static str, Policy)> {
    let unlimited = Policy::new(AnyLaw::Fixed(Fixed::UNLIMITED)).backoff(None);
    let four = Fixed::new(per_second(4));
    let alone = AimdConfig { cooldown: None, ..AimdConfig::DEFAULT };
    let gentle = AimdConfig {
        step: Quota::per(1, Span::from_secs(50)).expect("a quota"),
        every: 1,
        ..AimdConfig::DEFAULT
    };
    let aimd = |config| Policy::new(AnyLaw::Aimd(Aimd::new(config).expect("a configuration")));
    vec![
        ("naive", unlimited),
        ("backoff, each call anew", unlimited.backoff(Some(doubling()))),
        ("backoff, always 10.24 s", unlimited.backoff(Some(longest()))),
        ("fixed 4/s", Policy::new(AnyLaw::Fixed(four)).backoff(None)),
        ("aimd", aimd(alone).backoff(None)),
        ("aimd with pause", aimd(AimdConfig::DEFAULT).backoff(None)),
        ("the same, +0.02/s a call", aimd(gentle).backoff(None)),
        ("aws-cubic", Policy::new(AnyLaw::AwsCubic(AwsCubic)).backoff(None)),
    ]
}

fn per_second(count: u64) -> Quota {
    Quota::per_second(count).expect("a quota")
}

/// "2 ^ retry * base wait unit", base 10 ms, ten doublings.
fn doubling() -> Backoff {
    let twice = Growth::Exponential(Ratio::new(2, 1).expect("a ratio"));
    let (base, most) = (Span::from_millis(10), Span::from_millis(10_240));
    Backoff::new(twice, Jitter::None, base, most).expect("a schedule")
}

/// "Likely get 4 requests in and then wait for 10 seconds": the last delay of the schedule at once.
fn longest() -> Backoff {
    let most = Span::from_millis(10_240);
    Backoff::new(Growth::Constant, Jitter::None, most, most).expect("a schedule")
}

/// The results of a scan.
#[derive(Clone, Copy, Debug)]
pub struct Scan {
    /// How long it took, in seconds.
    pub seconds: f64,
    /// The percentage of its calls that were throttled.
    pub own: f64,
    /// The percentage for the other client, if there is one.
    pub others: Option<f64>,
}

/// Scans with one thread.
#[must_use]
pub fn scan(policy: Policy, environment: Environment, seed: u64) -> Scan {
    let mut world = World::new(environment.limit, TRIP, seed);
    world.start(policy, 1, Span::ZERO);
    if let Some(stranger) = environment.stranger {
        world.share_with(stranger);
    }
    world.run(GIVE_UP, |thread, _| thread.served() == CALLS);
    let thread = &world.threads[0];
    let (served, throttled) = world.strangers;
    Scan {
        seconds: crate::seconds(thread.done.unwrap_or(GIVE_UP).saturating_since(Instant::ZERO)),
        own: 100.0 * f64::from(thread.throttled) / f64::from(thread.sent),
        others: (served + throttled > 0)
            .then(|| 100.0 * f64::from(throttled) / f64::from(served + throttled)),
    }
}

/// The mean of twenty scans.
#[must_use]
pub fn scans(policy: Policy, environment: Environment) -> Scan {
    let scans = of_seeds(20, |seed| scan(policy, environment, seed));
    let of = |figure: fn(&Scan) -> f64| mean(&scans.iter().map(figure).collect::<Vec<_>>());
    Scan {
        seconds: of(|scan| scan.seconds),
        own: of(|scan| scan.own),
        others: environment.stranger.map(|_| of(|scan| scan.others.unwrap_or(0.0))),
    }
}

/// The rates of the adaptive law after each call of one client whose calls all have this outcome,
/// in calls per thousand seconds.
///
/// # Panics
/// The controller does not say when the next call may be sent.
pub fn rates(outcome: Outcome) -> impl Iterator<Item = u64> {
    let law = Aimd::DEFAULT;
    let mut gate: Controller<Aimd> =
        Controller::new(Policy::new(law).backoff(None), 1, Instant::ZERO);
    let mut now = Instant::ZERO;
    std::iter::from_fn(move || {
        let quota = gate.states().next().and_then(|state| law.quota(state))?;
        loop {
            match gate.poll(now, &Call::new()) {
                Decision::Admit(permit) => break gate.settle(now, permit, outcome),
                Decision::Wait(until) => now = until,
                other => panic!("an open window answered {other:?}"),
            }
        }
        let period = u128::from(quota.period().as_nanos());
        let rate = (u128::from(quota.count()) * 1_000 * u128::from(CALL) + period / 2) / period;
        u64::try_from(rate).ok()
    })
}

/// The longest wait of the article's backoff in ten retries, in seconds.
///
/// # Panics
/// The controller grants fewer retries than configured.
#[must_use]
pub fn longest_wait() -> f64 {
    let most = NonZeroU16::new(12);
    let policy = Policy::new(Fixed::UNLIMITED).backoff(Some(doubling())).attempts(most);
    let mut gate: Controller<Fixed> = Controller::new(policy, 1, Instant::ZERO);
    let mut call = Call::new();
    // The first wait is 2^0 units long.
    for _ in 0..=10 {
        call = gate.retry(Instant::ZERO, &call, Outcome::Throttled).expect("a retry");
    }
    crate::seconds(call.not_before().saturating_since(Instant::ZERO))
}

fn claims() -> Table {
    let [alone, windows, ..] = ENVIRONMENTS;
    let fast = Environment { limit: Limit::bucket(1_000), ..alone };
    let naive = Policy::new(AnyLaw::Fixed(Fixed::UNLIMITED)).backoff(None);
    let fixed = Policy::new(AnyLaw::Fixed(Fixed::new(per_second(4)))).backoff(None);
    let backoff = naive.backoff(Some(longest()));
    let per_second = |rate: u64| format!("{}.{:03}", rate / 1_000, rate % 1_000);
    let halved: Vec<String> = rates(Outcome::Throttled).take(3).map(per_second).collect();
    // Ten successes add one call a second. Ten million reach the highest rate.
    let ends = [
        rates(Outcome::Throttled).take(100).min().map_or_else(String::new, per_second),
        rates(Outcome::Ok).take(10_100_000).max().map_or_else(String::new, per_second),
    ];
    let row = |what: &str, key: &str, ours: String| {
        vec![what.to_string(), EMR.row("claims", key).join(" "), ours]
    };
    let whole = |seconds: f64| format!("{seconds:.0}");
    Table {
        title: "The article's arithmetic",
        columns: &["claim", "published", "ours"],
        rows: vec![
            row(
                "seconds of calls at the client's own speed",
                "own speed",
                whole(scans(naive, fast).seconds),
            ),
            row("seconds at the limit", "the limit", whole(scans(fixed, alone).seconds)),
            row(
                "throttled at a fixed 4/s, alone",
                "fixed, throttled",
                whole(scans(fixed, alone).own),
            ),
            row(
                "longest wait of the backoff, seconds",
                "longest wait",
                format!("{}", longest_wait()),
            ),
            row("seconds with that wait, bucket", "backoff", whole(scans(backoff, alone).seconds)),
            row(
                "seconds with that wait, windows",
                "backoff",
                whole(scans(backoff, windows).seconds),
            ),
            row("rate after each cut", "halving", halved.join(" ")),
            vec!["lowest and highest rate".into(), "-".into(), ends.join(" ")],
        ],
        notes: &[
            "2500 s is 1000 calls at exactly 4 in 10 s. The bucket refills while the client calls,",
            "so five or six calls are served in each turn, and the same backoff takes less time.",
        ],
    }
}

/// The figures of this source.
#[must_use]
pub fn report() -> Report {
    let mut tables = vec![claims()];
    let figures = |environment: Environment| {
        clients().into_iter().map(move |(_, policy)| scans(policy, environment)).collect::<Vec<_>>()
    };
    let all = ENVIRONMENTS.map(figures);
    let columns = &["client", "bucket", "windows", "other 2/s", "other 3/s", "4/s, 1 min of 3"];
    let mut table = |title, notes, cell: &dyn Fn(&Scan) -> String| {
        let rows = clients().into_iter().enumerate().map(|(number, (name, _))| {
            let cells = all.iter().map(|scans| cell(&scans[number]));
            std::iter::once(name.to_string()).chain(cells).collect()
        });
        tables.push(Table { title, columns, rows: rows.collect(), notes });
    };
    table("Seconds that the scan takes", &[], &|scan| format!("{:.0}", scan.seconds));
    table("Its own calls that are throttled, in per cent", &[], &|scan| format!("{:.1}", scan.own));
    table(
        "The other client's calls that are throttled, in per cent",
        &[
            "Means of 20 runs. Time alone is not a good measure: calling without a limit is fastest, at the others' expense.",
            "An even share with 2/s takes 500 s, with 3/s 1000 s.",
        ],
        &|scan| scan.others.map_or_else(|| "-".into(), |others| format!("{others:.1}")),
    );
    Report {
        name: "emr",
        title: "The scan of a thousand clusters (EMR DescribeCluster)",
        source: "an article on rate limiting and backoff against AWS, with its environments",
        tables,
        listing: Vec::new(),
    }
}
