//! Reads a response header by header.

use super::answer::Answer;
use super::dialect::{self, Row};
use super::draft::{self, Draft, Part};
use super::limits::Unit;
use super::parse::{self, All, Common};
use crate::hint::Hint;
use crate::outcome::{Outcome, Reply};
use crate::signal::body::Body;
use crate::signal::word::Name;
use crate::time::Span;

/// Which headers a [`Reading`] reads: [`All`] or [`Common`].
pub trait Dialects: sealed::Table {}

mod sealed {
    use super::{Draft, Row};

    pub trait Table {
        /// What belongs to the response, and as many limits as are collected from the headers. Later
        /// ones are counted and dropped.
        type Drafts: AsMut<[Draft]>;
        const NOTHING: Self::Drafts;
        fn find(name: &[u8]) -> Option<(Row, &[u8])>;
    }
}

const LIMITS: usize = parse::LIMITS as usize;

impl Dialects for All {}
impl sealed::Table for All {
    type Drafts = [Draft; LIMITS + 8];
    const NOTHING: Self::Drafts = [Draft::NONE; LIMITS + 8];
    fn find(name: &[u8]) -> Option<(Row, &[u8])> {
        dialect::ALL.longest(name)
    }
}

impl Dialects for Common {}
impl sealed::Table for Common {
    type Drafts = [Draft; LIMITS + 6];
    const NOTHING: Self::Drafts = [Draft::NONE; LIMITS + 6];
    fn find(name: &[u8]) -> Option<(Row, &[u8])> {
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
    status: u16,
    ignored: u16,
    /// The outcome of the body.
    code: Option<Outcome>,
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
        self.code = body.outcome(self.status).or(self.code);
        let [response, coarse, fine, ..] = &mut self.drafts;
        if body.is_of_concurrency() {
            response.put(parse::CONCURRENCY, 1);
        }
        let has_cooldown = coarse.is_known() || fine.is_known();
        if let Some(millis) = body.wait(!has_cooldown) {
            coarse.put_time(Part::After, millis);
        }
        let (none, points, tokens) = (Draft::NONE, Name::known("points"), Name::known("tokens"));
        for name in body.violated() {
            self.add(name, none, [None, Some(0), None]);
        }
        let mut draft = Draft::NONE;
        draft.note_unit(Unit::Other);
        if let Some(seconds) = body.fills_in() {
            draft.put_time(Part::Period, seconds.saturating_mul(1_000));
        }
        self.add(points, draft, [body.most(), body.left(), body.price()]);
        let mut draft = Draft::NONE;
        draft.note_unit(Unit::Tokens);
        self.add(tokens, draft, [None, None, body.tokens()]);
    }

    /// Adds a limit, its calls and remaining calls, and what the call cost.
    fn add(&mut self, name: Name, mut draft: Draft, [limit, left, cost]: [Option<u32>; 3]) {
        draft.set_name(name);
        for (part, count) in [(Part::Limit, limit), (Part::Left, left)] {
            if let Some(count) = count {
                draft.put_count(part, count);
            }
        }
        if let Some(cost) = cost {
            draft.put_time(Part::Cost, cost);
        }
        parse::add(&mut self.drafts, &mut self.ignored, parse::LIMITS, &draft);
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
        let ignored = settle(&mut self.drafts, now.map(seconds));
        self.ignored = self.ignored.saturating_add(ignored);
        let [response, _, _, limits @ ..] = &self.drafts;
        for draft in limits.iter().take_while(|draft| draft.has(Part::Name)) {
            if draft.has(Part::Rank) && !draft.is_repeated(limits) {
                let mut draft = *draft;
                for place in &mut answer.limits {
                    if draft.has(Part::Rank) && draft.binds_more(place) {
                        core::mem::swap(place, &mut draft);
                    }
                }
            }
        }
        // An error code is more specific than the status.
        let code = match response.get(parse::CODE) {
            _ if self.code.is_some() => self.code,
            2 => Some(Outcome::Throttled),
            1 => Some(Outcome::Failed),
            _ if response.has(parse::EXHAUSTED) && self.status == 429 => Some(Outcome::Exhausted),
            _ => None,
        };
        answer.outcome = conclude(self.status, &self.drafts, code, &mut answer.hint);
        note_retry(response, &mut answer.hint);
        answer.hint.concurrency =
            response.has(parse::CONCURRENCY) && answer.outcome == Outcome::Throttled;
        answer.ignored = self.ignored;
    }
}

/// A time in seconds. Small machines would link a kilobyte for a division, and divide bit by bit.
fn seconds(span: Span) -> u32 {
    if cfg!(any(target_pointer_width = "64", target_family = "wasm")) {
        return u32::try_from(span.as_secs()).unwrap_or(u32::MAX);
    }
    let (mut rest, mut seconds) = (span.as_nanos(), 0u32);
    for bit in (0..32).rev() {
        let part = 1_000_000_000u64.wrapping_shl(bit);
        let fits = rest >= part;
        rest = rest.wrapping_sub(if fits { part } else { 0 });
        seconds = seconds << 1 | u32::from(fits);
    }
    seconds
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
        settle(&mut self.drafts, now);
        let mut reply = Reply::from(Outcome::Ok);
        let mut hints = reply.hints.iter_mut();
        if let Some(hint) = hints.next() {
            reply.outcome = conclude(self.status, &self.drafts, None, hint);
            #[cfg(not(target_os = "none"))]
            note_retry(&self.drafts[0], hint);
            let retry_after = hint.retry_after;
            hints.for_each(|hint| hint.retry_after = retry_after);
        }
        reply
    }
}

impl<D: Dialects> Reading<D> {
    const fn of(status: u16) -> Self {
        Self { status, ignored: 0, code: None, drafts: D::NOTHING }
    }

    /// Adds a header. If it occurs several times, add it several times, or once with its values
    /// joined by commas.
    pub fn header(&mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        if let Some((row, rest)) = D::find(name.as_ref()) {
            row.read(rest, self.drafts.as_mut(), &mut self.ignored, value.as_ref());
        }
    }
}

/// Makes all numbers consistent. `now` is in seconds since 1970. Returns how many were not.
fn settle(drafts: &mut [Draft], now: Option<u32>) -> u16 {
    let mut ignored = 0u16;
    if let [response, rest @ ..] = drafts {
        let date = response.get(parse::DATE);
        let now = if date > 0 { date } else { now.map_or(0, |now| now.saturating_add(1)) };
        // The limits in a response from a cache are old.
        let most = if response.get(parse::AGE) > 1 { LIMITS - 1 } else { usize::MAX };
        draft::join(rest);
        for draft in rest.iter_mut().take(most).filter(|draft| draft.has(Part::Name)) {
            ignored = ignored.wrapping_add(draft.settle(now));
        }
    }
    ignored
}

/// Writes whether the server asks to repeat the call, or not to.
fn note_retry(response: &Draft, hint: &mut Hint) {
    let told = response.get(parse::RETRY);
    (hint.may_repeat, hint.no_retry) = (told == 1, told == 2);
}

/// The outcome. Writes the binding limit of calls and the cooldown to the hint.
fn conclude(status: u16, drafts: &[Draft], code: Option<Outcome>, hint: &mut Hint) -> Outcome {
    let [_, coarse, fine, limits @ ..] = drafts else { return Outcome::Ok };
    let mut binding = &Draft::NONE;
    for limit in limits.iter().take_while(|limit| limit.has(Part::Name)) {
        if limit.is_of_calls() && limit.binds_more(binding) && !limit.is_repeated(limits) {
            binding = limit;
        }
    }
    binding.write_to(hint);
    // If two cooldowns differ only by rounding, the more precise one counts, else the longer one.
    let is_longer = coarse.get(Part::After).saturating_sub(fine.get(Part::After)) >= 1_000;
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
