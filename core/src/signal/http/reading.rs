//! Reads a response header by header.

use super::answer::Answer;
use super::dialect::{self, Term};
use super::draft::{self, Draft, count};
use super::limits::{Name, Unit};
use super::moment::{Profile, moments};
use super::structured::{Bare, item};
use crate::hint::Hint;
use crate::outcome::Outcome;
use crate::signal::aws;
use crate::signal::body::Body;
use crate::signal::text::Text;
use crate::time::Span;

/// A share of one: shares are reported in thousandths.
const WHOLE: u64 = 1_000;
const REJECTED: Name = Name::known("rejected");
const FALSE: Name = Name::known("false");
const TRUE: Name = Name::known("true");

/// How many limits are collected from the headers. Later ones are counted and dropped.
const COLLECTED: usize = 8;

/// Collects what the headers of one response say, in every dialect; see the [module](super) for
/// which and how. [`CommonReading`](super::CommonReading) is less than half as large.
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
pub struct Reading {
    status: u16,
    ignored: u16,
    profile: Profile,
    cached: bool,
    no_retry: bool,
    concurrency: bool,
    exhausted: bool,
    code: Option<Outcome>,
    date: Draft,
    cooldown: Draft,
    /// A cooldown that was given in milliseconds.
    fine_cooldown: Draft,
    limits: [Draft; COLLECTED],
}

impl Reading {
    /// A response with this status and no headers yet.
    #[must_use]
    pub const fn new(status: u16) -> Self {
        Self::with_profile(status, Profile::Auto)
    }

    /// The same for a server whose reset headers have the format `profile`.
    #[must_use]
    pub const fn with_profile(status: u16, profile: Profile) -> Self {
        let nothing = Draft::NONE;
        Self {
            status,
            ignored: 0,
            profile,
            cached: false,
            no_retry: false,
            concurrency: false,
            exhausted: false,
            code: None,
            date: nothing,
            cooldown: nothing,
            fine_cooldown: nothing,
            limits: const { [Draft::NONE; COLLECTED] },
        }
    }

    /// Adds a header. If it occurs several times, add it several times, or once with its values
    /// joined by commas.
    pub fn header(&mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        self.note(name.as_ref(), value.as_ref());
    }

    fn note(&mut self, name: &[u8], value: &[u8]) {
        let mut draft = Draft::NONE;
        let Some(term) = dialect::term(name, &mut draft) else { return };
        let is_list = matches!(term, Term::Service | Term::Policy | Term::Limit | Term::Left);
        let mut text = Text::new(value);
        if is_list {
            self.list(term, &mut draft, &mut text, false);
        } else {
            self.read(term, &mut draft, &mut text);
        }
        // If any part of a value is malformed, nothing of it is kept.
        if !text.done() {
            return count(&mut self.ignored);
        }
        // A plan's limit over hours or a week.
        self.exhausted |= term == Term::Status && draft.has(Term::Left);
        match term {
            Term::Date => self.date.merge(&draft),
            Term::Age => self.cached |= draft.most(Term::Reset) > 0,
            Term::Cooldown | Term::CooldownSeconds => self.cooldown.merge(&draft),
            Term::CooldownMillis => self.fine_cooldown.merge(&draft),
            Term::ShouldRetry => self.no_retry |= draft.has(Term::Reset),
            Term::Reason => self.concurrency |= draft.has(Term::Reset),
            Term::Usage => {
                if draft.has(Term::ResetAfter) {
                    self.cooldown.tell(Term::ResetAfter, draft.most(Term::ResetAfter));
                }
                if draft.told != 0 {
                    self.add(&draft);
                }
            }
            _ => {
                if is_list {
                    self.list(term, &mut draft, &mut Text::new(value), true);
                }
                if draft.told != 0 {
                    self.add(&draft);
                }
            }
        }
    }

    /// Adds the body, after the headers.
    pub fn body(&mut self, body: &Body) {
        self.code = body.outcome(self.status).or(self.code);
        self.concurrency |= body.is_of_concurrency();
        let has_cooldown = self.cooldown.told != 0 || self.fine_cooldown.told != 0;
        let least = if has_cooldown { None } else { body.least_cooldown() };
        if let Some(cooldown) = body.retry_after().or(least) {
            self.cooldown.tell(Term::ResetAfter, cooldown.as_nanos());
        }
        for name in body.violated() {
            self.tell_of(name, &Hint::remaining(0), 0, None);
        }
        let points = Unit::Other.number();
        self.tell_of(Name::known("points"), &body.points(), points, body.price());
        let tokens = Unit::Tokens.number();
        self.tell_of(Name::known("tokens"), &Hint::NONE, tokens, body.tokens());
    }

    /// Records the hint of a limit.
    fn tell_of(&mut self, name: Name, hint: &Hint, unit: u8, cost: Option<u32>) {
        let mut draft = Draft::NONE;
        draft.unit = unit;
        draft.set_name(name);
        if let Some(cost) = cost {
            draft.set_cost(cost.into());
        }
        for (term, count) in [(Term::Limit, hint.limit), (Term::Left, hint.remaining)] {
            if let Some(count) = count {
                draft.tell_least(term, count);
            }
        }
        if let Some(period) = hint.period {
            draft.tell(Term::Period, period.as_nanos());
        }
        if draft.told != 0 {
            self.add(&draft);
        }
    }

    /// The result of the response. `now` is the caller's clock as time since the start of 1970, for
    /// dates in a response without `Date`; `None` if there is no such clock.
    #[must_use]
    pub fn finish(mut self, now: Option<Span>) -> Answer {
        let now = self.date.span(Term::Reset).or(now).map(Span::as_nanos);
        let mut answer = Answer::NOTHING;
        if !self.cached {
            draft::settle(&mut self.limits, now, &mut answer.limits, &mut self.ignored);
        }
        self.cooldown.settle(now, &mut self.ignored);
        self.fine_cooldown.settle(now, &mut self.ignored);
        // If two cooldowns differ only by rounding, the more precise one counts, else the longer
        // one.
        let [coarse, fine] =
            [&self.cooldown, &self.fine_cooldown].map(|it| it.most(Term::ResetAfter));
        let is_longer = coarse.saturating_sub(fine) >= 1_000_000_000;
        let is_coarse = is_longer || !self.fine_cooldown.has(Term::ResetAfter);
        let cooldown =
            if is_coarse { &self.cooldown } else { &self.fine_cooldown }.span(Term::ResetAfter);
        let told = |limit: &&Draft| limit.told != 0 && limit.is_of_calls();
        if let Some(limit) = answer.limits.iter().find(told) {
            limit.tell_in(&mut answer.hint);
        }
        answer.outcome = match (self.code, self.status) {
            // The error code is more specific than the status.
            (Some(outcome), _) => outcome,
            (_, 429) if self.exhausted => Outcome::Exhausted,
            // GitHub also throttles with 403, together with a cooldown or no calls left.
            (_, 403) if cooldown.is_some() || answer.hint.remaining == Some(0) => {
                Outcome::Throttled
            }
            (_, status) => super::outcome(status),
        };
        if answer.outcome != Outcome::Ok {
            answer.hint.retry_after = cooldown;
        }
        answer.hint.no_retry = self.no_retry;
        answer.hint.concurrency = self.concurrency && answer.outcome == Outcome::Throttled;
        answer.ignored = self.ignored;
        answer
    }

    /// Reads the value of a header with a single value.
    fn read(&mut self, term: Term, draft: &mut Draft, text: &mut Text<'_>) {
        let profile = match term {
            Term::Age => return draft.tell(Term::Reset, text.number().whole),
            Term::ShouldRetry => match Name::of(text.letters()) {
                FALSE => return draft.tell(Term::Reset, 0),
                TRUE => return,
                _ => return text.fail(),
            },
            Term::AwsError => {
                let code = aws::outcome(text.run(|_| true));
                if self.code.is_none() || code == Some(Outcome::Throttled) {
                    self.code = code;
                }
                return;
            }
            Term::UsedOfLimit => {
                // Salesforce names it, followed by limits of single apps.
                let is_named = !text.letters().is_empty();
                if is_named {
                    text.run(|byte| byte != b'=');
                    text.expect(b"=");
                }
                let used = text.number().whole;
                text.expect(b"/");
                let limit = text.number().whole;
                draft.tell_least(Term::Limit, limit);
                if is_named && matches!(text.peek(), b';' | b',') {
                    text.run(|_| true);
                }
                return draft.tell_least(Term::Left, limit.saturating_sub(used));
            }
            Term::PeriodMillis => {
                let nanos = text.number().shifted(6);
                return if nanos > 0 { draft.tell(Term::Period, nanos) } else { text.fail() };
            }
            Term::Cost => return draft.set_cost(text.number().whole),
            Term::Utilization => {
                draft.tell_least(Term::Limit, WHOLE);
                let used = text.number().shifted(3);
                return draft.tell_least(Term::Left, WHOLE.saturating_sub(used));
            }
            Term::Status => {
                if Name::of(text.run(|byte| byte.is_ascii_graphic())) == REJECTED {
                    draft.tell_least(Term::Left, 0);
                }
                return;
            }
            Term::Reason => {
                let reason = text.run(|byte| byte.is_ascii_graphic());
                if reason.ends_with(b"concurrency") || draft.unit == Unit::InFlight.number() {
                    draft.tell(Term::Reset, 0);
                }
                return;
            }
            Term::Usage => return usage(text, draft),
            Term::Date | Term::Cooldown => None,
            Term::CooldownMillis => Some(Profile::DeltaMillis),
            Term::Reset => Some(self.profile),
            _ => Some(Profile::Delta),
        };
        moments(text, draft, profile);
        if term == Term::Date && !draft.has(Term::Reset) {
            text.fail();
        }
    }

    /// Reads a list of quotas: `RateLimit` and `RateLimit-Policy` with or without names, and the
    /// numbers of a limit, which quotas may follow: `100, 100;w=60`. Draft 07 has a dictionary
    /// instead: `limit=100, remaining=50, reset=5`. The quotas are kept if `keep` is true, which is
    /// after the whole list has been read once.
    fn list(&mut self, term: Term, draft: &mut Draft, text: &mut Text<'_>, keep: bool) {
        let named = matches!(term, Term::Service | Term::Policy);
        let mut told = false;
        let needed = match term {
            Term::Service | Term::Left => Term::Left,
            _ => Term::Limit,
        };
        loop {
            let mut quota = Draft::NONE;
            let is_quota = match item(text, &mut quota) {
                Bare::Text(name) if named && quota.has(needed) => {
                    quota.set_name(Name::of(name));
                    if term == Term::Service {
                        quota.end_with_period();
                    }
                    if term == Term::Policy && quota.unit == 0 {
                        quota.unit = Unit::Requests.number();
                    }
                    told = true;
                    true
                }
                Bare::Member if term == Term::Service => {
                    draft.merge(&quota);
                    told |= draft.told != 0;
                    false
                }
                Bare::Number(number) if term != Term::Service => {
                    told = true;
                    // The first is the limit. Others are quotas, or the limit of another header.
                    let timed = needed == Term::Limit && quota.has(Term::Period);
                    let more = timed && draft.has(Term::Limit);
                    if !(named || more) {
                        draft.tell_least(needed, number.whole);
                    }
                    if timed {
                        quota.loosen(number.whole);
                    }
                    timed
                }
                _ => {
                    text.fail();
                    false
                }
            };
            if keep && is_quota {
                self.add(&quota);
            }
            if !text.comma() {
                break;
            }
        }
        if named && !told {
            text.fail();
        }
    }

    /// Adds the limit of a header.
    fn add(&mut self, draft: &Draft) {
        if !draft::add(&mut self.limits, draft) {
            count(&mut self.ignored);
        }
    }
}

/// Reads Meta's usage report of an app: the highest percentage, and the longest time in minutes
/// until the app is served again.
fn usage(text: &mut Text<'_>, draft: &mut Draft) {
    loop {
        text.run(|byte| byte != b'"');
        if text.next() == 0 {
            return;
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
                draft.tell_least(Term::Limit, 100);
                draft.tell_least(Term::Left, 100u64.saturating_sub(number));
            } else if number > 0 {
                draft.tell(Term::ResetAfter, number.saturating_mul(60_000_000_000));
            }
        }
    }
}

/// Percentages of an app's allowance in Meta's report.
const SHARES: [Name; 3] =
    [Name::known("call_count"), Name::known("total_cputime"), Name::known("total_time")];
