//! Reads a response in the common dialects with 32-bit numbers.

use core::slice::from_ref;

use super::dialect::{self, CALL, COMMON_PARAMETERS, Term};
use super::limits::Name;
use super::moment::days;
use crate::hint::Hint;
use crate::outcome::{Outcome, Reply};
use crate::signal::text::Text;
use crate::signal::word::{Table, digest};
use crate::time::Span;

/// How many limits are collected from the headers, plus one for the call. Later ones are dropped.
const ROOM: usize = 7;

/// The numbers of one limit: the first seven [`Term`]s. Of several numbers for a term the largest
/// is kept, and zero means none. Counts are stored as complements, so the smallest is kept. Times
/// (in milliseconds) and dates (in seconds since 1970) are stored plus one. A unit of zero means
/// calls.
type Numbers = [u32; 7];

const NOTHING: Numbers = [0; 7];

/// Collects the information in a response's headers in the common dialects. It takes less than half
/// as much flash as [`Reading`](super::Reading), and a quarter of its memory.
///
/// | header | value |
/// |---|---|
/// | `Retry-After` | seconds, also with a fraction, or an IMF-fixdate |
/// | `retry-after-ms` | milliseconds |
/// | `RateLimit`, `RateLimit-Policy` | the IETF draft, 07 to 11 |
/// | `RateLimit-…`, `X-RateLimit-…`, `X-Rate-Limit-…`: `Limit`, `Remaining`, `Reset`, `Reset-After` | numbers, quotas (`100;w=60`); a reset as seconds, from 10^9 on since 1970, or as an IMF-fixdate |
/// | `Date`, `Age` | RFC 9110, RFC 9111 |
///
/// GitHub, GitLab, Cloudflare, Discord, X, Reddit, Slack, Stripe, Docker Hub and most gateways send
/// these headers. For such a response its result for the call and the binding limit of calls equals
/// that of [`Reading`](super::Reading), with a precision of milliseconds and up to 49 days and
/// 2^32-2 calls. It ignores other headers and values, limits with other units, and limits beyond
/// the sixth.
///
/// ```
/// use tidegate::{Outcome, Reply, Span, signal::http::CommonReading};
///
/// let mut reading = CommonReading::new(429);
/// reading.header("Date", "Mon, 03 Mar 2025 09:00:00 GMT");
/// reading.header("X-RateLimit-Remaining", "0");
/// reading.header("X-RateLimit-Reset", "1740993300"); // 09:15:00
/// let reply: Reply = reading.finish(None);
/// assert_eq!(reply.outcome, Outcome::Throttled);
/// assert_eq!(reply.hints[0].cooldown(), Some(Span::from_secs(900)));
/// ```
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(align(8))] // Firmware clears a reply in the same way, and links one function for both.
pub struct CommonReading {
    status: u16,
    /// Whether values are kept while they are parsed.
    keeps: bool,
    /// The first entry belongs to the call: its cooldown; as `Period` the cooldown in milliseconds;
    /// as `Left` the date of the response; and as `Limit` its age.
    limits: [Numbers; ROOM],
}

impl CommonReading {
    /// A response with this status and no headers yet.
    #[must_use]
    pub const fn new(status: u16) -> Self {
        // Initialised in place, because a small image would otherwise link a function to copy
        // memory.
        let mut empty = const { Self { status: 0, keeps: false, limits: [NOTHING; ROOM] } };
        let [[.., name, _, _], ..] = &mut empty.limits;
        *name = CALL.0;
        empty.status = status;
        empty
    }

    /// Adds a header, like [`Reading::header`](super::Reading::header).
    pub fn header(&mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        self.note(name.as_ref(), value.as_ref());
    }

    fn note(&mut self, name: &[u8], value: &[u8]) {
        let Some((term, name)) = dialect::common(name) else { return };
        // If any part of a value is malformed, nothing of it is kept.
        self.keeps = false;
        loop {
            let mut text = Text::new(value);
            let mut first = true;
            loop {
                match term {
                    Term::Service | Term::Policy | Term::Limit | Term::Left => {
                        self.member(&mut text, term, name.0, first);
                    }
                    _ => self.moment(&mut text, term, name.0),
                }
                first = false;
                if !text.comma() {
                    break;
                }
            }
            if self.keeps || !text.done() {
                return;
            }
            self.keeps = true;
        }
    }

    /// Records a number of the limit with this name, if it has one.
    fn tell(&mut self, name: u32, term: Term, number: u32) {
        let mut limits = self.limits.iter_mut();
        let slot = limits.find(|limit| {
            let known = get(limit, Term::Name);
            known == 0 || known == name
        });
        if let Some(limit) = slot
            && self.keeps
            && name != 0
        {
            set(limit, Term::Name, name);
            set(limit, term, number);
        }
    }

    /// Reads a point in time.
    fn moment(&mut self, text: &mut Text<'_>, term: Term, name: u32) {
        let (mut part, number) = if text.peek().is_ascii_alphabetic() {
            (Term::Reset, date(text))
        } else {
            match (term, number(text)) {
                (Term::CooldownMillis, (whole, _)) => (Term::Period, whole),
                (Term::ResetAfter, (_, millis)) => (Term::ResetAfter, millis),
                (_, (whole, _)) if whole >= 1_000_000_000 => (Term::Reset, whole),
                (_, (_, millis)) => (Term::ResetAfter, millis),
            }
        };
        match term {
            Term::Date if part == Term::Reset => part = Term::Left,
            Term::Date => text.fail(),
            Term::Age => part = Term::Limit,
            _ => {}
        }
        self.tell(name, part, number.saturating_add(1));
    }

    /// Reads a member of a list: a policy, a parameter of the header's own limit, or a count, which
    /// may be a quota without a name. Such a quota is named after its count.
    fn member(&mut self, text: &mut Text<'_>, term: Term, own: u32, first: bool) {
        let (mut name, count) = match bare(text) {
            Bare::Text(key) if text.peek() == b'=' => {
                self.parameter(text, key, own);
                return;
            }
            Bare::Text(name) => (name, 0),
            Bare::Number(count, _) => (!count, !count),
        };
        let mut timed = false;
        while text.eat(b';') {
            text.space();
            // Hugging Face puts the name of a policy in the place of a parameter.
            let is_name = text.peek() == b'"';
            match bare(text) {
                Bare::Text(policy) if is_name => name = policy,
                Bare::Text(key) => {
                    timed |= self.parameter(text, key, if term == Term::Left { 0 } else { name });
                }
                Bare::Number(..) => text.fail(),
            }
        }
        if count == 0 || term == Term::Service {
            return;
        }
        if timed && term != Term::Left {
            self.tell(name, Term::Limit, count);
        }
        if term != Term::Policy && (first || !timed) {
            self.tell(own, term, count);
        }
    }

    /// Reads a parameter after its key. Returns whether it is a period.
    fn parameter(&mut self, text: &mut Text<'_>, key: u32, name: u32) -> bool {
        if !text.eat(b'=') {
            return false;
        }
        let value = bare(text);
        let (term, number) = match (COMMON_PARAMETERS.of_digest(key), value) {
            (Some(term @ (Term::Limit | Term::Left)), Bare::Number(count, _)) => (term, !count),
            (Some(Term::ResetAfter | Term::Reset), Bare::Number(_, millis)) => {
                (Term::ResetAfter, millis.saturating_add(1))
            }
            (Some(Term::Period), Bare::Number(_, millis)) if millis > 0 => {
                (Term::Period, millis.saturating_add(1))
            }
            (Some(Term::Unit), Bare::Text(unit)) => {
                (Term::Unit, unit ^ const { Name::known("requests").0 })
            }
            (None | Some(Term::Partition), _) => return false,
            _ => {
                text.fail();
                return false;
            }
        };
        self.tell(name, term, number);
        term == Term::Period
    }

    /// The outcome of the call, and the binding limit of calls. `now` is the caller's clock in
    /// seconds since the start of 1970, for dates in a response without `Date`; `None` if there is
    /// no such clock. Call it after all headers.
    #[must_use]
    pub fn finish<const LIMITS: usize>(&mut self, now: Option<u32>) -> Reply<LIMITS> {
        for at in 0..ROOM {
            let Some([_, _, _, period, name, ..]) = self.limits.get(at).copied() else { break };
            // A quota without a name belongs to the limits with the same number of calls that lack
            // a period.
            for [_, _, _, lacking, _, limit, _] in &mut self.limits {
                if *lacking == 0 && *limit == name {
                    *lacking = period;
                }
            }
        }
        let [call, limits @ ..] = &mut self.limits;
        let [_, date, coarse, fine, _, age, at] = call;
        let now = if *date > 0 { *date } else { now.map_or(0, |now| now.saturating_add(1)) };
        until(*at, coarse, now);
        // If two cooldowns differ only by rounding, the more precise one counts, else the longer
        // one.
        let is_longer = *fine == 0 || coarse.saturating_sub(*fine) >= 1_000;
        let cooldown = if is_longer { *coarse } else { *fine };
        let (mut most, mut limit) = ([0; 4], &NOTHING);
        for other in limits {
            let weight = settle(other, now);
            let is_first = get(other, Term::Name) < get(limit, Term::Name);
            let binds = weight > most || weight == most && is_first;
            if binds && *age < 2 && get(other, Term::Unit) == 0 {
                (most, limit) = (weight, other);
            }
        }
        let outcome = match self.status {
            // GitHub also throttles with 403, together with a cooldown or no calls left.
            403 if cooldown > 0 || get(limit, Term::Left) == u32::MAX => Outcome::Throttled,
            status => super::outcome(status),
        };
        let retry_after = span(if outcome == Outcome::Ok { 0 } else { cooldown });
        let hints = core::array::from_fn(|at| {
            let limit = if at == 0 { limit } else { &NOTHING };
            Hint {
                retry_after,
                remaining: count(get(limit, Term::Left)),
                reset: span(get(limit, Term::ResetAfter)),
                limit: count(get(limit, Term::Limit)),
                period: span(get(limit, Term::Period)),
                ..Hint::NONE
            }
        });
        Reply::about(outcome, hints)
    }
}

fn get(numbers: &Numbers, term: Term) -> u32 {
    numbers.get(term as usize).copied().unwrap_or(0)
}

fn set(numbers: &mut Numbers, term: Term, number: u32) {
    if let Some(old) = numbers.get_mut(term as usize) {
        *old = number.max(*old);
    }
}

fn count(told: u32) -> Option<u64> {
    (told > 0).then_some(u64::from(!told))
}

fn span(told: u32) -> Option<Span> {
    let nanos = u64::from(told.wrapping_sub(1)).wrapping_mul(1_000_000);
    (told > 0).then_some(Span::from_nanos(nanos))
}

/// Makes the numbers consistent. Returns how binding the limit is, in the order of `Draft::weigh`.
fn settle(numbers: &mut Numbers, now: u32) -> [u32; 4] {
    let [_, left, reset, period, _, limit, at] = numbers;
    if *left < *limit {
        *left = 0;
    }
    if *limit == u32::MAX {
        *limit = 0;
    }
    until(*at, reset, now);
    if *period > 0 {
        *reset = (*reset).min(*period);
    }
    let (share, fewest) = match (*left, *limit) {
        (u32::MAX, _) => (u32::MAX, u32::MAX),
        (0, 0) => (u32::from(*reset | *period > 0), 0),
        (0, limit) => (1, limit),
        (left, 0) => (2, left),
        (left, limit) => (!share(!left, !limit), left),
    };
    [share, fewest, reset.saturating_sub(1), *period]
}

/// Converts a date to a time from now, if none was given. One is added to either date.
fn until(at: u32, reset: &mut u32, now: u32) {
    if at > 0 && now > 0 && *reset == 0 {
        let seconds = at.saturating_sub(now);
        *reset = seconds.min(u32::MAX / 1_000).wrapping_mul(1_000).wrapping_add(1);
    }
}

/// `left / limit` in units of 2^-31, at most one.
fn share(mut left: u32, limit: u32) -> u32 {
    let mut share = 0u32;
    for _ in 0..31 {
        let missing = limit.wrapping_sub(left);
        let whole = left >= missing;
        left = left.wrapping_add(if whole { missing.wrapping_neg() } else { left });
        share = share << 1 | u32::from(whole);
    }
    share
}

/// Reads a number: its integer part and its thousandths.
fn number(text: &mut Text<'_>) -> (u32, u32) {
    let whole = text.some_digits().iter().fold(0, |number, digit| push(number, *digit));
    let mut fraction = if text.eat(b'.') { text.some_digits() } else { &[] }.iter();
    (whole, (0..3).fold(whole, |number, _| push(number, *fraction.next().unwrap_or(&b'0'))))
}

/// `number` with a digit behind it; saturates one below the largest number.
#[inline(never)] // Smaller than inlined twice.
fn push(number: u32, digit: u8) -> u32 {
    let more = number.wrapping_mul(10).wrapping_add(u32::from(digit.wrapping_sub(b'0')));
    if number < u32::MAX / 10 { more } else { u32::MAX - 1 }
}

static MONTHS: Table<u8, 12> = Table::of(&[
    ("jan", 1),
    ("feb", 2),
    ("mar", 3),
    ("apr", 4),
    ("may", 5),
    ("jun", 6),
    ("jul", 7),
    ("aug", 8),
    ("sep", 9),
    ("oct", 10),
    ("nov", 11),
    ("dec", 12),
]);

/// Reads an IMF-fixdate (RFC 9110 section 5.6.7), in seconds since 1970.
fn date(text: &mut Text<'_>) -> u32 {
    text.letters();
    text.expect(b", ");
    let (day, _) = number(text);
    text.expect(b" ");
    let month = MONTHS.find(text.letters()).unwrap_or(0);
    text.expect(b" ");
    let (year, _) = number(text);
    let mut time = 0u32;
    for mark in b" ::" {
        text.expect(from_ref(mark));
        time = time.wrapping_mul(60).wrapping_add(number(text).0);
    }
    text.expect(b" GMT");
    if month == 0 || !(1_970..2_106).contains(&year) {
        text.fail();
    }
    let days = days(year, u32::from(month)).wrapping_add(day).wrapping_sub(719_469);
    days.wrapping_mul(86_400).wrapping_add(time)
}

/// A value without its parameters.
enum Bare {
    /// The integer part of a number, and its thousandths.
    Number(u32, u32),
    /// The digest of a string or a token, or of the base64 text of a byte sequence.
    Text(u32),
}

fn bare(text: &mut Text<'_>) -> Bare {
    let mark = text.peek();
    if mark.is_ascii_digit() {
        let (whole, millis) = number(text);
        return Bare::Number(whole, millis);
    }
    let is_quoted = text.eat(b'"') || text.eat(b':');
    let word = text.run(match mark {
        b'"' => |byte| byte != b'"',
        b':' => |byte| byte != b':',
        _ => |byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b';' | b'='),
    });
    if is_quoted {
        text.next();
    }
    Bare::Text(digest(word, false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_saturates_one_below_the_largest() {
        for (text, whole, thousandths) in [
            ("7", 7, 7_000),
            ("7.5", 7, 7_500),
            ("429496728.9", 429_496_728, u32::MAX - 1),
            ("4294967289", 4_294_967_289, u32::MAX - 1),
            ("4294967290", u32::MAX - 1, u32::MAX - 1),
            ("4294967295", u32::MAX - 1, u32::MAX - 1),
            ("99999999999999", u32::MAX - 1, u32::MAX - 1),
            ("4294967.2899", 4_294_967, 4_294_967_289),
        ] {
            assert_eq!(number(&mut Text::new(text.as_bytes())), (whole, thousandths), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_share_is_exact(limit in 1..=u32::MAX, left: u32) {
            for left in [left % limit, limit / 2, limit - 1, limit] {
                let exact = (u64::from(left) << 31) / u64::from(limit);
                prop_assert_eq!(u64::from(share(left, limit)), exact.min((1 << 31) - 1));
            }
        }
    }
}
