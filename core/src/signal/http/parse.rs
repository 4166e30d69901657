//! The parse functions of headers. A row of a table names one.

use super::draft::{Draft, Part};
use super::limits::{Name, Unit};
use super::moment::{Moment, Scale};
use super::number::Number;
use super::structured::{self, Bare, item};
use crate::outcome::Outcome;
use crate::signal::aws;
use crate::signal::text::Text;
use crate::signal::word::{Prefixes, Table};

/// The formats of values that differ between tables.
#[derive(Debug)]
pub struct Formats<N> {
    pub(super) moment: Moment<N>,
    pub(super) unit: structured::Unit<N>,
}

/// How many cooldowns precede the limits: one, and one that was given in milliseconds.
pub(super) const COOLDOWNS: usize = 2;

/// What the headers say about the call.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(super) struct Call<N> {
    pub(super) status: u16,
    pub(super) ignored: u16,
    pub(super) cached: bool,
    pub(super) no_retry: bool,
    pub(super) concurrency: bool,
    /// A plan's limit over hours or a week.
    pub(super) exhausted: bool,
    pub(super) code: Option<Outcome>,
    /// When the response was created.
    pub(super) date: Option<N>,
}

impl<N: Number> Call<N> {
    /// Adds a limit.
    pub(super) fn add(&mut self, drafts: &mut [Draft<N>], draft: &Draft<N>) {
        let name = draft.get(Part::Name);
        let mut slots = drafts.iter_mut().skip(COOLDOWNS);
        let slot = slots.find(|slot| !slot.is_known() || slot.get(Part::Name) == name);
        match slot {
            _ if !draft.is_known() => {}
            Some(slot) => slot.merge(draft),
            None => self.ignored = self.ignored.saturating_add(1),
        }
    }
}

/// A header while its value is read.
#[derive(Debug)]
#[repr(C)] // What is used most is first, where small machines reach it with one instruction.
pub(super) struct Field<'a, N: 'static> {
    pub(super) text: Text<'a>,
    pub(super) call: &'a mut Call<N>,
    /// The cooldown, the one that was given in milliseconds, and the limits.
    pub(super) drafts: &'a mut [Draft<N>],
    pub(super) formats: &'static Formats<N>,
    /// What the limit counts by default, as in [`MASKS`].
    pub(super) counts: u8,
    /// The name after the prefix of a family.
    pub(super) rest: &'a [u8],
    /// What the header says about its limit.
    pub(super) draft: Draft<N>,
}

/// Reads the value of a header and records what it says.
pub(super) type Parse<N> = fn(&mut Field<'_, N>);

impl<N: Number> Field<'_, N> {
    /// Whether the whole value is valid. If any part of it is malformed, nothing of it is kept.
    fn done(&mut self) -> bool {
        let done = self.text.done();
        if !done {
            self.call.ignored = self.call.ignored.saturating_add(1);
        }
        done
    }

    /// Adds the header's limit if the value is valid.
    fn keep(&mut self) {
        if self.done() {
            self.call.add(self.drafts, &self.draft);
        }
    }

    /// Reads points in time, of which the latest counts. Client libraries may join several values.
    /// If one of them is malformed, all are ignored.
    fn moments(&mut self, scale: Scale) {
        loop {
            (self.formats.moment)(&mut self.text, &mut self.draft, scale);
            if !self.text.comma() {
                break;
            }
        }
    }

    /// Reads a list of quotas, which are kept when the whole list has been read once. `member` reads
    /// a member after its parameters, and returns whether it is a quota.
    fn list(&mut self, member: Member<N>, needs_quotas: bool) {
        let start = self.text;
        for keeps in [false, true] {
            self.text = start;
            let mut is_known = !needs_quotas;
            loop {
                let mut quota = Draft::NONE;
                let value = item(&mut self.text, &mut quota, self.formats.unit);
                let is_quota = member(self, &value, &mut quota);
                is_known |= is_quota || self.draft.is_known();
                if keeps && is_quota {
                    self.call.add(self.drafts, &quota);
                }
                if !self.text.comma() {
                    break;
                }
            }
            if !is_known {
                self.text.fail();
            }
            if !keeps && !self.done() {
                return;
            }
        }
        self.call.add(self.drafts, &self.draft);
    }
}

/// Reads a member of a list.
type Member<N> = fn(&mut Field<'_, N>, &Bare<'_>, &mut Draft<N>) -> bool;

/// `RateLimit`: the remaining calls of policies. In draft 07 it is a dictionary:
/// `limit=100, remaining=50, reset=5`.
pub(super) fn service<N: Number>(field: &mut Field<'_, N>) {
    fn member<N: Number>(field: &mut Field<'_, N>, value: &Bare<'_>, quota: &mut Draft<N>) -> bool {
        let is_quota = value.is_text() && quota.has(Part::Left);
        if is_quota {
            quota.set_name(value.name());
            quota.end_with_period();
        } else if value.is_member() {
            field.draft.merge(quota);
        } else {
            field.text.fail();
        }
        is_quota
    }
    field.list(member, true);
}

/// `RateLimit-Policy`: the quotas, with or without names.
pub(super) fn policy<N: Number>(field: &mut Field<'_, N>) {
    fn member<N: Number>(field: &mut Field<'_, N>, value: &Bare<'_>, quota: &mut Draft<N>) -> bool {
        if value.is_text() && quota.has(Part::Limit) {
            quota.set_name(value.name());
            if quota.get(Part::Unit) == N::ZERO {
                quota.note_unit(Unit::Requests);
            }
            return true;
        }
        quota.loosen(count(field, value))
    }
    field.list(member, false);
}

/// The number of calls, which quotas may follow: `100, 100;w=60`.
pub(super) fn limit<N: Number>(field: &mut Field<'_, N>) {
    fn member<N: Number>(field: &mut Field<'_, N>, value: &Bare<'_>, quota: &mut Draft<N>) -> bool {
        let count = count(field, value);
        // The first is the limit. Others are quotas, or the limit of another header.
        if !(quota.has(Part::Period) && field.draft.has(Part::Limit)) {
            field.draft.put_count(Part::Limit, count);
        }
        quota.loosen(count)
    }
    field.list(member, false);
}

/// The number of remaining calls.
pub(super) fn left<N: Number>(field: &mut Field<'_, N>) {
    fn member<N: Number>(field: &mut Field<'_, N>, value: &Bare<'_>, _: &mut Draft<N>) -> bool {
        let count = count(field, value);
        field.draft.put_count(Part::Left, count);
        false
    }
    field.list(member, false);
}

/// The number of calls that a member of a list must be.
fn count<N: Number>(field: &mut Field<'_, N>, value: &Bare<'_>) -> u64 {
    if !value.is_number() {
        field.text.fail();
    }
    value.number().whole
}

/// A header that says nothing that a client could use.
pub(super) fn nothing(_: &mut Field<'_, u64>) {}

/// When the response was created (RFC 9110 section 6.6.1).
pub(super) fn date<N: Number>(field: &mut Field<'_, N>) {
    field.moments(Scale::Any);
    if !field.draft.has(Part::At) {
        field.text.fail();
    }
    if field.done() {
        field.call.date = field.call.date.max(Some(field.draft.get(Part::At)));
    }
}

/// How long the response was in a cache (RFC 9111 section 5.1).
pub(super) fn age<N: Number>(field: &mut Field<'_, N>) {
    let age = field.text.number().whole;
    field.call.cached |= field.done() && age > 0;
}

/// `Retry-After`.
pub(super) fn cooldown<N: Number>(field: &mut Field<'_, N>) {
    cool_down(field, Scale::Any);
}

/// A cooldown in seconds of any size.
pub(super) fn cooldown_seconds<N: Number>(field: &mut Field<'_, N>) {
    cool_down(field, Scale::Seconds);
}

fn cool_down<N: Number>(field: &mut Field<'_, N>, scale: Scale) {
    field.moments(scale);
    if field.done()
        && let Some(cooldown) = field.drafts.get_mut(usize::from(scale == Scale::Millis))
    {
        cooldown.merge(&field.draft);
    }
}

/// A cooldown in milliseconds.
pub(super) fn cooldown_millis<N: Number>(field: &mut Field<'_, N>) {
    cool_down(field, Scale::Millis);
}

/// When the limit is reset, in any form.
pub(super) fn reset<N: Number>(field: &mut Field<'_, N>) {
    field.moments(Scale::BySize);
    field.keep();
}

/// The seconds until the limit is reset.
pub(super) fn reset_after<N: Number>(field: &mut Field<'_, N>) {
    field.moments(Scale::Seconds);
    field.keep();
}

/// The words for the numbers of a limit in header names.
static NUMBERS: Table<Parse<u32>, 4> = Table::of(&[
    ("limit", limit),
    ("remaining", left),
    ("reset", reset),
    ("reset-after", reset_after),
]);

/// Headers that each have one number of a limit, in a family whose prefix is known.
pub(super) fn common_family(field: &mut Field<'_, u32>) {
    if let Some(parse) = NUMBERS.find(field.rest) {
        parse(field);
    }
}

/// The same, including those of Anthropic.
static NAMES: Prefixes<Parse<u64>, 6> = Prefixes::of(&[
    ("limit", limit),
    ("remaining", left),
    ("reset", reset),
    ("reset-after", reset_after),
    ("utilization", utilization),
    ("status", status),
]);

/// A family of headers with names for several limits: OpenAI has `limit-requests`, Anthropic
/// `requests-limit`, most only `limit`.
pub(super) fn family(field: &mut Field<'_, u64>) {
    let name = field.rest;
    let dash = || name.iter().rposition(|byte| *byte == b'-');
    let (parse, qualifier): (Parse<u64>, &[u8]) = match NAMES.longest(name) {
        Some((parse, [])) => (parse, &[]),
        Some((parse, [b'-', qualifier @ ..])) => (parse, qualifier),
        _ => {
            let Some((qualifier, [_, word @ ..])) = dash().and_then(|at| name.split_at_checked(at))
            else {
                return;
            };
            match NAMES.longest(word) {
                Some((parse, [])) => (parse, qualifier),
                _ => return,
            }
        }
    };
    if !qualifier.is_empty() {
        field.draft.set_name(Name::of_header(qualifier));
        field.draft.set(Part::Unit, 0);
        count_words(&mut field.draft, qualifier, field.counts);
    }
    parse(field);
}

/// The used share of a limit, from 0 to 1, in thousandths.
fn utilization(field: &mut Field<'_, u64>) {
    let used = field.text.number().shifted(3);
    field.draft.put_count(Part::Limit, 1_000);
    field.draft.put_count(Part::Left, 1_000u64.saturating_sub(used));
    field.keep();
}

/// `rejected` if a limit is exhausted.
fn status(field: &mut Field<'_, u64>) {
    if Name::of(visible(field)) == const { Name::known("rejected") } {
        field.draft.put_count(Part::Left, 0);
    }
    field.call.exhausted |= field.text.done() && field.draft.is_known();
    field.keep();
}

fn visible<'a>(field: &mut Field<'a, u64>) -> &'a [u8] {
    field.text.run(|byte| byte.is_ascii_graphic())
}

/// The calls used and their limit, `32/40` or `api-usage=18/15000`.
pub(super) fn used_of_limit(field: &mut Field<'_, u64>) {
    let text = &mut field.text;
    // Salesforce names it, followed by limits of single apps.
    let is_named = !text.letters().is_empty();
    if is_named {
        text.run(|byte| byte != b'=');
        text.expect(b"=");
    }
    let used = text.number().whole;
    text.expect(b"/");
    let limit = text.number().whole;
    if is_named && matches!(text.peek(), b';' | b',') {
        text.run(|_| true);
    }
    field.draft.put_count(Part::Limit, limit);
    field.draft.put_count(Part::Left, limit.saturating_sub(used));
    field.keep();
}

/// A period in milliseconds.
pub(super) fn period_millis(field: &mut Field<'_, u64>) {
    let nanos = field.text.number().shifted(6);
    if nanos == 0 {
        field.text.fail();
    }
    field.draft.put(Part::Period, nanos);
    field.keep();
}

/// The cost of the call.
pub(super) fn cost(field: &mut Field<'_, u64>) {
    let cost = field.text.number().whole;
    field.draft.put(Part::Cost, cost);
    field.keep();
}

/// An AWS error code.
pub(super) fn aws_error(field: &mut Field<'_, u64>) {
    let code = aws::outcome(field.text.run(|_| true));
    if field.done() && (field.call.code.is_none() || code == Some(Outcome::Throttled)) {
        field.call.code = code;
    }
}

/// `false` if another attempt is useless.
pub(super) fn should_retry(field: &mut Field<'_, u64>) {
    let word = Name::of(field.text.letters());
    let is_false = word == const { Name::known("false") };
    if !is_false && word != const { Name::known("true") } {
        field.text.fail();
    }
    field.call.no_retry |= field.done() && is_false;
}

/// Why a call was throttled, for example because too many are in flight.
pub(super) fn reason(field: &mut Field<'_, u64>) {
    let is_concurrency = visible(field).ends_with(b"concurrency") || field.counts == CONCURRENT;
    field.call.concurrency |= field.done() && is_concurrency;
}

/// Percentages of an app's allowance in Meta's report.
const SHARES: [Name; 3] =
    [Name::known("call_count"), Name::known("total_cputime"), Name::known("total_time")];

/// Meta's usage report of an app, in JSON: the highest percentage, and the longest time in minutes
/// until the app is served again.
pub(super) fn usage(field: &mut Field<'_, u64>) {
    let (text, draft) = (&mut field.text, &mut field.draft);
    loop {
        text.run(|byte| byte != b'"');
        if text.next() == 0 {
            break;
        }
        let key = Name::of(text.run(|byte| byte != b'"'));
        text.next();
        text.space();
        let is_regain = key == const { Name::known("estimated_time_to_regain_access") };
        let is_share = SHARES.contains(&key);
        if (is_regain || is_share) && text.eat(b':') {
            text.space();
            let number = text.number().whole;
            if is_share {
                draft.put_count(Part::Limit, 100);
                draft.put_count(Part::Left, 100u64.saturating_sub(number));
            } else if number > 0 {
                draft.put(Part::After, number.saturating_mul(60_000_000_000));
            }
        }
    }
    if draft.has(Part::After)
        && text.done()
        && let Some(cooldown) = field.drafts.first_mut()
    {
        cooldown.put(Part::After, draft.get(Part::After));
    }
    field.keep();
}

/// Bits for the counted unit.
pub(super) const TOKENS: u8 = 1;
const INPUT: u8 = 2;
const OUTPUT: u8 = 4;
pub(super) const CONCURRENT: u8 = 8;
const BYTES: u8 = 16;
pub(super) const REQUESTS: u8 = 32;
pub(super) const OTHER: u8 = 64;

/// Prefixes of the words for units, with the seconds of a period.
static UNITS: Prefixes<(u8, u32), 11> = Prefixes::of(&[
    ("token", (TOKENS, 0)),
    ("input", (INPUT, 0)),
    ("output", (OUTPUT, 0)),
    ("concurrent", (CONCURRENT, 0)),
    ("bytes", (BYTES, 0)),
    ("req", (REQUESTS, 0)),
    ("month", (REQUESTS, 0)),
    ("second", (REQUESTS, 1)),
    ("minute", (REQUESTS, 60)),
    ("hour", (REQUESTS, 3_600)),
    ("day", (REQUESTS, 86_400)),
]);

/// The masks of units. The first that matches counts.
const MASKS: [(u8, Unit); 6] = [
    (TOKENS | INPUT, Unit::InputTokens),
    (TOKENS | OUTPUT, Unit::OutputTokens),
    (TOKENS, Unit::Tokens),
    (CONCURRENT, Unit::InFlight),
    (BYTES, Unit::Bytes),
    (REQUESTS, Unit::Requests),
];

/// The unit of these bits.
pub(super) const fn unit_of(counts: u8) -> Unit {
    let mut masks = MASKS.as_slice();
    while let [(mask, unit), rest @ ..] = masks {
        if counts & *mask == *mask {
            return *unit;
        }
        masks = rest;
    }
    Unit::Other
}

/// Records what a limit counts, and in which period, as far as its name says: `tokens`,
/// `requests-day`, `minute`. A period alone implies calls.
fn count_words(draft: &mut Draft<u64>, name: &[u8], counts: u8) {
    let mut seen = counts;
    let mut words = Text::new(name);
    loop {
        if let Some(((bit, seconds), _)) = UNITS.longest(words.letters()) {
            seen |= bit;
            if seconds > 0 {
                draft.put(Part::Period, u64::from(seconds).wrapping_mul(1_000_000_000));
            }
        }
        if words.next() == 0 {
            break;
        }
    }
    draft.note_unit(unit_of(seen));
}

/// The unit that the parameter `qu` names.
pub(super) fn unit(draft: &mut Draft<u64>, name: &[u8]) {
    count_words(draft, name, 0);
}

/// Whether the parameter `qu` names calls.
pub(super) fn common_unit(draft: &mut Draft<u32>, name: &[u8]) {
    let is_calls = Name::of_header(name) == const { Name::known("requests") };
    draft.note_unit(if is_calls { Unit::Requests } else { Unit::Other });
}
