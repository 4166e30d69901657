//! The coordinator with the budget of a fleet.

use tidegate::law::{AnyLaw, Fixed};
use tidegate::shared::{Coordinator, GRANT_BYTES, Leases, Source, Storage};
use tidegate::{Controller, Instant, Policy, Quota, Span};

use super::Fleet;

/// The lists of members and coordinators grow as they are used.
#[derive(Debug)]
pub struct Heap;

impl Storage for Heap {
    type List<T, const MOST: usize> = Vec<T>;
}

/// Room for all calls that are leased or in flight at once.
type Root = Coordinator<Leases<AnyLaw, 65_534, Heap>, 1_024, Heap>;

/// The root, which holds the budget.
pub struct Desk {
    policy: Policy,
    root: Root,
    record: Vec<u8>,
    recorded: u64,
    /// Whether the record is written before each grant.
    always: bool,
}

/// A call that is lost on its way frees its place after this time.
const EXPIRY: Span = Span::from_secs(60);

impl Desk {
    /// The coordinator of a fleet with this law. `None` if the law is unknown.
    pub fn new(fleet: &Fleet, law: &str, seed: u64, now: Instant) -> Option<Self> {
        let policy = match (law, fleet.quota) {
            ("fixed", Some(rate)) => {
                let quota = Quota::per(1, rate.interval()).ok()?.with_burst(fleet.burst).ok()?;
                Policy::new(AnyLaw::Fixed(Fixed::new(quota)))
            }
            _ => Policy::named(law)?,
        };
        let mut leases = Leases::new(Controller::new(policy, seed, now));
        leases.set_expiry(EXPIRY);
        let root = Coordinator::new(leases, now);
        Some(Self {
            policy,
            root,
            record: vec![0; Root::SNAPSHOT_BYTES],
            recorded: 0,
            always: fleet.recorded,
        })
    }

    pub fn answer(&mut self, now: Instant, true_now: u64, request: &[u8]) -> Vec<u8> {
        let grant = answer(&mut self.root, now, request);
        if self.always {
            self.write_down(now, true_now);
        }
        grant
    }

    pub fn write_down(&mut self, now: Instant, true_now: u64) {
        self.root.snapshot(now, &mut self.record).expect("the record has room");
        self.recorded = true_now;
    }

    pub fn restore(&mut self, now: Instant, true_now: u64) {
        let away = Span::from_nanos(true_now - self.recorded);
        let root = Root::restore(self.policy, true_now, &self.record, now, away, self.always);
        self.root = root.expect("the record is valid");
    }
}

pub fn answer<S: Source, const MEMBERS: usize>(
    coordinator: &mut Coordinator<S, MEMBERS, Heap>,
    now: Instant,
    request: &[u8],
) -> Vec<u8> {
    let mut grant = vec![0; GRANT_BYTES];
    let length = coordinator.answer(now, request, &mut grant).expect("requests are valid");
    grant.truncate(length);
    grant
}
