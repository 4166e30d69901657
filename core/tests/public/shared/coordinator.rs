//! The coordinator: whom it counts, how it divides leases, and which reports it believes.

use tidegate::shared::{
    Coordinator, GRANT_BYTES, Leases, Member, MessageError, REQUEST_BYTES, Source,
};
use tidegate::{
    Call, Controller, Decision, Hint, Instant, Outcome, Policy, Quota, Reply, Rng, Span,
};

use super::rules::{BEGIN, Request, desk, per_second};
use super::{Desk, leases, policy};
use crate::{MILLIS, SECOND, at};

/// A single member is silent after this time without a request: a lookahead and a second.
const SILENT: u64 = 1_812_500_000;

#[test]
fn an_answer_needs_the_room_of_the_longest_grant() {
    let request = Request { member: 1, sequence: 1, want: 1, ..Request::default() }.bytes();
    let mut desk = desk(per_second(50));
    let mut room = [0; GRANT_BYTES + 1];
    let short = desk.answer(at(BEGIN), &request, &mut room[..GRANT_BYTES - 1]);
    assert_eq!((short, desk.members()), (Err(MessageError::Length), 0));
    assert_eq!(desk.answer(at(BEGIN), &request, &mut room), Ok(45 + 16));
}

#[test]
fn a_member_that_got_all_it_wanted_does_not_wait() {
    let mut desk = desk(per_second(50));
    let one = Request { member: 1, sequence: 1, want: 2, ..Request::default() };
    assert_eq!(leases(&one.send(&mut desk, BEGIN)).len(), 2);
    let other = Request { member: 2, want: 60, ..one };
    assert_eq!(leases(&other.send(&mut desk, BEGIN + MILLIS)).len(), 39, "all up to the lookahead");
}

#[test]
fn a_lease_may_be_as_far_ahead_as_the_lookahead() {
    // One and a half heartbeats and a sixteenth of a second are a second.
    let mut desk = desk(per_second(50)).heartbeat(Span::from_millis(625));
    let request = Request { member: 1, sequence: 1, want: 64, ..Request::default() };
    let last = leases(&request.send(&mut desk, BEGIN)).pop();
    assert_eq!(last.map(|(_, ahead)| ahead), Some(SECOND as i64));
}

#[test]
fn a_member_that_hears_no_answers_takes_nothing_from_the_source() {
    let mut desk = desk(per_second(50));
    let request = Request { member: 1, sequence: 1, want: 9, alone: 1, ..Request::default() };
    assert_eq!(leases(&request.send(&mut desk, BEGIN)), []);
    assert_eq!(desk.source().controller().stats().admitted, 0);
}

#[test]
fn the_first_to_ask_gets_the_lease_if_members_waited_equally_long() {
    let mut desk = desk(Quota::per_minute(1).unwrap());
    let first = Request { member: 1, sequence: 1, want: 2, ..Request::default() };
    assert_eq!(leases(&first.send(&mut desk, BEGIN)).len(), 1);
    let mut ask = |sequence: u32| {
        let now = BEGIN + u64::from(sequence) * 10 * SECOND;
        let granted = [2, 3].map(|member| {
            let request = Request { member, sequence: sequence + 1, want: 1, ..first };
            leases(&request.send(&mut desk, now)).len()
        });
        // Member 1, which also waits, leaves.
        Request { sequence: 2, want: 0, leaving: true, ..first }.send(&mut desk, now);
        granted
    };
    assert_eq!([0, 1, 2, 3, 4].map(&mut ask), [[0, 0]; 5]);
    // The next lease is due in ten seconds, which is within the lookahead.
    assert_eq!(ask(5), [1, 0]);
}

/// A coordinator that has run for 20 s with one member that asks every second, and the time of the last request.
fn in_operation() -> (Desk, u64) {
    let mut desk = desk(per_second(50));
    for second in 0..=20 {
        let request = Request { member: 1, sequence: second + 1, ..Request::default() };
        request.send(&mut desk, BEGIN + u64::from(second) * SECOND);
    }
    (desk, BEGIN + 20 * SECOND)
}

#[test]
fn after_a_silence_the_fleet_is_as_large_as_its_members_say_until_all_could_return() {
    for (silence, fleet) in [(SILENT, 1), (SILENT + 1, 4)] {
        let (mut desk, last) = in_operation();
        let mut now = last + silence;
        let back = Request { member: 1, sequence: 30, alone: 4, ..Request::default() };
        back.send(&mut desk, now);
        assert_eq!(desk.members(), fleet, "{silence} ns");
        // A smaller number in a later request changes nothing.
        Request { sequence: 31, alone: 2, ..back }.send(&mut desk, now);
        assert_eq!(desk.members(), fleet);
        for sequence in 32..42 {
            now += SECOND;
            Request { sequence, alone: 0, ..back }.send(&mut desk, now);
            assert_eq!(desk.members(), fleet, "{} s later", sequence - 31);
        }
        Request { sequence: 42, alone: 0, ..back }.send(&mut desk, now + 1);
        assert_eq!(desk.members(), 1);
    }
    // No more than it has room for.
    let (mut desk, last) = in_operation();
    let many = Request { member: 1, sequence: 30, alone: u16::MAX, ..Request::default() };
    many.send(&mut desk, last + SILENT + 1);
    assert_eq!(desk.members(), 64);
}

#[test]
fn a_restored_coordinator_grants_no_further_ahead_than_its_record_states() {
    let mut before = desk(per_second(2));
    let mut record = vec![0; Desk::SNAPSHOT_BYTES];
    before.snapshot(at(BEGIN), &mut record).unwrap();
    for ended in [false, true] {
        let now = BEGIN + 10 * SECOND;
        let away = Span::from_secs(10);
        let policy = policy(per_second(2));
        let mut after = Desk::restore(policy, 9, &record, at(now), away, ended).unwrap();
        // With eight members, leases reach several seconds ahead, unless the record says less.
        let furthest = |desk: &mut Desk, now: u64, sequence| {
            (1..=8)
                .flat_map(|member| {
                    let request = Request { member, sequence, want: 9, ..Request::default() };
                    leases(&request.send(desk, now))
                })
                .map(|(_, ahead)| ahead)
                .max()
                .unwrap()
        };
        let now = now + SECOND;
        assert!(furthest(&mut after, now, 1) <= 813 * MILLIS as i64, "{ended}");
        after.snapshot(at(now), &mut [0; Desk::SNAPSHOT_BYTES]).unwrap();
        let far = furthest(&mut after, now + SECOND, 2);
        assert!(far > 2 * SECOND as i64, "{ended}: {far}");
    }
}

#[test]
fn numbers_of_permits_are_not_reused_after_any_number_of_restarts() {
    // With the first of these seeds, the random part of the skipped numbers is zero.
    assert_eq!(Rng::new(5_420_224_256_177_933_140).next_u32() >> 8, 0, "find another seed");
    for seed in [5_420_224_256_177_933_140, 9] {
        let policy = policy(per_second(50).with_burst(10).unwrap());
        let new = Controller::new(policy, 7, at(BEGIN));
        let (mut desk, mut now) = (Desk::new(Leases::new(new), at(BEGIN)), BEGIN);
        let mut permits = Vec::new();
        for sequence in 1..5 {
            let mut record = vec![0; Desk::SNAPSHOT_BYTES];
            let mut ask = |desk: &mut Desk, sequence, now| {
                let request = Request { member: 1, sequence, want: 5, ..Request::default() };
                permits.extend(
                    leases(&request.send(desk, now)).iter().map(|(permit, _)| *permit as u32),
                );
            };
            ask(&mut desk, 2 * sequence, now);
            desk.snapshot(at(now), &mut record).unwrap();
            ask(&mut desk, 2 * sequence + 1, now + SECOND);
            now += 10 * SECOND;
            let away = Span::from_secs(10);
            desk = Desk::restore(policy, seed, &record, at(now), away, true).unwrap();
        }
        assert_eq!(permits.len(), 40);
        permits.sort_unstable();
        permits.dedup();
        assert_eq!(permits.len(), 40, "seed {seed}");
    }
}

#[test]
fn a_fleet_without_a_rate_sends_twice_as_many_calls_as_were_served() {
    for (outcome, room) in [(Outcome::Ok, 88), (Outcome::Failed, 64)] {
        let gate = Controller::new(Policy::named("none").unwrap(), 7, at(BEGIN));
        let desk: Coordinator<Leases, 16> = Coordinator::new(Leases::new(gate), at(BEGIN));
        let mut carrier = Carrier::new(desk);
        assert_eq!(carrier.ask(44), 44);
        while let Decision::Admit(permit) = carrier.member.poll(at(BEGIN), &Call::new()) {
            carrier.member.settle(at(BEGIN), permit, outcome);
        }
        let (mut granted, mut second) = (0, u64::MAX);
        while carrier.now < second.saturating_add(200 * MILLIS) {
            let more = carrier.ask(64);
            if carrier.now >= BEGIN + 500 * MILLIS {
                second = second.min(carrier.now);
                granted += more;
            }
            let now = at(carrier.now);
            while let Decision::Admit(_) = carrier.member.poll(now, &Call::new()) {}
        }
        assert_eq!(granted, room, "in the second heartbeat");
    }
}

/// A coordinator with any source, and its only member.
struct Carrier<S> {
    desk: Coordinator<S, 16>,
    member: Member<256>,
    now: u64,
}

impl<S: Source> Carrier<S> {
    fn new(desk: Coordinator<S, 16>) -> Self {
        let mut member = Member::new(1, per_second(1), at(BEGIN));
        assert_eq!(member.poll(at(BEGIN), &Call::new()), Decision::Full);
        Self { desk, member, now: BEGIN }
    }

    fn next(&self) -> u64 {
        self.member.request_at().unwrap().as_nanos().max(self.now)
    }

    /// Carries the next request and its answer. Returns the number of leases.
    fn ask(&mut self, waiting: u16) -> usize {
        self.now = self.next();
        let (mut request, mut grant) = ([0; REQUEST_BYTES], [0; GRANT_BYTES]);
        let length = self.member.request(at(self.now), waiting, &mut request).unwrap();
        let length = self.desk.answer(at(self.now), &request[..length], &mut grant).unwrap();
        self.member.hear(at(self.now), &grant[..length]).unwrap();
        leases(&grant[..length]).len()
    }
}

/// A source with an interval of 20 ms that admits every call and keeps the hint of the latest successful one.
#[derive(Debug, Default)]
struct Listener {
    admitted: u64,
    told: Option<Hint>,
}

impl Source for Listener {
    fn poll(&mut self, _: Instant) -> Decision<u64> {
        self.admitted += 1;
        Decision::Admit(self.admitted)
    }

    fn settle(&mut self, _: Instant, _: u64, reply: Reply, _: bool, _: Span) -> bool {
        self.told = (reply.outcome == Outcome::Ok).then_some(reply.hints[0]);
        reply.outcome != Outcome::Failed // as if its permit was unknown
    }

    fn interval(&self, _: Instant) -> Option<Span> {
        Some(Span::from_millis(20))
    }

    fn cooldown_until(&self) -> Instant {
        Instant::ZERO
    }

    fn forfeit(&mut self, _: Instant) {}
}

impl Carrier<Listener> {
    /// Makes a call that ended this long before the report arrives. Returns when it arrives, and the
    /// hint that the source receives.
    fn report(&mut self, age: u64, outcome: Outcome, hint: Hint) -> (u64, Option<Hint>) {
        self.ask(9);
        let Decision::Admit(permit) = self.member.poll(at(self.now), &Call::new()) else {
            panic!()
        };
        let arrives = self.next();
        self.member.settle(at(arrives - age), permit, outcome.with(hint));
        let request_is_due = self.next();
        assert_eq!(request_is_due, arrives);
        self.ask(0);
        (arrives, self.desk.source().told)
    }
}

#[test]
fn the_level_of_a_bucket_counts_if_it_lasts_ten_times_as_long_as_its_report_takes() {
    let age = 14 * MILLIS;
    let quota = |nanos| Hint::quota(60, Span::from_nanos(nanos)).and_remaining(7);
    for (hint, counts) in [
        (quota(10 * age), true),
        (quota(10 * age - 1), false),
        // Seven calls at 20 ms each are 140 ms: ten times the delay.
        (Hint::remaining(7), true),
        (Hint::remaining(6), false),
        // It names the time at which it is full again.
        (quota(1).and_reset(Span::from_millis(1)), true),
    ] {
        let mut carrier = Carrier::new(Coordinator::new(Listener::default(), at(BEGIN)));
        let (_, told) = carrier.report(age, Outcome::Ok, hint);
        assert_eq!(told, Some(if counts { hint } else { Hint::NONE }), "{hint:?}");
    }
}

#[test]
fn a_level_counts_once_per_delay_of_its_reports() {
    let ignored = Hint::quota(60, Span::from_secs(3_600));
    let long = ignored.and_remaining(7);
    for (outcome, news, before, expected) in [
        (Outcome::Ok, long, 0, long),
        (Outcome::Ok, long, 1, ignored),
        (Outcome::Ok, Hint::NONE, 1, long),
        (Outcome::Failed, long, 1, long),
    ] {
        let mut carrier = Carrier::new(Coordinator::new(Listener::default(), at(BEGIN)));
        let (learned, _) = carrier.report(MILLIS, outcome, news);
        carrier.ask(9);
        let Decision::Admit(permit) = carrier.member.poll(at(carrier.now), &Call::new()) else {
            panic!()
        };
        carrier.member.settle(at(learned - before), permit, Outcome::Ok.with(long));
        carrier.ask(0);
        let told = carrier.desk.source().told;
        assert_eq!(told, Some(expected), "{before} ns before, after {news:?}");
    }
}
