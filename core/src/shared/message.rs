//! The encoding of the messages between members and the coordinator.
//!
//! A carrier needs to know only their kind and maximum length. The module's documentation has the
//! layout.

use crate::digest::fnv1a;
use crate::hint::Hint;
use crate::outcome::Outcome;
use crate::snapshot::{Reader, Writer};
use crate::time::{Instant, Span};

/// Maximum number of leases in a grant and of reports in a request.
pub(super) const LEASE_MOST: usize = MOST as usize;

/// The same, as the type of a request's count.
pub(super) const MOST: u16 = 64;

/// No request is longer.
pub const REQUEST_BYTES: usize = REQUEST_HEAD + LEASE_MOST * REPORT_MOST + CHECK;

/// No grant is longer.
pub const GRANT_BYTES: usize = GRANT_HEAD + LEASE_MOST * LEASE + CHECK;

const VERSION: u8 = 1;
const REQUEST: u8 = 1;
const GRANT: u8 = 2;
const REQUEST_HEAD: usize = 20;
const REPORT_LEAST: usize = 18;
const REPORT_MOST: usize = REPORT_LEAST + 5 * 8;
const GRANT_HEAD: usize = 41;
const LEASE: usize = 16;
const CHECK: usize = 4;

const LEAVING: u8 = 1;
const WAITED: u8 = 0x80;
const CONCURRENCY: u8 = 32;
const NO_INTERVAL: u64 = u64::MAX;

/// The maximum distance of a lease. A grant with a longer one is invalid.
const FURTHEST: Span = Span::from_secs(3_600);

/// What is wrong with a message. Nothing of it was acted on.
///
/// ```
/// use tidegate::shared::{Coordinator, GRANT_BYTES, Leases, MessageError};
/// use tidegate::{Controller, Instant, Policy};
///
/// let now = Instant::ZERO;
/// let mut desk: Coordinator =
///     Coordinator::new(Leases::new(Controller::new(Policy::named("fixed").unwrap(), 7, now)), now);
/// let mut grant = [0; GRANT_BYTES];
/// assert_eq!(desk.answer(now, b"hello", &mut grant), Err(MessageError::Length));
/// assert_eq!(desk.answer(now, &[9; 40], &mut grant), Err(MessageError::Version));
/// ```
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum MessageError {
    /// The message does not have the length of its kind, or the buffer is too short.
    Length,
    /// The message is of another kind, or from another version of this crate.
    Version,
    /// The checksum does not match, or a field is out of its range.
    Damaged,
}

impl core::fmt::Display for MessageError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Length => "wrong message length, or the buffer is too short",
            Self::Version => "the message is of another kind or version",
            Self::Damaged => "the message is damaged",
        })
    }
}

impl core::error::Error for MessageError {}

/// The request of a member.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Request {
    pub(super) member: u64,
    /// Increases with each request.
    pub(super) sequence: u32,
    /// How many leases it could use in addition to those that it has.
    pub(super) want: u16,
    /// The last reported number of members if it used its own law since; otherwise zero.
    pub(super) alone: u16,
    /// It has no more calls and no lease left.
    pub(super) leaving: bool,
}

/// The result of one lease.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Report {
    pub(super) permit: u64,
    /// When its call completed, or the lease was given up.
    pub(super) at: Instant,
    /// Also [`Outcome::Abandoned`] if the lease was not used.
    pub(super) outcome: Outcome,
    /// Whether the call had to wait for it.
    pub(super) waited: bool,
    pub(super) hint: Hint,
}

/// The head of a grant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Grant {
    /// The number of the request.
    pub(super) sequence: u32,
    /// The latest time of the next request, from now.
    pub(super) again: Span,
    /// How long a lease may be used after it is due.
    pub(super) keep: Span,
    /// The interval between calls of the whole fleet. `None` if there is none.
    pub(super) interval: Option<Span>,
    /// The number of members.
    pub(super) fleet: u16,
    /// How long no call may be sent, regardless of earlier grants.
    pub(super) cooldown: Span,
}

/// The right to one call from an instant on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Lease {
    pub(super) permit: u64,
    pub(super) at: Instant,
}

impl Request {
    pub(super) fn write<'a>(
        &self,
        now: Instant,
        reports: impl Iterator<Item = &'a Report> + Clone,
        room: &mut [u8],
    ) -> Option<usize> {
        let length = reports.clone().fold(REQUEST_HEAD.saturating_add(CHECK), |length, report| {
            length.saturating_add(report.length())
        });
        seal(room, length, now, |out| {
            out.u8(VERSION);
            out.u8(REQUEST);
            out.u8(if self.leaving { LEAVING } else { 0 });
            out.u64(self.member);
            out.u32(self.sequence);
            out.u16(self.want);
            out.u16(self.alone);
            out.u8(reports.clone().fold(0, |all: u8, _| all.saturating_add(1)));
            reports.for_each(|report| report.write(out));
        })
    }

    /// Reads a request and its reports, all of which are valid.
    pub(super) fn read(message: &[u8], now: Instant) -> Result<(Self, Reports<'_>), MessageError> {
        let mut input = unseal(message, REQUEST, REQUEST_HEAD, REQUEST_BYTES, now)?;
        let flags = input.u8();
        let request = Self {
            leaving: flags & LEAVING > 0,
            member: input.u64(),
            sequence: input.u32(),
            want: input.u16(),
            alone: input.u16(),
        };
        let left = usize::from(input.u8());
        let body = message.get(REQUEST_HEAD..message.len().saturating_sub(CHECK));
        let reports =
            Reports { input: Reader::new(body.unwrap_or_default(), now, Span::ZERO), left };
        let read = Reports { input: Reader::new(body.unwrap_or_default(), now, Span::ZERO), left };
        let sound = flags <= LEAVING && left <= LEASE_MOST && read.are_valid();
        if sound { Ok((request, reports)) } else { Err(MessageError::Damaged) }
    }
}

impl Report {
    fn length(&self) -> usize {
        self.numbers().iter().flatten().fold(REPORT_LEAST, |bytes, _| bytes.saturating_add(8))
    }

    fn numbers(&self) -> [Option<u64>; 5] {
        let Hint { retry_after, remaining, reset, limit, period, .. } = self.hint;
        let nanos = |span: Option<Span>| span.map(Span::as_nanos);
        [nanos(retry_after), remaining, nanos(reset), limit, nanos(period)]
    }

    fn write(&self, out: &mut Writer<'_>) {
        out.u64(self.permit);
        out.instant(self.at);
        let code = match self.outcome {
            Outcome::Ok => 0,
            Outcome::Throttled => 1,
            Outcome::Busy => 2,
            Outcome::Failed => 3,
            Outcome::Abandoned => 4,
            Outcome::Exhausted => 5,
        };
        out.u8(if self.waited { code | WAITED } else { code });
        let mut flags = if self.hint.concurrency { CONCURRENCY } else { 0 };
        for (bit, number) in self.numbers().iter().enumerate() {
            flags |= u8::from(number.is_some()) << bit;
        }
        out.u8(flags);
        self.numbers().into_iter().flatten().for_each(|number| out.u64(number));
    }

    /// `None` if the report is invalid.
    fn read(input: &mut Reader<'_>) -> Option<Self> {
        let (permit, at) = (input.u64(), input.instant());
        let code = input.u8();
        let waited = code & WAITED > 0;
        let outcome = match code & !WAITED {
            0 => Outcome::Ok,
            1 => Outcome::Throttled,
            2 => Outcome::Busy,
            3 => Outcome::Failed,
            4 => Outcome::Abandoned,
            5 => Outcome::Exhausted,
            _ => return None,
        };
        let flags = input.u8();
        if flags > 63 {
            return None;
        }
        let mut number = |bit: u8| (flags & bit > 0).then(|| input.u64());
        let mut hint = Hint::NONE;
        hint.retry_after = number(1).map(Span::from_nanos);
        hint.remaining = number(2);
        hint.reset = number(4).map(Span::from_nanos);
        hint.limit = number(8);
        hint.period = number(16).map(Span::from_nanos);
        hint.concurrency = flags & CONCURRENCY > 0;
        input.is_whole().then_some(Self { permit, at, outcome, waited, hint })
    }
}

/// The reports of a request, one by one.
#[derive(Debug)]
pub(super) struct Reports<'a> {
    input: Reader<'a>,
    left: usize,
}

impl Reports<'_> {
    /// Whether all reports are valid and nothing follows.
    fn are_valid(mut self) -> bool {
        let whole = self.by_ref().all(|report| report.is_some());
        whole && self.input.is_whole() && self.input.is_empty()
    }
}

impl Iterator for Reports<'_> {
    type Item = Option<Report>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        Some(Report::read(&mut self.input))
    }
}

impl Grant {
    pub(super) fn write(&self, now: Instant, leases: &[Lease], room: &mut [u8]) -> Option<usize> {
        let length = leases.len().saturating_mul(LEASE);
        seal(room, length.saturating_add(const { GRANT_HEAD + CHECK }), now, |out| {
            out.u8(VERSION);
            out.u8(GRANT);
            out.u32(self.sequence);
            out.u64(self.again.min(FURTHEST).as_nanos());
            out.u64(self.keep.min(FURTHEST).as_nanos());
            out.u64(self.interval.map_or(NO_INTERVAL, Span::as_nanos));
            out.u16(self.fleet);
            out.u64(self.cooldown.min(FURTHEST).as_nanos());
            out.u8(u8::try_from(leases.len()).unwrap_or(u8::MAX));
            for lease in leases {
                out.u64(lease.permit);
                out.instant(lease.at);
            }
        })
    }

    /// Reads a grant and its leases, all of which are valid.
    pub(super) fn read(
        message: &[u8],
        now: Instant,
    ) -> Result<(Self, impl Iterator<Item = Lease>), MessageError> {
        let mut input = unseal(message, GRANT, GRANT_HEAD, GRANT_BYTES, now)?;
        let grant = Self {
            sequence: input.u32(),
            again: Span::from_nanos(input.u64()),
            keep: Span::from_nanos(input.u64()),
            interval: Some(input.u64()).filter(|nanos| *nanos != NO_INTERVAL).map(Span::from_nanos),
            fleet: input.u16(),
            cooldown: Span::from_nanos(input.u64()),
        };
        let count = usize::from(input.u8());
        let body = message.get(GRANT_HEAD..message.len().saturating_sub(CHECK)).unwrap_or_default();
        let leases = move || {
            body.chunks_exact(LEASE).map(move |bytes| {
                let mut input = Reader::new(bytes, now, Span::ZERO);
                Lease { permit: input.u64(), at: input.instant() }
            })
        };
        let latest = now + FURTHEST;
        let sound = count <= LEASE_MOST
            && body.len() == count.saturating_mul(LEASE)
            && [grant.again, grant.keep, grant.cooldown].iter().all(|span| *span <= FURTHEST)
            && leases().all(|lease| lease.at <= latest);
        if sound { Ok((grant, leases())) } else { Err(MessageError::Damaged) }
    }
}

/// Writes a message of this length with its checksum.
fn seal(
    room: &mut [u8],
    length: usize,
    now: Instant,
    write: impl FnOnce(&mut Writer<'_>),
) -> Option<usize> {
    let (message, check) =
        room.get_mut(..length)?.split_at_mut_checked(length.checked_sub(CHECK)?)?;
    write(&mut Writer::new(message, now));
    Writer::new(check, now).u32(fnv1a(message.iter().copied()));
    Some(length)
}

/// The content after the kind of a message with a valid checksum.
fn unseal(
    message: &[u8],
    kind: u8,
    head: usize,
    most: usize,
    now: Instant,
) -> Result<Reader<'_>, MessageError> {
    let body = message.len().checked_sub(CHECK);
    let body = body.filter(|body| *body >= head && message.len() <= most);
    let Some((body, check)) = body.and_then(|body| message.split_at_checked(body)) else {
        return Err(MessageError::Length);
    };
    let mut input = Reader::new(body, now, Span::ZERO);
    if (input.u8(), input.u8()) != (VERSION, kind) {
        return Err(MessageError::Version);
    }
    if Reader::new(check, now, Span::ZERO).u32() != fnv1a(body.iter().copied()) {
        return Err(MessageError::Damaged);
    }
    Ok(input)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    const NOW: Instant = Instant::from_nanos(1 << 50);

    fn outcome() -> impl Strategy<Value = Outcome> {
        use Outcome::{Abandoned, Busy, Exhausted, Failed, Ok, Throttled};
        prop::sample::select(&[Ok, Throttled, Busy, Failed, Abandoned, Exhausted][..])
    }

    fn hint() -> impl Strategy<Value = Hint> {
        let span = || any::<Option<u64>>().prop_map(|nanos| nanos.map(Span::from_nanos));
        let told = (span(), any::<Option<u64>>(), span(), any::<Option<u64>>(), span());
        (told, any::<bool>()).prop_map(|(told, concurrency)| {
            let (retry_after, remaining, reset, limit, period) = told;
            Hint { retry_after, remaining, reset, limit, period, concurrency, ..Hint::NONE }
        })
    }

    fn reports() -> impl Strategy<Value = Vec<Report>> {
        let report = (any::<u64>(), 0..1u64 << 60, outcome(), any::<bool>(), hint());
        let report = report.prop_map(|(permit, at, outcome, waited, hint)| Report {
            permit,
            at: Instant::from_nanos(at),
            outcome,
            waited,
            hint,
        });
        prop::collection::vec(report, 0..=LEASE_MOST)
    }

    /// A message with this content and a valid checksum.
    fn sealed(body: &[u8]) -> Vec<u8> {
        let mut room = vec![0; body.len() + CHECK];
        let write = |out: &mut Writer<'_>| body.iter().for_each(|byte| out.u8(*byte));
        seal(&mut room, body.len() + CHECK, NOW, write).unwrap();
        room
    }

    proptest! {
        #[test]
        fn a_request_is_read_as_it_was_written_and_not_with_a_byte_more_or_less(
            (member, sequence, want, alone, leaving) in any::<(u64, u32, u16, u16, bool)>(),
            reports in reports(),
        ) {
            let request = Request { member, sequence, want, alone, leaving };
            let mut room = [0; REQUEST_BYTES];
            let length = request.write(NOW, reports.iter(), &mut room).unwrap();
            let (read, of_request) = Request::read(&room[..length], NOW).unwrap();
            prop_assert_eq!(read, request);
            prop_assert!(of_request.eq(reports.iter().copied().map(Some)));
            let body = &room[..length - CHECK];
            for wrong in [&body[..body.len() - 1], &[body, &[0]].concat()] {
                prop_assert!(Request::read(&sealed(wrong), NOW).is_err());
            }
        }

        #[test]
        fn a_grant_is_read_as_it_was_written(
            (sequence, fleet) in any::<(u32, u16)>(),
            interval in prop_oneof![Just(None), (0..u64::MAX).prop_map(|nanos| Some(Span::from_nanos(nanos)))],
            spans in [0..=FURTHEST.as_nanos(), 0..=FURTHEST.as_nanos(), 0..=FURTHEST.as_nanos()],
            leases in prop::collection::vec((any::<u64>(), 0..=FURTHEST.as_nanos()), 0..=LEASE_MOST),
        ) {
            let [again, keep, cooldown] = spans.map(Span::from_nanos);
            let grant = Grant { sequence, again, keep, interval, fleet, cooldown };
            let at = |nanos| NOW + Span::from_nanos(nanos);
            let leases: Vec<Lease> =
                leases.into_iter().map(|(permit, ahead)| Lease { permit, at: at(ahead) }).collect();
            let mut room = [0; GRANT_BYTES];
            let length = grant.write(NOW, &leases, &mut room).unwrap();
            let (read, of_grant) = Grant::read(&room[..length], NOW).unwrap();
            prop_assert_eq!(read, grant);
            prop_assert!(of_grant.eq(leases.iter().copied()));
            let body = &room[..length - CHECK];
            for wrong in [&body[..body.len() - 1], &[body, &[0]].concat()] {
                prop_assert!(Grant::read(&sealed(wrong), NOW).is_err());
            }
        }
    }

    #[test]
    fn the_longest_messages_fit() {
        let hint = Hint::quota(60, Span::MAX).and_remaining(0).and_reset(Span::ZERO);
        let hint = hint.and_retry_after(Span::MAX).and_concurrency();
        let report = Report { permit: 7, at: NOW, outcome: Outcome::Ok, waited: true, hint };
        let request = Request { member: 7, sequence: 3, want: 9, alone: 2, leaving: true };
        let mut room = [0; REQUEST_BYTES];
        let length = request.write(NOW, [report; LEASE_MOST].iter(), &mut room);
        assert_eq!(length, Some(REQUEST_BYTES));
        assert!(Request::read(&room, NOW).is_ok());
        let grant = Grant {
            sequence: 1,
            again: Span::ZERO,
            keep: Span::ZERO,
            interval: None,
            fleet: 1,
            cooldown: Span::ZERO,
        };
        let mut room = [0; GRANT_BYTES];
        let leases = [Lease { permit: 7, at: NOW }; LEASE_MOST];
        assert_eq!(grant.write(NOW, &leases, &mut room), Some(GRANT_BYTES));
        assert!(Grant::read(&room, NOW).is_ok());
    }

    #[test]
    fn a_field_out_of_its_range_is_rejected() {
        let request = Request { member: 7, sequence: 3, want: 9, alone: 2, leaving: false };
        let report =
            Report { permit: 1, at: NOW, outcome: Outcome::Ok, waited: true, hint: Hint::NONE };
        let mut room = [0; REQUEST_BYTES];
        let length = request.write(NOW, [report; 2].iter(), &mut room).unwrap();
        let request = &room[..length - CHECK];
        let grant = Grant {
            sequence: 1,
            again: FURTHEST,
            keep: FURTHEST,
            interval: None,
            fleet: 1,
            cooldown: FURTHEST,
        };
        let lease = Lease { permit: 7, at: (NOW + FURTHEST) };
        let mut room = [0; GRANT_BYTES];
        let length = grant.write(NOW, &[lease], &mut room).unwrap();
        let grant = &room[..length - CHECK];
        let read = |body: &[u8]| match body[1] {
            REQUEST => Request::read(&sealed(body), NOW).map(|_| ()),
            _ => Grant::read(&sealed(body), NOW).map(|_| ()),
        };
        // Flags of the request, its number of reports, and outcome and flags of reports.
        // The times and the number of leases of the grant, and the time of the first.
        for (whole, place, change) in [
            (request, 2, 2),
            (request, 19, 1),
            (request, REQUEST_HEAD + 16, 6),
            (request, REQUEST_HEAD + 17, 128),
            (request, REQUEST_HEAD + REPORT_LEAST + 17, 128),
            (grant, 6, 1),
            (grant, 14, 1),
            (grant, 32, 1),
            (grant, 40, 1),
            (grant, GRANT_HEAD + 8, 1),
        ] {
            assert_eq!(read(whole), Ok(()));
            let mut wrong = whole.to_vec();
            wrong[place] = wrong[place].wrapping_add(change);
            assert_eq!(read(&wrong), Err(MessageError::Damaged), "{place}: {change}");
        }
        let mut many = request[..REQUEST_HEAD].to_vec();
        many[19] = 65;
        many.extend(request[REQUEST_HEAD..][..REPORT_LEAST].repeat(65));
        assert_eq!(read(&many), Err(MessageError::Damaged), "65 valid reports");
        for (whole, head, most) in
            [(request, REQUEST_HEAD, REQUEST_BYTES), (grant, GRANT_HEAD, GRANT_BYTES)]
        {
            assert_eq!(read(&whole[..head - 1]), Err(MessageError::Length));
            let mut long = whole.to_vec();
            long.resize(most - CHECK, 0);
            assert_eq!(read(&long), Err(MessageError::Damaged));
            long.push(0);
            assert_eq!(read(&long), Err(MessageError::Length));
        }
    }
}
