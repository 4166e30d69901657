//! A member between two answers: its leases, its requests, and calls without a lease.

use tidegate::backoff::{Backoff, Growth, Jitter};
use tidegate::law::Fixed;
use tidegate::queue::Ahead;
use tidegate::shared::{Member, REQUEST_BYTES, Source};
use tidegate::{Call, Controller, Decision, Hint, Outcome, Policy, Reason, Span};

use super::rules::{BEGIN, Request, answer, desk, due, member, per_second};
use super::{Desk, leases};
use crate::{MILLIS, SECOND, at};

/// The number of leases that a request asks for, whether it is a goodbye, and the codes of its reports.
fn read(request: &[u8]) -> (u16, bool, Vec<u8>) {
    let mut rest = &request[20..request.len() - 4];
    let mut codes = Vec::new();
    while !rest.is_empty() {
        codes.push(rest[16]);
        rest = &rest[18 + 8 * (rest[17] & 31).count_ones() as usize..];
    }
    (u16::from_le_bytes([request[15], request[16]]), request[2] > 0, codes)
}

/// Sends the request of a member that wants this many leases, and passes it the answer.
fn ask(desk: &mut Desk, member: &mut Member<32>, now: u64, waiting: u16) -> (u16, bool, Vec<u8>) {
    let request = due(member, now, waiting).unwrap();
    member.hear(at(now), &answer(desk, now, &request)).unwrap();
    read(&request)
}

/// A member with a lease each 20 ms from now on, up to 800 ms ahead.
fn supplied() -> (Desk, Member<32>) {
    let (mut desk, mut member) = (desk(per_second(50)), member(1));
    assert_eq!(member.poll(at(BEGIN), &Call::new()), Decision::Full);
    ask(&mut desk, &mut member, BEGIN, 60);
    assert_eq!(member.available_leases(), 41);
    (desk, member)
}

fn admitted(member: &mut Member<32>, now: u64) -> u64 {
    let Decision::Admit(permit) = member.poll(at(now), &Call::new()) else { panic!("{member:?}") };
    permit
}

/// Misses two answers, and returns when: from then on the member uses its own law.
fn cut_off(member: &mut Member<32>) -> u64 {
    let mut now = BEGIN;
    for _ in 0..2 {
        now = member.request_at().unwrap().as_nanos().max(BEGIN);
        due(member, now, 1).unwrap();
        member.miss(at(now));
    }
    now
}

/// The next attempt of a failed call, due in 100 ms.
fn later_attempt() -> Call {
    let delay = Span::from_millis(100);
    let backoff = Backoff::new(Growth::Constant, Jitter::None, delay, delay).unwrap();
    let policy = Policy::new(Fixed::UNLIMITED).backoff(Some(backoff));
    let mut gate: Controller<Fixed> = Controller::new(policy, 7, at(BEGIN));
    gate.retry(at(BEGIN), &Call::new(), Outcome::Failed).unwrap()
}

/// Removes what is out of date, without sending a call.
fn tidy(member: &mut Member<32>, now: u64) -> usize {
    let overdue = Call::new().deadline(at(0));
    assert!(matches!(member.poll(at(now), &overdue), Decision::Reject(Reason::Late(_))));
    member.available_leases()
}

#[test]
fn leases_within_a_cooldown_are_returned_and_the_first_one_after_it_is_used() {
    for (outcome, rests) in [
        (Outcome::Throttled, true),
        (Outcome::Busy, true),
        (Outcome::Exhausted, true),
        (Outcome::Failed, false),
    ] {
        let (_, mut member) = supplied();
        let permit = admitted(&mut member, BEGIN);
        let asked = Span::from_millis(195);
        member.settle(at(BEGIN + 5 * MILLIS), permit, outcome.with(Hint::retry_after(asked)));
        let end = BEGIN + 200 * MILLIS;
        assert_eq!(member.available_leases(), if rests { 31 } else { 40 }, "{outcome:?}");
        if rests {
            let wait = member.poll(at(end - 1), &Call::new());
            assert_eq!(wait, Decision::Wait(at(end)), "the server's wait, without jitter");
            admitted(&mut member, end);
        }
    }
}

#[test]
fn a_lease_that_is_not_used_for_a_heartbeat_is_returned() {
    let (_, mut member) = supplied();
    let heartbeat = 500 * MILLIS;
    let left = [heartbeat - 1, heartbeat, heartbeat + 20 * MILLIS - 1, heartbeat + 20 * MILLIS];
    assert_eq!(left.map(|after| tidy(&mut member, BEGIN + after)), [41, 40, 40, 39]);
}

#[test]
fn a_call_waits_for_its_lease_and_its_backoff_if_its_deadline_allows() {
    let (_, mut member) = supplied();
    let by = |deadline| Call::new().deadline(at(deadline));
    assert!(matches!(member.poll(at(BEGIN), &by(BEGIN)), Decision::Admit(_)));
    let next = BEGIN + 20 * MILLIS;
    assert_eq!(member.poll(at(BEGIN), &by(next)), Decision::Wait(at(next)));
    let late = Decision::Reject(Reason::Late(at(next)));
    assert_eq!(member.poll(at(BEGIN), &by(next - 1)), late);
    assert_eq!(member.poll(at(BEGIN), &by(BEGIN - 1)), Decision::Reject(Reason::Late(at(BEGIN))));
    let later = later_attempt();
    let due = at(BEGIN + 100 * MILLIS);
    assert_eq!(member.poll(at(BEGIN), &later), Decision::Wait(due));
    let late = Decision::Reject(Reason::Late(due));
    assert_eq!(member.poll(at(BEGIN), &later.deadline(at(next))), late);
    assert!(matches!(member.poll(due, &later), Decision::Admit(_)));
}

#[test]
fn a_report_says_whether_the_call_waited_for_its_lease() {
    const WAITED: u8 = 0x80;
    let (mut desk, mut member) = supplied();
    let later = later_attempt();
    let mut sent = |now: u64, waits: u32, call: &Call| {
        let mut polled = now;
        for _ in 0..waits {
            let Decision::Wait(until) = member.poll(at(polled), call) else { panic!() };
            assert_eq!(member.poll(at(polled), call), Decision::Wait(until), "asked twice");
            polled = until.as_nanos();
        }
        let Decision::Admit(permit) = member.poll(at(polled), call) else { panic!() };
        member.settle(at(polled), permit, Outcome::Ok);
        polled
    };
    // The first call found no lease at all. The others find one, or wait for it.
    sent(BEGIN, 0, &Call::new());
    sent(BEGIN + 30 * MILLIS, 0, &Call::new());
    sent(BEGIN + 30 * MILLIS, 1, &Call::new());
    sent(BEGIN + 70 * MILLIS, 0, &Call::new());
    // This one waits for its backoff.
    let now = later.not_before().as_nanos();
    sent(now - MILLIS, 1, &later);
    let (_, _, codes) = ask(&mut desk, &mut member, BEGIN + 500 * MILLIS, 0);
    assert_eq!(codes[..5], [WAITED, 0, WAITED, 0, 0], "{codes:?}");
}

#[test]
fn a_member_whose_calls_wait_for_every_lease_asks_for_twice_as_many() {
    // Calls that wait for each lease, and calls that come when their lease has been there for 100 ms.
    let wanted = [0, 100].map(|after| {
        let (mut desk, mut member) = (desk(per_second(50)), member(1));
        assert_eq!(member.poll(at(BEGIN), &Call::new()), Decision::Full);
        let mut wanted = 0;
        for now in (BEGIN..BEGIN + 20 * SECOND).step_by(5 * MILLIS as usize) {
            let next = member.next_at().filter(|_| member.available_leases() > 0).unwrap_or(at(0));
            if next + Span::from_millis(after) <= at(now)
                && let Decision::Admit(permit) = member.poll(at(now), &Call::new())
            {
                member.settle(at(now), permit, Outcome::Ok);
                if after == 0 {
                    _ = member.poll(at(now), &Call::new()); // another waits
                }
            }
            if let Some(request) = due(&mut member, now, 1) {
                wanted = wanted.max(read(&request).0);
                member.hear(at(now), &answer(&mut desk, now, &request)).unwrap();
            }
        }
        wanted
    });
    assert!(wanted[0] > 40 && wanted[1] < 40, "{wanted:?}");
}

/// A member that has given up two requests and waits for the answer to a third, and the answers to all of them, none of
/// which has arrived. With each: when its request was sent.
fn unheard() -> (Member<32>, u64, [(u64, Vec<u8>); 3]) {
    let (mut desk, mut member, mut now) = (desk(per_second(50)), member(1), BEGIN);
    assert_eq!(member.poll(at(BEGIN), &Call::new()), Decision::Full);
    let answers = [7, 5, 3].map(|waiting| {
        member.miss(at(now + 100 * MILLIS));
        now = member.request_at().unwrap().as_nanos().max(now);
        (now, answer(&mut desk, now, &due(&mut member, now, waiting).unwrap()))
    });
    assert_eq!(answers.each_ref().map(|(_, grant)| leases(grant).len()), [7, 5, 3]);
    (member, now, answers)
}

#[test]
fn answers_in_any_order_and_repeated_bring_each_lease_once_also_after_their_request_was_given_up() {
    // At the second instant, the first request is too old.
    for (order, is_late) in (0..81).flat_map(|order| [(order, false), (order, true)]) {
        let (mut member, begun, answers) = unheard();
        let now = if is_late { answers[0].0 + 2 * SECOND + 1 } else { begun };
        let mut accepted = [usize::from(!is_late), 1, 1];
        for answer in [1, 3, 9, 27].map(|place| order / place % 3) {
            let before = member.available_leases();
            member.hear(at(now), &answers[answer].1).unwrap();
            let more = accepted[answer] * [7, 5, 3][answer];
            assert_eq!(member.available_leases() - before, more, "{order}, late: {is_late}");
            accepted[answer] = 0;
        }
    }
}

#[test]
fn the_leases_of_an_answer_are_returned_if_calls_were_sent_without_a_lease_since_its_request() {
    // The answer to the request that is pending, or to one that was given up.
    for late in [false, true] {
        let (mut member, now, [_, given_up, pending]) = unheard();
        assert!(member.is_alone());
        let permit = admitted(&mut member, now);
        member.settle(at(now), permit, Outcome::Ok);
        let (_, grant) = if late { &given_up } else { &pending };
        member.hear(at(now), grant).unwrap();
        assert_eq!(member.available_leases(), 0, "late: {late}");
        let request = loop {
            let due_at = member.request_at().unwrap().as_nanos();
            if let Some(request) = due(&mut member, due_at, 1) {
                break request;
            }
        };
        assert!(request[17] > 0, "it says that it fell back");
        assert_eq!(read(&request).2, vec![4; leases(grant).len()]);
    }
}

#[test]
fn a_member_says_goodbye_with_the_request_that_reports_the_last_of_its_leases() {
    for (rounds, goodbyes) in [(1, &[true][..]), (2, &[false, true])] {
        let (mut desk, mut member) = (desk(per_second(1_000).with_burst(200).unwrap()), member(1));
        assert_eq!(member.poll(at(BEGIN), &Call::new()), Decision::Full);
        let mut now = BEGIN;
        for round in 0..rounds {
            now = member.request_at().unwrap().as_nanos().max(BEGIN);
            let request = due(&mut member, now, 64 * (round + 1)).unwrap();
            member.hear(at(now), &answer(&mut desk, now, &request)).unwrap();
        }
        assert_eq!(member.available_leases(), 64 * usize::from(rounds));
        // No call for a second: all of them expire.
        now = now.max(member.request_at().unwrap().as_nanos()) + 1_100 * MILLIS;
        for goodbye in goodbyes {
            let (want, leaving, codes) = ask(&mut desk, &mut member, now, 0);
            assert_eq!((want, leaving, codes), (0, *goodbye, vec![4; 64]));
            now += SECOND;
        }
        assert_eq!((member.request_at(), desk.members()), (None, 0));
        assert_eq!(member.leave(at(now), &mut [0; REQUEST_BYTES]), None, "it has left");
    }
}

#[test]
fn a_member_that_never_asked_does_not_leave() {
    let mut member = member(1);
    assert_eq!(member.poll(at(BEGIN), &Call::new()), Decision::Full);
    assert!(member.request_at().is_some());
    assert_eq!(member.leave(at(BEGIN), &mut [0; REQUEST_BYTES]), None);
}

#[test]
fn a_member_asks_again_soon_if_it_got_all_it_wanted() {
    let soon = Span::from_micros(62_500);
    for (waiting, alone, is_soon) in [(5, false, true), (60, false, false), (60, true, true)] {
        let (mut desk, mut member) = (desk(per_second(50)), member(1));
        let mut now = BEGIN;
        assert_eq!(member.poll(at(now), &Call::new()), Decision::Full);
        if alone {
            now = cut_off(&mut member);
            let permit = admitted(&mut member, now);
            member.settle(at(now), permit, Outcome::Ok);
            now = member.request_at().unwrap().as_nanos();
        }
        ask(&mut desk, &mut member, now, waiting);
        // All leases are used or returned, and another call lacks one.
        while member.available_leases() > 0 {
            let Decision::Admit(permit) = member.poll(at(now + 900 * MILLIS), &Call::new()) else {
                break;
            };
            member.settle(at(now + 900 * MILLIS), permit, Outcome::Ok);
        }
        assert_eq!(member.poll(at(now + 900 * MILLIS), &Call::new()), Decision::Full);
        let next = member.request_at().unwrap() - at(now);
        assert_eq!(next <= soon, is_soon, "{waiting} waiting: {next:?}");
    }
}

#[test]
fn a_cooldown_in_an_answer_returns_the_leases_of_a_member() {
    let (mut desk, mut member) = (desk(per_second(50)), member(1));
    let other = Request { member: 2, sequence: 1, want: 1, ..Request::default() };
    let (permit, _) = leases(&other.send(&mut desk, BEGIN))[0];
    assert_eq!(member.poll(at(BEGIN), &Call::new()), Decision::Full);
    ask(&mut desk, &mut member, BEGIN, 60);
    assert!(member.available_leases() > 20);
    let report = Some((permit, 0, 1, Some(9 * SECOND)));
    let now = member.request_at().unwrap().as_nanos();
    Request { sequence: 2, want: 0, report, ..other }.send(&mut desk, now - MILLIS);
    assert!(matches!(member.poll(at(now - 1), &Call::new()), Decision::Admit(_)));
    ask(&mut desk, &mut member, now, 0);
    assert_eq!(
        (member.available_leases(), member.poll(at(now), &Call::new())),
        (0, Decision::Full)
    );
}

#[test]
fn without_its_coordinator_a_member_keeps_to_its_share_and_to_deadlines() {
    let mut member = member(1);
    assert_eq!(member.poll(at(BEGIN), &Call::new()), Decision::Full);
    let now = cut_off(&mut member);
    let permit = admitted(&mut member, now);
    member.settle(at(now), permit, Outcome::Ok);
    let next = now + SECOND;
    let by = |deadline| Call::new().deadline(at(deadline));
    assert_eq!(member.poll(at(now), &by(next)), Decision::Wait(at(next)));
    assert_eq!(member.poll(at(now), &by(next - 1)), Decision::Reject(Reason::Late(at(next))));
    assert!(matches!(member.poll(at(next - 1), &Call::new()), Decision::Wait(_)));
    let permit = admitted(&mut member, next);
    // At the end of a cooldown, its own law decides.
    let throttled = Outcome::Throttled.with(Hint::retry_after(Span::from_secs(5)));
    member.settle(at(next), permit, throttled);
    let end = at(next + 5 * SECOND);
    let Decision::Wait(until) = member.poll(end, &Call::new()) else { panic!() };
    assert!(until > end);
}

#[test]
fn the_cooldown_of_a_member_as_a_source_is_as_old_as_its_report() {
    let (_, mut member) = supplied();
    let permit = admitted(&mut member, BEGIN);
    let throttled = Outcome::Throttled.with(Hint::retry_after(Span::from_secs(20)));
    let (now, ago) = (at(BEGIN + 3 * SECOND), Span::from_secs(2));
    assert!(Source::settle(&mut member, now, permit, throttled, true, ago));
    assert_eq!(Source::cooldown_until(&member), at(BEGIN + 21 * SECOND));
    assert!(!Source::settle(&mut member, now, permit, throttled, true, ago));
}

#[test]
fn calls_in_flight_do_not_delay_the_calls_behind_them() {
    let (mut desk, mut member) = (desk(per_second(50).with_burst(40).unwrap()), member(1));
    assert_eq!(member.poll(at(BEGIN), &Call::new()), Decision::Full);
    ask(&mut desk, &mut member, BEGIN, 32);
    for _ in 0..32 {
        admitted(&mut member, BEGIN);
    }
    assert_eq!((member.available_leases(), member.in_flight()), (0, 32));
    let behind =
        |calls| member.due_behind(at(BEGIN), &Call::new(), &Ahead { calls, ..Ahead::default() });
    assert_eq!([0, 3].map(behind), [at(BEGIN), at(BEGIN + 60 * MILLIS)]);
}
