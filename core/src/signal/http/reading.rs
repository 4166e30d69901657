//! One response, read header by header.

use super::answer::Answer;
use super::field::{Field, Key, Part};
use super::limits::{Limits, Name, TOLD, Unit};
use super::moment::{Moments, Profile};
use super::structured::{Bare, Item, dictionary, list};
use super::{digits, outcome};
use crate::hint::Hint;
use crate::outcome::Outcome;
use crate::signal::aws;
use crate::signal::text::Text;
use crate::time::Span;

/// Collects what the headers of one response say; see the [module](super) for which and how.
///
/// Every header may be handed in, in any order: what is not about limits costs a look at its name.
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
pub struct Reading {
    status: u16,
    profile: Profile,
    date: Option<Span>,
    cached: bool,
    pause: Moments,
    /// A pause that was told in milliseconds.
    fine_pause: Moments,
    code: Option<Outcome>,
    no_retry: bool,
    limits: Limits,
    ignored: u16,
}

impl Reading {
    /// The response with this status, of whose headers nothing is known yet.
    #[must_use]
    pub const fn new(status: u16) -> Self {
        Self::with_profile(status, Profile::Auto)
    }

    /// The same, of a server whose reset headers mean what `profile` says.
    #[must_use]
    pub const fn with_profile(status: u16, profile: Profile) -> Self {
        Self {
            status,
            profile,
            date: None,
            cached: false,
            pause: Moments::NONE,
            fine_pause: Moments::NONE,
            code: None,
            no_retry: false,
            limits: Limits::new(),
            ignored: 0,
        }
    }

    /// Takes note of a header. One that came several times may be handed in several times, or once
    /// with its values joined by commas.
    pub fn header(&mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        if let Some(field) = Field::of(name.as_ref())
            && self.read(field, value.as_ref()).is_none()
        {
            self.ignored = self.ignored.saturating_add(1);
        }
    }

    /// What the response says. `now` is the caller's clock as time since the start of 1970, for
    /// dates in a response that has no `Date`; `None` where there is no such clock.
    #[must_use]
    pub fn finish(&self, now: Option<Span>) -> Answer {
        let now = self.date.or(now);
        let mut ignored = self.ignored;
        let mut limits = [None; TOLD];
        if !self.cached {
            let garbage;
            (limits, garbage) = self.limits.settle(now);
            ignored = ignored.saturating_add(garbage);
        }
        let pause = self.pause(now);
        if pause.is_none() && !(self.pause.is_none() && self.fine_pause.is_none()) {
            ignored = ignored.saturating_add(1);
        }

        let mut of_calls = limits.iter().flatten().filter(|limit| limit.unit == Unit::Requests);
        let hint = of_calls.next().map_or(Hint::NONE, |limit| limit.hint);
        let outcome = self.outcome(pause, &hint);
        let retry_after = pause.filter(|_| outcome != Outcome::Ok);
        if let Some(Some(binding)) = limits.first_mut() {
            binding.hint.retry_after = retry_after;
        }
        let hint = Hint { retry_after, no_retry: self.no_retry, ..hint };
        Answer { outcome, hint, limits, ignored }
    }

    /// The error code says more than the status. A 403 is GitHub's other way to throttle: it comes
    /// with a pause, or with no calls left.
    fn outcome(&self, pause: Option<Span>, hint: &Hint) -> Outcome {
        let limited = pause.is_some() || hint.remaining == Some(0);
        match (self.code, self.status) {
            (Some(outcome), _) => outcome,
            (None, 403) if limited => Outcome::Throttled,
            (None, status) => outcome(status),
        }
    }

    /// Of two pauses that differ by rounding the finer one, else the longer one.
    fn pause(&self, now: Option<Span>) -> Option<Span> {
        let coarse = self.pause.from(now);
        let Some(fine) = self.fine_pause.from(now) else { return coarse };
        let longer = coarse.filter(|coarse| coarse.saturating_sub(fine) >= Span::from_secs(1));
        longer.or(Some(fine))
    }

    /// Reads the value of a field; `None` where it is of no use.
    fn read(&mut self, field: Field, value: &[u8]) -> Option<()> {
        match field {
            Field::Date => {
                let now = Moments::read_date(value)?;
                self.date = self.date.max(Some(now));
            }
            Field::Age => self.cached |= digits(value)? > 0,
            Field::Pause => self.pause.add(Moments::read_pause(value)?),
            Field::PauseOf(unit) => {
                let delay = Moments::read_delta(value, unit)?;
                let precise = unit < Span::from_secs(1);
                let pause = if precise { &mut self.fine_pause } else { &mut self.pause };
                pause.add(delay);
            }
            Field::Service => return self.service(value),
            Field::Policy => return self.policy(value),
            Field::UsedOfLimit => return self.used_of_limit(value),
            Field::AwsError => {
                if self.code != Some(Outcome::Throttled) {
                    self.code = aws::outcome(value).or(self.code);
                }
            }
            Field::ShouldRetry => match value.trim_ascii() {
                b"false" => self.no_retry = true,
                b"true" => {}
                _ => return None,
            },
            Field::Part(part, key) => return self.part(part, key, value),
        }
        Some(())
    }

    /// A number of a limit. A limit may be a list in which quotas follow it: `100, 100;w=60`.
    fn part(&mut self, part: Part, key: Key, value: &[u8]) -> Option<()> {
        match part {
            Part::Reset => {
                let moments = Moments::read(value, self.profile)?;
                self.limits.keyed(key)?.reset(moments);
            }
            Part::ResetAfter => {
                let moments = Moments::read_delta(value, Span::from_secs(1))?;
                self.limits.keyed(key)?.reset(moments);
            }
            Part::Remaining => {
                let least = least(value, |_| true)?;
                self.limits.keyed(key)?.remaining(least);
            }
            Part::Limit => {
                // The first is the limit. Another is a quota, or the limit of another header.
                least(value, |_| true)?;
                let first = list(value).next()??.value.count()?;
                let least = least(value, |item| item.w.is_none()).unwrap_or(first);
                self.limits.keyed(key)?.limit(first.min(least));
                for item in list(value).flatten() {
                    self.loose(&item)?;
                }
            }
        }
        Some(())
    }

    /// Keeps the quota of an item without a name, `100;w=60`, if it is one.
    fn loose(&mut self, item: &Item<'_>) -> Option<()> {
        match (item.value.count(), item.w.and_then(Bare::seconds)) {
            (Some(count), Some(period)) if period > Span::ZERO => self.limits.loose(count, period),
            _ => Some(()),
        }
    }

    /// `RateLimit`: a list of policies with what is left of them, or the dictionary of draft 07.
    fn service(&mut self, value: &[u8]) -> Option<()> {
        let valid = |item: Item<'_>| {
            let reset = item.t.is_none_or(|t| t.count().is_some());
            reset && item.value.text().is_some() && item.r.and_then(Bare::count).is_some()
        };
        if !list(value).all(|item| item.is_some_and(valid)) {
            return self.combined(value);
        }
        for item in list(value).flatten() {
            let draft = self.limits.named(Name::of(item.value.text()?))?;
            draft.remaining(item.r?.count()?);
            if let Some(span) = item.t.and_then(Bare::seconds) {
                draft.reset(Moments::within(span));
            }
            if let Some(key) = item.pk.and_then(Bare::text) {
                draft.partition(Name::of(key));
            }
        }
        Some(())
    }

    /// `limit=100, remaining=50, reset=5`
    fn combined(&mut self, value: &[u8]) -> Option<()> {
        let known = |(key, _): (&[u8], Bare<'_>)| matches!(key, b"limit" | b"remaining" | b"reset");
        let valid = |member: (&[u8], Bare<'_>)| member.1.count().is_some() || !known(member);
        if !dictionary(value).all(|member| member.is_some_and(valid)) {
            return None;
        }
        let mut members = dictionary(value).flatten().filter(|member| known(*member)).peekable();
        members.peek()?;
        let draft = self.limits.keyed(Key::plain())?;
        for (key, value) in members {
            match key {
                b"limit" => draft.limit(value.count()?),
                b"remaining" => draft.remaining(value.count()?),
                _ => draft.reset(Moments::within(value.seconds()?)),
            }
        }
        Some(())
    }

    /// `RateLimit-Policy`: a list of quotas with a name, or without one before draft 08.
    fn policy(&mut self, value: &[u8]) -> Option<()> {
        let valid = |item: Item<'_>| {
            let quota = match item.value {
                Bare::Text(_) => item.q,
                unnamed => Some(unnamed),
            };
            let window = item.w.is_none_or(|w| w.seconds().is_some_and(|span| span > Span::ZERO));
            let unit = item.qu.is_none_or(|qu| qu.text().is_some());
            window && unit && quota.and_then(Bare::count).is_some()
        };
        if !list(value).all(|item| item.is_some_and(valid)) {
            return None;
        }
        for item in list(value).flatten() {
            let Some(name) = item.value.text() else {
                self.loose(&item)?;
                continue;
            };
            let draft = self.limits.named(Name::of(name))?;
            draft.limit(item.q?.count()?);
            draft.unit(item.qu.and_then(Bare::text).map_or(Unit::Requests, Unit::of_quota));
            if let Some(span) = item.w.and_then(Bare::seconds) {
                draft.period(span);
            }
            if let Some(key) = item.pk.and_then(Bare::text) {
                draft.partition(Name::of(key));
            }
        }
        Some(())
    }

    /// `32/40`
    fn used_of_limit(&mut self, value: &[u8]) -> Option<()> {
        let mut text = Text::new(value);
        let used = text.integer()?;
        text.eat(b"/")?;
        let limit = text.integer()?;
        if !text.is_empty() {
            return None;
        }
        let draft = self.limits.keyed(Key::shopify())?;
        draft.limit(limit);
        draft.remaining(limit.saturating_sub(used));
        Some(())
    }
}

/// The least count of a list, among the items that are `wanted`; `None` where one is no count.
fn least(value: &[u8], wanted: impl Fn(&Item<'_>) -> bool) -> Option<u64> {
    let mut least = None;
    for item in list(value) {
        let item = item?;
        let count = item.value.count()?;
        if wanted(&item) {
            least = Some(least.map_or(count, |old: u64| old.min(count)));
        }
    }
    least
}
