//! The rules one by one, each with the fault that it prevents.

use core::num::NonZeroU16;

use tidegate::gate::Pacing;
use tidegate::law::{Adaptive, Aimd, AimdConcurrency, Law, Sample, Sent};
use tidegate::shared::{Coordinator, GRANT_BYTES, Leases, Member, REQUEST_BYTES};
use tidegate::{Call, Controller, Decision, Hint, Outcome, Policy, Quota, Rng, Span};

use super::{Desk, leases, number, policy};
use crate::{MILLIS, SECOND, at};

/// The start of a test.
pub(super) const BEGIN: u64 = 1 << 42;

pub(super) fn desk(quota: Quota) -> Desk {
    let mut leases = Leases::new(Controller::new(policy(quota), 7, at(BEGIN)));
    leases.set_expiry(Span::from_secs(20));
    Desk::new(leases, at(BEGIN))
}

pub(super) fn member(number: u64) -> Member<32> {
    Member::new(number, Quota::per_second(1).unwrap(), at(BEGIN))
}

pub(super) fn per_second(calls: u64) -> Quota {
    Quota::per_second(calls).unwrap()
}

/// A request with the documented layout.
#[derive(Clone, Copy, Default)]
pub(super) struct Request {
    pub(super) member: u64,
    pub(super) sequence: u32,
    pub(super) want: u16,
    pub(super) alone: u16,
    pub(super) leaving: bool,
    /// A permit, when its call completed (from now), the outcome, and a Retry-After.
    pub(super) report: Option<(u64, i64, u8, Option<u64>)>,
}

impl Request {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![1, 1, u8::from(self.leaving)];
        bytes.extend(self.member.to_le_bytes());
        bytes.extend(self.sequence.to_le_bytes());
        bytes.extend(self.want.to_le_bytes());
        bytes.extend(self.alone.to_le_bytes());
        bytes.push(u8::from(self.report.is_some()));
        if let Some((permit, at, outcome, retry_after)) = self.report {
            bytes.extend(permit.to_le_bytes());
            bytes.extend(at.to_le_bytes());
            bytes.extend([outcome, u8::from(retry_after.is_some())]);
            retry_after.iter().for_each(|span| bytes.extend(span.to_le_bytes()));
        }
        let sum = bytes
            .iter()
            .fold(0x811C_9DC5u32, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
        bytes.extend(sum.to_le_bytes());
        bytes
    }

    pub(super) fn send(self, desk: &mut Desk, now: u64) -> Vec<u8> {
        answer(desk, now, &self.bytes())
    }
}

pub(super) fn answer(desk: &mut Desk, now: u64, request: &[u8]) -> Vec<u8> {
    let mut grant = [0; GRANT_BYTES];
    let length = desk.answer(at(now), request, &mut grant).unwrap();
    grant[..length].to_vec()
}

/// Sends every call that is admitted, and serves each at once. Returns how many had a lease, and
/// how many did not.
pub(super) fn call(member: &mut Member<32>, now: u64) -> (u64, u64) {
    let (mut leased, mut own) = (0, 0);
    loop {
        let alone = member.is_alone();
        let Decision::Admit(permit) = member.poll(at(now), &Call::new()) else {
            return (leased, own);
        };
        member.settle(at(now), permit, Outcome::Ok);
        *(if alone { &mut own } else { &mut leased }) += 1;
    }
}

/// The due request, if any.
pub(super) fn due(member: &mut Member<32>, now: u64, waiting: u16) -> Option<Vec<u8>> {
    let mut request = [0; REQUEST_BYTES];
    let length = member.request(at(now), waiting, &mut request)?;
    Some(request[..length].to_vec())
}

/// What a member does, with so many waiting calls.
#[derive(Clone, Copy)]
enum Life {
    Hears(u16),
    /// No answer reaches it.
    Deaf(u16),
    /// Its requests do not arrive either.
    Cut(u16),
    /// It neither calls nor asks.
    Rests,
}
use Life::{Cut, Deaf, Hears, Rests};

/// The calls that each member sends. Its request, if one is due, is answered at once.
fn live<const MEMBERS: usize>(
    desk: &mut Desk,
    members: &mut [Member<32>; MEMBERS],
    now: u64,
    lives: [Life; MEMBERS],
) -> [u64; MEMBERS] {
    let mut sent = [0; MEMBERS];
    for (index, (member, life)) in members.iter_mut().zip(lives).enumerate() {
        let (Hears(waiting) | Deaf(waiting) | Cut(waiting)) = life else { continue };
        let (leased, own) = call(member, now);
        sent[index] = leased + own;
        let request = due(member, now, waiting).filter(|_| !matches!(life, Cut(_)));
        let grant = request.map(|request| answer(desk, now, &request));
        if let (Some(grant), Hears(_)) = (grant, life) {
            member.hear(at(now), &grant).unwrap();
        }
    }
    sent
}

/// The budget of 50 calls a second in another process.
fn moved(mut desk: Desk, now: u64) -> Desk {
    let mut record = vec![0; Desk::SNAPSHOT_BYTES];
    desk.snapshot(at(now), &mut record).unwrap();
    Desk::restore(policy(per_second(50)), 9, &record, at(now), Span::ZERO, true).unwrap()
}

#[test]
fn a_slow_limit_serves_all_waiting_members() {
    for per_minute in [1, 3, 5] {
        let mut desk = desk(Quota::per_minute(per_minute).unwrap());
        let mut members = [member(1), member(2)];
        let mut left = [0; 2];
        for now in (BEGIN..BEGIN + 3_600 * SECOND).step_by(50 * MILLIS as usize) {
            let sent = live(&mut desk, &mut members, now, [Hears(5); 2]);
            left.iter_mut().zip(sent).for_each(|(left, sent)| *left += sent);
        }
        let all = per_minute * 60;
        assert!(left[0] + left[1] > all * 9 / 10, "{left:?} of {all}");
        assert!(left.iter().all(|left| *left >= all / 4), "{left:?} of {all}");
    }
}

#[test]
fn a_long_round_trip_is_learned() {
    for round_trip in [400, 600, 1_500] {
        let mut desk = desk(per_second(50));
        let mut member = member(1);
        let mut way: Vec<(u64, Vec<u8>)> = Vec::new();
        let (mut leased, mut own) = (0, 0);
        for now in (BEGIN..BEGIN + 300 * SECOND).step_by(5 * MILLIS as usize) {
            for (_, grant) in way.extract_if(.., |(arrives, _)| *arrives <= now) {
                member.hear(at(now), &grant).unwrap();
            }
            let left = call(&mut member, now);
            (leased, own) = (leased + left.0, own + left.1);
            if let Some(request) = due(&mut member, now, 20) {
                let grant = answer(&mut desk, now + round_trip / 2 * MILLIS, &request);
                way.push((now + round_trip * MILLIS, grant));
            }
        }
        // If the round trip is longer than the lookahead, at most a lookahead's worth arrives per
        // round trip.
        let most = if round_trip > 812 { 300 * 50 * 812 / round_trip } else { 300 * 50 };
        assert!(leased > most * 8 / 10 && own < 10, "{round_trip} ms: {leased} of {most}, {own}");
    }
}

#[test]
fn a_member_without_answers_does_not_starve_the_others() {
    let mut desk = desk(Quota::per_minute(1).unwrap());
    let mut got = 0;
    for round in 0..1_028 {
        let now = BEGIN + u64::from(round) * 3_500 * MILLIS;
        let deaf = Request { member: 1, sequence: round + 1, alone: 2, ..Request::default() };
        deaf.send(&mut desk, now);
        let other = Request { member: 2, sequence: round + 1, want: 1, ..Request::default() };
        got += leases(&other.send(&mut desk, now + SECOND)).len();
    }
    // In an hour, half of which may be sent without the coordinator.
    assert!(got >= 28, "{got}");
}

#[test]
fn returning_members_cost_at_most_the_burst() {
    let quota = per_second(1).with_burst(5).unwrap();
    for (alone, most) in [(0, 5), (1, 1)] {
        let mut desk = desk(quota);
        let back = Request { member: 1, sequence: 1, alone, ..Request::default() };
        // A duplicate grant counts once.
        back.send(&mut desk, BEGIN);
        back.send(&mut desk, BEGIN);
        let wanted = Request { sequence: 2, want: 9, ..back };
        let grant = Request { alone: 0, ..wanted }.send(&mut desk, BEGIN + 1);
        let at_once = leases(&grant).iter().filter(|(_, ahead)| *ahead == 0).count();
        assert_eq!(at_once, most);
    }
}

#[test]
fn a_member_with_frequent_requests_gets_only_its_share() {
    for others in [1, 3] {
        let mut desk = desk(per_second(50));
        let mut got = [0; 4];
        for tick in 0..12_000 {
            let now = BEGIN + u64::from(tick) * 5 * MILLIS;
            let hot = Request { member: 100, sequence: tick + 1, want: 64, ..Request::default() };
            got[0] += leases(&hot.send(&mut desk, now)).len();
            for other in 1..=others {
                if tick % 90 == other * 7 {
                    let member = u64::from(other);
                    let wanted = Request { member, ..hot };
                    got[other as usize] += leases(&wanted.send(&mut desk, now + MILLIS)).len();
                }
            }
        }
        let fair = 60 * 50 / (others as usize + 1);
        let got = &got[..=others as usize];
        assert!(got.iter().all(|got| (fair * 9 / 10..=fair * 11 / 10).contains(got)), "{got:?}");
    }
}

#[test]
fn the_share_of_a_member_that_calls_without_leases_is_counted() {
    let mut desk = desk(per_second(50));
    let mut members = [member(1), member(2)];
    let mut left = 0;
    for now in (BEGIN..BEGIN + 330 * SECOND).step_by(5 * MILLIS as usize) {
        // From the tenth second on, the first one receives no answers.
        let first = if now < BEGIN + 10 * SECOND { Hears(1) } else { Deaf(1) };
        let sent = live(&mut desk, &mut members, now, [first, Hears(30)]);
        left += if now > BEGIN + 30 * SECOND { sent[0] + sent[1] } else { 0 };
    }
    let all = 300 * 50;
    assert!((all * 9 / 10..=all * 101 / 100).contains(&left), "{left} of {all}");
}

#[test]
fn members_that_make_one_call_and_vanish_starve_nobody() {
    let cases = [[0; 3], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1]];
    for [ends, moves, alone] in cases.map(|case| case.map(|is| is == 1)) {
        let mut desk = desk(per_second(50));
        let mut members = [member(1), member(2)];
        let mut sent = [0; 40];
        let mut vanished = 0;
        for tick in 0..8_000 {
            let (now, second) = (BEGIN + tick * 5 * MILLIS, tick as usize / 200);
            if moves && tick == 2_000 {
                desk = moved(desk, now);
            }
            sent[second] += live(&mut desk, &mut members, now, [Hears(20); 2]).iter().sum::<u64>();
            if (5..25).contains(&second) && tick % 100 == 0 {
                vanished += 1;
                let one =
                    Request { member: 100 + tick, sequence: 1, want: 1, ..Request::default() };
                sent[second] += leases(&one.send(&mut desk, now)).len() as u64;
                if ends {
                    desk.ended(at(now), &one.bytes()).unwrap();
                }
                if alone {
                    // The answer arrived too late, and the call was made without a lease.
                    Request { sequence: 2, want: 0, alone: 1, ..one }.send(&mut desk, now);
                }
            }
        }
        assert_eq!(vanished, 40);
        let used = |from: usize, to: usize| sent[from..to].iter().sum::<u64>() / (to - from) as u64;
        let least = if ends { 49 } else { 46 };
        assert!(used(6, 25) >= least, "while they vanish: {sent:?}");
        assert!(used(11, 21) >= least, "after the budget has moved: {sent:?}");
        assert!(used(26, 36) > least, "from a second after that: {sent:?}");
        assert!(used(36, 40) >= 49, "in the end: {sent:?}");
        assert!(sent.iter().all(|sent| *sent <= 51) || sent[0] > 51, "{sent:?}");
    }
}

#[test]
fn members_that_have_vanished_before_an_outage_are_not_awaited_after_it() {
    let mut desk = desk(per_second(50));
    let mut members = [member(1), member(2)];
    let mut sent = [0; 50];
    for tick in 0..10_000 {
        let (now, second) = (BEGIN + tick * 5 * MILLIS, tick as usize / 200);
        if tick == 6_600 {
            desk = moved(desk, now);
        }
        let life = if (30..33).contains(&second) { Cut(20) } else { Hears(20) };
        sent[second] += live(&mut desk, &mut members, now, [life; 2]).iter().sum::<u64>();
        if second < 30 && tick % 100 == 0 {
            let one = Request { member: 100 + tick, sequence: 1, want: 1, ..Request::default() };
            sent[second] += leases(&one.send(&mut desk, now)).len() as u64;
        }
    }
    // Both ask at most four seconds after the outage.
    assert!(sent[37..].iter().all(|sent| (46..=51).contains(sent)), "{sent:?}");
    assert!(sent.iter().all(|sent| *sent <= 51) || sent[0] > 51, "{sent:?}");
}

#[test]
fn a_silent_member_keeps_what_it_was_granted_lately_and_sends_no_more_alone() {
    // The calls that the second member makes in a second until it is cut off. Then it has any number.
    for (rate, least) in [(2, 43), (20, 25), (50, 21)] {
        let mut desk = desk(per_second(50));
        let mut members = [member(1), member(2)];
        let mut sent = [0; 2];
        for tick in 0..14_000 {
            let now = BEGIN + tick * 5 * MILLIS;
            let second = match tick {
                12_000.. => Cut(20),
                _ if tick % (200 / rate) > 0 => Rests,
                _ => Hears(1),
            };
            let more = live(&mut desk, &mut members, now, [Hears(20), second]);
            // Both have used the leases that they had.
            if tick >= 12_400 {
                sent = [sent[0] + more[0], sent[1] + more[1]];
            }
        }
        let [other, alone] = sent;
        assert!(other >= least * 8 && other + alone <= 8 * 50 + 2, "{rate} a second: {sent:?}");
        assert!(alone > 0, "{rate} a second: {sent:?}");
    }
}

#[test]
fn members_whose_messages_are_late_doubled_and_reordered_use_the_budget_and_do_not_exceed_it() {
    // Every three seconds no message arrives for so many milliseconds, and the calls a second that are sent at least.
    for (stall, least) in [(600, 48), (900, 43), (1_200, 38), (1_500, 33), (2_500, 6)] {
        let mut used = 0;
        for seed in 0..20 {
            let (mut desk, mut chance) = (desk(per_second(50)), Rng::new(seed));
            let (mut members, mut sent) = ([1, 2, 3].map(member), 0);
            // When each arrives, whether it is a request, whose it is, and its bytes.
            let mut messages: Vec<(u64, bool, usize, Vec<u8>)> = Vec::new();
            for now in (0..30 * SECOND).step_by(5 * MILLIS as usize) {
                let mut post =
                    |messages: &mut Vec<_>, asks: bool, member: usize, bytes: Vec<u8>| {
                        for _ in 0..=chance.next_u32() >> 31 {
                            let stalled = (stall * MILLIS).saturating_sub(now % (3 * SECOND));
                            let takes =
                                chance.between(Span::ZERO, Span::from_millis(20)).as_nanos();
                            messages.push((now + stalled + takes, asks, member, bytes.clone()));
                        }
                    };
                let arrived: Vec<_> = messages.extract_if(.., |message| message.0 <= now).collect();
                for (_, asks, member, bytes) in arrived {
                    if asks {
                        let grant = answer(&mut desk, BEGIN + now, &bytes);
                        if !grant.is_empty() {
                            post(&mut messages, false, member, grant);
                        }
                    } else {
                        members[member].hear(at(BEGIN + now), &bytes).unwrap();
                    }
                }
                for (index, member) in members.iter_mut().enumerate() {
                    let (leased, own) = call(member, BEGIN + now);
                    sent += leased + own;
                    if let Some(request) = due(member, BEGIN + now, 20) {
                        post(&mut messages, true, index, request);
                    }
                }
                assert!(sent <= now / (20 * MILLIS) + 1, "{sent} calls in {now} ns");
            }
            used += sent;
        }
        assert!(used / 600 >= least, "{} a second with {stall} ms", used / 600);
    }
}

#[test]
fn a_member_that_falls_silent_after_a_restore_sends_no_more_than_is_kept_for_it() {
    let mut desk = desk(per_second(50));
    let mut members = [member(1), member(2)];
    let mut sent = 0;
    for tick in 0..7_900 {
        let now = BEGIN + tick * 5 * MILLIS;
        if tick == 6_000 {
            desk = moved(desk, now);
        }
        let second = if tick < 6_200 { Hears(20) } else { Cut(20) };
        let more = live(&mut desk, &mut members, now, [Hears(20), second]);
        // The second one has used the leases that it had, and is considered silent.
        sent += if tick >= 6_700 { more[0] + more[1] } else { 0 };
    }
    assert!((280..=302).contains(&sent), "{sent}");
}

#[test]
fn the_end_of_an_old_connection_does_not_end_its_member() {
    let mut desk = desk(per_second(50));
    let [first, second] =
        [1, 2].map(|sequence| Request { member: 1, sequence, ..Request::default() });
    for request in [first, second] {
        request.send(&mut desk, BEGIN);
    }
    let left = [first, second].map(|request| {
        desk.ended(at(BEGIN), &request.bytes()).unwrap();
        desk.members()
    });
    assert_eq!(left, [1, 0]);
}

#[test]
fn after_a_lost_snapshot_grants_reach_no_further_than_the_previous_one_states() {
    // The previous snapshot is from a time with a single member. With eight, leases reach six
    // seconds ahead.
    let furthest = |lost: bool| {
        let mut desk = desk(per_second(2));
        let mut record = vec![0; Desk::SNAPSHOT_BYTES];
        desk.snapshot(at(BEGIN), &mut record).unwrap();
        for member in 1..=8 {
            Request { member, sequence: 1, ..Request::default() }.send(&mut desk, BEGIN);
        }
        desk.snapshot(at(BEGIN), &mut record).unwrap();
        if lost {
            desk.snapshot_was_lost();
        }
        granted(&mut desk, BEGIN + MILLIS, 9).last().unwrap() - BEGIN
    };
    assert!(furthest(true) <= 751 * MILLIS && furthest(false) > 4 * SECOND);
}

#[test]
fn a_coordinator_that_ended_cleanly_is_continued_at_once() {
    let mut before = desk(per_second(50));
    let mut due = granted(&mut before, BEGIN, 1);
    let mut record = vec![0; Desk::SNAPSHOT_BYTES];
    before.snapshot(at(BEGIN + MILLIS), &mut record).unwrap();
    let now = BEGIN + 101 * MILLIS;
    let away = Span::from_millis(100);
    let mut after = Desk::restore(policy(per_second(50)), 9, &record, at(now), away, true).unwrap();
    due.extend(granted(&mut after, now, 2));
    // As without an interruption.
    let apart: Vec<u64> = due.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(due.len() > 40 && apart.iter().all(|apart| *apart == 20 * MILLIS), "{apart:?}");
}

/// The times of the leases that a member gets at once, from now.
fn granted(desk: &mut Desk, now: u64, member: u64) -> Vec<u64> {
    let wanted = Request { member, sequence: 1, want: 60, ..Request::default() };
    let grant = wanted.send(desk, now);
    leases(&grant).iter().map(|(_, ahead)| now.checked_add_signed(*ahead).unwrap()).collect()
}

#[test]
fn a_member_that_leaves_returns_its_leases_and_is_no_longer_counted() {
    let mut desk = desk(per_second(50));
    let mut member = member(1);
    let mut last = [0; REQUEST_BYTES];
    assert_eq!(member.leave(at(BEGIN), &mut last), None, "the coordinator does not know it");
    assert_eq!(member.poll(at(BEGIN), &Call::new()), Decision::Full);
    let request = due(&mut member, BEGIN, 9).unwrap();
    member.hear(at(BEGIN), &answer(&mut desk, BEGIN, &request)).unwrap();
    assert!(member.available_leases() > 4);
    assert_eq!(member.fleet(), Some((1, Some(Span::from_millis(20)))));
    // While a request is in progress, whose answer it does not wait for.
    let now = BEGIN + 500 * MILLIS;
    let Decision::Admit(permit) = member.poll(at(now), &Call::new()) else { panic!() };
    member.settle(at(now), permit, Outcome::Throttled);
    let late = due(&mut member, now, 1).unwrap();
    let length = member.leave(at(now), &mut last).unwrap();
    answer(&mut desk, now, &last[..length]);
    assert_eq!(
        (desk.members(), desk.source().controller().in_flight(), member.available_leases()),
        (0, 0, 0)
    );
    assert_eq!(desk.source().controller().stats().throttled, 1, "the completed call was reported");
    assert_eq!(answer(&mut desk, now, &late).len(), 0, "it is too late");
}

#[test]
fn calls_in_flight_at_a_restart_keep_half_of_the_places_for_half_a_minute() {
    let policy = policy(per_second(1_000).with_burst(60).unwrap());
    let policy = policy.concurrency(NonZeroU16::new(10).unwrap());
    let mut before = Desk::new(Leases::new(Controller::new(policy, 7, at(BEGIN))), at(BEGIN));
    assert_eq!(granted(&mut before, BEGIN, 1).len(), 10);
    let mut record = vec![0; Desk::SNAPSHOT_BYTES];
    before.snapshot(at(BEGIN), &mut record).unwrap();
    let now = BEGIN + 2 * SECOND;
    let mut after = Desk::restore(policy, 9, &record, at(now), Span::from_secs(2), true).unwrap();
    let later = [0, 29, 30].map(|seconds| now + seconds * SECOND);
    let left = (2..).zip(later).map(|(member, now)| granted(&mut after, now, member).len());
    assert_eq!(left.collect::<Vec<_>>(), [5, 0, 5]);
}

#[test]
fn a_call_that_ends_after_the_goodbye_is_reported() {
    let mut desk = desk(per_second(50));
    let mut member = member(1);
    let mut carry = |member: &mut Member<32>, now: u64, waiting: u16| {
        if let Some(request) = due(member, now, waiting) {
            member.hear(at(now), &answer(&mut desk, now, &request)).unwrap();
        }
        (desk.source().controller().in_flight(), desk.source().controller().stats().throttled)
    };
    assert_eq!(member.poll(at(BEGIN), &Call::new()), Decision::Full);
    let mut permit = None;
    let mut now = BEGIN;
    while member.request_at().is_some() && now < BEGIN + 9 * SECOND {
        carry(&mut member, now, u16::from(permit.is_none()));
        if permit.is_none()
            && let Decision::Admit(call) = member.poll(at(now), &Call::new())
        {
            permit = Some(call);
        }
        now += 5 * MILLIS;
    }
    assert_eq!(carry(&mut member, now, 0), (1, 0), "it has said goodbye");
    member.settle(at(now), permit.unwrap(), Outcome::Throttled);
    while member.request_at().is_some() && now < BEGIN + 18 * SECOND {
        carry(&mut member, now, 0);
        now += 5 * MILLIS;
    }
    assert_eq!(carry(&mut member, now, 0), (0, 1));
}

#[test]
fn a_cooldown_has_the_requested_length_for_any_lookahead() {
    for (quota, members) in [(per_second(50), 1), (per_second(1), 10)] {
        let mut desk = desk(quota);
        let mut permit = None;
        for sequence in 1..5 {
            for member in 1..=members {
                let wanted = Request { member, sequence, want: 20, ..Request::default() };
                let grant = wanted.send(&mut desk, BEGIN + u64::from(sequence) * 5 * SECOND);
                permit = permit.or(leases(&grant).first().map(|(permit, _)| *permit));
            }
        }
        // 100 ms ago the server asked it to wait 300 ms, plus a jitter of up to an eighth.
        let report = permit.map(|permit| (permit, -100_000_000, 1, Some(300 * MILLIS)));
        let told = Request { member: 1, sequence: 9, report, ..Request::default() };
        let grant = told.send(&mut desk, BEGIN + 20 * SECOND + 500 * MILLIS);
        let cooldown = number(&grant[32..40]) / MILLIS;
        assert!((200..=238).contains(&cooldown), "{cooldown} ms");
    }
}

#[test]
fn a_law_learns_only_the_rest_of_a_cooldown_that_is_reported_late() {
    let (law, mut rng) = (Adaptive::DEFAULT, Rng::new(7));
    let (mut state, mut pacing) = (law.start(at(BEGIN)), Pacing::new(at(BEGIN)));
    law.sent(&mut state, &Sent::new(at(BEGIN)), &mut rng);
    let hint = Hint::NONE.and_retry_after(Span::from_secs(10));
    let now = at(BEGIN + 7 * SECOND);
    let mut sample = Sample::new(now, at(BEGIN), Outcome::Throttled);
    (sample.hint, sample.hinted_ago) = (&hint, Span::from_secs(6));
    law.observe(&mut state, &mut pacing, &sample, &mut rng);
    let rest = law.pace(&state, now, 0, false).not_before - now;
    assert!((Span::from_secs(4)..Span::from_secs(5)).contains(&rest), "{rest:?}");
}

#[test]
fn only_calls_that_waited_for_their_lease_raise_the_rate() {
    const SERVED: u8 = 0;
    const WAITED: u8 = 0x80;
    for (code, raises) in [(SERVED, false), (SERVED | WAITED, true)] {
        let aimd = Controller::new(Policy::new(Aimd::DEFAULT), 7, at(BEGIN));
        let mut desk: Coordinator<Leases<Aimd>> = Coordinator::new(Leases::new(aimd), at(BEGIN));
        let mut report = None;
        for sequence in 1..100 {
            let now = BEGIN + u64::from(sequence) * 100 * MILLIS;
            let request = Request { member: 1, sequence, want: 5, report, ..Request::default() };
            let mut grant = [0; GRANT_BYTES];
            let length = desk.answer(at(now), &request.bytes(), &mut grant).unwrap();
            report = leases(&grant[..length]).first().map(|(permit, _)| (*permit, 0, code, None));
        }
        assert_eq!(desk.source().controller().stats().faster > 0, raises, "{code}");
    }
}

#[test]
fn a_request_is_not_answered_twice() {
    let mut desk = desk(per_second(50));
    let mut member = member(1);
    assert_eq!(member.poll(at(BEGIN), &Call::new()), Decision::Full);
    let request = due(&mut member, BEGIN, 9).unwrap();
    let grant = answer(&mut desk, BEGIN, &request);
    assert_eq!(answer(&mut desk, BEGIN, &request), []);
    member.hear(at(BEGIN), &grant).unwrap();
    assert_eq!(member.available_leases(), 9);
    // Nor a request that arrives after a later one, or after the goodbye.
    let wanted = Request { member: 2, sequence: 9, want: 1, ..Request::default() };
    assert_eq!(leases(&wanted.send(&mut desk, BEGIN + MILLIS)).len(), 1);
    let leaving = Request { sequence: 10, want: 0, leaving: true, ..wanted };
    assert_eq!(leases(&leaving.send(&mut desk, BEGIN + MILLIS)).len(), 0);
    assert_eq!(desk.members(), 1);
    for sequence in [8, 9, 10] {
        assert_eq!(Request { sequence, ..wanted }.send(&mut desk, BEGIN + 100 * MILLIS), []);
    }
    assert_eq!(desk.members(), 1);
    let back = Request { sequence: 11, ..wanted };
    assert_eq!(leases(&back.send(&mut desk, BEGIN + 200 * MILLIS)).len(), 1);
    assert_eq!(desk.members(), 2);
}

#[test]
fn a_member_that_has_left_keeps_to_its_share_without_answers() {
    let mut desk = desk(per_second(2));
    for other in 2..=8 {
        let other = Request { member: other, sequence: 1, want: 1, ..Request::default() };
        other.send(&mut desk, BEGIN);
        Request { sequence: 2, leaving: true, want: 0, ..other }.send(&mut desk, BEGIN + SECOND);
    }
    // It joins when the others have left, and leaves too.
    let mut member = member(1);
    let admitted = BEGIN + 20 * SECOND;
    for now in (BEGIN + 10 * SECOND..admitted).step_by(5 * MILLIS as usize) {
        if now < BEGIN + 12 * SECOND {
            call(&mut member, now);
        }
        if let Some(request) = due(&mut member, now, 0) {
            member.hear(at(now), &answer(&mut desk, now, &request)).unwrap();
        }
    }
    assert_eq!(member.request_at(), None);
    // No answers from now on.
    let mut left = 0;
    for now in (admitted..admitted + 80 * SECOND).step_by(5 * MILLIS as usize) {
        left += call(&mut member, now).1;
        due(&mut member, now, 1);
    }
    // A share is an eighth of two calls a second.
    assert!((15..=21).contains(&left), "{left}");
}

#[test]
fn lost_leases_free_their_places_under_the_limit_of_any_law() {
    let policy = Policy::new(AimdConcurrency::DEFAULT);
    let mut leases: Leases<AimdConcurrency> = Leases::new(Controller::new(policy, 7, at(BEGIN)));
    leases.set_expiry(Span::from_secs(20));
    let mut desk: Coordinator<_, 16> = Coordinator::new(leases, at(BEGIN));
    let mut granted = |seconds: u64| {
        let wanted =
            Request { member: 1, sequence: 1 + seconds as u32, want: 20, ..Request::default() };
        let mut grant = [0; GRANT_BYTES];
        let length =
            desk.answer(at(BEGIN + seconds * SECOND), &wanted.bytes(), &mut grant).unwrap();
        crate::shared::leases(&grant[..length]).len()
    };
    let first = granted(0);
    assert!(first > 0);
    // All of them are lost, and the limit of the law is below the number of places.
    assert_eq!([granted(1), granted(19)], [0, 0]);
    assert!(granted(25) > 0);
}
