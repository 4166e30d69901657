//! Reads a response header by header.

use super::answer::Answer;
use super::dialect::{self, Row};
use super::draft::{self, Draft, Part};
use super::limits::{Name, Unit};
use super::number::Number;
use super::parse::{COOLDOWNS, Call, Formats};
use crate::hint::Hint;
use crate::outcome::{Outcome, Reply};
use crate::signal::body::Body;
use crate::time::Span;

/// Which headers a [`Reading`] reads: [`All`] or [`Common`].
pub trait Dialects: sealed::Table {}

mod sealed {
    use super::{Draft, Formats, Number, Row};

    pub trait Table {
        /// The width of all numbers.
        type Number: Number;
        /// The cooldowns, and as many limits as are collected from the headers. Later ones are
        /// counted and dropped.
        type Drafts: AsMut<[Draft<Self::Number>]>;
        const NOTHING: Self::Drafts;
        const FORMATS: &'static Formats<Self::Number>;
        fn find(name: &[u8]) -> Option<(Row<Self::Number>, &[u8])>;
    }
}

/// Every dialect: see the [module](super).
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct All;

/// The dialects of most servers, for programs that have little flash.
///
/// | header | value |
/// |---|---|
/// | `Retry-After` | seconds, also with a fraction, or an HTTP-date |
/// | `retry-after-ms` | milliseconds |
/// | `RateLimit`, `RateLimit-Policy` | the IETF draft, from 07 on |
/// | `RateLimit-…`, `X-RateLimit-…`, `X-Rate-Limit-…`: `Limit`, `Remaining`, `Reset`, `Reset-After` | numbers, quotas (`100;w=60`); a reset as seconds, since 1970, or as an HTTP-date |
/// | `Date`, `Age` | RFC 9110, RFC 9111 |
///
/// GitHub, GitLab, Cloudflare, Discord, X, Reddit, Slack, Stripe, Docker Hub and most gateways send
/// these headers. HTTP-dates in the format of C's `asctime` are not read.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Common;

impl Dialects for All {}
impl sealed::Table for All {
    type Number = u64;
    type Drafts = [Draft<u64>; COOLDOWNS + 8];
    const NOTHING: Self::Drafts = [Draft::NONE; COOLDOWNS + 8];
    const FORMATS: &'static Formats<u64> = &dialect::ALL_FORMATS;
    fn find(name: &[u8]) -> Option<(Row<u64>, &[u8])> {
        dialect::ALL.longest(name)
    }
}

impl Dialects for Common {}
impl sealed::Table for Common {
    type Number = u32;
    type Drafts = [Draft<u32>; COOLDOWNS + 6];
    const NOTHING: Self::Drafts = [Draft::NONE; COOLDOWNS + 6];
    const FORMATS: &'static Formats<u32> = &dialect::COMMON_FORMATS;
    fn find(name: &[u8]) -> Option<(Row<u32>, &[u8])> {
        dialect::COMMON.longest(name)
    }
}

/// Collects what the headers of one response say, in every dialect or in the common ones; see the
/// [module](super) for which and how.
///
/// Add every header, in any order. For a header that is not about limits, only its name is
/// compared.
///
/// ```
/// use tidegate::{Hint, Span, signal::http::Reading};
///
/// let mut reading = Reading::new(200);
/// reading.header("RateLimit-Policy", r#""default";q=100;w=60"#);
/// reading.header("RateLimit", r#""default";r=50;t=30"#);
/// reading.header("Content-Type", "application/json");
/// let hint = reading.finish(None).hint;
/// let minute = Hint::quota(100, Span::from_secs(60));
/// assert_eq!(hint, minute.and_remaining(50).and_reset(Span::from_secs(30)));
/// ```
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Reading<D: Dialects = All> {
    call: Call<D::Number>,
    drafts: D::Drafts,
}

impl Reading {
    /// A response with this status and no headers yet, in every dialect.
    #[must_use]
    pub const fn new(status: u16) -> Self {
        Self::of(status)
    }

    /// Adds the body, after the headers.
    pub fn body(&mut self, body: &Body) {
        let call = &mut self.call;
        call.code = body.outcome(call.status).or(call.code);
        call.concurrency |= body.is_of_concurrency();
        let [coarse, fine, ..] = &mut self.drafts;
        let has_cooldown = coarse.is_known() || fine.is_known();
        let least = if has_cooldown { None } else { body.least_cooldown() };
        if let Some(cooldown) = body.retry_after().or(least) {
            coarse.put(Part::After, cooldown.as_nanos());
        }
        for name in body.violated() {
            self.add(name, &Hint::remaining(0), None, None);
        }
        self.add(Name::known("points"), &body.points(), Some(Unit::Other), body.price());
        self.add(Name::known("tokens"), &Hint::NONE, Some(Unit::Tokens), body.tokens());
    }

    /// Adds the hint of a limit.
    fn add(&mut self, name: Name, hint: &Hint, unit: Option<Unit>, cost: Option<u32>) {
        let mut draft = Draft::NONE;
        draft.set_name(name);
        if let Some(unit) = unit {
            draft.note_unit(unit);
        }
        if let Some(cost) = cost {
            draft.put(Part::Cost, cost.into());
        }
        for (part, count) in [(Part::Limit, hint.limit), (Part::Left, hint.remaining)] {
            if let Some(count) = count {
                draft.put_count(part, count);
            }
        }
        if let Some(period) = hint.period {
            draft.put(Part::Period, period.as_nanos());
        }
        self.call.add(&mut self.drafts, &draft);
    }

    /// The result of the response. `now` is the caller's clock as time since the start of 1970, for
    /// dates in a response without `Date`; `None` if there is no such clock. Call it after all
    /// headers.
    #[must_use]
    pub fn finish(&mut self, now: Option<Span>) -> Answer {
        let mut answer = Answer::NOTHING;
        self.write_to(&mut answer, now);
        answer
    }

    #[inline(never)] // Or the answer is copied.
    fn write_to(&mut self, answer: &mut Answer, now: Option<Span>) {
        settle(&mut self.call, &mut self.drafts, now.map(Span::as_nanos));
        let [coarse, fine, limits @ ..] = &self.drafts;
        let known = || limits.iter().filter(|draft| draft.is_known());
        for draft in known() {
            let before = known().filter(|other| other.binds_more(draft));
            let rank = before.fold(0usize, |rank, _| rank.wrapping_add(1));
            if let Some(place) = answer.limits.get_mut(rank) {
                place.merge(draft);
            }
        }
        let limit = answer.limits.iter().find(|limit| limit.is_of_calls());
        // An error code is more specific than the status.
        let code = match self.call.code {
            None if self.call.exhausted && self.call.status == 429 => Some(Outcome::Exhausted),
            code => code,
        };
        answer.outcome = conclude(self.call.status, [coarse, fine], limit, code, &mut answer.hint);
        answer.hint.no_retry = self.call.no_retry;
        answer.hint.concurrency = self.call.concurrency && answer.outcome == Outcome::Throttled;
        answer.ignored = self.call.ignored;
    }
}

impl Reading<Common> {
    /// A response with this status and no headers yet, in the common dialects.
    ///
    /// ```
    /// use tidegate::{Outcome, Reply, Span, signal::http::Reading};
    ///
    /// let mut reading = Reading::common(429);
    /// reading.header("Date", "Mon, 03 Mar 2025 09:00:00 GMT");
    /// reading.header("X-RateLimit-Remaining", "0");
    /// reading.header("X-RateLimit-Reset", "1740993300"); // 09:15:00
    /// let reply: Reply = reading.reply(None);
    /// assert_eq!(reply.outcome, Outcome::Throttled);
    /// assert_eq!(reply.hints[0].cooldown(), Some(Span::from_secs(900)));
    /// ```
    #[must_use]
    pub const fn common(status: u16) -> Self {
        Self::of(status)
    }

    /// The outcome of the call, and the binding limit of calls. `now` is the caller's clock in
    /// seconds since the start of 1970, for dates in a response without `Date`; `None` if there is
    /// no such clock. Call it after all headers.
    #[must_use]
    pub fn reply<const LIMITS: usize>(&mut self, now: Option<u32>) -> Reply<LIMITS> {
        settle(&mut self.call, &mut self.drafts, now);
        let [coarse, fine, limits @ ..] = &self.drafts;
        let mut binding: Option<&Draft<u32>> = None;
        for limit in limits.iter().filter(|limit| limit.is_of_calls()) {
            if binding.is_none_or(|other| limit.binds_more(other)) {
                binding = Some(limit);
            }
        }
        let mut reply = Reply::from(Outcome::Ok);
        let mut hints = reply.hints.iter_mut();
        if let Some(hint) = hints.next() {
            reply.outcome = conclude(self.call.status, [coarse, fine], binding, None, hint);
            let retry_after = hint.retry_after;
            hints.for_each(|hint| hint.retry_after = retry_after);
        }
        reply
    }
}

impl<D: Dialects> Reading<D> {
    const fn of(status: u16) -> Self {
        let call = Call {
            status,
            ignored: 0,
            cached: false,
            no_retry: false,
            concurrency: false,
            exhausted: false,
            code: None,
            date: None,
        };
        Self { call, drafts: D::NOTHING }
    }

    /// Adds a header. If it occurs several times, add it several times, or once with its values
    /// joined by commas.
    pub fn header(&mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        let found = D::find(name.as_ref());
        dialect::read(found, D::FORMATS, &mut self.call, self.drafts.as_mut(), value.as_ref());
    }
}

/// Makes all numbers consistent.
fn settle<N: Number>(call: &mut Call<N>, drafts: &mut [Draft<N>], now: Option<N>) {
    let now = call.date.or(now);
    if let Some((_, limits)) = drafts.split_at_mut_checked(COOLDOWNS) {
        if call.cached {
            limits.iter_mut().for_each(Draft::clear);
        }
        draft::join(limits);
    }
    draft::settle(drafts, now, &mut call.ignored);
}

/// The outcome. Writes the numbers of a limit and the cooldown to the hint.
fn conclude<N: Number>(
    status: u16,
    cooldowns: [&Draft<N>; COOLDOWNS],
    limit: Option<&Draft<N>>,
    code: Option<Outcome>,
    hint: &mut Hint,
) -> Outcome {
    if let Some(limit) = limit {
        limit.write_to(hint);
    }
    // If two cooldowns differ only by rounding, the more precise one counts, else the longer one.
    let [coarse, fine] = cooldowns;
    let is_longer = coarse.get(Part::After).minus(fine.get(Part::After)) >= N::SECOND;
    let cooldown = if is_longer || !fine.has(Part::After) { coarse } else { fine };
    let outcome = match (code, status) {
        (Some(outcome), _) => outcome,
        // GitHub also throttles with 403, together with a cooldown or no calls left.
        (_, 403) if cooldown.has(Part::After) || hint.remaining == Some(0) => Outcome::Throttled,
        (_, status) => super::outcome(status),
    };
    if outcome != Outcome::Ok {
        hint.retry_after = cooldown.span(Part::After);
    }
    outcome
}
