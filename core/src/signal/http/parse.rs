//! The parse functions of headers. A row of a table names one.

use super::draft::{Draft, Part};
use super::limits::Unit;
use super::moment::{self, Scale};
use super::structured::{Bare, PARAMETERS, item};
use crate::outcome::Outcome;
use crate::signal::aws;
use crate::signal::text::Text;
use crate::signal::word::{Name, Prefixes};

/// The places of drafts: what belongs to the response, the cooldown, one that was given in
/// milliseconds, and the first limit.
pub(super) const RESPONSE: u8 = 0;
pub(super) const COARSE: u8 = 1;
pub(super) const FINE: u8 = 2;
pub(super) const LIMITS: u8 = 3;

/// The parts of [`RESPONSE`]: its date, its age plus one, and whether a limit counts calls in
/// flight, whether to retry the call, whether a plan's limit over hours or a week is
/// exhausted, and the outcome of an error code.
pub(super) const DATE: Part = Part::At;
pub(super) const AGE: Part = Part::Cost;
pub(super) const CONCURRENCY: Part = Part::Left;
pub(super) const RETRY: Part = Part::Limit;
pub(super) const EXHAUSTED: Part = Part::Partition;
pub(super) const CODE: Part = Part::Period;

/// A header while its value is read.
#[derive(Debug)]
#[repr(C)] // What is used most is first, where small machines reach it with one instruction.
pub(super) struct Field<'a> {
    pub(super) text: Text<'a>,
    pub(super) drafts: &'a mut [Draft],
    pub(super) ignored: &'a mut u16,
    /// What the limit counts by default, as in [`MASKS`].
    pub(super) counts: u8,
    /// The name after the prefix of a family.
    pub(super) rest: &'a [u8],
    /// What the header says.
    pub(super) draft: Draft,
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
/// | `x-should-retry`, `Stripe-Should-Retry` | `true` or `false`; not read in firmware |
///
/// GitHub, GitLab, Cloudflare, Discord, X, Reddit, Slack, Stripe, Docker Hub and most gateways send
/// these headers. HTTP-dates in the formats of RFC 850 and of C's `asctime` are not read.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Common;

/// Which times and units the dialects have.
pub(super) trait Values {
    fn moment(text: &mut Text<'_>, scale: Scale) -> (Part, u32);
    fn unit(draft: &mut Draft, name: &[u8]);
}

impl Values for All {
    fn moment(text: &mut Text<'_>, scale: Scale) -> (Part, u32) {
        moment::any(text, scale)
    }
    fn unit(draft: &mut Draft, name: &[u8]) {
        unit(draft, name);
    }
}

impl Values for Common {
    fn moment(text: &mut Text<'_>, scale: Scale) -> (Part, u32) {
        moment::common(text, scale)
    }
    fn unit(draft: &mut Draft, name: &[u8]) {
        common_unit(draft, name);
    }
}

/// Reads the value of a header.
pub(super) type Parse = fn(&mut Field<'_>);

/// Adds a limit. The first place for it is given.
pub(super) fn add(drafts: &mut [Draft], ignored: &mut u16, first: u8, draft: &Draft) {
    if !draft.is_known() {
        return;
    }
    let name = draft.get(Part::Name);
    let mut slots = drafts.iter_mut().skip(first.into());
    match slots.find(|slot| !slot.has(Part::Name) || slot.get(Part::Name) == name) {
        Some(slot) => slot.merge(draft),
        None => *ignored = ignored.saturating_add(1),
    }
}

impl Field<'_> {
    /// Whether the whole value is valid.
    pub(super) fn is_valid(&mut self) -> bool {
        let is_valid = self.text.done();
        if !is_valid {
            *self.ignored = self.ignored.saturating_add(1);
        }
        is_valid
    }

    /// Skips a value that says nothing about a limit.
    fn skip(&mut self) {
        self.text.run(|_| true);
        self.draft = Draft::NONE;
    }

    /// Reads points in time, of which the latest counts. Client libraries may join several values.
    fn moments<D: Values>(&mut self, scale: Scale) {
        loop {
            let (part, number) = D::moment(&mut self.text, scale);
            self.draft.put(part, number);
            if !self.text.comma() {
                break;
            }
        }
    }

    /// Reads a list of limits with names or of counts. Each member that is a quota is another limit.
    /// Quotas are kept when the whole list has been read once.
    fn list<D: Values>(&mut self, has_names: bool, needed: Part) {
        let start = self.text;
        let is_service = has_names && needed == Part::Left;
        for keeps in [false, true] {
            self.text = start;
            let (mut is_known, mut has_quotas) = (!is_service, false);
            loop {
                let mut quota = Draft::NONE;
                let mut is_quota = false;
                match item(&mut self.text, &mut quota, D::unit) {
                    Bare::Text(name) if has_names && quota.has(needed) => {
                        is_quota = true;
                        quota.set_name(Name::of(name));
                        if is_service {
                            quota.end_with_period();
                        } else if !quota.has(Part::Unit) {
                            quota.note_unit(Unit::Requests);
                        }
                    }
                    Bare::Number(number) if !is_service => {
                        is_quota = needed == Part::Limit && quota.has(Part::Period);
                        // The first is the limit. Others are quotas, or the limit of another header.
                        if !(has_names || is_quota && self.draft.has(Part::Limit)) {
                            self.draft.put_count(needed, number.whole);
                        }
                        quota.loosen(number.whole);
                    }
                    Bare::Member if is_service => self.draft.merge(&quota),
                    _ => self.text.fail(),
                }
                has_quotas |= is_quota;
                is_known |= is_quota || self.draft.is_known();
                if keeps && is_quota {
                    add(self.drafts, self.ignored, LIMITS, &quota);
                }
                if !self.text.comma() {
                    break;
                }
            }
            if !is_known {
                self.text.fail();
            }
            if !(self.text.done() && has_quotas) {
                return;
            }
        }
    }
}

/// `RateLimit`: the remaining calls of policies. In draft 07 it is a dictionary:
/// `limit=100, remaining=50, reset=5`.
pub(super) fn service<D: Values>(field: &mut Field<'_>) {
    field.list::<D>(true, Part::Left);
}

/// `RateLimit-Policy`: the quotas, with or without names.
pub(super) fn policy<D: Values>(field: &mut Field<'_>) {
    field.list::<D>(true, Part::Limit);
}

/// The number of calls, which quotas may follow: `100, 100;w=60`.
pub(super) fn limit<D: Values>(field: &mut Field<'_>) {
    field.list::<D>(false, Part::Limit);
}

/// The number of remaining calls.
pub(super) fn left<D: Values>(field: &mut Field<'_>) {
    field.list::<D>(false, Part::Left);
}

/// A header that says nothing that a client could use.
pub(super) fn nothing(field: &mut Field<'_>) {
    field.skip();
}

/// When the response was created (RFC 9110 section 6.6.1).
pub(super) fn date<D: Values>(field: &mut Field<'_>) {
    field.moments::<D>(Scale::Any);
    if !field.draft.has(DATE) {
        field.text.fail();
    }
}

/// How long the response was in a cache (RFC 9111 section 5.1).
pub(super) fn age(field: &mut Field<'_>) {
    let age = field.text.number().whole;
    field.draft.put_time(AGE, age);
}

/// `Retry-After`.
pub(super) fn cooldown<D: Values>(field: &mut Field<'_>) {
    field.moments::<D>(Scale::Any);
}

/// A number of seconds, of any size, until the limit is reset or as a cooldown.
pub(super) fn seconds<D: Values>(field: &mut Field<'_>) {
    field.moments::<D>(Scale::Seconds);
}

/// A cooldown in milliseconds.
pub(super) fn cooldown_millis<D: Values>(field: &mut Field<'_>) {
    field.moments::<D>(Scale::Millis);
}

/// When the limit is reset, in any form.
pub(super) fn reset<D: Values>(field: &mut Field<'_>) {
    field.moments::<D>(Scale::BySize);
}

/// Headers that each have one number of a limit, in a family whose prefix is known.
pub(super) fn common_family(field: &mut Field<'_>) {
    match PARAMETERS.find(field.rest) {
        // Shorter names are parameters only.
        _ if field.rest.len() < 5 => field.skip(),
        Some(Part::At) => field.moments::<Common>(Scale::BySize),
        Some(Part::After) => field.moments::<Common>(Scale::Seconds),
        Some(part) => field.list::<Common>(false, part),
        None => field.skip(),
    }
}

/// The words for the numbers of a limit in header names.
static NAMES: Prefixes<Parse, 6> = Prefixes::of(&[
    ("limit", limit::<All>),
    ("remaining", left::<All>),
    ("reset", reset::<All>),
    ("reset-after", seconds::<All>),
    ("utilization", utilization),
    ("status", status),
]);

/// A family of headers with names for several limits: OpenAI has `limit-requests`, Anthropic
/// `requests-limit`, most only `limit`.
pub(super) fn family(field: &mut Field<'_>) {
    let name = field.rest;
    let dash = || name.iter().rposition(|byte| *byte == b'-');
    let (parse, qualifier): (Parse, &[u8]) = match NAMES.longest(name) {
        Some((parse, [])) => (parse, &[]),
        Some((parse, [b'-', qualifier @ ..])) => (parse, qualifier),
        _ => {
            let Some((qualifier, [_, word @ ..])) = dash().and_then(|at| name.split_at_checked(at))
            else {
                return field.skip();
            };
            match NAMES.longest(word) {
                Some((parse, [])) => (parse, qualifier),
                _ => return field.skip(),
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
fn utilization(field: &mut Field<'_>) {
    let mut used = field.text.number();
    used.fraction = used.fraction.get(..3).unwrap_or(used.fraction);
    field.draft.put_count(Part::Limit, 1_000);
    field.draft.put_count(Part::Left, 1_000u32.saturating_sub(used.shifted(3)));
}

/// `rejected` if a limit is exhausted.
fn status(field: &mut Field<'_>) {
    if Name::of(visible(field)) == const { Name::known("rejected") } && field.text.done() {
        field.draft.put_count(Part::Left, 0);
        if let Some(response) = field.drafts.first_mut() {
            response.put(EXHAUSTED, 1);
        }
    }
}

fn visible<'a>(field: &mut Field<'a>) -> &'a [u8] {
    field.text.run(|byte| byte.is_ascii_graphic())
}

/// The calls used and their limit, `32/40` or `api-usage=18/15000`.
pub(super) fn used_of_limit(field: &mut Field<'_>) {
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
}

/// A period in milliseconds.
pub(super) fn period_millis(field: &mut Field<'_>) {
    let millis = field.text.number().shifted(0);
    if millis == 0 {
        field.text.fail();
    }
    field.draft.put_time(Part::Period, millis);
}

/// The cost of the call.
pub(super) fn cost(field: &mut Field<'_>) {
    let cost = field.text.number().whole;
    field.draft.put_time(Part::Cost, cost);
}

/// An AWS error code. If there are several, a throttle counts.
pub(super) fn aws_error(field: &mut Field<'_>) {
    match aws::outcome(field.text.run(|_| true)) {
        Some(Outcome::Throttled) => field.draft.put(CODE, 2),
        Some(_) => field.draft.put(CODE, 1),
        None => {}
    }
}

/// Whether to retry the call; also `True`, as Python writes it. If headers differ, `false` counts.
pub(super) fn should_retry(field: &mut Field<'_>) {
    let word = Name::of_header(field.text.letters());
    if word == const { Name::known("true") } {
        field.draft.put(RETRY, 1);
    } else if word == const { Name::known("false") } {
        field.draft.put(RETRY, 2);
    } else {
        field.text.fail();
    }
}

/// Why a call was throttled, for example because too many are in flight.
pub(super) fn reason(field: &mut Field<'_>) {
    if visible(field).ends_with(b"concurrency") {
        field.draft.put(CONCURRENCY, 1);
    }
}

/// A reason that is always that too many calls are in flight.
pub(super) fn any_reason(field: &mut Field<'_>) {
    visible(field);
    field.draft.put(CONCURRENCY, 1);
}

/// Percentages of an app's allowance in Meta's report.
const SHARES: [Name; 3] =
    [Name::known("call_count"), Name::known("total_cputime"), Name::known("total_time")];

/// Meta's usage report of an app, in JSON: the highest percentage, and the longest time in minutes
/// until the app is served again.
pub(super) fn usage(field: &mut Field<'_>) {
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
                draft.put_count(Part::Left, 100u32.saturating_sub(number));
            } else if number > 0 {
                draft.put_time(Part::After, number.saturating_mul(60_000));
            }
        }
    }
    if text.done()
        && let Some(cooldown) = field.drafts.get_mut(usize::from(COARSE))
    {
        cooldown.put(Part::After, draft.get(Part::After));
    }
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
fn count_words(draft: &mut Draft, name: &[u8], counts: u8) {
    let mut seen = counts;
    let mut words = Text::new(name);
    loop {
        if let Some(((bit, seconds), _)) = UNITS.longest(words.letters()) {
            seen |= bit;
            if seconds > 0 {
                draft.put_time(Part::Period, seconds.wrapping_mul(1_000));
            }
        }
        if words.next() == 0 {
            break;
        }
    }
    draft.note_unit(unit_of(seen));
}

/// The unit that the parameter `qu` names.
pub(super) fn unit(draft: &mut Draft, name: &[u8]) {
    count_words(draft, name, 0);
}

/// Whether the parameter `qu` names calls.
pub(super) fn common_unit(draft: &mut Draft, name: &[u8]) {
    let is_calls = Name::of_header(name) == const { Name::known("requests") };
    draft.note_unit(if is_calls { Unit::Requests } else { Unit::Other });
}
