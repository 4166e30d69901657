//! One response, read header by header.

use super::answer::Answer;
use super::dialect::{self, Term};
use super::draft::{self, Draft, count};
use super::limits::{Name, Unit};
use super::moment::{Profile, moments};
use super::structured::{Bare, item};
use crate::outcome::Outcome;
use crate::signal::aws;
use crate::signal::text::Text;
use crate::time::Span;

const FALSE: Name = Name::known("false");
const TRUE: Name = Name::known("true");

/// How many limits are collected from the headers; those that come later are counted and dropped.
const COLLECTED: usize = 8;

/// Collects what the headers of one response say, in every dialect; see the [module](super) for
/// which and how. [`CommonReading`](super::CommonReading) is less than half as large.
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
    limits: [Draft; COLLECTED],
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
            limits: const { [Draft::NONE; COLLECTED] },
        }
    }

    /// Takes note of a header. One that came several times may be handed in several times, or once
    /// with its values joined by commas.
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
        // Where any of a value turns out to be garbage, nothing of it is kept.
        if !text.done() {
            return count(&mut self.ignored);
        }
        match term {
            Term::Date => self.date.merge(&draft),
            Term::Age => self.cached |= draft.most(Term::Reset) > 0,
            Term::Pause | Term::PauseSeconds => self.pause.merge(&draft),
            Term::PauseMillis => self.fine_pause.merge(&draft),
            Term::ShouldRetry => self.no_retry |= draft.has(Term::Reset),
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

    /// What the response says. `now` is the caller's clock as time since the start of 1970, for
    /// dates in a response that has no `Date`; `None` where there is no such clock.
    #[must_use]
    pub fn finish(mut self, now: Option<Span>) -> Answer {
        let now = self.date.span(Term::Reset).or(now).map(Span::as_nanos);
        let mut answer = Answer::NOTHING;
        if !self.cached {
            draft::settle(&mut self.limits, now, &mut answer.limits, &mut self.ignored);
        }
        self.pause.settle(now, &mut self.ignored);
        self.fine_pause.settle(now, &mut self.ignored);
        // Of two pauses that differ by rounding the finer one, else the longer one.
        let [coarse, fine] = [&self.pause, &self.fine_pause].map(|it| it.most(Term::ResetAfter));
        let is_longer = coarse.saturating_sub(fine) >= 1_000_000_000;
        let is_coarse = is_longer || !self.fine_pause.has(Term::ResetAfter);
        let pause = if is_coarse { &self.pause } else { &self.fine_pause }.span(Term::ResetAfter);
        let told = |limit: &&Draft| limit.told != 0 && limit.is_of_calls();
        if let Some(limit) = answer.limits.iter().find(told) {
            limit.tell_in(&mut answer.hint);
        }
        answer.outcome = match (self.code, self.status) {
            // The error code says more than the status.
            (Some(outcome), _) => outcome,
            // GitHub's other way to throttle comes with a pause, or with no calls left.
            (_, 403) if pause.is_some() || answer.hint.remaining == Some(0) => Outcome::Throttled,
            (_, status) => super::outcome(status),
        };
        if answer.outcome != Outcome::Ok {
            answer.hint.retry_after = pause;
        }
        answer.hint.no_retry = self.no_retry;
        answer.ignored = self.ignored;
        answer
    }

    /// Reads the value of a header that tells one thing.
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
                let used = text.number().whole;
                text.expect(b"/");
                let limit = text.number().whole;
                draft.tell_least(Term::Limit, limit);
                return draft.tell_least(Term::Left, limit.saturating_sub(used));
            }
            Term::Date | Term::Pause => None,
            Term::PauseMillis => Some(Profile::DeltaMillis),
            Term::Reset => Some(self.profile),
            _ => Some(Profile::Delta),
        };
        moments(text, draft, profile);
        if term == Term::Date && !draft.has(Term::Reset) {
            text.fail();
        }
    }

    /// Reads a list of quotas: `RateLimit` and `RateLimit-Policy` with or without names, and the
    /// numbers of a limit behind which quotas may follow, `100, 100;w=60`. Draft 07 has a dictionary
    /// in its place, `limit=100, remaining=50, reset=5`. The quotas are kept where `keep` says so,
    /// which is once the whole list has been read.
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
                    // The first is the limit. Another is a quota, or the limit of another header.
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

    /// Keeps what a header told of a limit.
    fn add(&mut self, draft: &Draft) {
        if !draft::add(&mut self.limits, draft) {
            count(&mut self.ignored);
        }
    }
}
