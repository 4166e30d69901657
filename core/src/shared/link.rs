//! The link: when a member sends a request, for how many leases, and what it does without an
//! answer.

use super::kept::{Kept, grace};
use super::message::{Grant, LEASE_MOST};
use crate::fixed::mul_div_floor;
use crate::rate::Quota;
use crate::rng::Rng;
use crate::time::{Instant, Span};

/// What a member knows about its coordinator. At most one request is pending.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Link {
    sequence: u32,
    asking: Option<Asking>,
    /// The latest requests that were given up. Their answers may still arrive.
    given_up: [Option<Asking>; 2],
    /// When the latest request was made; `None` before the first.
    latest: Option<Instant>,
    /// The latest time of the next request.
    next: Instant,
    /// When a call was last polled.
    touched: Instant,
    /// Whether leases need to be renewed.
    active: bool,
    /// Whether a call found no lease.
    lacks: bool,
    /// Whether the latest grant was everything requested. If not, a prompt further request would
    /// get no more, and only take leases from others.
    satisfied: bool,
    /// Whether a rejection must be reported.
    throttled: bool,
    /// Consecutive missed answers.
    misses: u8,
    /// Whether calls have been sent without a lease, and no answer to a request that said so has arrived.
    fell_back: bool,
    told: Option<Told>,
    /// What it was granted lately.
    kept: Kept,
    round_trip: Span,
    /// Calls that were sent since `since`, the latest answer.
    used: u32,
    since: Instant,
    /// Whether a lease waited for its call since then, longer than timers are late.
    spare: bool,
    /// Whether several calls were sent between two answers, and no lease has waited for its call
    /// since.
    wants_more: bool,
    /// Recent rate in calls per second, with 16 bits of fraction.
    rate: u64,
}

/// A request without an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Asking {
    sequence: u32,
    pub(super) want: u16,
    /// The number of reports in it, starting with the oldest. Zero once it is given up: the next one repeats them.
    pub(super) reports: usize,
    leaving: bool,
    /// Whether it says that calls have been sent without a lease.
    fell_back: bool,
    at: Instant,
    /// When it expires.
    until: Instant,
}

/// The last grant's state of the fleet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Told {
    again: Span,
    interval: Option<Span>,
    fleet: u16,
}

/// A request is given up after four usual round trips, and twice as late after each miss, within
/// these bounds. An answer that arrives later counts until the second one.
const PATIENCE: (Span, Span) = (Span::from_millis(500), Span::from_secs(2));
/// The delay of the next request after a miss. Doubles with each further one.
const BACK_OFF: Span = Span::from_millis(250);
/// The maximum of that delay.
pub(super) const BACK_OFF_MOST: Span = Span::from_secs(4);
/// After this many consecutive misses it continues without the coordinator.
const DOWN: u8 = 2;
/// After this time without a call, the available leases are returned. It does not grow with the
/// heartbeat, which is long if many members share a low rate.
const IDLE: Span = Span::from_secs(1);
/// The heartbeat before the first grant.
const AGAIN: Span = Span::from_millis(500);

impl Link {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            sequence: 0,
            asking: None,
            given_up: [None; 2],
            latest: None,
            next: now,
            touched: now,
            active: false,
            lacks: false,
            satisfied: true,
            throttled: false,
            misses: 0,
            fell_back: false,
            told: None,
            kept: Kept::new(now),
            round_trip: Span::ZERO,
            used: 0,
            since: now,
            spare: false,
            wants_more: false,
            rate: 0,
        }
    }

    pub(super) fn touch(&mut self, now: Instant) {
        self.touched = self.touched.max(now);
    }

    pub(super) const fn lacks(&mut self) {
        (self.lacks, self.active) = (true, true);
    }

    /// Counts a sent call.
    pub(super) const fn use_one(&mut self) {
        self.used = self.used.saturating_add(1);
    }

    /// A call has found a lease that was already due.
    pub(super) fn finds(&mut self, now: Instant, due: Instant) {
        let there = now - due.max(self.since);
        self.spare |= there > self.again().halved(4);
    }

    pub(super) const fn is_throttled(&mut self) {
        self.throttled = true;
    }

    pub(super) const fn falls_back(&mut self) {
        self.fell_back = true;
    }

    /// Whether calls have been sent without a lease, and the coordinator may not know.
    pub(super) const fn has_fallen_back(&self) -> bool {
        self.fell_back
    }

    /// A report that may be part of a request was dropped.
    pub(super) const fn forgets_one(&mut self) {
        if let Some(asking) = &mut self.asking {
            asking.reports = asking.reports.saturating_sub(1);
        }
    }

    pub(super) const fn is_asking(&self) -> bool {
        self.asking.is_some()
    }

    /// Whether to continue without the coordinator.
    pub(super) const fn is_down(&self) -> bool {
        self.misses >= DOWN
    }

    /// The number of members that the budget was divided among when it fell back. Zero if it did not. If it was granted
    /// more than an even share lately, there are as many as would have been granted as much: the others are granted the
    /// rest, and cannot send more while a coordinator keeps shares for them.
    pub(super) fn fell_back_from(&self, now: Instant) -> u16 {
        if !self.fell_back {
            return 0;
        }
        let Some(Told { interval: Some(interval), fleet, .. }) = self.told else {
            return self.told.map_or(1, |told| told.fleet.max(1));
        };
        let grace = grace(self.again());
        let own = if now - self.since <= grace * 2 { self.kept.interval(grace) } else { Span::MAX };
        // The rates are inexact, and members that have vanished were granted something, so an eighth is not counted.
        let equal = (own - own.halved(3)).as_nanos().saturating_sub(1);
        let equal = mul_div_floor(equal, 1, interval.as_nanos().max(1)).saturating_add(1);
        u16::try_from(equal).unwrap_or(u16::MAX).min(fleet).max(1)
    }

    /// An even share of the last reported rate; `None` if there is none.
    pub(super) fn even_share(&self) -> Option<Span> {
        let told = self.told?;
        Some(told.interval? * told.fleet.max(1).into())
    }

    /// The rate without a coordinator; `None` if no rate was reported. As long as a coordinator keeps the share of this
    /// member, that is at most what it was granted lately; later, an even share.
    pub(super) fn share(&self, now: Instant) -> Option<Quota> {
        let (even, grace) = (self.even_share()?, grace(self.again()));
        let is_kept = now - self.since <= grace * 2;
        let interval = if is_kept { even.max(self.kept.interval(grace)) } else { even };
        Quota::per(1, interval).ok()
    }

    /// Counts the leases of an answer.
    pub(super) fn grant(&mut self, now: Instant, leases: u16) {
        self.kept.grant(now, leases, grace(self.again()));
    }

    /// The last reported number of members, and the fleet's interval.
    pub(super) fn fleet(&self) -> Option<(u16, Option<Span>)> {
        self.told.map(|told| (told.fleet, told.interval))
    }

    /// Whether any request was made.
    pub(super) const fn has_asked(&self) -> bool {
        self.latest.is_some()
    }

    fn again(&self) -> Span {
        self.told.map_or(AGAIN, |told| told.again)
    }

    /// Whether there was no call for so long that the available leases are returned.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        now - self.touched > IDLE
    }

    /// When the next request is due or the pending one expires, with `reports` to send. `None` if
    /// neither is.
    pub(super) fn request_at(&self, reports: usize) -> Option<Instant> {
        if let Some(asking) = self.asking {
            return Some(asking.until);
        }
        if !self.active && reports == 0 {
            return None;
        }
        let Some(latest) = self.latest else { return Some(Instant::ZERO) };
        if self.misses > 0 {
            return Some(self.next);
        }
        let sooner = |part: u32| latest + self.again().halved(part);
        let next = if self.lacks && self.satisfied { self.next.min(sooner(3)) } else { self.next };
        let next = if self.throttled || reports >= LEASE_MOST { next.min(sooner(2)) } else { next };
        Some(next)
    }

    /// The number of leases needed until the answer to the next request but one: for the waiting
    /// calls, plus a quarter more than were recently sent.
    pub(super) fn need(&self, waiting: u16) -> u16 {
        // No request is sent before the previous one is answered.
        let again = self.again().max(self.round_trip);
        let span = again + again.halved(2) + self.round_trip;
        let calls = mul_div_floor(self.rate, span.as_nanos(), 1_000_000_000);
        // Leases reach further ahead than that. If calls wait for each of them, twice as many are
        // useful.
        let calls = if self.wants_more && !self.spare { calls.saturating_mul(2) } else { calls };
        let calls = calls.saturating_add(0x8000) >> 16;
        u16::try_from(calls).unwrap_or(u16::MAX).saturating_add(waiting)
    }

    pub(super) const fn next_sequence(&self) -> u32 {
        self.sequence.saturating_add(1)
    }

    /// Records a request.
    pub(super) fn call(&mut self, now: Instant, want: u16, reports: usize, leaving: bool) {
        self.sequence = self.next_sequence();
        let usual = (self.round_trip * 4).max(PATIENCE.0);
        let patience = (usual * (1 << self.misses.min(2))).min(PATIENCE.1);
        let until = now + patience;
        let (sequence, fell_back) = (self.sequence, self.fell_back);
        self.asking = Some(Asking { sequence, want, reports, leaving, fell_back, at: now, until });
        self.latest = Some(now);
        (self.lacks, self.throttled) = (false, false);
    }

    /// Records an answer. Returns the request that it belongs to, or `None` if it is not expected: it is a duplicate, or
    /// too late.
    pub(super) fn hear(&mut self, now: Instant, grant: &Grant, rng: &mut Rng) -> Option<Asking> {
        let is_answered = |asking: &mut Asking| {
            asking.sequence == grant.sequence && now - asking.at <= PATIENCE.1
        };
        let pending = self.asking.take_if(is_answered);
        let mut given_up = self.given_up.iter_mut();
        let asking = pending.or_else(|| given_up.find_map(|asked| asked.take_if(is_answered)))?;
        let took = now - asking.at;
        let kept = self.round_trip - self.round_trip.halved(2);
        self.round_trip = (kept + took.halved(2)).max(took.halved(2));
        self.told = Some(Told {
            again: grant.again.max(Span::from_millis(1)),
            interval: grant.interval,
            fleet: grant.fleet,
        });
        self.misses = 0;
        self.fell_back &= !asking.fell_back;
        if pending.is_some() {
            self.count(now);
        }
        // A little sooner each time, so that members that started together do not stay
        // synchronised.
        let again = self.again();
        self.next = self.latest.unwrap_or(now) + rng.between(again - again.halved(2), again);
        // The share is kept, because there may be no answer when it returns.
        self.active = !asking.leaving || self.lacks;
        // A call that still lacks a lease after this answer sets it again.
        self.lacks = false;
        Some(asking)
    }

    /// Whether the latest answer was everything requested.
    pub(super) const fn is_satisfied(&mut self, satisfied: bool) {
        self.satisfied = satisfied;
    }

    /// Records that the answer will not arrive.
    pub(super) fn miss(&mut self, now: Instant, rng: &mut Rng) {
        let Some(asking) = self.asking.take() else { return };
        self.given_up = [Some(Asking { reports: 0, ..asking }), self.given_up[0]];
        let most = (BACK_OFF * (1 << self.misses.min(4))).min(BACK_OFF_MOST);
        self.misses = self.misses.saturating_add(1);
        self.next = now + rng.between(most.halved(1), most);
    }

    /// Slowly learns how many calls are sent per second. If an occasional call counted at once,
    /// many members with occasional calls would keep leases that others need.
    fn count(&mut self, now: Instant) {
        let least = self.again().halved(1);
        let passed = (now - self.since).max(least).as_nanos();
        let used = u64::from(self.used) << 16;
        let latest = mul_div_floor(used, 1_000_000_000, passed);
        let before = self.rate.saturating_sub(self.rate >> 2);
        self.rate = before.saturating_add(latest >> 2);
        self.wants_more = !self.spare && (self.wants_more || self.used > 1);
        (self.used, self.since, self.spare) = (0, now, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    const fn span(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    /// The state of a fleet of four members with this heartbeat and interval.
    fn grant(link: &Link, again: Span, interval: Option<Span>) -> Grant {
        let sequence = link.sequence;
        Grant { sequence, again, keep: again, interval, fleet: 4, cooldown: Span::ZERO }
    }

    /// A link that asked at `asked`, and got an answer with a heartbeat of 800 ms at `answered`.
    fn answered(asked: Instant, answered: Instant, rng: &mut Rng) -> Link {
        let mut link = Link::new(at(0));
        link.lacks();
        link.call(asked, 3, 2, false);
        let grant = grant(&link, span(800), Some(span(20)));
        let asking = link.hear(answered, &grant, rng).unwrap();
        assert_eq!((asking.want, asking.reports), (3, 2));
        assert_eq!(link.hear(answered, &grant, rng), None, "an answer counts once");
        link
    }

    #[test]
    fn a_request_is_due_sooner_if_a_call_lacks_a_lease_was_throttled_or_reports_accumulate() {
        let mut link = Link::new(at(0));
        assert_eq!([0, 1].map(|reports| link.request_at(reports)), [None, Some(Instant::ZERO)]);
        link.lacks();
        assert_eq!(link.request_at(0), Some(Instant::ZERO));
        assert!(!link.has_asked() && !link.is_asking());
        link.call(at(100), 1, 0, false);
        assert!(link.has_asked() && link.is_asking());
        assert_eq!(link.request_at(64), Some(at(600)), "a request without an answer expires");

        let (mut soonest, mut latest) = (at(900), at(0));
        for seed in 0..200 {
            let mut link = answered(at(100), at(110), &mut Rng::new(seed));
            let next = link.request_at(63).unwrap();
            (soonest, latest) = (soonest.min(next), latest.max(next));
            assert_eq!(link.request_at(64), Some(at(300)), "as many reports as fit");
            link.is_throttled();
            assert_eq!(link.request_at(0), Some(at(300)));
            link.lacks();
            assert_eq!(link.request_at(64), Some(at(200)));
            link.is_satisfied(false);
            assert_eq!(link.request_at(64), Some(at(300)), "the coordinator has no more leases");
            link.call(at(300), 1, 0, false);
            let granted = grant(&link, span(800), None);
            link.hear(at(310), &granted, &mut Rng::new(seed)).unwrap();
            assert!(link.request_at(0) > Some(at(800)), "the request reported it");
        }
        assert!((at(700)..at(710)).contains(&soonest), "{soonest:?}");
        assert!((at(890)..=at(900)).contains(&latest), "{latest:?}");
    }

    #[test]
    fn a_request_expires_after_four_round_trips_and_later_after_each_miss() {
        let mut rng = Rng::new(7);
        for (round_trip, first) in [(10, 500), (600, 600), (1_200, 1_200), (2_000, 2_000)] {
            let mut link = answered(at(0), at(round_trip), &mut rng);
            for patience in [first, first * 2, first * 4, first * 4] {
                link.call(at(20_000), 1, 0, false);
                let expires = at(20_000 + patience.min(2_000));
                assert_eq!(link.request_at(0), Some(expires), "{round_trip}");
                link.miss(at(20_000), &mut rng);
            }
        }
        // A quarter of each round trip counts, so a usual one of 200 ms becomes 350 ms.
        let mut link = answered(at(0), at(800), &mut rng);
        link.call(at(1_000), 1, 0, false);
        let granted = grant(&link, span(800), None);
        link.hear(at(1_800), &granted, &mut rng).unwrap();
        assert_eq!(link.round_trip, span(350));
    }

    #[test]
    fn after_misses_it_asks_less_often_and_continues_without_the_coordinator() {
        for (misses, most) in [250, 500, 1_000, 2_000, 4_000, 4_000, 4_000].into_iter().enumerate()
        {
            let (mut soonest, mut latest) = (Span::MAX, Span::ZERO);
            for seed in 0..200 {
                let mut rng = Rng::new(seed);
                let mut link = answered(at(0), at(10), &mut rng);
                for _ in 0..=misses {
                    link.call(at(1_000), 1, 0, false);
                    link.miss(at(2_000), &mut rng);
                    link.miss(at(2_000), &mut rng); // nothing is pending: no effect
                }
                assert_eq!(link.is_down(), misses >= 1, "{misses}");
                let next = link.request_at(64).unwrap() - at(2_000);
                (soonest, latest) = (soonest.min(next), latest.max(next));
                link.call(at(3_000), 1, 0, false);
                let granted = grant(&link, span(800), None);
                link.hear(at(3_010), &granted, &mut rng).unwrap();
                assert!(!link.is_down());
            }
            assert!((most / 2..=most * 51 / 100).contains(&soonest.as_millis()), "{soonest:?}");
            assert!((most * 98 / 100..=most).contains(&latest.as_millis()), "{latest:?}");
        }
    }

    #[test]
    fn a_member_that_fell_back_says_from_how_large_a_fleet_until_it_gets_an_answer() {
        let mut rng = Rng::new(7);
        let mut link = Link::new(at(0));
        assert_eq!((link.fell_back_from(at(0)), link.share(at(0)), link.fleet()), (0, None, None));
        link.falls_back();
        assert_eq!(link.fell_back_from(at(0)), 1, "no grant arrived yet");
        let mut link = answered(at(0), at(10), &mut rng);
        assert_eq!(link.fell_back_from(at(10)), 0);
        let share =
            |link: &Link, now: u64| link.share(at(now)).map(|share| share.interval().as_millis());
        assert_eq!(share(&link, 10), Some(10_000), "it was granted nothing");
        link.grant(at(10), 20);
        assert_eq!(
            [10, 20_010, 20_011].map(|now| share(&link, now)),
            [Some(500), Some(500), Some(80)]
        );
        link.grant(at(10), 200);
        assert_eq!(share(&link, 10), Some(80), "an even share is the most");
        assert_eq!(link.fleet(), Some((4, Some(span(20)))));
        link.falls_back();
        // It was granted 220 of the 500 calls of a grace period, so only one other can have been granted as much.
        assert_eq!([1_010, 20_011].map(|now| link.fell_back_from(at(now))), [2, 4]);
        link.call(at(1_000), 1, 0, false);
        let none = Grant { fleet: 0, ..grant(&link, Span::ZERO, None) };
        link.hear(at(1_010), &none, &mut rng).unwrap();
        link.falls_back();
        assert_eq!((link.fell_back_from(at(1_010)), link.share(at(1_010))), (1, None));
        assert!(link.request_at(0) > Some(at(1_000)), "a heartbeat of zero is no loop");
    }

    #[test]
    fn a_member_is_idle_after_more_than_a_second_without_a_call() {
        let mut link = Link::new(at(5_000));
        link.touch(at(4_000));
        assert_eq!([6_000, 6_001].map(|now| link.is_idle(at(now))), [false, true]);
        link.touch(at(5_500));
        assert_eq!([6_500, 6_501].map(|now| link.is_idle(at(now))), [false, true]);
    }

    #[test]
    fn it_stops_asking_when_it_has_left_unless_a_call_lacks_a_lease() {
        let mut rng = Rng::new(7);
        for lacks in [false, true] {
            let mut link = answered(at(0), at(10), &mut rng);
            link.call(at(1_000), 0, 0, true);
            if lacks {
                link.lacks();
            }
            let granted = grant(&link, span(800), None);
            link.hear(at(1_010), &granted, &mut rng).unwrap();
            assert_eq!(link.request_at(0).is_some(), lacks);
        }
    }

    #[test]
    fn it_needs_leases_for_the_waiting_calls_and_a_quarter_more_than_it_recently_sent() {
        let mut rng = Rng::new(7);
        let mut link = answered(at(0), at(40), &mut rng);
        assert_eq!((link.need(0), link.need(9), link.need(u16::MAX)), (0, 9, u16::MAX));
        // 40 calls in each 800 ms. A quarter of the difference is learned each time.
        let mut needs = Vec::new();
        for beat in 1..=30 {
            for _ in 0..40 {
                link.use_one();
            }
            // This lease waited for its call.
            link.finds(at(beat * 800 + 40), at(beat * 800 - 20));
            link.call(at(beat * 800), 0, 0, false);
            let granted = grant(&link, span(800), Some(span(20)));
            link.hear(at(beat * 800 + 40), &granted, &mut rng).unwrap();
            needs.push(link.need(0));
        }
        // In the end 50 a second for 800 ms, a quarter of that, and a round trip of 40 ms.
        assert_eq!((needs[0], needs[1], needs[29]), (13, 22, 52), "{needs:?}");
        // A round trip that is longer than the heartbeat counts in place of it.
        link.round_trip = span(2_000);
        assert_eq!(link.need(1), 50 * 45 / 10 + 1);
    }

    #[test]
    fn it_needs_twice_as_many_leases_while_calls_wait_for_each() {
        let mut rng = Rng::new(7);
        let mut link = answered(at(0), at(0), &mut rng);
        let mut beat = 0;
        let mut answer = |link: &mut Link, calls: u32| {
            beat += 1;
            (0..calls).for_each(|_| link.use_one());
            link.call(at(beat * 800), 0, 0, false);
            let granted = grant(link, span(800), Some(span(20)));
            link.hear(at(beat * 800), &granted, &mut rng).unwrap();
            link.rate = 80 << 16; // a second
            link.need(0)
        };
        // 80 a second, for 800 ms and a quarter of that.
        assert_eq!(
            [answer(&mut link, 1), answer(&mut link, 2), answer(&mut link, 1)],
            [80, 160, 160]
        );
        // A lease that was there a little before its call is a late timer: up to a sixteenth of the heartbeat.
        link.finds(at(2_450), at(2_400));
        assert_eq!(link.need(0), 160);
        // If it was due before the latest answer, it cannot have been used earlier.
        link.finds(at(2_450), at(900));
        assert_eq!(link.need(0), 160);
        for _ in 0..2 {
            link.finds(at(2_451), at(2_400));
            assert_eq!(link.need(0), 80);
        }
        assert_eq!([answer(&mut link, 1), answer(&mut link, 2)], [80, 160]);
    }

    #[test]
    fn a_dropped_report_is_not_part_of_the_request_any_more() {
        let mut link = Link::new(at(0));
        link.forgets_one();
        link.call(at(0), 0, 2, false);
        for left in [1, 0, 0] {
            link.forgets_one();
            assert_eq!(link.asking.unwrap().reports, left);
        }
    }
}
