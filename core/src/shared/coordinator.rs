//! The coordinator: divides one budget among members.

use core::num::NonZeroU64;

use heapless::Vec;

use super::kept::{ALL, grace, lookahead};
use super::member::Member;
use super::members::Members;
use super::message::{GRANT_BYTES, Grant, LEASE_MOST, Lease, MessageError, Report, Request};
use super::ramp::Ramp;
use super::source::{Leases, Source};
use super::steady::Steady;
use super::storage::{Inline, Storage};
use crate::fixed::{div_rem, mul_div_floor};
use crate::outcome::Outcome;
use crate::time::{Instant, Span};
use crate::verdict::Decision;

/// Holds one budget and leases calls from it to many members.
///
/// A grant is a list of leases: instants, each of which is the right to one call from then on. They
/// come from a [`Source`], such as a [`Controller`](crate::Controller) with any law, which is
/// polled slightly ahead of the clock. So its pacing and burst apply to the fleet as they would to
/// one client.
///
/// It has no clock and no I/O: pass it each request, and send its answer. See the [module](super)
/// for the rules.
///
/// ```
/// use tidegate::shared::{Coordinator, GRANT_BYTES, Member, Leases, REQUEST_BYTES};
/// use tidegate::{Call, Controller, Decision, Instant, Outcome, Policy, Quota};
///
/// let now = Instant::ZERO;
/// let mut desk: Coordinator =
///     Coordinator::new(Leases::new(Controller::new(Policy::named("fixed").unwrap(), 7, now)), now);
/// let mut member: Member = Member::new(42, Quota::per_second(1).unwrap(), now);
///
/// // The first call finds no lease, and has to wait for a round trip.
/// assert_eq!(member.poll(now, &Call::new()), Decision::Full);
/// let (mut request, mut grant) = ([0; REQUEST_BYTES], [0; GRANT_BYTES]);
/// let length = member.request(now, 1, &mut request).unwrap();
/// let length = desk.answer(now, &request[..length], &mut grant).unwrap();
/// member.hear(now, &grant[..length]).unwrap();
/// let Decision::Admit(permit) = member.poll(now, &Call::new()) else { panic!() };
/// member.settle(now, permit, Outcome::Ok); // which the next request reports
/// ```
#[derive(Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Coordinator<S = Leases, const MEMBERS: usize = 1024, M: Storage = Inline> {
    source: S,
    members: Members<MEMBERS, M>,
    /// The latest granted lease, and the source's current time.
    front: Instant,
    /// How far ahead its latest and previous snapshots say that it grants.
    recorded: Span,
    recorded_before: Span,
    clock: Steady,
    heartbeat: Span,
    /// When it was created, or last became reachable again.
    began: Instant,
    /// When it continued from another one, whose latest grants to each member are unknown.
    continued: Option<Instant>,
    /// How many members may not have returned since. Zero when all have.
    crowd: u16,
    /// The part of a lease that silent members keep, and that was not withheld yet.
    carry: u32,
    ramp: Ramp,
    /// A bucket's level is ignored in responses from before this instant.
    news_from: Instant,
}

/// The minimum heartbeat, for small fleets with frequent calls.
const HEARTBEAT: Span = Span::from_millis(500);
/// The minimum time between requests of a large fleet.
const REQUESTS_APART: Span = Span::from_millis(2);
/// The maximum heartbeat for slow limits, so that changes become visible.
const HEARTBEAT_MOST: Span = Span::from_secs(10);
/// The longest round trip for which a waiting member does not count as silent.
const LATE: Span = Span::from_secs(1);

/// The level of a bucket is used only if the bucket lasts this many times the delay of its report.
const OLD_NEWS: u64 = 10;

impl<S: Source, const MEMBERS: usize, M: Storage> Coordinator<S, MEMBERS, M> {
    /// A new coordinator.
    #[must_use]
    pub fn new(source: S, now: Instant) -> Self {
        Self {
            source,
            members: Members::new(),
            front: Instant::ZERO,
            recorded: Span::MAX,
            recorded_before: Span::MAX,
            clock: Steady::new(now),
            heartbeat: HEARTBEAT,
            began: now,
            continued: None,
            crowd: 0,
            carry: 0,
            ramp: Ramp::new(now),
            news_from: Instant::ZERO,
        }
    }

    /// The same coordinator with another minimum heartbeat. The default is half a second. A shorter
    /// heartbeat follows the server more closely and costs more messages.
    #[must_use]
    pub fn heartbeat(self, heartbeat: Span) -> Self {
        Self { heartbeat, ..self }
    }

    /// Changes the minimum heartbeat. See [`heartbeat`](Self::heartbeat).
    pub const fn set_heartbeat(&mut self, heartbeat: Span) {
        self.heartbeat = heartbeat;
    }

    /// Answers a request: writes the grant to the beginning of `grant`, which has room for
    /// [`GRANT_BYTES`](super::GRANT_BYTES), and returns its length. It is zero if the request is a
    /// duplicate or arrives after a later one. Then send nothing.
    ///
    /// # Errors
    /// [`MessageError`] if `request` is not a valid request or `grant` is too short. Nothing
    /// changes then.
    pub fn answer(
        &mut self,
        now: Instant,
        request: &[u8],
        grant: &mut [u8],
    ) -> Result<usize, MessageError> {
        if grant.len() < GRANT_BYTES {
            return Err(MessageError::Length);
        }
        Request::read(request, now)?;
        let (silence, now) = self.clock.tell(now);
        let (request, reports) = Request::read(request, now)?;
        let newer = self.welcome(now, silence, &request);
        let ahead = self.ahead(now);
        let interval = self.source.interval(ahead);
        for report in reports.flatten() {
            self.settle(ahead, interval, &report);
        }
        self.source.lose(now);
        if newer && request.alone > 0 {
            self.source.forfeit(ahead);
        }
        if !newer {
            return Ok(0);
        }
        let terms = self.terms(now);
        let mut leases = Vec::new();
        if !request.leaving {
            let paid = self.lease(now, &terms, &request, &mut leases);
            let granted = u16::try_from(leases.len()).unwrap_or(u16::MAX);
            let missing = request.want.saturating_sub(granted);
            self.members.note(request.member, paid, missing);
            self.members.grant(now, request.member, granted, terms.grace());
        }
        let head = Grant {
            sequence: request.sequence,
            again: terms.again,
            keep: terms.again,
            interval: terms.interval,
            fleet: terms.known.max(self.members.lately()),
            cooldown: self.source.cooldown_until() - now,
        };
        head.write(now, &leases, grant).ok_or(MessageError::Length)
    }

    /// The source of the leases.
    pub const fn source(&self) -> &S {
        &self.source
    }

    /// The source of the leases, mutable to change its policy.
    pub const fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// Reports that the sender of this request has ended, for example because its connection was lost. It has then left
    /// until its next request, and keeps no share. Nothing changes if a later request has arrived, perhaps on another
    /// connection.
    ///
    /// # Errors
    /// [`MessageError`] if `request` is not a valid request. Nothing changes then.
    pub fn ended(&mut self, now: Instant, request: &[u8]) -> Result<(), MessageError> {
        let Request { member, sequence, .. } = Request::read(request, now)?.0;
        self.members.end(member, sequence);
        Ok(())
    }

    /// Number of members.
    #[must_use]
    pub fn members(&self) -> u16 {
        self.members.count().max(self.crowd)
    }

    /// Registers the member. False if the request was answered before.
    ///
    /// If no request arrived for several heartbeats, this coordinator may have been unreachable,
    /// and its members use their own law. They return one by one, and each reports how many there
    /// were. Until all have returned, the budget is divided among all of them.
    fn welcome(&mut self, now: Instant, silence: Span, request: &Request) -> bool {
        let terms = self.terms(now);
        if silence > terms.silent_after() {
            self.began = now;
            self.members.all_are_gone();
        }
        self.members.forget(now, terms.grace());
        let back = now - self.began <= terms.grace();
        let room = u16::try_from(MEMBERS).unwrap_or(u16::MAX);
        self.crowd = if back { self.crowd.max(request.alone.min(room)) } else { 0 };
        self.members.hear(now, request)
    }

    /// Reports the outcome of a lease and its age to the source, which runs ahead of the clock.
    ///
    /// The level of a bucket is ignored if the bucket drains before the report arrives. Otherwise
    /// it is passed on once per such delay, because a law reacts to each response.
    fn settle(&mut self, ahead: Instant, interval: Option<Span>, report: &Report) {
        let Report { permit, at, outcome, mut waited, mut hint } = *report;
        let ago = ahead - at;
        let mut is_news = false;
        if let (Some(left), None, Some(interval)) = (hint.remaining, hint.reset, interval) {
            let lasts = hint.period.unwrap_or(interval * left);
            if lasts < ago * OLD_NEWS {
                (hint.remaining, hint.limit, hint.period) = (None, None, None);
            } else if at < self.news_from {
                (hint.remaining, waited) = (None, false);
            } else {
                is_news = true;
            }
        }
        let known = self.source.settle(ahead, permit, outcome.with(hint), waited, ago);
        if known && is_news {
            self.news_from = ahead;
        }
        if known && outcome == Outcome::Ok {
            self.ramp.serve_one();
        }
    }

    /// Takes leases from the source for a member, as far ahead as they may lie. Returns the time up to which it
    /// has what it waited for.
    fn lease(
        &mut self,
        now: Instant,
        terms: &Terms,
        request: &Request,
        leases: &mut Vec<Lease, LEASE_MOST>,
    ) -> Instant {
        let end = now + terms.lookahead().min(self.recorded);
        let silence = terms.silent_after();
        let present = self.members.present(now, silence);
        let grace = terms.grace();
        let continues = self.continued.is_some_and(|continued| now - continued <= grace);
        let kept = self.members.kept(now, silence, terms.known, terms.interval, grace, continues);
        let Part { mut most, waited, each } = self.part(now, end, terms, request);
        most = if present > 0 { most } else { 0 };
        let mut at = self.ahead(now);
        // A lease takes two polls, more if others call independently, and a law may return `Wait`
        // once more.
        for _ in 0..const { LEASE_MOST * 8 } {
            if leases.len() >= most {
                break;
            }
            match self.source.poll(at) {
                Decision::Admit(permit) => {
                    self.front = at;
                    self.ramp.grant_one();
                    self.carry = self.carry.saturating_add(kept);
                    if self.carry < ALL {
                        let _ = leases.push(Lease { permit, at });
                    } else {
                        // This stands for a call of a member that may be calling independently. It
                        // stays charged.
                        self.carry = self.carry.saturating_sub(ALL);
                        let lost = Outcome::Abandoned.into();
                        self.source.settle(at, permit, lost, false, Span::ZERO);
                    }
                }
                Decision::Wait(until) if until > at && until <= end => at = until,
                _ => break,
            }
        }
        let granted = u32::try_from(leases.len()).unwrap_or(u32::MAX);
        now - waited + each * granted.into()
    }

    /// The number of leases for one member: all that it wants, but if others wait too, at most its
    /// share by waiting time. The rest remains for them.
    fn part(&mut self, now: Instant, end: Instant, terms: &Terms, request: &Request) -> Part {
        let most = usize::from(request.want).min(LEASE_MOST);
        let all = Part { most, waited: Span::ZERO, each: Span::ZERO };
        let interval = terms.interval.and_then(|span| NonZeroU64::new(span.as_nanos()));
        let Some(interval) = interval else {
            return Part { most: most.min(self.ramp.room(now, terms.again).into()), ..all };
        };
        let (others, wait) = self.members.others_wait(now, terms.silent_after(), request.member);
        if others == 0 {
            return all;
        }
        let room = div_rem((end - self.ahead(now)).as_nanos(), interval).0;
        let waited = self.members.waited(now, request.member, terms.again);
        let sum = waited + wait;
        let part = mul_div_floor(room, waited.as_nanos(), sum.as_nanos());
        // A slow limit has less than one lease for each within the lookahead. Then it is for those
        // that have waited longer than others.
        let part = part.max((waited * others.into() >= wait).into());
        let each = mul_div_floor(sum.as_nanos(), 1, room.max(1));
        Part {
            most: most.min(usize::try_from(part).unwrap_or(LEASE_MOST)),
            waited,
            each: Span::from_nanos(each),
        }
    }

    /// Continues from another coordinator: grants no lease before `front` from now on, nor further ahead than
    /// `lookahead` until its next snapshot.
    pub(super) const fn begin(&mut self, now: Instant, front: Instant, lookahead: Span) {
        (self.front, self.recorded, self.continued) = (front, lookahead, Some(now));
    }

    /// How far ahead it grants from now on, or has already granted. Valid until the next call.
    pub(super) fn record_lookahead(&mut self, now: Instant) -> Span {
        self.recorded_before = self.recorded;
        self.recorded = self.terms(now).lookahead().max(self.front - now);
        self.recorded
    }

    /// Grants no further ahead than the previous snapshot and the latest one say.
    pub(super) fn unrecord_lookahead(&mut self) {
        self.recorded = self.recorded.min(self.recorded_before);
    }

    /// The current time, which never steps back.
    pub(super) fn on_own_clock(&self, now: Instant) -> Instant {
        self.clock.clone().tell(now).1
    }

    /// The latest lease granted.
    pub(super) const fn front(&self) -> Instant {
        self.front
    }

    /// The source's current time.
    pub(super) fn ahead(&self, now: Instant) -> Instant {
        now.max(self.front)
    }

    /// The lookahead for a single member.
    pub(super) fn least_lookahead(&self, now: Instant) -> Span {
        self.terms_of(1, now).lookahead()
    }

    pub(super) fn terms(&self, now: Instant) -> Terms {
        self.terms_of(self.members(), now)
    }

    fn terms_of(&self, known: u16, now: Instant) -> Terms {
        let interval = self.source.interval(self.ahead(now));
        let share = interval.unwrap_or(Span::ZERO) * known.into();
        let apart = REQUESTS_APART * known.into();
        Terms { known, interval, again: self.heartbeat.max(share.min(HEARTBEAT_MOST)).max(apart) }
    }
}

impl<const SLOTS: usize, const MEMBERS: usize, S: Storage, M: Storage>
    Coordinator<Member<SLOTS, S>, MEMBERS, M>
{
    /// [`Member::request`] for a coordinator that grants from its own leases: the number of waiting
    /// calls is what its members still want.
    pub fn request(&mut self, now: Instant, room: &mut [u8]) -> Option<usize> {
        let missing = self.members.missing();
        self.source.request(now, missing, room)
    }
}

/// The grant for a member.
struct Part {
    most: usize,
    /// How long it has waited, and by how much each lease reduces that.
    waited: Span,
    each: Span,
}

/// The current state of all members.
pub(super) struct Terms {
    known: u16,
    interval: Option<Span>,
    /// How often members send requests: not more often than there is a lease for each.
    again: Span,
}

impl Terms {
    /// How far ahead of the clock leases are granted: a member that requests every heartbeat has
    /// half of a heartbeat left when the answer arrives.
    pub(super) fn lookahead(&self) -> Span {
        lookahead(self.again)
    }

    /// A member that is silent for this long is not counted.
    fn silent_after(&self) -> Span {
        self.lookahead() + LATE
    }

    /// A silent member keeps its share for this long.
    fn grace(&self) -> Span {
        grace(self.again)
    }
}
