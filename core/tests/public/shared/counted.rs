//! The counters of a member, and its answers to a queue.

use tidegate::queue::{Ahead, Gate};
use tidegate::shared::{CountedMember, GRANT_BYTES, Leases, Member, MemberStats, REQUEST_BYTES};
use tidegate::{Call, Controller, Decision, Outcome, Quota, Reason, Span, Stats};

use super::{Desk, number, policy};
use crate::{MILLIS, SECOND, at};

const BEGIN: u64 = 1 << 42;

/// A member with two places, and its coordinator, which grants ten calls at once.
struct Pair {
    member: CountedMember<2>,
    desk: Desk,
}

impl Pair {
    fn new() -> Self {
        let quota = Quota::per_second(10).and_then(|quota| quota.with_burst(10)).unwrap();
        let leases = Leases::new(Controller::new(policy(quota), 7, at(BEGIN)));
        let member = Member::new(1, Quota::per_second(1).unwrap(), at(BEGIN));
        Self { member: CountedMember::new(member), desk: Desk::new(leases, at(BEGIN)) }
    }

    fn poll(&mut self, now: u64) -> Decision<u64> {
        self.member.poll(at(now), &Call::new())
    }

    fn admitted(&mut self, now: u64) -> u64 {
        let Decision::Admit(permit) = self.poll(now) else { panic!("{:?}", self.member) };
        permit
    }

    fn settle(&mut self, now: u64, permit: u64) {
        self.member.settle(at(now), permit, Outcome::Ok);
    }

    /// Sends the request that is due. Returns for how many leases it asks, and the answer.
    fn ask(&mut self, now: u64, waiting: u16) -> (u64, Vec<u8>) {
        let (mut request, mut grant) = ([0; REQUEST_BYTES], [0; GRANT_BYTES]);
        let length = self.member.request(at(now), waiting, &mut request).unwrap();
        let granted = self.desk.answer(at(now), &request[..length], &mut grant).unwrap();
        (number(&request[15..17]), grant[..granted].to_vec())
    }

    fn hear(&mut self, now: u64, grant: &[u8], waiting: u16) {
        self.member.hear(at(now), grant, waiting).unwrap();
    }

    /// [alone, delayed, without, asked, missed]
    fn leases(&self) -> [u32; 5] {
        let MemberStats { alone, delayed, without, asked, missed, .. } = *self.member.stats();
        [alone, delayed, without, asked, missed]
    }
}

#[test]
fn calls_that_wait_for_an_answer_are_counted_once() {
    let mut pair = Pair::new();
    assert_eq!([pair.poll(BEGIN), pair.poll(BEGIN)], [Decision::Full, Decision::Full]);
    // The polled call does not wait in a queue, and needs a lease too.
    let (want, grant) = pair.ask(BEGIN, 0);
    assert_eq!((want, pair.leases()), (1, [0, 0, 0, 1, 0]));
    pair.hear(BEGIN + MILLIS, &grant, 0);
    let permit = pair.admitted(BEGIN + MILLIS);
    assert_eq!(pair.leases(), [0, 1, 1, 1, 0]);
    pair.settle(BEGIN + 2 * MILLIS, permit);

    // Three wait. All three are sent when the answer arrives, and the first had found no lease.
    assert_eq!(pair.poll(BEGIN + 400 * MILLIS), Decision::Full);
    let now = BEGIN + 600 * MILLIS;
    let (want, grant) = pair.ask(now, 5);
    assert!(want >= 5, "{want}");
    pair.hear(now, &grant, 3);
    for delayed in [2, 3, 4, 4] {
        let permit = pair.admitted(now);
        pair.settle(now, permit);
        assert_eq!(pair.leases(), [0, delayed, 2, 2, 0]);
    }

    // An answer delays only the calls that lacked a lease before it.
    let now = BEGIN + 1_200 * MILLIS;
    let (_, grant) = pair.ask(now, 5);
    pair.hear(now, &grant, 3);
    let permit = pair.admitted(now);
    pair.settle(now, permit);
    assert_eq!(pair.leases(), [0, 4, 2, 3, 0]);
}

#[test]
fn calls_that_wait_for_the_due_time_of_a_lease_are_not_delayed_by_the_answer() {
    let mut pair = Pair::new();
    assert_eq!(pair.poll(BEGIN), Decision::Full);
    let (_, grant) = pair.ask(BEGIN, 12);
    pair.hear(BEGIN, &grant, 12);
    for _ in 0..10 {
        let permit = pair.admitted(BEGIN);
        pair.settle(BEGIN, permit);
    }
    let later = BEGIN + 100 * MILLIS;
    assert_eq!(pair.poll(BEGIN), Decision::Wait(at(later)));
    assert_eq!(pair.member.stats().calls.waits, 1);
    pair.admitted(later);
    assert_eq!(pair.leases(), [0, 10, 1, 1, 0]);
}

#[test]
fn a_member_with_all_places_taken_lacks_no_lease() {
    let mut pair = Pair::new();
    assert_eq!(pair.poll(BEGIN), Decision::Full);
    let (_, grant) = pair.ask(BEGIN, 4);
    pair.hear(BEGIN, &grant, 4);
    let permits = [pair.admitted(BEGIN), pair.admitted(BEGIN)];
    assert_eq!((pair.poll(BEGIN), pair.member.stats().calls.full), (Decision::Full, 2));
    let now = pair.member.member().request_at().unwrap().as_nanos();
    let (want, grant) = pair.ask(now, 0);
    assert_eq!(want, 0, "it has two leases left, and no call waits");
    pair.hear(now, &grant, 0);
    pair.settle(now, permits[0]);
    pair.admitted(now);
    assert_eq!(pair.leases(), [0, 3, 1, 2, 0], "it found a lease");
}

#[test]
fn a_member_without_its_coordinator_lacks_no_lease() {
    let mut pair = Pair::new();
    assert_eq!(pair.poll(BEGIN), Decision::Full);
    pair.ask(BEGIN, 0);
    pair.member.miss(at(BEGIN + MILLIS));
    assert_eq!(pair.leases(), [0, 0, 0, 1, 1]);
    // It still lacks one after the first miss, and asks again.
    let now = pair.member.member().request_at().unwrap().as_nanos();
    assert_eq!(pair.ask(now, 0).0, 1);
    // The request expires instead of being sent again.
    let now = pair.member.member().request_at().unwrap().as_nanos();
    assert_eq!(pair.member.request(at(now), 0, &mut [0; REQUEST_BYTES]), None);
    assert_eq!((pair.leases(), pair.member.member().is_alone()), ([0, 0, 0, 2, 2], true));
    let permit = pair.admitted(now);
    assert_eq!(pair.leases(), [1, 0, 1, 2, 2]);
    pair.settle(now, permit);
    assert!(matches!(pair.poll(now), Decision::Wait(_)));
    // Alone, it asks for none for a call that does not wait in a queue.
    let now = pair.member.member().request_at().unwrap().as_nanos();
    let (want, grant) = pair.ask(now, 0);
    assert_eq!(want, 0);
    pair.hear(now, &grant, 0);
    assert_eq!(pair.poll(now), Decision::Full);
    assert_eq!(pair.leases(), [1, 0, 1, 3, 2]);
}

#[test]
fn a_call_is_counted_by_its_outcome_once() {
    let mut pair = Pair::new();
    assert_eq!(pair.poll(BEGIN), Decision::Full);
    let (_, grant) = pair.ask(BEGIN, 8);
    pair.hear(BEGIN, &grant, 8);
    for outcome in [Outcome::Ok, Outcome::Throttled, Outcome::Busy, Outcome::Failed] {
        let permit = pair.admitted(BEGIN);
        for permit in [permit, permit, permit ^ 1 << 20] {
            pair.member.settle(at(BEGIN), permit, outcome);
        }
    }
    // A refunded call was not made, and is not counted.
    let Decision::Admit(permit) = pair.member.poll(at(BEGIN), &Call::new()) else { panic!() };
    assert_eq!(pair.member.member().in_flight(), 1);
    pair.member.refund(at(BEGIN), permit);
    assert_eq!(pair.member.member().in_flight(), 0);
    pair.member.count_rejection();
    let overdue = Call::new().deadline(at(BEGIN - 1));
    let late = Decision::Reject(Reason::Late(at(BEGIN)));
    assert_eq!(pair.member.poll(at(BEGIN), &overdue), late);
    let retry = pair.member.retry(at(BEGIN), &Call::new(), Outcome::Failed).unwrap();
    assert_eq!(retry.attempt(), 1);
    let rejected = pair.member.retry(at(BEGIN), &Call::new(), Outcome::Ok);
    assert_eq!(rejected, Err(Reason::Final));
    let mut expected = Stats::default();
    (expected.admitted, expected.full, expected.rejected, expected.retries) = (5, 1, 2, 1);
    (expected.ok, expected.throttled, expected.busy, expected.failed) = (1, 1, 1, 1);
    assert_eq!(pair.member.stats().calls, expected);
}

#[test]
fn a_queue_learns_when_a_call_of_a_member_may_be_sent() {
    let mut pair = Pair::new();
    let call = Call::new();
    assert_eq!(pair.poll(BEGIN), Decision::Full);
    // An answer may arrive at any time, or be lost without notice.
    assert_eq!(pair.member.ready_at(at(BEGIN), &call), Some(at(BEGIN + SECOND)));
    let behind = |pair: &Pair, calls| {
        let ahead = Ahead { calls, cost: calls.into(), ..Ahead::default() };
        pair.member.due_behind(at(BEGIN), &call, &[ahead]) - at(BEGIN)
    };
    assert_eq!(behind(&pair, 9), Span::ZERO, "nothing is known");
    let (_, grant) = pair.ask(BEGIN, 12);
    pair.hear(BEGIN, &grant, 12);
    assert_eq!([behind(&pair, 0), behind(&pair, 9)], [0, 900].map(Span::from_millis));
    for _ in 0..10 {
        let permit = pair.admitted(BEGIN);
        pair.settle(BEGIN, permit);
    }
    assert_eq!([behind(&pair, 0), behind(&pair, 9)], [100, 1_000].map(Span::from_millis));
}
