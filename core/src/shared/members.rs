//! The members that a coordinator knows.

use heapless::Vec;

use super::kept::{ALL, Kept};
use super::message::Request;
use crate::time::{Instant, Span};

/// The known members, up to `MEMBERS`.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Members<const MEMBERS: usize> {
    list: Vec<Entry, MEMBERS>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
struct Entry {
    member: u64,
    /// The number of its latest request.
    sequence: u32,
    heard: Instant,
    /// How many fewer leases it got than it wanted.
    missing: u16,
    /// The time up to which it has what it waited for.
    paid: Instant,
    kept: Kept,
    /// When its first request arrived, if that was here: then no other coordinator has granted it leases.
    joined: Option<Instant>,
    stage: Stage,
}

/// What is known of a member by its latest request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
enum Stage {
    /// It leases.
    Here,
    /// Calls had been sent without a lease. It may not receive answers, and continue that way.
    Alone,
    /// It has left. It no longer counts, but late copies of its messages are recognised.
    Left,
    /// The same, and it does not return.
    Ended,
}

/// How long a member that has left counts for the shares without a coordinator, since it may
/// return when there is none.
const REMEMBERED: Span = Span::from_secs(60);

impl<const MEMBERS: usize> Members<MEMBERS> {
    pub(super) const fn new() -> Self {
        Self { list: Vec::new() }
    }

    /// The same members, with more room.
    pub(super) fn grown<const MORE: usize>(self) -> Members<MORE> {
        const { assert!(MORE >= MEMBERS, "there is as much room or more") };
        let mut list = Vec::new();
        for entry in self.list {
            let _ = list.push(entry); // there is room
        }
        Members { list }
    }

    pub(super) fn is_full(&self) -> bool {
        self.list.is_full()
    }

    /// Registers a request. False if it is a duplicate or arrives after a later one.
    pub(super) fn hear(&mut self, now: Instant, request: &Request) -> bool {
        let &Request { member, sequence, alone, leaving, .. } = request;
        let stage = match (leaving, alone) {
            (true, _) => Stage::Left,
            (_, 0) => Stage::Here,
            _ => Stage::Alone,
        };
        if let Some(entry) = self.list.iter_mut().find(|entry| entry.member == member) {
            let newer = sequence > entry.sequence;
            if newer {
                (entry.sequence, entry.heard, entry.stage) = (sequence, now, stage);
                entry.missing = if leaving { 0 } else { entry.missing };
            }
            return newer;
        }
        let paid = Instant::ZERO;
        let kept = Kept::new(now);
        let joined = (sequence == 1).then_some(now);
        let entry = Entry { member, sequence, heard: now, missing: 0, paid, kept, joined, stage };
        if let Err(entry) = self.list.push(entry)
            && let Some(silent) =
                self.list.iter_mut().min_by_key(|entry| (!entry.is_gone(), entry.heard))
        {
            *silent = entry;
        }
        true
    }

    /// Stores the time up to which a member's waits are over, and how many leases were missing.
    pub(super) fn note(&mut self, member: u64, paid: Instant, missing: u16) {
        if let Some(entry) = self.list.iter_mut().find(|entry| entry.member == member) {
            (entry.paid, entry.missing) = (paid, missing);
        }
    }

    /// Counts the leases that were granted to a member.
    pub(super) fn grant(&mut self, now: Instant, member: u64, leases: u16, grace: Span) {
        if let Some(entry) = self.list.iter_mut().find(|entry| entry.member == member) {
            entry.kept.grant(now, leases, grace);
        }
    }

    /// A member has ended after this request, without a last one.
    pub(super) fn end(&mut self, member: u64, sequence: u32) {
        if let Some(entry) = self.list.iter_mut().find(|entry| entry.member == member)
            && entry.sequence <= sequence
        {
            (entry.stage, entry.missing) = (Stage::Ended, 0);
        }
    }

    /// How long a member has waited for its next leases, at most `most` if it had enough.
    pub(super) fn waited(&self, now: Instant, member: u64, most: Span) -> Span {
        let known = self.list.iter().find(|entry| entry.member == member);
        known.map_or(most, |entry| {
            let waited = now - entry.paid;
            if entry.missing > 0 { waited } else { waited.min(most) }
        })
    }

    /// Removes members that have been silent for longer, and later those that have left.
    pub(super) fn forget(&mut self, now: Instant, silence: Span) {
        let mut index = 0;
        while let Some(entry) = self.list.get(index) {
            let most = if entry.is_gone() { silence.max(REMEMBERED) } else { silence };
            if now - entry.heard <= most {
                index = index.saturating_add(1);
            } else if let Some(last) = self.list.pop()
                && let Some(place) = self.list.get_mut(index)
            {
                *place = last;
            }
        }
    }

    /// The number of members, including recent ones that may return.
    pub(super) fn lately(&self) -> u16 {
        count(self.list.iter().filter(|entry| entry.stage != Stage::Ended))
    }

    /// The number of members.
    pub(super) fn count(&self) -> u16 {
        count(self.list.iter().filter(|entry| !entry.is_gone()))
    }

    /// Number of members that sent a request recently and receive answers.
    pub(super) fn present(&self, now: Instant, within: Span) -> u16 {
        count(self.list.iter().filter(|entry| entry.is_present(now, within)))
    }

    /// The part of [`ALL`] leases that members keep that may be calling without the coordinator, if there are `known`
    /// ones in total. A silent member keeps what it was granted lately, at most an even part. One that says that it
    /// calls alone, or is not known by name, keeps an even part. If the coordinator `continues` from another one, so does
    /// each that may have leased from that one. A member that joined here sends at most what it was granted for twice
    /// the grace period, even alone: see [`super::link::Link::share`].
    pub(super) fn kept(
        &self,
        now: Instant,
        within: Span,
        known: u16,
        interval: Option<Span>,
        grace: Span,
        continues: bool,
    ) -> u32 {
        let even = ALL.checked_div(known.into()).unwrap_or(0);
        let unnamed = known.saturating_sub(self.count());
        // Without an interval, all calls that were granted are the rate.
        let interval =
            interval.unwrap_or_else(|| Kept::all(self.list.iter().map(|entry| &entry.kept), grace));
        let absent =
            self.list.iter().filter(|entry| !entry.is_gone() && !entry.is_present(now, within));
        absent.fold(even.saturating_mul(unnamed.into()), |all, entry| {
            let is_alone = entry.stage == Stage::Alone;
            let is_known = match entry.joined {
                Some(joined) => !is_alone || now - joined <= grace * 2,
                None => !is_alone && !continues,
            };
            let part = if is_known { entry.kept.part(interval, grace) } else { ALL };
            all.saturating_add(part.min(even))
        })
    }

    /// Number of other members that received less than they wanted, and the sum of their waiting
    /// times.
    pub(super) fn others_wait(&self, now: Instant, within: Span, member: u64) -> (u16, Span) {
        let waits = |entry: &&Entry| entry.missing > 0 && entry.member != member;
        let short = self.list.iter().filter(waits).filter(|entry| entry.is_present(now, within));
        short.fold((0, Span::ZERO), |(others, all): (u16, Span), entry| {
            let waited = now - entry.paid;
            (others.saturating_add(1), all + waited)
        })
    }

    /// How many leases all members together lacked.
    pub(super) fn missing(&self) -> u16 {
        self.list.iter().fold(0, |all: u16, entry| all.saturating_add(entry.missing))
    }

    /// Considers all members gone until they send a request again.
    pub(super) fn all_are_gone(&mut self) {
        for entry in self.list.iter_mut().filter(|entry| !entry.is_gone()) {
            (entry.stage, entry.missing) = (Stage::Left, 0);
        }
    }
}

impl Entry {
    fn is_present(&self, now: Instant, within: Span) -> bool {
        self.stage == Stage::Here && now - self.heard <= within
    }

    fn is_gone(&self) -> bool {
        matches!(self.stage, Stage::Left | Stage::Ended)
    }
}

fn count(members: impl Iterator<Item = impl Sized>) -> u16 {
    // `count` would add without saturating, and the compiler could not prove that there is no
    // overflow.
    members.fold(0, |all: u16, _| all.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: Span = Span::from_secs(2);

    const fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    fn request(member: u64, sequence: u32) -> Request {
        Request { member, sequence, want: 0, alone: 0, leaving: false }
    }

    /// Members 1, 2, …, of which each sends its first request at its number in seconds.
    fn members(count: u64) -> Members<4> {
        let mut members = Members::new();
        for member in 1..=count {
            assert!(members.hear(at(member), &request(member, 1)));
        }
        members
    }

    #[test]
    fn a_request_counts_once_and_not_after_a_later_one() {
        let mut members = members(1);
        let news = [1, 3, 2, 3, 4].map(|sequence| members.hear(at(2), &request(1, sequence)));
        assert_eq!(news, [false, true, false, false, true]);
    }

    #[test]
    fn a_full_list_replaces_a_member_that_has_left_or_else_the_one_that_is_silent_for_longest() {
        let mut members = members(4);
        members.hear(at(9), &Request { leaving: true, ..request(3, 2) });
        assert_eq!((members.count(), members.lately()), (3, 4));
        members.hear(at(10), &request(5, 1));
        members.hear(at(11), &request(6, 1));
        let mut left: std::vec::Vec<u64> = members.list.iter().map(|entry| entry.member).collect();
        left.sort_unstable();
        assert_eq!(left, [2, 4, 5, 6]);
    }

    #[test]
    fn a_member_is_present_if_it_was_heard_recently_and_hears_answers() {
        let mut members = members(3);
        assert_eq!([3, 4, 5].map(|now| members.present(at(now), TWO)), [3, 2, 1]);
        members.hear(at(4), &Request { alone: 7, ..request(1, 2) });
        members.hear(at(4), &Request { leaving: true, ..request(2, 2) });
        assert_eq!(members.present(at(4), TWO), 1);
        members.hear(at(4), &request(1, 3));
        members.hear(at(4), &request(2, 3));
        assert_eq!((members.present(at(4), TWO), members.count()), (3, 3));
    }

    #[test]
    fn a_member_that_has_ended_does_not_count_until_it_returns() {
        let mut members = members(3);
        members.hear(at(4), &request(2, 2));
        members.end(1, 1);
        members.end(2, 1); // of an earlier connection
        assert_eq!((members.count(), members.lately()), (2, 2));
        assert!(!members.hear(at(5), &request(1, 1)), "a late copy");
        assert_eq!((members.count(), members.lately()), (2, 2));
        members.hear(at(6), &request(1, 2));
        assert_eq!((members.count(), members.lately()), (3, 3));
    }

    #[test]
    fn a_silent_member_is_forgotten_and_one_that_left_after_a_minute() {
        let mut members = members(2);
        members.hear(at(3), &Request { leaving: true, ..request(3, 1) });
        members.forget(at(11), Span::from_secs(10));
        assert_eq!((members.count(), members.lately()), (2, 3));
        members.forget(at(12), Span::from_secs(10));
        assert_eq!((members.count(), members.lately()), (1, 2));
        members.forget(at(63), Span::from_secs(10));
        assert_eq!((members.count(), members.lately()), (0, 1));
        members.forget(at(64), Span::from_secs(10));
        assert_eq!(members.lately(), 0);
    }

    #[test]
    fn a_member_waits_from_when_it_was_paid_and_for_a_limited_time_if_it_lacks_nothing() {
        let mut members = members(3);
        let most = Span::from_secs(5);
        assert_eq!(members.waited(at(100), 9, most), most, "unknown");
        members.note(1, at(90), 0);
        members.note(2, at(90), 4);
        members.note(3, at(97), 3);
        let waited = [1, 2, 3].map(|member| members.waited(at(100), member, most));
        assert_eq!(waited, [5, 10, 3].map(Span::from_secs));
        members.note(1, at(97), 0);
        assert_eq!(members.waited(at(100), 1, most), Span::from_secs(3));
        assert_eq!(members.missing(), 7);
        let within = Span::from_secs(100);
        let others = [1, 2, 3].map(|member| members.others_wait(at(100), within, member));
        let expected = [(2, 13), (1, 3), (1, 10)];
        assert_eq!(others, expected.map(|(others, all)| (others, Span::from_secs(all))));
        // A member that has left wants nothing. After an outage, no member does.
        members.hear(at(100), &Request { leaving: true, ..request(2, 2) });
        assert_eq!(members.missing(), 3);
        members.all_are_gone();
        assert_eq!((members.missing(), members.count(), members.lately()), (0, 0, 3));
        assert_eq!(members.others_wait(at(100), within, 9), (0, Span::ZERO));
    }
}
