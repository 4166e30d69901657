//! One response, read header by header.

use super::answer::Answer;
use super::draft::{Draft, Drafts, Part, count};
use super::limits::{Name, TOLD, Unit};
use super::moment::{Profile, moments};
use super::outcome;
use super::structured::{Bare, item};
use super::vocabulary::{Term, header};
use crate::hint::Hint;
use crate::outcome::Outcome;
use crate::signal::aws;
use crate::signal::text::Text;
use crate::time::Span;

const FALSE: Name = Name::known("false");
const TRUE: Name = Name::known("true");

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
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Reading {
    status: u16,
    ignored: u16,
    profile: Profile,
    cached: bool,
    no_retry: bool,
    code: Option<Outcome>,
    date: Draft,
    pause: Draft,
    /// A pause that was told in milliseconds.
    fine_pause: Draft,
    limits: Drafts,
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
        let nothing = Draft::NONE;
        Self {
            status,
            ignored: 0,
            profile,
            cached: false,
            no_retry: false,
            code: None,
            date: nothing,
            pause: nothing,
            fine_pause: nothing,
            limits: Drafts::NONE,
        }
    }

    /// Takes note of a header. One that came several times may be handed in several times, or once
    /// with its values joined by commas.
    pub fn header(&mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        self.note(name.as_ref(), value.as_ref());
    }

    fn note(&mut self, name: &[u8], value: &[u8]) {
        let mut draft = Draft::NONE;
        let Some(term) = header(name, &mut draft) else { return };
        // Where any of a value turns out to be garbage, nothing of it is kept.
        let mut read = *self;
        let mut text = Text::new(value);
        read.read(term, &mut draft, &mut text);
        if text.done() {
            *self = read;
        } else {
            count(&mut self.ignored);
        }
    }

    /// What the response says. `now` is the caller's clock as time since the start of 1970, for
    /// dates in a response that has no `Date`; `None` where there is no such clock.
    #[must_use]
    pub fn finish(&self, now: Option<Span>) -> Answer {
        let now = self.date.span(Part::At).or(now).map(Span::as_nanos);
        let mut limits = [None; TOLD];
        let mut ignored = self.ignored;
        if !self.cached {
            self.limits.settle(now, &mut limits, &mut ignored);
        }
        let pause = self.pause(now, &mut ignored);
        let mut of_calls = limits.iter().flatten().filter(|limit| limit.unit == Unit::Requests);
        let hint = of_calls.next().map_or(Hint::NONE, |limit| limit.hint);
        let outcome = self.outcome(pause.is_some() || hint.remaining == Some(0));
        let retry_after = pause.filter(|_| outcome != Outcome::Ok);
        if let Some(Some(binding)) = limits.first_mut() {
            binding.hint.retry_after = retry_after;
        }
        let hint = Hint { retry_after, no_retry: self.no_retry, ..hint };
        Answer { outcome, hint, limits, ignored }
    }

    /// The error code says more than the status. A 403 is GitHub's other way to throttle: it comes
    /// with a pause, or with no calls left.
    fn outcome(&self, limited: bool) -> Outcome {
        match (self.code, self.status) {
            (Some(outcome), _) => outcome,
            (None, 403) if limited => Outcome::Throttled,
            (None, status) => outcome(status),
        }
    }

    /// Of two pauses that differ by rounding the finer one, else the longer one.
    fn pause(&self, now: Option<u64>, ignored: &mut u16) -> Option<Span> {
        let coarse = self.pause.wait(now, ignored);
        let fine = self.fine_pause.wait(now, ignored);
        let second = Span::from_secs(1);
        match (coarse, fine) {
            (Some(long), Some(fine)) if long.saturating_sub(fine) >= second => coarse,
            _ => fine.or(coarse),
        }
    }

    /// Reads the value of a header, which speaks of the limit that is drafted.
    fn read(&mut self, term: Term, draft: &mut Draft, text: &mut Text<'_>) {
        match term {
            Term::Age => self.cached |= text.number().whole > 0,
            Term::ShouldRetry => match Name::of(text.letters()) {
                FALSE => self.no_retry = true,
                TRUE => {}
                _ => text.fail(),
            },
            Term::AwsError => {
                let code = aws::outcome(text.run(|_| true));
                if self.code.is_none() || code == Some(Outcome::Throttled) {
                    self.code = code;
                }
            }
            Term::UsedOfLimit => {
                let used = text.number().whole;
                text.expect(b"/");
                let limit = text.number().whole;
                draft.tell_least(Part::Limit, limit);
                draft.tell_least(Part::Remaining, limit.saturating_sub(used));
            }
            Term::Service | Term::Policy | Term::Limit | Term::Remaining => {
                self.list(term, draft, text);
            }
            _ => {
                let profile = match term {
                    Term::Date | Term::Pause => None,
                    Term::FinePause => Some(Profile::DeltaMillis),
                    Term::Reset => Some(self.profile),
                    _ => Some(Profile::Delta),
                };
                moments(text, draft, profile);
            }
        }
        match term {
            Term::Date if !draft.has(Part::At) => text.fail(),
            Term::Date => self.date.merge(draft),
            Term::Pause | Term::Delay => self.pause.merge(draft),
            Term::FinePause => self.fine_pause.merge(draft),
            _ if draft.tells() => self.add(draft),
            _ => {}
        }
    }

    /// Reads a list of quotas: `RateLimit` and `RateLimit-Policy` with or without names, and the
    /// numbers of a limit behind which quotas may follow, `100, 100;w=60`. Draft 07 has a dictionary
    /// in its place, `limit=100, remaining=50, reset=5`.
    fn list(&mut self, term: Term, draft: &mut Draft, text: &mut Text<'_>) {
        let named = matches!(term, Term::Service | Term::Policy);
        let mut told = false;
        let needed = match term {
            Term::Service | Term::Remaining => Part::Remaining,
            _ => Part::Limit,
        };
        loop {
            let mut quota = Draft::NONE;
            match item(text, &mut quota) {
                Bare::Text(name) if named && quota.has(needed) => {
                    quota.name = Name::of(name);
                    if term == Term::Policy && !quota.has(Part::Unit) {
                        quota.count(&[], true);
                    }
                    self.add(&quota);
                    told = true;
                }
                Bare::Member if term == Term::Service => {
                    draft.merge(&quota);
                    told |= draft.tells();
                }
                Bare::Number(number) if term != Term::Service => {
                    told = true;
                    // The first is the limit. Another is a quota, or the limit of another header.
                    let timed = needed == Part::Limit && quota.has(Part::Period);
                    let more = timed && draft.has(Part::Limit);
                    if !(named || more) {
                        draft.tell_least(needed, number.whole);
                    }
                    if timed {
                        quota.name = Name::of_quota(number.whole, quota.most(Part::Period));
                        quota.tell_least(Part::Limit, number.whole);
                        quota.tell(Part::Loose, 1);
                        self.add(&quota);
                    }
                }
                _ => text.fail(),
            }
            if !text.comma() {
                break;
            }
        }
        if named && !told {
            text.fail();
        }
    }

    /// Keeps what a header told of a limit.
    fn add(&mut self, draft: &Draft) {
        if !self.limits.add(draft) {
            count(&mut self.ignored);
        }
    }
}
