//! A coordinator that leases from another.

use tidegate::shared::{Coordinator, GRANT_BYTES, Leases, Member, REQUEST_BYTES};
use tidegate::{Call, Controller, Decision, Hint, Outcome, Quota, Span};

use super::rules::{answer, call, due};
use super::{Desk, policy};
use crate::{MILLIS, SECOND, at};

type Branch = Coordinator<Member<256>, 16>;

const STEP: u64 = 5 * MILLIS;

/// A coordinator of 50 calls a second, one that leases from it, and three members of that one.
struct Tree {
    root: Desk,
    branch: Branch,
    leaves: [Member<32>; 3],
    now: u64,
}

impl Tree {
    fn new() -> Self {
        let policy = policy(Quota::per_second(50).unwrap());
        let alone = Quota::per_second(1).unwrap();
        let member = Member::new(100, alone, at(0));
        Self {
            root: Desk::new(Leases::new(Controller::new(policy, 7, at(0))), at(0)),
            branch: Branch::new(member, at(0)),
            leaves: [1, 2, 3].map(|number| Member::new(number, alone, at(0))),
            now: 0,
        }
    }

    /// Carries all requests and answers until a time. The leaves want this many calls. Returns how
    /// many each sends.
    fn run(&mut self, until: u64, waiting: u16) -> [u64; 3] {
        let mut sent = [0; 3];
        while self.now < until {
            self.now += STEP;
            let now = self.now;
            for (leaf, sent) in self.leaves.iter_mut().zip(&mut sent) {
                if waiting > 0 {
                    *sent += call(leaf, now).0;
                }
                if let Some(request) = due(leaf, now, waiting) {
                    let mut grant = [0; GRANT_BYTES];
                    let length = self.branch.answer(at(now), &request, &mut grant).unwrap();
                    leaf.hear(at(now), &grant[..length]).unwrap();
                }
            }
            let mut request = [0; REQUEST_BYTES];
            if let Some(length) = self.branch.request(at(now), &mut request) {
                let grant = answer(&mut self.root, now, &request[..length]);
                self.branch.source_mut().hear(at(now), &grant).unwrap();
            }
        }
        sent
    }
}

#[test]
fn the_members_of_a_branch_share_what_it_leases() {
    let mut tree = Tree::new();
    tree.run(20 * SECOND, 20);
    let sent = tree.run(80 * SECOND, 20);
    let all: u64 = sent.iter().sum();
    assert!((2_850..=3_010).contains(&all), "{sent:?}");
    assert!(sent.iter().all(|sent| *sent > 900), "{sent:?}");
    assert_eq!((tree.root.members(), tree.branch.members()), (1, 3));
    // Without calls, all of them leave, and every lease has been reported.
    tree.run(100 * SECOND, 0);
    let gate = tree.root.source().controller();
    assert_eq!((tree.root.members(), gate.in_flight()), (0, 0));
    let stats = gate.stats();
    assert_eq!(stats.ok + stats.abandoned, stats.admitted);
    assert!(u64::from(stats.ok) >= all);
}

#[test]
fn a_cooldown_reaches_all_members_of_a_branch() {
    let mut tree = Tree::new();
    tree.run(10 * SECOND, 20);
    let now = tree.now;
    let permit = (0..400).find_map(|_| {
        tree.run(tree.now + STEP, 0);
        match tree.leaves[0].poll(at(tree.now), &Call::new()) {
            Decision::Admit(permit) => Some(permit),
            _ => None,
        }
    });
    let permit = permit.unwrap();
    let throttled = Outcome::Throttled.with(Hint::retry_after(Span::from_secs(20)));
    tree.leaves[0].settle(at(tree.now), permit, throttled);
    tree.run(now + 3 * SECOND, 20);
    assert_eq!(tree.run(now + 19 * SECOND, 20), [0; 3]);
    assert!(tree.run(now + 40 * SECOND, 20).iter().all(|sent| *sent > 100));
}
